"""Vercel's AI SDK beyond what the recordings hold: older names, streams, what is no part of a loop."""

from __future__ import annotations

from typing import Any

from traced_loop.read.dialects.span_dialect import span_facts
from traced_loop.read.span_facts import AskedCall, SaidMessage, SpanFacts
from traced_loop.read.trace import StoredSpan


def facts(operation: str, **attributes: Any) -> SpanFacts | None:
    """What a span of one of its functions says; keys by keyword with ``__`` for a dot."""
    named = {key.replace("__", "."): value for key, value in attributes.items()}
    whole = {"ai.operationId": operation, **named}
    return span_facts(StoredSpan(trace_id="t", span_id="s", attributes=whole, start_ns=1, end_ns=10**10))


def test_the_usage_of_the_fourth_version_is_read() -> None:
    """Prompt and completion, before they were input and output."""
    found = facts("ai.streamText.doStream", ai__usage__promptTokens=7, ai__usage__completionTokens=2, ai__model__id="m")
    assert found is not None
    assert found.request is not None
    assert (found.request.input_tokens, found.request.output_tokens, found.request.model) == (7, 2, "m")


def test_a_stream_tells_its_first_chunk() -> None:
    """In milliseconds."""
    found = facts("ai.streamText.doStream", ai__response__msToFirstChunk=1.5)
    assert found is not None
    assert found.request is not None
    assert found.request.first_token_ns == 1_500_001


def test_calls_and_results_of_the_fourth_version_are_read() -> None:
    """Arguments and results had other names."""
    call = {"toolCallId": "c1", "toolName": "look", "args": {"x": 1}}
    said = [
        {"role": "assistant", "content": [{"type": "tool-call", **call}]},
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c1", "toolName": "look", "result": "7"}]},
    ]
    found = facts("ai.generateText.doGenerate", ai__prompt__messages=str(said).replace("'", '"'))
    assert found is not None
    assert found.request is not None
    assert found.request.history == (
        SaidMessage(role="assistant", calls=(AskedCall(call_id="c1", tool="look", arguments='{"x": 1}'),)),
        SaidMessage(role="tool", results=(("c1", "7"),)),
    )


def test_the_session_is_metadata() -> None:
    """As applications give it."""
    found = facts("ai.streamText", ai__telemetry__functionId="f", ai__telemetry__metadata__sessionId="c")
    assert found is not None
    assert found.run is not None
    assert (found.run.agent, found.run.session_id) == ("f", "c")


def test_embeddings_are_no_part_of_a_loop() -> None:
    """Though they use tokens."""
    assert facts("ai.embed.doEmbed", ai__usage__tokens=7) is None
