"""A result says how a run ended; raising is opt-in, and an exception that left a run carries it."""

import dataclasses
from decimal import Decimal

import pytest

from traced_loop.errors import RunStopped
from traced_loop.outcomes import StopReason
from traced_loop.run_result import RunResult, Usage, attach_result, partial_result

STOPS = [stop for stop in StopReason if stop is not StopReason.FINAL_ANSWER]


def ended(stop: StopReason, detail: str = "") -> RunResult:
    """A result with this stop reason."""
    return RunResult(answer=None, stop_reason=stop, stop_detail=detail, run_id="r-1", trace_id="0" * 32)


def test_a_final_answer_does_not_raise() -> None:
    """The result comes back, to go on with."""
    result = ended(StopReason.FINAL_ANSWER)
    assert result.raise_for_stop() is result


@pytest.mark.parametrize("stop", STOPS)
def test_every_other_stop_raises_with_reason_detail_and_run(stop: StopReason) -> None:
    """For code that wants an exception."""
    with pytest.raises(RunStopped) as raised:
        ended(stop, "the numbers").raise_for_stop()
    assert (raised.value.stop_reason, raised.value.stop_detail, raised.value.run_id) == (stop, "the numbers", "r-1")
    assert str(raised.value) == f"{stop}: the numbers"


def test_the_cost_is_the_usages() -> None:
    """None when it is unknown, never zero."""
    result = dataclasses.replace(ended(StopReason.REFUSED), usage=Usage(cost_usd=Decimal("0.5")))
    assert result.cost == Decimal("0.5")
    assert dataclasses.replace(result, usage=Usage(cost_usd=None)).cost is None


def test_an_exception_that_left_a_run_carries_its_result() -> None:
    """Also as the cause of another."""
    error, outer = KeyboardInterrupt(), TimeoutError()
    result = ended(StopReason.CANCELLED)
    attach_result(error, result)
    outer.__cause__ = error
    assert partial_result(error) is partial_result(outer) is result


def test_an_exception_from_elsewhere_carries_nothing() -> None:
    """Nor one that is its own cause."""
    error = ValueError()
    error.__cause__ = error
    assert partial_result(error) is None


def test_results_are_values() -> None:
    """Nobody changes them afterwards."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        ended(StopReason.REFUSED).answer = "x"  # type: ignore[misc]
