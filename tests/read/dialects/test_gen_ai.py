"""The GenAI conventions, in every spelling that they have had."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from traced_loop.read.dialects.gen_ai import gen_ai_facts
from traced_loop.read.span_facts import AskedCall, CallFacts, RequestFacts, RunFacts, SaidMessage
from traced_loop.read.trace import SpanEvent, StoredSpan


def span(attributes: dict[str, Any], name: str = "span", **more: Any) -> StoredSpan:
    """One span."""
    return StoredSpan(trace_id="t", span_id="s", name=name, attributes=attributes, start_ns=1, end_ns=10**10, **more)


def request(attributes: dict[str, Any], **more: Any) -> RequestFacts:
    """What a request says."""
    facts = gen_ai_facts(span({"gen_ai.operation.name": "chat", **attributes}, **more))
    assert facts is not None
    assert facts.request is not None
    return facts.request


def call(attributes: dict[str, Any], **more: Any) -> CallFacts:
    """What a tool's span says."""
    facts = gen_ai_facts(span({"gen_ai.operation.name": "execute_tool", **attributes}, **more))
    assert facts is not None
    assert facts.call is not None
    return facts.call


def event(name: str, **attributes: Any) -> SpanEvent:
    """One event."""
    return SpanEvent(time_ns=1, name=name, attributes=attributes)


@pytest.mark.parametrize(
    ("attributes", "field", "expected"),
    [
        ({"gen_ai.usage.input_tokens": 7}, "input_tokens", 7),
        ({"gen_ai.usage.prompt_tokens": 7}, "input_tokens", 7),
        ({"gen_ai.usage.input_tokens": 7.0}, "input_tokens", 7),
        ({"gen_ai.usage.input_tokens": "7"}, "input_tokens", 7),
        ({"gen_ai.usage.input_tokens": -1}, "input_tokens", None),
        ({"gen_ai.usage.input_tokens": True}, "input_tokens", None),
        ({"gen_ai.usage.completion_tokens": 7}, "output_tokens", 7),
        ({"gen_ai.usage.cache_read.input_tokens": 3}, "cached_tokens", 3),
        ({"gen_ai.usage.cache_read_input_tokens": 3}, "cached_tokens", 3),
        ({"gen_ai.usage.details.cache_read_tokens": 3}, "cached_tokens", 3),
        ({"gen_ai.usage.reasoning.output_tokens": 3}, "reasoning_tokens", 3),
        ({"gen_ai.usage.details.reasoning_tokens": 3}, "reasoning_tokens", 3),
        ({"gen_ai.system": "OpenAI"}, "provider", "openai"),
        ({"gen_ai.provider.name": "x", "gen_ai.system": "y"}, "provider", "x"),
        ({"gen_ai.response.finish_reasons": ("stop",)}, "finish_reasons", ("stop",)),
        ({"gen_ai.response.finish_reasons": '["stop","length"]'}, "finish_reasons", ("stop", "length")),
        ({"gen_ai.response.finish_reasons": "stop"}, "finish_reasons", ("stop",)),
        (
            {"gen_ai.output.messages": '[{"role":"assistant","parts":[],"finish_reason":"stop"}]'},
            "finish_reasons",
            ("stop",),
        ),
        ({"gen_ai.usage.cost": 0.5}, "cost_usd", Decimal("0.5")),
        ({"gen_ai.usage.cost.amount": 0.25}, "cost_usd", Decimal("0.25")),
        ({"operation.cost": float("nan")}, "cost_usd", None),
        ({"gen_ai.server.time_to_first_token": 2}, "first_token_ns", 2_000_000_001),
        ({"gen_ai.server.time_to_first_token": 2_000}, "first_token_ns", 2_000_000_001),
        ({"gen_ai.server.time_to_first_token": 2_000_000}, "first_token_ns", 0),
    ],
)
def test_a_value_is_found_under_each_of_its_keys(attributes: dict[str, Any], field: str, expected: object) -> None:
    """Current names before old ones; what is no count is unknown."""
    assert getattr(request(attributes), field) == expected


CALL = AskedCall(call_id="c1", tool="look", arguments='{"x": 1}')
PARTS = [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {"x": 1}}]
BEDROCK_CALLS = [{"toolUse": {"toolUseId": "c1", "name": "look", "input": {"x": 1}}}]
OPENAI_CALLS = [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"x": 1}'}}]


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": PARTS}])},
        {"gen_ai.output.messages": ({"role": "assistant", "parts": tuple(PARTS)},)},
        {"gen_ai.completion": json.dumps([{"role": "assistant", "tool_calls": OPENAI_CALLS}])},
        {"gen_ai.completion": json.dumps({"role": "assistant", "content": None, "tool_calls": OPENAI_CALLS})},
    ],
)
def test_the_calls_of_an_answer_are_read_in_each_form(attributes: dict[str, Any]) -> None:
    """The GenAI schema and OpenAI's, as text or as values."""
    assert request(attributes).asked == (CALL,)


@pytest.mark.parametrize(
    "events",
    [
        [event("gen_ai.choice", finish_reason="tool_calls", message=json.dumps({"tool_calls": OPENAI_CALLS}))],
        [event("gen_ai.choice", finish_reason="tool_calls", tool_calls=json.dumps(OPENAI_CALLS))],
        [event("gen_ai.choice", finish_reason="tool_calls", message=json.dumps(BEDROCK_CALLS))],
        [
            event(
                "gen_ai.choice",
                **{
                    "gen_ai.event.content": json.dumps(
                        {"finish_reason": "tool_calls", "message": {"tool_calls": OPENAI_CALLS}}
                    )
                },
            )
        ],
    ],
)
def test_an_answer_in_events_is_read(events: list[SpanEvent]) -> None:
    """As the conventions had it before content moved into attributes."""
    found = request({}, events=tuple(events))
    assert (found.asked, found.finish_reasons) == ((CALL,), ("tool_calls",))


def test_a_history_in_events_is_read() -> None:
    """A message of each role; the tool's has the id of its call."""
    events = (
        event("gen_ai.system.message", content="be brief"),
        event("gen_ai.user.message", content="go"),
        event("gen_ai.assistant.message", tool_calls=json.dumps(OPENAI_CALLS)),
        event("gen_ai.tool.message", id="c1", content="7"),
    )
    assert request({}, events=events).history == (
        SaidMessage(role="system", text="be brief"),
        SaidMessage(role="user", text="go"),
        SaidMessage(role="assistant", calls=(CALL,)),
        SaidMessage(role="tool", results=(("c1", "7"),)),
    )


def test_parts_as_bedrock_has_them_are_read() -> None:
    """As the JSON of a list; a list of anything else is what somebody said."""
    result = {"toolResult": {"toolUseId": "c1", "status": "success", "content": [{"text": "7"}]}}
    events = (
        event("gen_ai.user.message", content='[{"text": "go"}]'),
        event("gen_ai.assistant.message", content=json.dumps(BEDROCK_CALLS)),
        event("gen_ai.tool.message", content=json.dumps([result])),
        event("gen_ai.user.message", content='[{"row": 1}]'),
        event("gen_ai.choice", message="done"),
    )
    found = request({}, events=events)
    assert found.history == (
        SaidMessage(role="user", text="go"),
        SaidMessage(role="assistant", calls=(CALL,)),
        SaidMessage(role="tool", results=(("c1", "7"),)),
        SaidMessage(role="user", text='[{"row": 1}]'),
    )
    assert found.answer == (SaidMessage(role="assistant", text="done"),)


def test_content_in_other_events_is_read() -> None:
    """The event of the operation's details, the two of the first conventions, and Pydantic AI's list of events."""
    message = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "go"}]}])
    said = (SaidMessage(role="user", text="go"),)
    details = event("gen_ai.client.inference.operation.details", **{"gen_ai.input.messages": message})
    prompt = event("gen_ai.content.prompt", **{"gen_ai.prompt": '[{"role":"user","content":"go"}]'})
    assert request({}, events=(details,)).history == said
    assert request({}, events=(prompt,)).history == said
    listed = json.dumps([{"event.name": "gen_ai.user.message", "content": "go", "role": "user"}])
    assert request({"events": listed}).history == said


@pytest.mark.parametrize("cut", ['[{"role":"user","par', "17", "null", ""])
def test_messages_that_are_no_json_are_unknown(cut: str) -> None:
    """A limit on attributes cut them: no history is better than a wrong one."""
    assert request({"gen_ai.input.messages": cut}).history is None


def test_a_tool_is_read_in_each_spelling() -> None:
    """Current names, and those of Pydantic AI before."""
    current = {"gen_ai.tool.name": "look", "gen_ai.tool.call.id": "c1"}
    expected = CallFacts(tool="look", call_id="c1", arguments='{"x": 1}', result="7")
    given = {"gen_ai.tool.call.arguments": '{"x": 1}', "gen_ai.tool.call.result": "7"}
    assert call({**current, **given}) == expected
    assert call({**current, "tool_arguments": '{"x": 1}', "tool_response": "7"}) == expected
    assert call({**current, "gen_ai.tool.call.arguments": {"x": 1}, "gen_ai.tool.call.result": "7"}) == expected
    in_events = (event("gen_ai.tool.message", content='{"x": 1}'), event("gen_ai.choice", message="7"))
    assert call(current, events=in_events) == expected
    assert call({}, name="execute_tool look").tool == "look"


def test_a_failure_has_its_type_and_its_text() -> None:
    """From the span and from its exception; the type that stands for any is none."""
    raised = event("exception", **{"exception.type": "ValueError", "exception.message": "no"})
    assert call({}, is_error=True, events=(raised,)).error_text == "no"
    assert call({"error.type": "_OTHER"}, events=(raised,), status_message="x").error_type == "ValueError"
    failed = call({"error.type": "timeout"}, status_message="took too long")
    assert (failed.error_type, failed.error_text, failed.is_error) == ("timeout", "took too long", True)


@pytest.mark.parametrize(
    ("attributes", "name", "expected"),
    [
        ({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"}, "", RunFacts(agent="a")),
        ({"gen_ai.operation.name": "invoke_agent"}, "invoke_agent a b", RunFacts(agent="a b")),
        ({"gen_ai.operation.name": "invoke_workflow", "gen_ai.agent.name": "a"}, "", RunFacts()),
        ({"agent_name": "a", "model_name": "m"}, "agent run", RunFacts(agent="a", model="m")),
        ({"gen_ai.agent.name": "a"}, "agent", RunFacts(agent="a")),
        (
            {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "c"},
            "x",
            RunFacts(session_id="c"),
        ),
    ],
)
def test_a_run_is_known_by_its_operation(attributes: dict[str, Any], name: str, expected: RunFacts) -> None:
    """A workflow is around agents and is none itself."""
    facts = gen_ai_facts(span(attributes, name))
    assert facts is not None
    assert facts.run == expected


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"gen_ai.operation.name": "embeddings", "gen_ai.request.model": "m"},
        {"gen_ai.operation.name": "create_agent", "gen_ai.agent.name": "a"},
        {"gen_ai.operation.name": "execute_task"},
        {"gen_ai.request.model": "m"},
        {"gen_ai.usage.input_tokens": 1, "gen_ai.operation.name": "embeddings"},
        {"http.request.method": "POST"},
    ],
)
def test_other_spans_are_nothing_of_these(attributes: dict[str, Any]) -> None:
    """What only mentions a model does not ask it."""
    assert gen_ai_facts(span(attributes)) is None


def test_a_request_without_an_operation_is_known_by_its_answer() -> None:
    """As the first instrumentations wrote it."""
    for more in ({"gen_ai.usage.prompt_tokens": 1}, {"gen_ai.response.id": "r"}):
        facts = gen_ai_facts(span({"gen_ai.request.model": "m", **more}))
        assert facts is not None
        assert facts.request is not None
    assert gen_ai_facts(span({"gen_ai.request.model": "m"}, kind="CLIENT")) is not None
    counted = gen_ai_facts(span({"gen_ai.usage.input_tokens": 100}))
    assert counted is not None
    assert counted.request is not None
