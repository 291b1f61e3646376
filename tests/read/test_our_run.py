"""A run is read out of its own spans exactly: what the loop knew is what a finding gets."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

from traced_loop import (
    Budget,
    ModelError,
    NotApplied,
    Policy,
    Poll,
    Price,
    RetryPolicy,
    ScriptedModel,
    ToolError,
    names,
    tool,
)
from traced_loop.diagnose.time_books import TimeKind, time_books
from traced_loop.messages import ModelAnswer, ModelChunk, ModelRequest, TokenUsage
from traced_loop.read.agent_run import AgentRun, Gap
from traced_loop.read.dialects.span_dialect import is_ours
from traced_loop.read.our_run import our_run
from traced_loop.read.span_tree import build
from traced_loop.read.trace import StoredSpan
from traced_loop.testing import CountedClock, calls

from ..diagnose.stored_runs import SECOND, played_run

MS = 1_000_000


@tool(effect="read", volatile={"nonce"})
async def look(name: str, nonce: int = 0) -> str:
    """Fails for one name."""
    if name == "lost":
        raise ToolError("no such thing")
    return f"{name} is open"


@tool(effect="write", key=lambda name: name)
async def store(name: str) -> str:
    """Writes."""
    return name


def a_run() -> AgentRun:
    """Two steps with calls of every kind, a request that is tried again, an answer."""
    clock = CountedClock()

    def ask(_: object) -> bool:
        clock.advance(7)
        return True

    paid = ModelAnswer(
        message=None,
        finish_reason=None,
        usage=TokenUsage(input=30, output=2, cached=8, total=32, source="provider"),
        error="overloaded",
        error_code="503",
    )
    busy = ModelError("busy", error_type="429", retryable=True, status=429, retry_after=0)
    script = [
        calls(
            ("look", {"name": "a", "nonce": 1}),
            ("look", {"name": "lost"}),
            ("look", {"nome": "a"}),
            ("nothing", {}),
            ("store", {"name": "a"}),
        ),
        busy,
        paid,
        calls(("look", {"name": "a", "nonce": 2})),
        "done",
    ]
    return played_run(
        [],
        [look, store],
        model=ScriptedModel(script, price=Price(input=1, output=4, cached_input="0.1")),
        clock=clock,
        policy=Policy(confirm=ask),
        retry=RetryPolicy(first_delay=0),
        budget=Budget(steps=5),
    )


RUN = a_run()


def test_the_run_itself() -> None:
    """Its id, times, stop and agent."""
    root = next(span for span in RUN.trace.spans if span.is_run)

    assert (RUN.id, RUN.dialect, RUN.agents, RUN.model) == ("run-1", "traced_loop", ("agent",), "scripted")
    assert (RUN.run_span, RUN.start_ns, RUN.end_ns, RUN.is_open) == (root.key, root.start_ns, root.end_ns, False)
    assert (RUN.stop_reason, RUN.problems) == ("final_answer", ())
    assert RUN.gaps == {Gap.NO_FIRST_TOKEN}


def test_the_first_piece_of_an_answer_is_its_first_token() -> None:
    """Where the answer came in pieces: waiting for it and writing it are two times."""
    clock = CountedClock()

    def in_pieces(request: ModelRequest) -> str:
        assert request.on_chunk is not None
        clock.advance(3)
        request.on_chunk(ModelChunk(text="do"))
        clock.advance(2)
        request.on_chunk(ModelChunk(text="ne"))
        return "done"

    run = played_run([in_pieces], clock=clock)
    [request] = run.requests
    wall = time_books(run).wall_ns

    assert Gap.NO_FIRST_TOKEN not in run.gaps
    assert abs(request.first_token_ns - request.start_ns - 3 * SECOND) < MS
    assert abs(wall[TimeKind.FIRST_TOKEN] - 3 * SECOND) < MS
    assert abs(wall[TimeKind.GENERATION] - 2 * SECOND) < 5 * MS


def test_every_call_in_the_order_in_which_the_model_asked() -> None:
    """With its step, outcome, decision and code, and the span with the outcome last."""
    told = [(c.index, c.step, c.call_id, c.tool, c.outcome, c.ran, c.is_error) for c in RUN.calls]

    assert told == [
        (0, 1, "call_1", "look", "ok", True, False),
        (1, 1, "call_2", "look", "error", True, True),
        (2, 1, "call_3", "look", "invalid", False, True),
        (3, 1, "call_4", "_unknown", "unknown_tool", False, True),
        (4, 1, "call_5", "store", "ok", True, False),
        (5, 2, "call_6", "look", "ok", True, False),
    ]
    spans = {span.key: span for span in RUN.trace.spans}
    assert all(spans[call.spans[-1]].text(names.CALL_OUTCOME) == call.outcome for call in RUN.calls)
    assert [call.validation_code for call in RUN.calls[2:4]] == ["missing_field", "unknown_tool"]
    assert [call.appended for call in RUN.calls] == [True] * 6


def test_calls_are_comparable_without_what_is_volatile() -> None:
    """Arguments, results and errors by their fingerprints; a write by its key."""
    first, failed, _, _, written, again = RUN.calls

    assert first.identity == again.identity
    assert first.result == again.result is not None
    assert failed.error is not None
    assert failed.error_class == "deterministic"
    assert (written.effect, written.key is not None, first.key) == ("write", True, None)


def test_when_and_how_a_call_ran() -> None:
    """Turns, waits in the batch, and the person's wait to the nanosecond."""
    written, asked = RUN.calls[4], next(s for s in RUN.trace.spans if names.CONFIRMATION_STATE in s.attributes)

    assert (written.mode, written.mode_reason, written.turn) == ("barrier", "write", 2)
    assert (written.asked_span, written.asked_ns, written.waited_ns) == (asked.key, asked.start_ns, 7 * SECOND)
    assert written.queued_ns is not None
    execution = next(s for s in RUN.trace.spans if s.name == "execute_tool store")
    assert (written.start_ns, written.end_ns) == (execution.start_ns, execution.end_ns)


def test_what_the_model_was_told_is_known_call_by_call() -> None:
    """Bytes of the whole message, as it went into the history."""
    assert RUN.calls[0].told_bytes == len('{"status":"completed","result":"a is open"}')
    assert RUN.calls[5].told_bytes == RUN.calls[0].told_bytes
    assert RUN.calls[2].told_bytes is None


def test_every_request_with_its_counts_price_and_checks() -> None:
    """What it was expected to take, when the limits were asked, what was settled."""
    first, second, last = RUN.requests

    assert [request.step for request in RUN.requests] == [1, 2, 3]
    assert (first.price, last.price_table) == (Price(input=1, output=4, cached_input="0.1"), "")
    assert first.cost_usd == Decimal((first.input_tokens or 0) + 4 * (first.output_tokens or 0)) / 10**6
    assert second.settled_tokens == (second.input_tokens or 0) + (second.output_tokens or 0)
    assert all(request.expected_tokens for request in RUN.requests)
    assert all(r.admitted_ns < r.start_ns < r.end_ns < r.settled_ns for r in RUN.requests)
    assert (first.batch_ns > first.end_ns, last.batch_ns) == (True, 0)
    assert [request.history_messages for request in RUN.requests] == [1, 7, 9]
    assert first.call_ids == ("call_1", "call_2", "call_3", "call_4", "call_5")


def test_tries_say_what_was_waited_and_what_was_paid() -> None:
    """A failed try that was billed is part of its request's counts."""
    tries = RUN.requests[1].attempts

    assert [attempt.error_type for attempt in tries] == ["429", "503", None]
    assert [attempt.http_status for attempt in tries] == [429, None, None]
    assert [(a.input_tokens, a.output_tokens, a.cached_tokens) for a in tries] == [
        (None, None, 0),
        (30, 2, 8),
        (None, None, 0),
    ]
    assert all(before.end_ns < after.start_ns for before, after in pairwise(tries))


def test_a_step_whose_own_span_was_lost_still_holds_together() -> None:
    """Its number is on its request and on what ran."""
    lost = our_run(build([span for span in RUN.trace.spans if span.name != names.STEP]))

    assert [(call.step, call.call_id, call.outcome) for call in lost.calls] == [
        (call.step, call.call_id, call.outcome) for call in RUN.calls
    ]
    assert [request.step for request in lost.requests] == [1, 2, 3]


def test_a_run_without_an_end_lasts_to_its_last_sign_of_life() -> None:
    """And says that nothing tells why it ended."""
    spans = [
        replace(s, is_open=True, end_ns=0, attributes={names.RUN_ID: RUN.id, names.GEN_AI_OPERATION: s.operation})
        if s.is_run
        else s
        for s in RUN.trace.spans
    ]
    run = our_run(build(spans))

    assert (run.is_open, run.stop_reason) == (True, None)
    assert run.end_ns == max(span.end_ns for span in spans)
    assert Gap.NO_STOP_REASON in run.gaps


def test_spans_of_libraries_are_not_ours() -> None:
    """Even where they carry the run's id: a second chat span is no second request."""
    chat = next(span for span in RUN.trace.spans if span.operation == names.CHAT)
    foreign = replace(chat, span_id="00000000000000ff", scope="opentelemetry.instrumentation.openai_v2")

    assert is_ours(chat)
    assert not is_ours(foreign)
    assert not is_ours(StoredSpan(trace_id="", span_id="", scope=names.SCOPE))
    assert len(our_run(build([*RUN.trace.spans, foreign])).requests) == 3


def test_no_spans_are_a_run_of_which_nothing_is_known() -> None:
    """Nothing raises."""
    run = our_run(build([]))
    assert (run.id, run.start_ns, run.end_ns, run.requests, run.calls) == ("", 0, 0, (), ())


@tool(effect="read", poll=Poll(unchanged=7))
async def wait_for(name: str) -> list[str]:
    """Finds nothing."""
    return []


@tool(effect="read", neutral=True)
async def think(name: str) -> str:
    """Has nothing to say."""
    return ""


@tool(effect="write", repeatable=True)
async def build_again(name: str) -> dict[str, str]:
    """Tells of an error instead of raising it."""
    return {"error": f"{name} does not build"}


def test_what_the_repetition_rules_ask_about_a_call_is_known() -> None:
    """What its tool declares, in which way it gave nothing, and the error that a result tells of."""
    asked = [(name, {"name": "a"}) for name in ("wait_for", "think", "build_again", "look")]
    policy = Policy(confirm=lambda _: True)
    polled, thought, built, looked = played_run(
        [calls(*asked), "done"], [wait_for, think, build_again, look], policy=policy
    ).calls

    assert [call.poll for call in (polled, thought, built, looked)] == [True, False, False, False]
    assert [call.neutral for call in (polled, thought, built, looked)] == [False, True, False, False]
    assert [call.repeatable for call in (polled, thought, built, looked)] == [False, False, True, False]
    assert [call.empty for call in (polled, thought, built, looked)] == ["nothing", "silent", None, None]
    assert [call.error_class for call in (polled, thought, built, looked)] == [None, None, "deterministic", None]
    assert (built.outcome, built.is_error, built.error is not None) == ("ok", False, True)


def test_what_undoes_a_call_is_no_call() -> None:
    """It has a span of an execution, and nobody asked for it: calls, steps and sums are without it."""

    async def take_back(name: str) -> str:
        return name

    @tool(effect="write", compensate=take_back)
    async def put(name: str) -> str:
        """Write."""
        return name

    @tool(effect="write")
    async def fail() -> str:
        """Fail, and change nothing."""
        raise NotApplied("no")

    run = played_run(
        [calls(("put", {"name": "a"}), ("fail", {})), "sorry"],
        [put, fail],
        policy=Policy(confirm=lambda _: True),
        on_tool_error="compensate",
    )

    executed = [span for span in run.trace.spans if span.operation == names.EXECUTE_TOOL]
    assert [call.tool for call in run.calls] == ["put", "fail"]
    assert len(executed) == 3
    assert {key for call in run.calls for key in call.spans}.isdisjoint(
        span.key for span in run.trace.spans if names.COMPENSATION_CALL_ID in span.attributes
    )
