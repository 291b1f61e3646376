"""OpenInference's keys on our spans."""

from typing import Any

import pytest

from traced_loop import Policy, names, tool
from traced_loop.telemetry.content.fitting import Fitted
from traced_loop.telemetry.openinference import span_kind, values
from traced_loop.telemetry.spans import SpanRecord
from traced_loop.testing import Played, calls, play

KINDS = {
    "invoke_agent": "AGENT",
    "traced_loop.step": "CHAIN",
    "chat": "LLM",
    "traced_loop.validate_call": "GUARDRAIL",
    "traced_loop.authorize_call": "GUARDRAIL",
    "traced_loop.check_budget": "GUARDRAIL",
    "execute_tool": "TOOL",
    "traced_loop.append_results": "CHAIN",
}
VALUES = (names.INPUT_VALUE, names.INPUT_MIME_TYPE, names.OUTPUT_VALUE, names.OUTPUT_MIME_TYPE)


@tool(effect="read")
def look(where: str, deep: bool) -> dict[str, str]:
    """Look."""
    return {"found": f"it, {where}"}


@tool(effect="read", content=False)
def peek(where: str) -> str:
    """Look without telling."""
    return f"unseen {where}"


def played(**options: Any) -> Played:
    """A run of two calls and an answer."""
    script = [calls(("look", {"where": "here", "deep": True}), ("peek", {"where": "there"})), "It is here."]
    return play(script, [look, peek], "Where?", compat=("openinference",), policy=Policy(), **options)


def shown(span: SpanRecord) -> tuple[Any, ...]:
    """Input and output, each with its type; None for what is not there."""
    return tuple(span.attributes.get(key) for key in VALUES)


@pytest.mark.parametrize("content", ["none", "span"])
def test_every_span_has_the_kind_by_which_backends_sort(content: Any) -> None:
    """Set at its start, so that no limit evicts it."""
    spans = played(content=content).spans.ended_spans
    found = {span.name.partition(" ")[0]: span.attributes[names.OPENINFERENCE_KIND] for span in spans}
    assert found == KINDS
    assert (span_kind(names.ATTEMPT), span_kind("whatever comes")) == ("CHAIN", "CHAIN")


def test_without_the_option_there_is_no_key_of_theirs() -> None:
    """Content alone does not bring them."""
    spans = play(["x"], content="span").spans.ended_spans
    assert not [
        key for span in spans for key in span.attributes if key.startswith(("openinference", "input", "output"))
    ]


def test_content_is_the_value_of_agent_model_and_tool() -> None:
    """What is one text is that text, everything else JSON; other spans have none."""
    spans = played(content="span").spans
    (root,), (first, last), (tool_span, closed) = map(spans.named, ("invoke_agent", "chat", "execute_tool"))
    assert shown(root) == ("Where?", "text/plain", "It is here.", "text/plain")
    assert shown(first)[:2] == ("Where?", "text/plain")
    assert shown(first)[2:] == (first.attributes[names.GEN_AI_OUTPUT_MESSAGES], "application/json")
    assert shown(last)[:2] == (last.attributes[names.GEN_AI_INPUT_MESSAGES], "application/json")
    assert shown(tool_span) == (
        '{"where":"here","deep":true}',
        "application/json",
        '{"found":"it, here"}',
        "application/json",
    )
    assert shown(closed) == ("where=<str 5>", "text/plain", None, None)
    assert [span.name for span in spans.ended_spans if names.INPUT_VALUE in span.attributes][-1] == root.name
    assert all(shown(span) == (None,) * 4 for span in spans.named("traced_loop.step"))


@pytest.mark.parametrize("content", [None, "none", "event"])
def test_without_content_on_spans_only_a_tools_summary_is_a_value(content: Any) -> None:
    """It says names, kinds and sizes."""
    spans = played(content=content).spans
    valued = {span.name: shown(span) for span in spans.ended_spans if any(shown(span))}
    assert valued == {
        "execute_tool look": ("where=<str 4> deep=true", "text/plain", None, None),
        "execute_tool peek": ("where=<str 5>", "text/plain", None, None),
    }


def test_tokens_and_model_are_not_said_twice() -> None:
    """Whoever sums both conventions would bill twice."""
    (chat, _) = played(content="span").spans.named("chat")
    assert not [key for key in chat.attributes if key.startswith("llm.")]


def test_a_tool_that_gave_a_text_gave_text() -> None:
    """Without the quotes of its JSON."""
    found = values({names.GEN_AI_TOOL_CALL_RESULT: Fitted('"a\\nb"')}, {})
    assert found == {names.OUTPUT_VALUE: "a\nb", names.OUTPUT_MIME_TYPE: "text/plain"}
