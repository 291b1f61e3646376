"""OpenLLMetry, as it wrote before it took the GenAI names, and what is still its own."""

from __future__ import annotations

from typing import Any

from traced_loop.read.dialects.openllmetry import is_openllmetry, openllmetry_facts
from traced_loop.read.span_facts import AskedCall, SaidMessage, SpanFacts
from traced_loop.read.trace import SpanEvent, StoredSpan


def facts(attributes: dict[str, Any], name: str = "span", **more: Any) -> SpanFacts:
    """What a span says."""
    span = StoredSpan(trace_id="t", span_id="s", name=name, attributes=attributes, start_ns=1, **more)
    assert is_openllmetry(span)
    found = openllmetry_facts(span)
    assert found is not None
    assert found.dialect == "openllmetry"
    return found


def test_flattened_messages_are_read_in_their_order() -> None:
    """By their number, not by where they stand; content in parts is text."""
    found = facts(
        {
            "llm.request.type": "chat",
            "gen_ai.prompt.10.role": "tool",
            "gen_ai.prompt.10.content": "7",
            "gen_ai.prompt.10.tool_call_id": "c1",
            "gen_ai.prompt.2.role": "assistant",
            "gen_ai.prompt.2.tool_calls.0.id": "c1",
            "gen_ai.prompt.2.tool_calls.0.name": "look",
            "gen_ai.prompt.2.tool_calls.0.arguments": "{}",
            "gen_ai.prompt.0.role": "user",
            "gen_ai.prompt.0.content": '[{"type": "text", "text": "go"}]',
            "gen_ai.completion.0.content": "done",
            "gen_ai.completion.0.finish_reason": "stop",
            "llm.usage.prompt_tokens": 5,
            "llm.usage.completion_tokens": 2,
        }
    ).request
    assert found is not None
    assert found.history == (
        SaidMessage(role="user", text="go"),
        SaidMessage(role="assistant", calls=(AskedCall(call_id="c1", tool="look", arguments="{}"),)),
        SaidMessage(role="tool", results=(("c1", "7"),)),
    )
    assert found.answer == (SaidMessage(role="assistant", text="done"),)
    assert (found.finish_reasons, found.input_tokens, found.output_tokens) == (("stop",), 5, 2)


def test_a_decorated_function_is_a_tool_with_its_arguments() -> None:
    """Keyword arguments stand for themselves, others with them."""
    given = '{"args": [], "kwargs": {"x": 1}}'
    attributes = {"traceloop.span.kind": "tool", "traceloop.entity.name": "look", "traceloop.entity.output": "7"}
    found = facts({**attributes, "traceloop.entity.input": given}).call
    assert found is not None
    assert (found.tool, found.arguments, found.result) == ("look", '{"x": 1}', "7")
    with_places = facts({**attributes, "traceloop.entity.input": '{"args": [1], "kwargs": {}}'}).call
    assert with_places is not None
    assert with_places.arguments == '{"args": [1], "kwargs": {}}'


def test_workflows_and_agents_are_runs_and_tasks_are_not() -> None:
    """An agent has a name; the session is an association property."""
    session = {"traceloop.association.properties.session_id": "c"}
    agent = facts({"traceloop.span.kind": "agent", "traceloop.entity.name": "a", **session}).run
    assert agent is not None
    assert (agent.agent, agent.session_id) == ("a", "c")
    workflow = facts({"traceloop.span.kind": "workflow", "traceloop.entity.name": "w"}).run
    assert workflow is not None
    assert workflow.agent == ""
    task = StoredSpan(trace_id="t", span_id="s", attributes={"traceloop.span.kind": "task"})
    assert openllmetry_facts(task) is None


def test_the_first_chunk_is_an_event() -> None:
    """Of several the first."""
    events = tuple(SpanEvent(time_ns=time, name="llm.content.completion.chunk") for time in (5, 9))
    found = facts({"llm.request.type": "chat"}, events=events).request
    assert found is not None
    assert found.first_token_ns == 5
