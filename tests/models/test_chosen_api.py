"""One loop over either API, against a real server: the same runs, the same traces, histories that go to both."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import TypeAdapter

from traced_loop import (
    Budget,
    Loop,
    OpenAIModel,
    Policy,
    Price,
    RetryPolicy,
    RunResult,
    StopReason,
    ToolError,
    UsageError,
    allow_when,
    partial_result,
    tool,
)
from traced_loop.events import CallFinished
from traced_loop.messages import RESPONSE_FIELD
from traced_loop.rules.pairing import pairing_problems
from traced_loop.rules.token_estimate import estimated_tokens
from traced_loop.testing import CountedClock, CountedIds, Spans, counted_wiring
from traced_loop.tool_registry import definition_of

from .chat_server import Reply, chat_server
from .responses_server import as_response, called, refused, response, said, streamed, thought

BODY: TypeAdapter[Any] = TypeAdapter(ResponseCreateParamsNonStreaming)
USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


@tool(effect="read")
def multiply(a: int, b: int) -> int:
    """Multiply two integers."""
    return a * b


CLOCK = CountedClock()


class Broken(Exception):
    """What a callback of the application raises."""


@tool(effect="read")
def look() -> None:
    """Look."""
    raise ToolError("nothing there")


@tool(effect="read")
def think() -> None:
    """Let a minute pass."""
    CLOCK.advance(61)


@tool(effect="read")
def interrupt() -> None:
    """Press Ctrl-C."""
    raise KeyboardInterrupt


@tool(effect="read", timeout=0.05)
async def hang() -> None:
    """Wait for ever."""
    await asyncio.Event().wait()


@tool(effect="write")
def pay() -> None:
    """Pay."""
    raise ConnectionResetError("connection lost")


def broken(event: object) -> None:
    """A callback of an application with a fault in it."""
    if isinstance(event, CallFinished):
        raise Broken


@dataclass(frozen=True)
class Ran:
    """A run, its spans and what the server was asked."""

    result: RunResult
    spans: Spans
    bodies: list[Any]
    paths: list[str]

    def chat(self, number: int = 0) -> dict[str, Any]:
        """The attributes of a request's span."""
        return dict(self.spans.named("chat")[number].attributes)


def run(replies: Sequence[Any], api: str = "responses", *, prompt: str = "Go.", **options: Any) -> Ran:
    """A run over real HTTP that gets these bodies; ``model`` are options of the model, the others the loop's."""
    spans, ids = Spans(), CountedIds()
    served = [reply if isinstance(reply, Reply) else Reply(body=reply) for reply in replies]
    messages, tools = options.pop("messages", None), options.pop("tools", [multiply])
    with chat_server(served[-1], first=served[:-1]) as server:
        model = OpenAIModel("m", base_url=server.base_url, api=api, **options.pop("model", {}))  # type: ignore[arg-type]
        loop = Loop(model, tools, wiring=counted_wiring(spans, CLOCK, ids), ids=ids, **options)
        try:
            result = loop.run(prompt, messages=messages)
        except (Broken, KeyboardInterrupt) as left:
            found = partial_result(left)
            assert found is not None
            result = found
    if api == "responses":
        for body in server.bodies:
            BODY.validate_python({key: value for key, value in body.items() if key != "stream"})
    return Ran(result=result, spans=spans, bodies=server.bodies, paths=server.paths)


def chat(finish: str, *calls: tuple[str, str, str | None], **message: Any) -> dict[str, Any]:
    """A Chat Completions body: calls as id, arguments and the tool's name."""
    entries: list[dict[str, Any]] = []
    for name, arguments, identifier in calls:
        entry: dict[str, Any] = {"type": "function", "function": {"name": name, "arguments": arguments}}
        entries.append(entry if identifier is None else {"id": identifier, **entry})
    whole = {"role": "assistant", "content": None, **message, **({"tool_calls": entries} if entries else {})}
    return {
        "id": "x",
        "model": "m-2026",
        "choices": [{"index": 0, "finish_reason": finish, "message": whole}],
        "usage": USAGE,
    }


def asks(name: str) -> dict[str, Any]:
    """A body that asks for a tool without arguments."""
    return chat("tool_calls", (name, "{}", "c1"))


ASKS = chat("tool_calls", ("multiply", '{"a":6,"b":7}', "c1"))
SAYS = chat("stop", content="42")
BUSY = Reply(503, {"error": {"message": "busy"}})
SCENARIOS: dict[str, tuple[list[Any], dict[str, Any], str]] = {
    "final_answer": ([ASKS, SAYS], {}, "final_answer"),
    "two_calls": (
        [chat("tool_calls", ("multiply", '{"a":6,"b":7}', "c1"), ("multiply", '{"a":1,"b":1}', "c2")), SAYS],
        {},
        "final_answer",
    ),
    "text_beside_a_call": (
        [chat("tool_calls", ("multiply", '{"a":6,"b":7}', "c1"), content="I multiply."), SAYS],
        {},
        "final_answer",
    ),
    "no_id": ([chat("tool_calls", ("multiply", '{"a":6,"b":7}', None)), SAYS], {}, "final_answer"),
    "one_id_twice": (
        [chat("tool_calls", ("multiply", '{"a":6,"b":7}', "c1"), ("multiply", '{"a":1,"b":1}', "c1")), SAYS],
        {},
        "final_answer",
    ),
    "an_echo": (
        [chat("tool_calls", ("multiply", '{"a":6,"b":7}', "c1"), ("multiply", '{"a":6,"b":7}', "c1")), SAYS],
        {},
        "final_answer",
    ),
    "unknown_tool": ([chat("tool_calls", ("divide", "{}", "c1")), SAYS], {}, "final_answer"),
    "unparsable": ([chat("tool_calls", ("multiply", '{"a":6,', "c1")), SAYS], {}, "final_answer"),
    "unknown_tool_stops": (
        [chat("tool_calls", ("divide", "{}", "c1"))],
        {"unknown_tool": "stop"},
        "tool_not_allowed",
    ),
    "steps": ([ASKS], {"budget": Budget(steps=1)}, "max_steps_exceeded"),
    "last_request": ([ASKS, SAYS], {"budget": Budget(steps=1, last_request=True)}, "max_steps_exceeded"),
    "tool_calls": (
        [chat("tool_calls", ("multiply", '{"a":6,"b":7}', "c1"), ("multiply", '{"a":1,"b":1}', "c2"))],
        {"budget": Budget(tool_calls=1)},
        "tool_budget_exceeded",
    ),
    "tokens": ([ASKS], {"budget": Budget(tokens=150)}, "token_budget_exceeded"),
    "our_cap": (
        [chat("length", content="It i") | {"usage": USAGE | {"completion_tokens": 500}}],
        {"budget": Budget(tokens=400)},
        "token_budget_exceeded",
    ),
    "cut": ([chat("length", content="It i")], {}, "truncated_response"),
    "cut_call": ([chat("length", ("multiply", '{"a":6,"b":7}', "c1"))], {}, "truncated_response"),
    "hidden_cut": (
        [chat("tool_calls", ("multiply", '{"a":6,"b":', "c1"))],
        {"request": {"max_completion_tokens": 20}},
        "truncated_response",
    ),
    "filtered": ([chat("content_filter", ("multiply", '{"a":6,"b":7}', "c1"))], {}, "content_filtered"),
    "refused": ([chat("stop", refusal="I cannot.")], {}, "refused"),
    "empty": ([chat("stop", content=" \n")], {}, "empty_response"),
    "call_without_name": ([chat("tool_calls", ("", "{}", "c1"))], {}, "inconsistent_response"),
    "server_error": ([Reply(400, {"error": {"message": "bad"}})], {}, "model_error"),
    "busy_once": ([BUSY, ASKS, SAYS], {"retry": RetryPolicy(attempts=2, first_delay=0.001)}, "final_answer"),
    "cost": (
        [ASKS],
        {"budget": Budget(cost_usd="0.2"), "model": {"price": Price(input=1_000, output=1_000)}},
        "cost_budget_exceeded",
    ),
    "too_late": ([asks("think")], {"tools": [think], "budget": Budget(seconds=60)}, "deadline_exceeded"),
    "tool_hangs": ([asks("hang")], {"tools": [hang]}, "tool_timeout"),
    "tool_fails": ([asks("look")], {"tools": [look], "on_tool_error": "stop"}, "tool_failed"),
    "write": ([asks("pay")], {"tools": [pay]}, "confirmation_required"),
    "write_is_lost": (
        [asks("pay")],
        {"tools": [pay], "policy": Policy(rules=[allow_when("pay")])},
        "outcome_unknown",
    ),
    "interrupted": ([asks("interrupt")], {"tools": [interrupt]}, "cancelled"),
    "callback_breaks": ([ASKS], {"on_event": broken}, "harness_error"),
    "repetition": ([ASKS, ASKS, ASKS, ASKS], {}, "repetition_detected"),
}


@pytest.mark.parametrize(("bodies", "options", "reason"), SCENARIOS.values(), ids=SCENARIOS)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_both_apis_give_the_same_run(bodies: list[Any], options: dict[str, Any], reason: str, stream: bool) -> None:
    """One tree, one stop reason, one usage, whole or streamed; the history is replayable, and says the same."""
    told = [body if isinstance(body, Reply) else as_response(body) for body in bodies]
    served = [body if isinstance(body, Reply) or not stream else streamed(body) for body in told]
    mine = run(served, **{**options, "model": {"stream": stream, **options.get("model", {})}})
    theirs = run(bodies, "chat_completions", **options)

    assert mine.spans.tree() == theirs.spans.tree()
    assert (mine.result.stop_reason, theirs.result.stop_reason) == (reason, reason)
    assert (mine.result.answer, mine.result.partial) == (theirs.result.answer, theirs.result.partial)
    assert (mine.result.usage.tokens, mine.result.usage.cost_usd) == (
        theirs.result.usage.tokens,
        theirs.result.usage.cost_usd,
    )
    assert pairing_problems(mine.result.messages) == []
    assert plain(mine.result) == plain(theirs.result)


def test_every_stop_reason_is_reached_over_either_api() -> None:
    """But the one that only recovery sets."""
    assert {reason for _, _, reason in SCENARIOS.values()} == set(StopReason) - {StopReason.UNKNOWN_AFTER_CRASH}


def plain(result: RunResult) -> list[dict[str, Any]]:
    """The history without what only one API sends, as JSON texts of the calls."""
    return [{key: value for key, value in m.items() if key != RESPONSE_FIELD} for m in result.messages]


def test_a_span_says_which_api_was_asked() -> None:
    """With the provider's own word for the end, its ids and its counts."""
    mine, theirs = (
        run([response(called("multiply", {"a": 6, "b": 7})), response(said("42"))]),
        run([SAYS], "chat_completions"),
    )

    assert mine.paths == ["/v1/responses"] * 2
    first = mine.chat()
    assert (first["gen_ai.operation.name"], first["openai.api.type"]) == ("chat", "responses")
    assert first["gen_ai.response.finish_reasons"] == ("completed",)
    assert (first["gen_ai.response.id"], first["gen_ai.response.model"]) == ("resp_1", "m-2026")
    assert (first["gen_ai.usage.input_tokens"], first["gen_ai.usage.cache_read.input_tokens"]) == (100, 40)
    assert (first["gen_ai.usage.output_tokens"], first["gen_ai.usage.reasoning.output_tokens"]) == (20, 5)
    assert theirs.chat()["openai.api.type"] == "chat_completions"


@pytest.mark.parametrize(
    ("reason", "word"),
    [("max_output_tokens", "max_output_tokens"), ("content_filter", "content_filter"), (None, "incomplete")],
)
def test_why_an_answer_is_incomplete_is_its_finish_reason(reason: str | None, word: str) -> None:
    """Raw, as the provider writes it."""
    found = run([response(said("It i"), status="incomplete", reason=reason)])
    assert found.chat()["gen_ai.response.finish_reasons"] == (word,)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_reasoning_goes_back_before_the_call_that_it_led_to(stream: bool) -> None:
    """Encrypted and whole, with the call's result after it."""
    items = [thought(summary="I multiply."), called("multiply", {"a": 6, "b": 7})]
    bodies = [response(*items), response(said("42"))]
    found = run(
        [streamed(body) if stream else body for body in bodies], model={"stream": stream}, instructions="Short."
    )

    told = json.dumps({"status": "completed", "result": 42}, separators=(",", ":"))
    assert found.bodies[1]["input"] == [
        {"type": "message", "role": "system", "content": "Short."},
        {"type": "message", "role": "user", "content": "Go."},
        *items,
        {"type": "function_call_output", "call_id": "c1", "output": told},
    ]
    assert found.bodies[1]["store"] is False


def test_a_repaired_call_goes_back_under_its_new_id() -> None:
    """Item and result agree, and so does a server that is strict."""
    bodies = [response(called("multiply", '{"a":6', None)), response(said("42"))]
    _, call, result = run(bodies).bodies[1]["input"]

    assert (call["call_id"], call["arguments"], call["id"]) == (result["call_id"], "{}", "fc_None")
    assert len(call["call_id"]) == 9


def test_a_history_goes_to_either_api() -> None:
    """What a Responses server sent is not shown to a Chat server, and a Chat history is written anew."""
    items = [thought(), called("multiply", {"a": 6, "b": 7})]
    first = run([response(*items), response(said("42"))])
    second = run([SAYS], "chat_completions", messages=first.result.messages, prompt="And?")
    third = run([response(said("ok"))], messages=run([ASKS, SAYS], "chat_completions").result.messages, prompt="And?")

    assert RESPONSE_FIELD in first.result.messages[1]
    assert all(RESPONSE_FIELD not in message for message in second.bodies[0]["messages"])
    assert second.bodies[0]["messages"][1]["tool_calls"][0]["id"] == "c1"
    kinds = [item["type"] for item in third.bodies[0]["input"]]
    assert kinds == ["message", "function_call", "function_call_output", "message", "message"]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_with_the_servers_history_a_run_sends_each_thing_once(stream: bool) -> None:
    """The first request holds all, every later one what came after the answer that it names."""
    bodies = [
        response(thought(), called("multiply", {"a": 6, "b": 7}), id="resp_1", store=True),
        response(said("42"), id="resp_2", store=True),
    ]
    served = [streamed(body) if stream else body for body in bodies]
    found = run(served, model={"server_history": True, "stream": stream}, instructions="Short.")

    first, second = found.bodies
    assert (len(first["input"]), "previous_response_id" in first, first["store"]) == (2, False, True)
    assert (second["previous_response_id"], [item["type"] for item in second["input"]]) == (
        "resp_1",
        ["function_call_output"],
    )


def test_an_answer_that_the_server_has_forgotten_costs_one_try() -> None:
    """It is on the trace as an attempt, and the next try sends the whole history."""
    gone = {"message": "Previous response with id 'resp_1' not found.", "code": "previous_response_not_found"}
    bodies = [
        response(called("multiply", {"a": 6, "b": 7}), store=True),
        Reply(400, {"error": gone}),
        response(said("42"), id="resp_2", store=True),
    ]
    found = run(bodies, model={"server_history": True})

    tries = found.spans.named("traced_loop.attempt")
    assert [span.attributes.get("error.type") for span in tries] == ["previous_response_not_found", None]
    assert found.result.answer == "42"
    assert [len(body["input"]) for body in found.bodies] == [1, 1, 3]
    assert found.result.usage.model_requests == 3


def test_a_model_without_reasoning_costs_one_try() -> None:
    """Its server refuses to be asked for it; later requests do not ask."""
    refusal = {"message": "Encrypted content is not supported with this model.", "param": "include"}
    bodies = [Reply(400, {"error": refusal}), response(called("multiply", {"a": 6, "b": 7})), response(said("42"))]
    found = run(bodies)

    assert found.result.answer == "42"
    assert ["include" in body for body in found.bodies] == [True, False, False]
    assert found.spans.named("traced_loop.attempt")[0].attributes["error.type"] == "encrypted_reasoning_not_supported"


def test_an_answer_that_was_forgotten_is_an_error_where_nothing_is_tried_again() -> None:
    """It says what the next try would do."""
    said_so = {"error": {"message": "Previous response not found"}}
    bodies = [response(called("multiply", {"a": 6, "b": 7}), store=True), Reply(404, said_so)]
    found = run(bodies, model={"server_history": True}, retry=RetryPolicy(attempts=1))

    assert found.result.stop_reason is StopReason.MODEL_ERROR
    assert "sends the whole history" in str(found.result.error)


@pytest.mark.parametrize(("api", "requests"), [("responses", 0), ("chat_completions", 1)])
def test_a_cap_that_the_server_would_refuse_is_not_sent(api: str, requests: int) -> None:
    """OpenAI's takes none below 16 tokens here: the limit stops the run before the request."""
    taken = estimated_tokens([{"role": "user", "content": "Go."}]) + estimated_tokens([definition_of(multiply).wire()])
    found = run([SAYS], api, budget=Budget(tokens=taken + 15))

    assert len(found.bodies) == requests
    if not requests:
        assert found.result.stop_reason is StopReason.TOKEN_BUDGET_EXCEEDED


def test_a_failed_answer_is_tried_again_and_its_tokens_count() -> None:
    """As it is with Chat Completions."""
    failed = response(status="failed", error={"code": "server_error", "message": "oops"})
    found = run([failed, response(said("42"))], retry=RetryPolicy(attempts=2, first_delay=0.001))

    assert (found.result.answer, found.result.usage.tokens, found.result.usage.model_requests) == ("42", 240, 2)


def test_a_call_that_the_loop_cannot_answer_stops_the_run() -> None:
    """Nothing runs, not even the function beside it, and the history goes to either API."""
    custom = {"type": "custom_tool_call", "id": "x", "call_id": "c9", "name": "sh", "input": "ls"}
    found = run([response(said("I look."), called("multiply", {"a": 6, "b": 7}), custom)])

    assert (found.result.stop_reason, found.result.usage.tool_calls) == (StopReason.INCONSISTENT_RESPONSE, 0)
    assert found.result.partial == "I look."
    assert pairing_problems(found.result.messages) == []
    again = run([response(said("ok"))], messages=found.result.messages, prompt="And?")
    assert [item["type"] for item in again.bodies[0]["input"]] == ["message"] * 3


def test_a_stream_that_ends_without_its_last_event_runs_nothing() -> None:
    """All of a call has come, and nobody said that it was all."""
    whole = streamed(response(called("multiply", {"a": 6, "b": 7}))).data()
    cut = Reply(body=whole[: whole.rindex(b"event: response.completed")], content_type="text/event-stream")
    found = run([cut], model={"stream": True}, retry=RetryPolicy(attempts=1))

    assert (found.result.stop_reason, found.result.usage.tool_calls) == (StopReason.MODEL_ERROR, 0)


def test_a_refusal_beside_text_is_a_refusal() -> None:
    """Whatever was said before."""
    found = run([response(said("Well."), refused("I cannot."))])
    assert (found.result.stop_reason, found.result.partial) == (StopReason.REFUSED, "I cannot.")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"api": "chat"}, "api='chat' is no API"),
        ({"server_history": True}, "server_history needs the Responses API"),
        ({"api": "responses", "output_cap_field": "max_tokens"}, "output_cap_field is for Chat Completions"),
    ],
    ids=["another_api", "history_of_chat", "cap_of_responses"],
)
def test_what_an_api_does_not_have_is_refused_at_once(options: dict[str, Any], text: str) -> None:
    """With what to write instead."""
    with pytest.raises(UsageError, match=text):
        OpenAIModel("m", base_url="http://127.0.0.1:1/v1", **options)
