"""What made a run dear, with tokens and USD; unknown is said."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from traced_loop import ScriptedModel, tool
from traced_loop.diagnose.cost import costs
from traced_loop.diagnose.finding import Finding, FindingKind, Severity
from traced_loop.diagnose.token_books import token_books
from traced_loop.read.agent_run import Gap

from .stored_runs import played_run
from .test_injected_faults import PRICE, answer
from .test_token_books import counted, run_of

if TYPE_CHECKING:
    from traced_loop.read.agent_run import AgentRun


def found_in(run: AgentRun) -> list[Finding]:
    """What cost it."""
    return costs(run, token_books(run))


def only(run: AgentRun, kind: FindingKind) -> Finding:
    """The one finding of that kind."""
    [found] = [finding for finding in found_in(run) if finding.kind is kind]
    return found


def test_a_run_that_cost_little_has_nothing_to_tell() -> None:
    """Small results, a cache that grows, a history that does not."""
    run = run_of([counted(100, 5, 0), counted(200, 5, 96), counted(260, 5, 192)], {1: [100], 2: [40]})
    assert found_in(run) == []


def test_many_results_of_one_tool_are_fat_together() -> None:
    """Where no single one is most of it, the tool is named; shares by bytes are said to be about right."""
    requests = [counted(100 + 1_000 * n, 0) for n in range(4)]
    run = run_of(requests, {1: [500, 500], 2: [500, 500], 3: [500, 500]})

    found = only(run, FindingKind.FAT_RESULT)

    assert found.numbers["added_tokens"] == 3_000
    assert found.numbers["carried_tokens"] == 3_000 + 2_000 + 1_000
    assert found.cost_usd == Decimal("0.006")
    assert "6 results of" in found.title
    assert "about 3,000 tokens" in found.title
    assert len(found.calls) == 6


def test_a_cache_that_breaks_after_a_pause_is_no_fault_of_the_history() -> None:
    """Providers keep it for minutes; another model has another cache."""
    minute = 60 * 10**9
    paused = [
        counted(5_000, 5, 4_000, start_ns=minute, end_ns=minute + 1),
        counted(5_100, 5, 0, start_ns=9 * minute, end_ns=9 * minute + 1),
    ]
    other = [counted(5_000, 5, 4_000, model="a"), counted(5_100, 5, 0, model="b")]

    found = only(run_of(paused), FindingKind.CACHE_BREAK)

    assert "8 min after the answer before it" in found.title
    assert "pause" in found.prevent
    assert found_in(run_of(other)) == []
    assert found_in(run_of([counted(5_000, 5, 4_000), counted(4_000, 5, 0)])) == []


def test_a_history_that_grew_is_a_note() -> None:
    """With what was sent again, and what that cost."""
    found = only(run_of([counted(2_000 * n, 0) for n in range(1, 8)]), FindingKind.GROWTH)

    assert found.severity is Severity.NOTE
    assert (found.numbers["first_tokens"], found.numbers["last_tokens"]) == (2_000, 14_000)
    assert found.cost_tokens == 2_000 * (6 + 5 + 4 + 3 + 2 + 1)
    assert found.cost_usd == Decimal(found.cost_tokens or 0) / 10**6


def test_output_that_is_mostly_reasoning_is_a_note() -> None:
    """At the price of output."""
    found = only(run_of([counted(100, 2_000, reasoning_tokens=1_500)]), FindingKind.REASONING)

    assert (found.severity, found.cost_tokens, found.cost_usd) == (Severity.NOTE, 1_500, Decimal("0.006"))


def test_unknown_tokens_and_prices_are_said() -> None:
    """Never zero: the findings say what the trace cannot tell."""
    run = run_of([counted(100, 5, price=None, cost_usd=None, model="mine"), {"cost_usd": None, "price": None}])

    uncounted, unpriced = only(run, FindingKind.UNCOUNTED), only(run, FindingKind.UNPRICED)

    assert "the tokens of 1 request of 2 are unknown" in uncounted.title
    assert uncounted.untold == (Gap.NO_USAGE,)
    assert "no price of mine" in unpriced.title
    assert (unpriced.cost_usd, unpriced.untold) == (None, (Gap.NO_PRICES,))


def test_what_an_estimate_stands_for_is_said() -> None:
    """A server that does not count: the limits were held by an estimate."""
    answers = {"choices": [{"message": {"role": "assistant", "content": "42"}, "finish_reason": "stop"}]}
    run = played_run([], model=ScriptedModel([answers], price=PRICE))

    assert "1 of them were estimated" in only(run, FindingKind.UNCOUNTED).title


def test_a_result_counts_in_all_later_requests_whatever_the_tool_was_asked() -> None:
    """The loop's own run: two requests carried it, and the provider's counts say how much it was."""

    @tool(effect="read")
    async def read() -> str:
        """Gives a lot."""
        return "x" * 8_000

    script: list[Any] = [
        answer(tools=["read"], tokens=(100, 10)),
        answer(tools=["nothing"], tokens=(2_110, 10)),
        answer("done", tokens=(2_150, 10)),
    ]
    found = only(played_run([], [read], model=ScriptedModel(script, price=PRICE)), FindingKind.FAT_RESULT)

    assert (found.numbers["added_tokens"], found.numbers["carried_tokens"], found.numbers["requests"]) == (
        2_000,
        4_000,
        2,
    )
    assert "about" not in found.title
