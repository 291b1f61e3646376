"""A run whose answers come in pieces is the run whose answers come whole: over HTTP, span by span, field by field."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from traced_loop import Budget, Loop, OpenAIModel, Price, RetryPolicy, StopReason, names, tool
from traced_loop.events import TextDelta
from traced_loop.models import scripted
from traced_loop.models.chat_completion import read_body
from traced_loop.models.scripted import ScriptedModel
from traced_loop.scenarios.demo_runs import demo_runs
from traced_loop.scenarios.sandbox_runs import sandbox_run
from traced_loop.scenarios.scripted_run import ScriptedRun
from traced_loop.testing import CountedIds, Spans, counted_wiring

from .models.chat_server import Reply, chat_server
from .models.streamed_bodies import events_of, packets_of
from .trace_shapes.test_answers import body

if TYPE_CHECKING:
    from collections.abc import Mapping

    from traced_loop.events import Event

STREAMING = {names.GEN_AI_REQUEST_STREAM, names.GEN_AI_FIRST_CHUNK}
"""What only a stream has, beside ``traced_loop.stream.*`` and the anomalies of streams."""


@tool(effect="read")
def multiply(a: int, b: int) -> int:
    """Multiply two integers."""
    return a * b


def one(name: str, answer: dict[str, Any], **options: Any) -> ScriptedRun:
    """A run with one answer, or with a second one where the first is a batch of calls."""
    return ScriptedRun(
        name=name,
        title="",
        shows="",
        prompt="Go.",
        script=[answer, body("stop", content="42"), body("stop", content="42")],
        tools=[multiply],
        expected=StopReason.FINAL_ANSWER,  # not asked for here
        options={"retry": RetryPolicy(attempts=2, first_delay=0), **options},
    )


def call(arguments: Any, call_id: str | None = "c1", name: str = "multiply") -> dict[str, Any]:
    """An entry of the calls."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


GOOD = '{"a":6,"b":7}'
ANSWERS = {
    "final": body("stop", content="42 \U0001f600"),
    "calls": body("tool_calls", GOOD, content="Let me see."),
    "two_calls": body("tool_calls", tool_calls=[call(GOOD), call(GOOD, "c2"), call('{"a":1,"b":2}', "c2")]),
    "no_ids": body("tool_calls", tool_calls=[call(GOOD, None), call('{"a":1,"b":2}', "")]),
    "an_echo": body("tool_calls", tool_calls=[call(GOOD), call(GOOD)]),
    "an_object": body("tool_calls", tool_calls=[call({"a": 6, "b": 7})]),
    "no_json": body("tool_calls", tool_calls=[call("{'a': 6}"), call(f"{GOOD} done", "c2"), call("", "c3")]),
    "double": body("tool_calls", tool_calls=[call('"{\\"a\\":6,\\"b\\":7}"')]),
    "an_unknown_tool": body("tool_calls", tool_calls=[call("{}", name="refund")]),
    "no_call": body("tool_calls", tool_calls=[call(GOOD), None]),
    "stop_with_calls": body("stop", GOOD),
    "cut": body("length", '{"a":6,"b":'),
    "filtered": body("content_filter", content="Par"),
    "refused": body("stop", refusal="I cannot help."),
    "empty": body("stop"),
    "no_reason": body(None, content="It is"),
    "reasoning": body("stop", content="42", reasoning_content="six times seven", vendor={"a": [1, {"b": "c"}]}),
    "an_error": {"choices": None, "error": {"code": 400, "message": "no"}},
    "an_error_to_try_again": {"choices": None, "error": {"code": 503, "message": "busy"}},
    "an_error_behind_text": {**body("error", content="Par"), "error": {"code": 502, "message": "lost"}},
    "no_counts": {"choices": body("stop", content="42")["choices"]},
}
RUNS = [
    *demo_runs(),
    sandbox_run("normal"),
    sandbox_run("unknown_tool"),
    sandbox_run("loop_forever"),
    *(one(name, answer) for name, answer in ANSWERS.items()),
    one("a_token_limit", ANSWERS["calls"], budget=Budget(tokens=130)),
    one("a_cost_limit", ANSWERS["calls"], budget=Budget(cost_usd=0.0001)),
]


def bodies_of(run: ScriptedRun) -> list[dict[str, Any]]:
    """The bodies that its script answers with, in order."""
    found: list[dict[str, Any]] = []

    def noted(raw: Any) -> Any:
        found.append(raw)
        return read_body(raw)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(scripted, "read_body", noted)
        Loop(
            ScriptedModel(run.script, price=Price(input=1, output=1)),
            run.tools,
            store=None,
            ledger="memory",
            **run.options,
        ).run(run.prompt)
    return found


def traced(run: ScriptedRun, base_url: str, *, stream: bool) -> tuple[list[str], list[Any], Any, list[Event]]:
    """The tree, the spans without what only a stream has, the result without times, and the events."""
    events: list[Event] = []
    spans, ids = Spans(), CountedIds()
    model = OpenAIModel("m", base_url=base_url, stream=stream, price=Price(input=1, output=1))
    loop = Loop(
        model, run.tools, wiring=counted_wiring(spans, ids=ids), ids=ids, max_parallel=1, **run.options
    )  # threads race
    result = loop.run(run.prompt, on_event=events.append)
    ordered = sorted(spans.ended_spans, key=lambda span: span.span_id)
    told = [(span.name, span.error, without_streaming(span.attributes)) for span in ordered]
    return spans.tree(), told, compared(result), events


def without_streaming(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes that a run without a stream has, too."""
    found = {k: v for k, v in attributes.items() if k not in STREAMING and not k.startswith("traced_loop.stream.")}
    odd = [word for word in found.pop(names.ANOMALIES, "").split(",") if not word.startswith("stream_")]
    return {**found, names.ANOMALIES: odd}


def compared(result: Any) -> dict[str, Any]:
    """What a result says beside what was recorded of it."""
    kept = ("answer", "partial", "stop_reason", "stop_detail", "messages", "usage", "error", "headroom", "pending")
    return {name: getattr(result, name) for name in kept}


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
@settings(max_examples=3, phases=[Phase.generate])
@given(st.integers(0, 2**32))
def test_a_run_in_pieces_is_the_same_run(run: ScriptedRun, seed: int) -> None:
    """The trees, every attribute that tells no time, the history, what was spent and why it stopped."""
    draw, bodies = random.Random(seed).randint, bodies_of(run)
    packets = [packets_of(events_of(each, draw), draw) for each in bodies]
    with chat_server(first=[Reply(body=each) for each in bodies]) as server:
        whole = traced(run, server.base_url, stream=False)
        assert len(server.bodies) == len(bodies)
        server.first[:] = [Reply(packets=each, content_type="text/event-stream") for each in packets]
        pieces = traced(run, server.base_url, stream=True)
        asked = [{k: v for k, v in each.items() if k not in {"stream", "stream_options"}} for each in server.bodies]

    assert pieces[0] == whole[0]
    assert pieces[1] == whole[1]
    assert pieces[2] == whole[2]
    assert [event for event in pieces[3] if not isinstance(event, TextDelta)][1:-1] == whole[3][1:-1]
    assert asked[: len(bodies)] == asked[len(bodies) :]
