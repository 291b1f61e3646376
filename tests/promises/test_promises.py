"""Promises 1 to 5 of the design, over random runs.

Whole runs are drawn, and not steps of a machine: between its start and its end a run takes nothing from outside but
what a scenario says beforehand.
"""

from hypothesis import HealthCheck, given, settings

from ..nightly import examples
from .oracle import broken_promises
from .playing import played
from .scenarios import Scenario, scenarios

MOST = 10
"""Stop reasons and outcomes that some hundred runs must have come to; twelve to eighteen of each are usual."""


def test_every_run_keeps_its_promises() -> None:
    """Whatever the model answers, tools and people do, limits allow, and wherever it is broken off."""
    stops, outcomes = set[str](), set[str]()

    @settings(max_examples=examples(500), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(scenarios())
    def keeps(scenario: Scenario) -> None:
        left = played(scenario)
        stops.add(left.result.stop_reason)
        outcomes.update(outcome for found in left.spans.outcomes().values() for outcome in found)
        assert broken_promises(left) == []

    keeps()
    assert min(len(stops), len(outcomes)) >= MOST, (stops, outcomes)
