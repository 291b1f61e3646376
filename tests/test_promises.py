"""The first five promises, over random runs: pairing, no suspect call, an end, limits before spending, writes once."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from traced_loop import (
    Budget,
    Loop,
    ModelError,
    NotApplied,
    Policy,
    RetryPolicy,
    RunResult,
    ScriptedModel,
    SharedBudget,
    StopReason,
    ToolError,
    partial_result,
    tool,
)
from traced_loop.events import Event
from traced_loop.outcomes import Outcome
from traced_loop.rules.answer_verdict import STOP_REASONS, TOOL_REASONS
from traced_loop.rules.budget import NOTHING, spent
from traced_loop.rules.pairing import pairing_problems
from traced_loop.telemetry.spans import SpanRecord
from traced_loop.testing import Spans, counted_wiring
from traced_loop.tool_registry import Tool

OUTCOME, STOP = "traced_loop.call.outcome", "traced_loop.run.stop_reason"
UNDOES = "traced_loop.compensation.call_id"
RAN = {Outcome.OK, Outcome.ERROR, Outcome.UNKNOWN, Outcome.TIMED_OUT, Outcome.INVALID, Outcome.CANCELLED}

ERRORS: list[BaseException] = [
    ValueError("no"),
    ToolError("try b"),
    NotApplied("closed"),
    SystemExit(1),
    asyncio.CancelledError(),
]
NAMES = st.sampled_from([*["read", "later", "write", "fail"] * 4, "nothing", "functions.read", "", None])
GOOD = ['{"a":1}', '{"a":2}', {"a": 3}, '"{\\"a\\":4}"']
BAD = ["{}", "", None, '{"a":"1"}', '{"a":1,"b":2}', '{"a":', "[]", "{'a':1}"]
ARGUMENTS = st.sampled_from(GOOD * 6 + BAD)
IDS = st.sampled_from(["c1", "c2", "c3", "c4", "", None])
FINISH = st.sampled_from(["tool_calls"] * 20 + ["stop", "length", "content_filter", "error", None, "pause"])
TOLERATED = st.sampled_from([frozenset(), frozenset({"stop_with_tool_calls"})])
TEXT = st.sampled_from([None, "", "Let me see."])


@st.composite
def answers(draw: st.DrawFn) -> Any:
    """One answer: calls of every kind, a text, or a failure."""
    kind = draw(st.sampled_from(["calls"] * 8 + ["text", "failure"]))
    if kind == "failure":
        return ModelError("busy", error_type="503", retryable=draw(st.booleans()))
    if kind == "text":
        return "42"
    entries = [
        {"id": draw(IDS), "type": "function", "function": {"name": draw(NAMES), "arguments": draw(ARGUMENTS)}}
        for _ in range(draw(st.integers(0, 4)))
    ]
    if draw(st.integers(0, 5)):  # an entry without a name makes the whole answer suspect
        entries = [entry for entry in entries if entry["function"]["name"]]
    message = {"role": "assistant", "content": draw(TEXT), "tool_calls": entries}
    usage = draw(st.sampled_from([None, {"prompt_tokens": 50, "completion_tokens": 20}, {"total_tokens": 900}]))
    return {"choices": [{"message": message, "finish_reason": draw(FINISH)}], "usage": usage}


@dataclass
class World:
    """Tools that note what they were given."""

    fails_with: BaseException
    ran: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    keys: list[str] = field(default_factory=list[str])
    undone: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    def tools(self) -> list[Tool]:
        """A sync and an async read, a write, and a read that fails."""

        def read(a: int) -> int:
            """Read."""
            self.ran.append(("read", a))
            return a

        async def later(a: int = 0) -> int:
            """Read later."""
            self.ran.append(("later", a))
            return a

        def undo(a: int, *, idempotency_key: str) -> None:
            self.undone.append((a, idempotency_key))
            if a == 2:
                raise self.fails_with

        def write(a: int, *, idempotency_key: str) -> None:
            """Write."""
            self.ran.append(("write", a))
            self.keys.append(idempotency_key)

        def fail(a: int) -> None:
            """Fail."""
            self.ran.append(("fail", a))
            raise self.fails_with

        reading, writing, undoable = tool(effect="read"), tool(effect="write"), tool(effect="write", compensate=undo)
        return [reading(read), reading(later), undoable(write), writing(fail)]


@dataclass
class Callback:
    """A callback that raises at one event, or at none."""

    at: int | None
    seen: int = 0

    def __call__(self, event: Event) -> None:
        del event
        self.seen += 1
        if self.seen == self.at:
            raise ZeroDivisionError


@dataclass
class Left:
    """What a run left behind, however it ended."""

    result: RunResult
    spans: Spans
    world: World
    policy: Policy
    budget: Budget
    shared: SharedBudget


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    """A policy of every kind."""
    said = draw(st.sampled_from([True, True, False, None]))
    allow = draw(st.sampled_from([None, None, None, frozenset({"read", "write"}), frozenset[str]()]))
    return Policy(allow=allow, on_deny=draw(st.sampled_from(["stop", "report"])), confirm=lambda _: said)


@st.composite
def runs(draw: st.DrawFn) -> dict[str, Any]:
    """What makes one run different from another."""
    return {
        "script": draw(st.lists(answers(), min_size=1, max_size=5)),
        "tolerate": draw(TOLERATED),
        "fails_with": draw(st.sampled_from(ERRORS)),
        "raises_at": draw(st.one_of(st.none(), st.integers(1, 40))),
        "on_tool_error": draw(st.sampled_from(["report", "stop", "compensate"])),
        "unknown_tool": draw(st.sampled_from(["report", "stop"])),
        "policy": draw(policies()),
        "budget": Budget(
            steps=draw(st.integers(1, 6)),
            tool_calls=draw(st.integers(1, 6)),
            tokens=draw(st.sampled_from([None, 1_000])),
            last_request=draw(st.booleans()),
        ),
        "shared": SharedBudget(steps=draw(st.integers(1, 6)), tool_calls=draw(st.integers(1, 6)), tokens=40_000),
    }


def played(run: dict[str, Any]) -> Left:
    """The run, played to its end, whatever that is."""
    world, spans = World(run["fails_with"]), Spans()
    loop = Loop(
        ScriptedModel(run["script"], tolerate=run["tolerate"]),
        world.tools(),
        budget=run["budget"],
        shared_budget=run["shared"],
        policy=run["policy"],
        unknown_tool=run["unknown_tool"],
        on_tool_error=run["on_tool_error"],
        retry=RetryPolicy(attempts=2, first_delay=0),
        on_event=Callback(run["raises_at"]),
        wiring=counted_wiring(spans),
    )
    result: RunResult | None
    try:
        result = loop.run("Go.")
    except BaseException as error:  # noqa: BLE001 - what leaves a run carries its result
        result = partial_result(error)
    assert result is not None
    return Left(
        result=result, spans=spans, world=world, policy=run["policy"], budget=run["budget"], shared=run["shared"]
    )


def _asked(left: Left) -> Counter[str]:
    """How often each call id was asked for."""
    entries = [call for m in left.result.messages for call in m.get("tool_calls", ())]
    return Counter(call["id"] for call in entries)


@settings(max_examples=200, deadline=None)
@given(runs())
def test_every_run_keeps_the_first_five_promises(run: dict[str, Any]) -> None:
    """Whatever the model answers, the tools raise, the policy says and the callbacks do."""
    left = played(run)

    paired(left)
    nothing_suspect_ran(left)
    ended_once(left)
    within_limits(left)
    written_once(left)


def paired(left: Left) -> None:
    """Every call id has exactly one outcome and exactly one message, in order."""
    outcomes = {identifier: len(found) for identifier, found in left.spans.outcomes().items()}

    assert pairing_problems(left.result.messages) == []
    assert outcomes == dict(_asked(left))


def nothing_suspect_ran(left: Left) -> None:
    """What ran was whole, registered, valid, allowed and, where it writes, confirmed."""
    executed = called(left)
    finish = {s.parent_id: s.attributes.get("gen_ai.response.finish_reasons") for s in left.spans.named("chat")}

    assert Counter(name for name, _ in left.world.ran) == Counter(s.name.split()[1] for s in executed)
    assert all(type(a) is int for _, a in left.world.ran)
    assert all(s.attributes[OUTCOME] in RAN for s in executed)
    for span in executed:
        (reason,) = finish[span.parent_id] or ("",)
        assert reason in TOOL_REASONS | STOP_REASONS
    for name, _ in left.world.ran:
        assert left.policy.allow is None or name in left.policy.allow
        assert name in {"read", "later"} or left.policy.confirm(None) is True  # type: ignore[misc,arg-type]


def ended_once(left: Left) -> None:
    """One root, one stop reason of the closed list, no span left open, and no other reason on the way to it."""
    (root,) = left.spans.named("invoke_agent")

    assert left.spans.open == []
    assert StopReason(root.attributes[STOP]) is left.result.stop_reason
    assert left.result.receipt.spans_started == left.result.receipt.spans_ended == len(left.spans.ended_spans)
    assert (left.result.answer is not None) is (left.result.stop_reason is StopReason.FINAL_ANSWER)
    if left.result.stop_reason is not StopReason.HARNESS_ERROR:  # a callback may raise after a stop was due
        assert {s.attributes[STOP] for s in left.spans.ended_spans if STOP in s.attributes} == {left.result.stop_reason}


def within_limits(left: Left) -> None:
    """What is counted is what happened, and it is within what was allowed."""
    usage, budget = left.result.usage, left.budget

    assert usage.tool_calls == len(left.world.ran) <= (budget.tool_calls or 0)
    assert usage.steps <= (budget.steps or 0)
    assert left.shared.reserved == NOTHING
    assert left.shared.spent == spent(usage)
    assert all(room.used <= room.limit for name, room in left.shared.headroom().items() if name != "tokens")
    assert usage.failed_tool_calls == sum(s.attributes[OUTCOME] != Outcome.OK for s in called(left))


def written_once(left: Left) -> None:
    """No key of a write that was done is used again; what is undone was done, is undone once, and is linked to it."""
    world, executed = left.world, left.spans.named("execute_tool")
    compensations = [span for span in executed if UNDOES in span.attributes]
    done = {(s.trace_id, s.span_id): s for s in called(left) if s.attributes[OUTCOME] == Outcome.OK}

    assert len(set(world.keys)) == len(world.keys)
    assert len({key for _, key in world.undone}) == len(world.undone) == len(compensations)
    links = [link for span in compensations for link in span.links]
    assert len(set(links)) == len(links) == len(compensations)
    assert all(done[link].name == "execute_tool write" for link in links)
    for replay in left.spans.named("traced_loop.replay"):
        assert replay.links[0] in done


def called(left: Left) -> list[SpanRecord]:
    """The executions of calls, without compensations."""
    return [span for span in left.spans.named("execute_tool") if UNDOES not in span.attributes]
