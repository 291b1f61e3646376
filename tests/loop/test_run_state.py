"""What a run has spent and why it stops."""

from decimal import Decimal
from itertools import pairwise

import pytest

from traced_loop import StopReason
from traced_loop.closed_words import CostSource
from traced_loop.loop.history import History
from traced_loop.loop.model_client import Response
from traced_loop.loop.run_state import RunState
from traced_loop.messages import TokenUsage
from traced_loop.outcomes import STOP_PRECEDENCE
from traced_loop.rules.answer_verdict import Verdict
from traced_loop.rules.billing import Bill
from traced_loop.telemetry.spans import Telemetry
from traced_loop.testing import CountedClock

FINAL = Verdict(kind="final", text="42")


def fresh(clock: CountedClock | None = None) -> RunState:
    """A run that has just begun."""
    telemetry = Telemetry(clock=clock or CountedClock())
    scope = telemetry.scope("run-1")
    history = History("run-1", [], telemetry, None, lambda: None)
    return RunState(scope=scope, history=history, identity=None, begun=scope.clock.seconds(), context_tokens=10)


def answer(usage: TokenUsage, cost: str | None = None) -> Response:
    """An answer that used so much."""
    known = Decimal(cost) if cost is not None else None
    source: CostSource = "unknown" if known is None else "declared"
    charged = known or Decimal("0.5")
    billed = Bill(usage=usage, cost=known, charged=charged, source=source)
    return Response(verdict=FINAL, message={}, bill=billed)


def test_sums_are_exact() -> None:
    """A tenth and two tenths of a dollar are three tenths."""
    state = fresh()
    counted = TokenUsage(input=1, output=1, total=2, source="provider")

    state.settle(answer(counted, "0.1"))
    state.settle(answer(counted, "0.2"))

    assert (state.usage().cost_usd, state.usage().tokens) == (Decimal("0.3"), 4)


def test_unknown_is_never_zero() -> None:
    """One answer without a split or a price makes the sum unknown; what counts against limits stays a number."""
    state = fresh()

    state.settle(answer(TokenUsage(input=10, output=5, total=15, source="provider"), "0.1"))
    state.settle(answer(TokenUsage(total=12, source="estimated")))

    usage = state.usage()
    assert (usage.input_tokens, usage.output_tokens, usage.cost_usd) == (None, None, None)
    assert (usage.tokens, usage.charged_usd, usage.estimated) == (27, Decimal("0.6"), True)


def test_a_request_without_an_answer_is_counted_and_costs_nothing_known() -> None:
    """Attempts are requests; without usage nothing is known to be billed."""
    state = fresh()

    state.settle(Response(verdict=FINAL, requests=3))

    assert (state.usage().model_requests, state.usage().tokens, state.usage().estimated) == (3, 0, False)


@pytest.mark.parametrize(("first", "second"), list(pairwise(STOP_PRECEDENCE)))
def test_of_two_limits_the_one_that_ranks_higher_stops_the_run(first: StopReason, second: StopReason) -> None:
    """The order in which they are found does not matter."""
    for reasons in ((first, second), (second, first)):
        state = fresh()
        for reason in reasons:
            state.stop_for(reason)

        assert state.stop is first


@pytest.mark.parametrize(
    "verdict", [StopReason.TOOL_NOT_ALLOWED, StopReason.CONFIRMATION_REQUIRED, StopReason.CONTENT_FILTERED]
)
def test_a_limit_found_exceeded_later_does_not_hide_what_happened(verdict: StopReason) -> None:
    """A refusal stays the reason: more tokens would not have helped."""
    state = fresh()

    state.stop_for(verdict, "why")
    state.stop_for(StopReason.TOKEN_BUDGET_EXCEEDED, "over")

    assert (state.stop, state.stop_detail) == (verdict, "why")


def test_a_final_answer_stands() -> None:
    """No limit that is found exceeded after it takes it away."""
    state = fresh()

    state.finish("42")
    state.stop_for(StopReason.COST_BUDGET_EXCEEDED)

    assert (state.stop, state.answer) == (StopReason.FINAL_ANSWER, "42")


def test_waits_are_not_active_time() -> None:
    """Seconds count from the start, without what a person took."""
    clock = CountedClock()
    state = fresh(clock)

    clock.advance(10)
    state.waited = 4

    assert state.active_seconds() == pytest.approx(6)
