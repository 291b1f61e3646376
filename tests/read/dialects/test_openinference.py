"""OpenInference beyond what the recordings hold."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from traced_loop.read.dialects.openinference import openinference_facts
from traced_loop.read.span_facts import AskedCall, RequestFacts, SaidMessage, SpanFacts
from traced_loop.read.trace import SpanEvent, StoredSpan


def facts(kind: str, attributes: dict[str, Any], **more: Any) -> SpanFacts | None:
    """What a span of a kind says."""
    all_of_them = {"openinference.span.kind": kind, **attributes}
    return openinference_facts(StoredSpan(trace_id="t", span_id="s", name="n", attributes=all_of_them, **more))


def request(attributes: dict[str, Any], **more: Any) -> RequestFacts:
    """What a request says."""
    found = facts("LLM", attributes, **more)
    assert found is not None
    assert found.request is not None
    return found.request


def test_parts_of_a_message_are_its_text() -> None:
    """In their order; images say nothing."""
    begin = "llm.input_messages.0.message"
    found = request(
        {
            f"{begin}.role": "user",
            f"{begin}.contents.1.message_content.text": "b",
            f"{begin}.contents.0.message_content.text": "a",
            f"{begin}.contents.2.message_content.type": "image",
        }
    )
    assert found.history == (SaidMessage(role="user", text="ab"),)


def test_numbers_that_do_not_begin_at_zero_keep_their_order() -> None:
    """One instrumentation goes on counting from the last message's calls."""
    begin = "llm.output_messages.0.message"
    found = request(
        {
            f"{begin}.role": "assistant",
            f"{begin}.tool_calls.3.tool_call.function.name": "b",
            f"{begin}.tool_calls.2.tool_call.function.name": "a",
        }
    )
    assert found.asked == (AskedCall(tool="a"), AskedCall(tool="b"))


def test_hidden_content_is_unknown() -> None:
    """Equal marks of what is hidden are not equal calls."""
    tool = facts("TOOL", {"tool.name": "look", "input.value": "__REDACTED__", "output.value": "__REDACTED__"})
    assert tool is not None
    assert tool.call is not None
    assert (tool.call.arguments, tool.call.result) == (None, None)
    hidden = request({"llm.output_messages.0.message.content": "__REDACTED__"})
    assert hidden.answer == (SaidMessage(role="assistant"),)


def test_cost_first_token_and_both_models_are_read() -> None:
    """The model that was asked is in the parameters; the one that answered has its own key."""
    found = request(
        {
            "llm.model_name": "m-2026",
            "llm.invocation_parameters": '{"model": "m"}',
            "llm.cost.total": 0.5,
            "llm.token_count.prompt": 7,
        },
        events=(SpanEvent(time_ns=9, name="First Token Stream Event"),),
    )
    assert (found.model, found.response_model) == ("m", "m-2026")
    assert (found.cost_usd, found.first_token_ns, found.input_tokens) == (Decimal("0.5"), 9, 7)


@pytest.mark.parametrize("kind", ["CHAIN", "RETRIEVER", "GUARDRAIL", "EMBEDDING", "", "odd"])
def test_other_kinds_are_nothing_of_these(kind: str) -> None:
    """A chain only groups."""
    assert facts(kind, {"llm.token_count.prompt": 7}) is None


def test_kinds_are_read_in_any_case() -> None:
    """Some write them small."""
    assert facts("llm", {}) is not None
