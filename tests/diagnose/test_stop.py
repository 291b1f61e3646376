"""Every stop but an answer names its reason, the limit behind it, and the first cause in the trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from traced_loop import Budget, Loop, ModelError, Policy, RetryPolicy, ScriptedModel, ToolError, tool
from traced_loop.diagnose.finding import Finding, FindingKind, Severity
from traced_loop.diagnose.stop import stopped
from traced_loop.diagnose.time_books import time_books
from traced_loop.diagnose.token_books import token_books
from traced_loop.events import Event, ModelAnswered
from traced_loop.testing import CountedClock, CountedIds, Spans, calls, counted_wiring

from .stored_runs import SECOND, played_run, stored_run
from .test_injected_faults import PRICE, answer

if TYPE_CHECKING:
    from collections.abc import Sequence


@tool(effect="read")
async def look() -> str:
    """Answers at once."""
    return "found"


@tool(effect="read")
async def fail() -> str:
    """Fails."""
    raise ToolError("no such thing")


@tool(effect="write")
async def pay() -> str:
    """Nobody knows."""
    raise ValueError("the line went dead")


@tool(effect="read", timeout=0.05)
async def hang() -> str:
    """Does not come back."""
    import asyncio

    await asyncio.sleep(60)
    return "late"


def why(script: Sequence[Any], tools: Sequence[Any] = (), **options: Any) -> Finding:
    """The one finding about the end of a run."""
    run = played_run([], tools, model=ScriptedModel(script, price=PRICE), **options)
    [found] = stopped(run, time_books(run), token_books(run))
    assert found.kind is FindingKind.STOPPED
    assert str(run.stop_reason) in found.title
    assert set(found.evidence) <= {span.span_id for span in run.trace.spans}
    assert found.evidence
    return found


LOOK, FAIL = calls(("look", {})), calls(("fail", {}))
CUT = {"choices": [{"message": {"role": "assistant", "content": "The"}, "finish_reason": "length"}]}
SAYS: dict[str, tuple[list[Any], list[Any], dict[str, Any], str, str]] = {
    "steps that repeat": ([LOOK] * 3, [look], {"budget": Budget(steps=3)}, "2 of 3 calls had been made before", ""),
    "steps that fail": (
        [FAIL, calls(("look", {}), ("fail", {}))],
        [look, fail],
        {"budget": Budget(steps=2)},
        "2 of 3 calls failed, first fail (call_1)",
        "mend fail first",
    ),
    "steps that work": ([LOOK], [look], {"budget": Budget(steps=1)}, "each step brought something new", "steps="),
    "a large batch": (
        [calls(("look", {}), ("look", {}))],
        [look],
        {"budget": Budget(tool_calls=1)},
        "asked for 2 calls at once",
        "tool_calls=",
    ),
    "tokens": (
        [answer(tools=["look"], tokens=(900, 50))],
        [look],
        {"budget": Budget(tokens=1_000)},
        "went to the instructions, tools and prompt: 900 tokens, $0.0009",
        "a larger limit",
    ),
    "a tool that hangs": ([calls(("hang", {}))], [hang], {}, "hang (call_1) was given", "timeout="),
    "a write that raised": (
        [calls(("pay", {}))],
        [pay],
        {"policy": Policy(confirm=lambda _: True)},
        "nobody knows whether pay (call_1) was applied (ValueError)",
        "NotApplied",
    ),
    "a denial": ([LOOK], [look], {"policy": Policy(deny={"look"})}, "not permitted by the rule deny_list", "on_deny"),
    "a cut answer": ([CUT], [], {}, "the answer of step 1 ended with length", "max_completion_tokens"),
    "a server that fails": (
        [ModelError("gone", error_type="503", retryable=True, status=503)] * 2,
        [],
        {"retry": RetryPolicy(attempts=2, first_delay=0)},
        "the request of step 1 failed with 503 after 2 tries (503)",
        "RetryPolicy",
    ),
}


@pytest.mark.parametrize(("script", "tools", "options", "said", "prevent"), SAYS.values(), ids=list(SAYS))
def test_the_first_cause_is_named(
    script: list[Any], tools: list[Any], options: dict[str, Any], said: str, prevent: str
) -> None:
    """In words and numbers of the trace."""
    found = why(script, tools, **options)

    assert said in found.title
    assert prevent in found.prevent
    assert found.severity is Severity.ERROR


def test_a_run_that_waits_for_a_person_did_what_it_was_to_do() -> None:
    """It is a note, and names the call."""
    found = why([calls(("pay", {}))], [pay])

    assert found.severity is Severity.NOTE
    assert "pay (call_1) waits for a person" in found.title


def test_a_deadline_goes_back_to_what_took_most_of_the_time() -> None:
    """A rate limit, a person or a tool: whatever the books say."""
    clock = CountedClock()

    def ask(_: object) -> bool:
        clock.advance(90)
        return True

    def slow(_: object) -> Any:
        clock.advance(70)
        return LOOK

    model = why([slow], [look], clock=clock, budget=Budget(seconds=60))

    assert "most of it went to the model of step 1: 1 min 10 s" in model.title
    assert (model.numbers["limit"], model.cost_ns) == (60, 70 * SECOND + 1_000_000)
    assert "request_seconds" in model.prevent


def test_an_end_that_is_no_limits_tells_the_nearest_one() -> None:
    """How far the run was from its limits."""
    found = why([CUT], budget=Budget(steps=2))

    assert (found.numbers["nearest_steps_limit"], found.numbers["nearest_steps_used"]) == (2, 1)


def test_an_answer_is_no_stop_to_speak_of() -> None:
    """Nor is a run without an end."""
    run = played_run(["42"])
    assert stopped(run, time_books(run), token_books(run)) == []


def test_a_callback_that_raises_is_to_be_mended() -> None:
    """The first span that failed is the innermost one that was open."""
    spans, ids = Spans(), CountedIds()

    def raise_at_an_answer(event: Event) -> None:
        if isinstance(event, ModelAnswered):
            raise ZeroDivisionError

    loop = Loop(
        ScriptedModel([LOOK]), [look], wiring=counted_wiring(spans, ids=ids), ids=ids, on_event=raise_at_an_answer
    )
    with pytest.raises(ZeroDivisionError):
        loop.run("Go.")
    run = stored_run(spans)
    [found] = stopped(run, time_books(run), token_books(run))

    assert "harness_error" in found.title
    assert "the first span that failed is traced_loop.step (ZeroDivisionError)" in found.title
    assert "callback" in found.prevent


def test_a_cost_limit_names_what_took_most_of_the_money_and_a_token_limit_most_of_the_tokens() -> None:
    """Here the answers are few tokens, and dear."""
    limits = Budget(cost_usd="0.01", steps=9), Budget(tokens=5_000, steps=9)
    cost, tokens = (
        why([answer(tools=["look"], tokens=(1_000, 900))] * 2, [look], budget=each, repetition="observe")
        for each in limits
    )

    assert "the largest part went to what the model wrote" in cost.title
    assert "the largest part went to the instructions, tools and prompt" in tokens.title


def test_a_last_request_is_no_step_of_the_run() -> None:
    """The limit, what was used of it and the steps agree."""
    found = why([LOOK, LOOK, "So far."], [look], budget=Budget(steps=2, last_request=True))

    assert (found.numbers["steps"], found.numbers["limit"], found.numbers["used"]) == (2, 2, 2)
