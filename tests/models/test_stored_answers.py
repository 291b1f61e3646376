"""A stored run, replayed, is the same run again: span by span, apart from ids and times."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any, get_args

import pytest

from traced_loop import (
    Budget,
    Loop,
    ModelError,
    Price,
    ReplayModel,
    RetryPolicy,
    ScriptedModel,
    StopReason,
    UsageError,
    names,
    tool,
)
from traced_loop.models.scripted import Line, calls
from traced_loop.read.local_store import LocalStore
from traced_loop.scenarios.demo_runs import demo_runs
from traced_loop.scenarios.sandbox_runs import Mode, sandbox_run
from traced_loop.tools import multiply, query_order

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from traced_loop.read.trace import StoredSpan
    from traced_loop.run_result import RunResult

AGAIN = RetryPolicy(attempts=3, first_delay=0)
TIMES = re.compile(r"(_ms|_us|seconds(\.\w+)?|_id|\.id|overhead\w*)$")
"""Keys of what differs each time: ids, and how long something took."""
OTHERWISE = {
    names.GEN_AI_PROVIDER,  # whose tokens were billed once already
    names.SERVER_ADDRESS,
    names.COST_SOURCE,
    names.RUN_COST_SOURCE,
    names.BUDGET_NEXT,
    names.PROMPT_VERSION,
    names.CONFIG_HASH,
}

SCENARIOS = {run.name: run for run in demo_runs()} | {mode: sandbox_run(mode) for mode in get_args(Mode)}


def shown(spans: Sequence[tuple[int, StoredSpan]]) -> list[tuple[int, str, bool, dict[str, Any]]]:
    """Depth, name, status and attributes of each span, without what differs each time."""
    return [
        (
            depth,
            span.name,
            span.is_error,
            {
                key: value
                for key, value in span.attributes.items()
                if not TIMES.search(key) and key not in OTHERWISE and not key.startswith("traced_loop.receipt")
            },
        )
        for depth, span in spans
    ]


def stored(store: Path, run_id: str) -> list[tuple[int, str, bool, dict[str, Any]]]:
    """The spans of a run of the store."""
    with LocalStore.open(store) as opened:
        return shown(list(opened.run(run_id).trace.walk()))


def run_of(script: Sequence[Line], store: Path, tools: Sequence[Any] = (multiply,), **options: Any) -> RunResult:
    """One scripted run, stored."""
    model = ScriptedModel(script, price=Price(input=1, output=4, cached_input="0.1"))
    return Loop(model, tools, store=store, retry=AGAIN, **options).run("What is 62 times 60?")


def forget(store: Path, query: str) -> None:
    """Change the index of a store behind its back."""
    with closing(sqlite3.connect(store / "store.db")) as index, index:
        index.execute(query)


def replayed(store: Path, tools: Sequence[Any] = (multiply,), **options: Any) -> RunResult:
    """The newest run, replayed."""
    model = ReplayModel.of_run("last", store=store)
    return Loop(model, tools, store=store, retry=AGAIN, **options).run(messages=model.messages)


@pytest.mark.parametrize("run", SCENARIOS.values(), ids=SCENARIOS)
def test_every_shipped_run_replays_to_equal_spans(tmp_path: Path, run: Any) -> None:
    """Names, order, outcomes, tokens, cost, finish reasons, repetitions, limits."""
    first = run.play(tmp_path)

    model = ReplayModel.of_run(first.run_id, store=tmp_path)
    again = Loop(model, run.tools, name=run.name, store=tmp_path, **run.options).run(messages=model.messages)

    assert (again.stop_reason, again.answer, again.messages) == (first.stop_reason, first.answer, first.messages)
    assert stored(tmp_path, again.run_id) == stored(tmp_path, first.run_id)
    assert (again.cost, model.divergences, model.left) == (first.cost, [], 0)


def answer(message: dict[str, Any] | None, finish_reason: str | None = "stop", **more: Any) -> dict[str, Any]:
    """A response body."""
    choice = {"index": 0, "finish_reason": finish_reason, "message": message}
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    return {"id": "r-1", "model": "scripted", "choices": [choice], "usage": usage, **more}


CALL = {"id": "call_1", "type": "function", "function": {"name": "multiply", "arguments": '{"a": 62, "b": 60}'}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
LOST = ModelError("gone", error_type="503", retryable=True, status=503)
SCRIPTS: dict[str, Sequence[Line]] = {
    "unknown fields": [answer({**CALLED, "reasoning_content": "hm", "x": {"y": [1]}}, "tool_calls"), "3720"],
    "arguments that are none": [calls(("multiply", "{broken")), calls(("multiply", {"a": 62, "b": 60})), "3720"],
    "cut": [answer({**CALLED, "content": "I"}, "length")],
    "cut, nothing said": [answer({"role": "assistant", "content": ""}, "length")],
    "filtered": [answer({"role": "assistant", "content": None}, "content_filter")],
    "nothing said": [answer({"role": "assistant", "content": " "})],
    "calls and stop": [answer(CALLED, "stop")],
    "no finish reason": [answer(CALLED, None)],
    "no usage": [answer(CALLED, "tool_calls", usage=None), answer({"role": "assistant", "content": "3720"}, usage={})],
    "a sum alone": [answer({"role": "assistant", "content": "3720"}, usage={"total_tokens": 12})],
    "parts": [
        answer(
            {"role": "assistant", "content": "3720"},
            usage={
                "prompt_tokens": 100,
                "completion_tokens": 50,
                "prompt_tokens_details": {"cached_tokens": 40},
                "completion_tokens_details": {"reasoning_tokens": 30},
            },
        )
    ],
    "a cost of the provider's": [
        answer({"role": "assistant", "content": "3720"}, usage={"cost": 0.5, "prompt_tokens": 9})
    ],
    "an unavailable server": [LOST, LOST, calls(("multiply", {"a": 62, "b": 60})), LOST, "3720"],
    "a server that stays unavailable": [calls(("multiply", {"a": 62, "b": 60})), LOST, LOST, LOST],
    "a refused request": [ModelError("bad", error_type="400", status=400)],
    "a timeout": [ModelError("late", error_type="timeout")],
    "an error that was billed": [
        {"error": {"code": 502, "message": "lost"}, "usage": {"prompt_tokens": 7, "completion_tokens": 3}},
        "3720",
    ],
    "an error with text": [answer({"role": "assistant", "content": "Part"}, "error", error={"code": 402})],
    "an error without text": [answer(None, None, error={"code": "bad_thing", "message": "x"})],
    "three times the same": [calls(("multiply", {"a": 6, "b": 7}))] * 4,
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_whatever_a_server_did_replays_to_equal_spans(tmp_path: Path, script: Sequence[Line]) -> None:
    """Failed tries, errors, odd answers and missing counts among them."""
    first = run_of(script, tmp_path)

    again = replayed(tmp_path)

    assert (again.stop_reason, again.stop_detail) == (first.stop_reason, first.stop_detail)
    assert (again.answer, again.partial or "", again.messages) == (first.answer, first.partial or "", first.messages)
    assert (again.usage.tokens, again.cost) == (first.usage.tokens, first.cost)
    assert stored(tmp_path, again.run_id) == stored(tmp_path, first.run_id)


def test_a_repaired_id_is_replayed_as_it_was_repaired(tmp_path: Path) -> None:
    """The transcript has the message as it goes back to the server, and so does the replay."""
    first = run_of([answer({**CALLED, "tool_calls": [{**CALL, "id": ""}]}, "tool_calls"), "3720"], tmp_path)

    again = replayed(tmp_path)

    assert again.messages == first.messages


def test_a_last_request_and_earlier_turns_are_replayed(tmp_path: Path) -> None:
    """The history that the run began with is not taken for its answers."""
    model = ScriptedModel([calls(("multiply", {"a": 6, "b": 7})), "That far."], price=Price.free())
    history = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "hello"},
        {"role": "user", "content": "six times seven?"},
    ]
    budget = Budget(steps=1, last_request=True)
    first = Loop(model, [multiply], store=tmp_path, budget=budget).run(messages=history)

    replay = ReplayModel.of_run(store=tmp_path)
    again = Loop(replay, [multiply], store=tmp_path, budget=budget).run(messages=replay.messages)

    assert replay.messages == history
    assert (first.partial, again.partial, again.last_request) == ("That far.", "That far.", True)
    assert stored(tmp_path, again.run_id) == stored(tmp_path, first.run_id)


def test_a_larger_budget_meets_the_end_of_the_recording(tmp_path: Path) -> None:
    """It is said where the recorded run stopped, and what for."""
    ask = calls(("query_order", {"order_id": "A100"}))
    first = run_of([ask, ask], tmp_path, [query_order], budget=Budget(steps=2))

    again = replayed(tmp_path, [query_order], budget=Budget(steps=5))

    assert (first.stop_reason, again.stop_reason) == (StopReason.MAX_STEPS_EXCEEDED, StopReason.MODEL_ERROR)
    said = f"request 3 was made, and the run {first.run_id} has 2, where it stopped with max_steps_exceeded"
    assert (again.stop_detail, again.error) == (said, said)
    assert again.usage.steps == 3


def test_a_smaller_budget_stops_the_same_run_sooner(tmp_path: Path) -> None:
    """At the recorded costs."""
    first = run_of([calls(("multiply", {"a": 6, "b": 7})), "42"], tmp_path)
    assert first.cost is not None

    again = replayed(tmp_path, budget=Budget(tokens=40))

    assert (first.stop_reason, again.stop_reason) == (StopReason.FINAL_ANSWER, StopReason.TOKEN_BUDGET_EXCEEDED)


def test_a_run_without_a_transcript_or_a_request_cannot_be_replayed(tmp_path: Path) -> None:
    """And that is said before anything runs."""
    first = run_of(["3720"], tmp_path)
    forget(tmp_path, "DELETE FROM messages")

    with pytest.raises(UsageError, match=f"the run {first.run_id} has no transcript to replay"):
        ReplayModel.of_run(store=tmp_path)
    with pytest.raises(UsageError, match="there is no run 'x'"):
        ReplayModel.of_run("x", store=tmp_path)


def test_an_answer_that_is_in_no_transcript_is_a_gap(tmp_path: Path) -> None:
    """Nothing is made up: the run stops there and says so."""
    first = run_of([calls(("multiply", {"a": 6, "b": 7})), calls(("multiply", {"a": 6, "b": 8})), "42"], tmp_path)
    forget(tmp_path, "DELETE FROM messages WHERE seq >= 3")

    again = replayed(tmp_path)

    assert again.stop_reason is StopReason.MODEL_ERROR
    assert again.stop_detail == (
        f"request 2 of the run {first.run_id} has no answer to give again: the transcript lacks the answer"
    )


def test_a_tool_that_left_the_run_is_replayed_up_to_there(tmp_path: Path) -> None:
    """The answer that called it is known, whatever became of the run."""

    @tool(effect="read")
    def leave() -> str:
        """Leave."""
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_of([calls(("leave", {}))], tmp_path, [leave])
    with pytest.raises(KeyboardInterrupt):
        replayed(tmp_path, [leave])
