"""Which other conventions' keys the spans carry."""

import logging
from typing import Any

import pytest

from traced_loop import UsageError
from traced_loop.telemetry.dialects import VARIABLE, dialects, dialects_in


def test_code_and_environment_name_the_same() -> None:
    """None unless somebody asks."""
    assert dialects(("openinference",)) == dialects_in({VARIABLE: " OpenInference , "}) == {"openinference"}
    assert dialects(()) == dialects_in({}) == frozenset()


@pytest.mark.parametrize(
    ("given", "said"), [("openinference", "one text"), (["openllmetry"], "openllmetry"), (1, "no")]
)
def test_code_that_names_what_is_not_known_is_refused(given: Any, said: str) -> None:
    """Also one text, which would be a collection of letters."""
    with pytest.raises(UsageError, match=said):
        dialects(given)


def test_an_environment_that_does_is_told_once_and_the_rest_of_it_holds(caplog: pytest.LogCaptureFixture) -> None:
    """A run does not fail for it."""
    with caplog.at_level(logging.WARNING, "traced_loop"):
        found = [dialects_in({VARIABLE: "openlit,openinference"}) for _ in range(2)]
    assert found == [{"openinference"}] * 2
    assert [record.name for record in caplog.records] == ["traced_loop"]
