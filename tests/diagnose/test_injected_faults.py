"""One fault in a run of the real loop, and it is the first finding, with the amounts that were injected."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from traced_loop import Budget, ModelError, Policy, Price, RetryPolicy, ScriptedModel, ToolError, tool
from traced_loop.diagnose.diagnosis import Diagnosis, diagnose
from traced_loop.diagnose.finding import Finding, FindingKind, Severity
from traced_loop.events import AttemptFailed, Event
from traced_loop.messages import ModelAnswer, TokenUsage
from traced_loop.read.our_run import our_run
from traced_loop.read.span_tree import build
from traced_loop.testing import CountedClock, calls

from .stored_runs import MS, SECOND, Killed, SpansUntilKilled, killed_run, played_run

if TYPE_CHECKING:
    from collections.abc import Sequence

PRICE = Price(input=1, output=4, cached_input="0.1")
"""USD per million tokens, so that a token in is a millionth."""


def answer(
    text: str | None = None, *, tokens: tuple[int, int] = (100, 10), cached: int = 0, tools: Sequence[str] = ()
) -> Any:
    """A raw answer: a text or calls without arguments, and what the provider counts."""
    proposed = [{"id": f"c{n}", "function": {"name": name, "arguments": "{}"}} for n, name in enumerate(tools)]
    message = {"role": "assistant", "content": text, **({"tool_calls": proposed} if proposed else {})}
    usage = {
        "prompt_tokens": tokens[0],
        "completion_tokens": tokens[1],
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    reason = "tool_calls" if proposed else "stop"
    return {"choices": [{"index": 0, "finish_reason": reason, "message": message}], "usage": usage}


def diagnosed(script: Sequence[Any], tools: Sequence[Any] = (), **options: Any) -> Diagnosis:
    """A run of this script, diagnosed."""
    model = ScriptedModel(script, price=PRICE)
    return diagnose(played_run([], tools, model=model, **options))


def first(diagnosis: Diagnosis, kind: FindingKind) -> Finding:
    """The first finding, which is of that kind, shows spans of the run, and says what to change."""
    found = diagnosis.findings[0]
    assert found.kind is kind, [(each.kind, each.title) for each in diagnosis.findings]
    assert found.evidence
    assert set(found.evidence) <= {span.span_id for span in diagnosis.run.trace.spans}
    assert found.prevent
    assert not diagnosis.is_healthy
    return found


@tool(effect="read")
async def look() -> str:
    """Answers at once."""
    return "found"


def test_a_slow_tool() -> None:
    """Forty seconds are forty seconds, and one reading of the clock."""
    clock = CountedClock()

    @tool(effect="read")
    async def search() -> str:
        """Takes its time."""
        clock.advance(40)
        return "found"

    found = first(diagnosed([calls(("search", {})), "done"], [search], clock=clock), FindingKind.SLOW_TOOL)

    assert found.cost_ns == 40 * SECOND + 1 * MS
    assert "search took 40 s" in found.title
    assert "timeout" in found.prevent


def test_a_rate_limit_with_a_retry_after() -> None:
    """The pause that the server asked for, not the tries around it."""
    clock = CountedClock()

    def pass_while_waiting(event: Event) -> None:
        if isinstance(event, AttemptFailed):
            clock.advance(20)

    busy = ModelError("busy", error_type="429", retryable=True, status=429, retry_after=0)
    diagnosis = diagnosed([calls(("look", {})), busy, busy, "done"], [look], clock=clock, on_event=pass_while_waiting)
    found = first(diagnosis, FindingKind.RATE_LIMIT)

    assert (found.cost_ns, found.numbers["pauses"]) == (40 * SECOND + 2 * MS, 2)
    assert "429" in found.title
    assert "step 2" in found.title


def test_a_pause_after_another_failure_is_no_rate_limit() -> None:
    """A server that failed asked for nothing."""
    clock = CountedClock()

    def pass_while_waiting(event: Event) -> None:
        if isinstance(event, AttemptFailed):
            clock.advance(20)

    gone = ModelError("gone", error_type="503", retryable=True, status=503)
    retry = RetryPolicy(first_delay=0)
    diagnosis = diagnosed([gone, "done"], clock=clock, on_event=pass_while_waiting, retry=retry)

    assert first(diagnosis, FindingKind.BACKOFF).cost_ns == 20 * SECOND + 1 * MS


def test_a_cache_break() -> None:
    """What was cached is paid in full again: 9,000 tokens at 0.9 USD per million."""
    script = [
        answer(tools=["look"], tokens=(10_000, 10), cached=9_000),
        answer(tools=["look"], tokens=(10_020, 10), cached=0),
        answer("done", tokens=(10_040, 10), cached=9_984),
    ]
    found = first(diagnosed(script, [look]), FindingKind.CACHE_BREAK)

    assert (found.cost_tokens, found.cost_usd) == (9_000, Decimal("0.0081"))
    assert "in step 2" in found.title


def test_a_fat_tool_result() -> None:
    """One call gave 5,000 tokens, which two later requests sent: what a provider counts says so exactly."""

    @tool(effect="read")
    async def read_all() -> str:
        """Gives a lot."""
        return "word " * 4_000

    script = [
        answer(tools=["read_all"], tokens=(100, 10)),
        answer(tools=["look"], tokens=(5_110, 10)),
        answer("done", tokens=(5_130, 10), cached=5_000),
    ]
    diagnosis = diagnosed(script, [read_all, look])
    found = first(diagnosis, FindingKind.FAT_RESULT)

    assert (found.numbers["added_tokens"], found.numbers["carried_tokens"]) == (5_000, 10_000)
    # 5,000 at full price, then 4,890 of them cached: the first 110 tokens of the cached 5,000 are the prompt's.
    assert found.cost_usd == Decimal(5_000 + 110) / 10**6 + Decimal(4_890) / 10**7
    assert "max_result_bytes" in found.prevent
    assert sum((part.cost_usd or Decimal(0) for part in diagnosis.tokens.parts), Decimal(0)) == diagnosis.cost_usd


def test_a_killed_process() -> None:
    """What was open says what it was doing, and that a write may have happened."""
    clock, spans = CountedClock(), SpansUntilKilled()

    @tool(effect="read")
    async def slow() -> str:
        """Goes on for five seconds, and the process is gone."""
        clock.advance(5)
        spans.gone = True
        raise Killed

    run = killed_run([calls(("look", {})), calls(("slow", {}))], [look, slow], spans, clock=clock)
    found = first(diagnose(run), FindingKind.NO_END)

    [open_tool] = [span for span in run.trace.spans if span.is_open and span.name == "execute_tool slow"]
    assert found.evidence[0] == open_tool.span_id
    assert found.severity is Severity.ERROR
    assert "execute_tool slow (call_2)" in found.title
    assert found.numbers["begun_ns"] == open_tool.start_ns - run.start_ns


def test_a_process_that_is_killed_in_a_write() -> None:
    """The write may have happened."""
    spans = SpansUntilKilled()

    @tool(effect="write")
    async def pay() -> str:
        """Never comes back."""
        spans.gone = True
        raise Killed

    run = killed_run([calls(("pay", {}))], [pay], spans, policy=Policy(confirm=lambda _: True))

    assert "may have been applied" in first(diagnose(run), FindingKind.NO_END).title


def test_a_doubled_instrumentation() -> None:
    """A second span for the same request inside of ours: its tokens are counted once."""
    run = played_run([calls(("look", {})), "done"], [look])
    again = [
        replace(span, span_id=f"{n:016x}", parent_id=span.span_id, scope="opentelemetry.instrumentation.openai_v2")
        for n, span in enumerate((s for s in run.trace.spans if s.operation == "chat"), 0xD0)
    ]
    once = diagnose(run)
    diagnosis = diagnose(our_run(build([*run.trace.spans, *again])))
    found = first(diagnosis, FindingKind.DOUBLED)

    assert found.cost_tokens == (once.tokens.input_tokens or 0) + (once.tokens.output_tokens or 0)
    assert (diagnosis.tokens.input_tokens, diagnosis.cost_usd) == (once.tokens.input_tokens, once.cost_usd)
    assert {span.span_id for span in again} <= set(found.evidence)


def test_a_paid_retry() -> None:
    """A try that failed inside of a successful response was billed: 2,000 in and 50 out."""
    broken = ModelAnswer(
        message=None,
        finish_reason=None,
        usage=TokenUsage(input=2_000, output=50, total=2_050, source="provider"),
        error="overloaded",
        error_code="503",
    )
    script = [broken, answer("done", tokens=(2_000, 40))]
    found = first(diagnosed(script, retry=RetryPolicy(first_delay=0)), FindingKind.PAID_RETRY)

    assert (found.cost_tokens, found.cost_usd) == (2_050, Decimal("0.0022"))
    assert "(503)" in found.title


def test_a_queue_behind_a_write_barrier() -> None:
    """A read waits for a write that was asked for before it."""
    clock = CountedClock()

    @tool(effect="write")
    async def store() -> str:
        """Takes twelve seconds."""
        clock.advance(12)
        return "stored"

    @tool(effect="read")
    async def check() -> str:
        """Takes ten seconds."""
        clock.advance(10)
        return "checked"

    policy = Policy(rules=[lambda proposal: "allow"])
    diagnosis = diagnosed([calls(("store", {}), ("check", {})), "done"], [store, check], clock=clock, policy=policy)
    found = first(diagnosis, FindingKind.QUEUE)

    assert found.cost_ns == 10 * SECOND + 1 * MS
    assert found.numbers["queued_ns"] == diagnosis.run.calls[1].queued_ns
    assert 12 * SECOND < found.numbers["queued_ns"] < 12 * SECOND + 10 * MS
    assert "check (call_2) waited 12 s" in found.title
    assert "behind store (call_1) (write)" in found.title


def test_a_persons_wait() -> None:
    """What the person took, to the nanosecond."""
    clock = CountedClock()

    @tool(effect="write")
    async def pay() -> str:
        """Pays."""
        return "paid"

    def ask(_: object) -> bool:
        clock.advance(90)
        return True

    found = first(
        diagnosed([calls(("pay", {})), "done"], [pay], clock=clock, policy=Policy(confirm=ask)),
        FindingKind.CONFIRMATION,
    )

    assert found.cost_ns == 90 * SECOND
    assert "pay (call_1)" in found.title


def test_a_deadline_names_what_the_time_went_to() -> None:
    """The stop is the first finding, and its first cause a tool that waited behind a rate limit."""
    clock = CountedClock()

    @tool(effect="read", retries=1, timeout=100)
    async def fetch() -> str:
        """Takes forty seconds and fails."""
        clock.advance(40)
        raise ToolError("busy", transient=True)

    diagnosis = diagnosed([calls(("fetch", {}))], [fetch], clock=clock, budget=Budget(seconds=60))
    found = first(diagnosis, FindingKind.STOPPED)

    assert "deadline_exceeded" in found.title
    assert "most of it went to fetch (call_1): 1 min 20 s, over 2 tries (tool_error)" in found.title
    assert (found.numbers["limit"], found.cost_ns) == (60, 80 * SECOND + 3 * MS)


@pytest.mark.parametrize("script", [["42"], [calls(("look", {})), "42"]], ids=["an answer", "a call"])
def test_a_run_without_a_fault_has_no_finding(script: list[Any]) -> None:
    """Healthy means that there is nothing to say."""
    diagnosis = diagnosed(script, [look])
    assert (diagnosis.findings, diagnosis.is_healthy) == ((), True)
