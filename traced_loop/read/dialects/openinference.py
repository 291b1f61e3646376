"""OpenInference: what a span is stands in its kind, messages are flattened into one attribute a field."""

import re
from collections.abc import Mapping
from typing import Any, Final

from traced_loop import names
from traced_loop.json_shapes import as_object, as_text
from traced_loop.read.dialects.message_json import json_value, message
from traced_loop.read.dialects.span_values import (
    call_facts,
    cost,
    first_content,
    first_text,
    first_token_ns,
    texts,
    tokens,
)
from traced_loop.read.span_facts import RequestFacts, RunFacts, SaidMessage, SpanFacts
from traced_loop.read.trace import StoredSpan

_INPUT_MESSAGES: Final = "llm.input_messages"
_OUTPUT_MESSAGES: Final = "llm.output_messages"
INPUT: Final = "llm.token_count.prompt"
OUTPUT: Final = "llm.token_count.completion"
_CACHED: Final = ("llm.token_count.prompt_details.cache_read", "llm.token_count.prompt_details.cache_input")
_REASONING: Final = "llm.token_count.completion_details.reasoning"
_COST: Final = ("llm.cost.total",)
_INVOCATION: Final = "llm.invocation_parameters"
_FIRST_TOKEN_EVENTS: Final = ("First Token Stream Event",)
_PLACE: Final = re.compile(r"\.(\d{1,6})\.(.+)", re.S)


def openinference_facts(span: StoredSpan) -> SpanFacts | None:
    """What the span is; chains, retrievers, guardrails and the like are nothing of these."""
    kind = first_text(span, names.OPENINFERENCE_KIND).upper()
    if kind == "LLM":
        return SpanFacts(dialect="openinference", request=_request(span))
    if kind == "TOOL":
        tool = first_text(span, "tool.name", "tool_call.function.name") or span.name
        arguments = first_content(span, names.INPUT_VALUE, "tool_call.function.arguments")
        result = first_content(span, names.OUTPUT_VALUE)
        call_id = first_text(span, "tool_call.id", "tool.id")
        return SpanFacts(dialect="openinference", call=call_facts(span, tool, call_id, arguments, result))
    if kind == "AGENT":
        return SpanFacts(dialect="openinference", run=_run(span))
    return None


def _request(span: StoredSpan) -> RequestFacts:
    history, answer = _flattened(span, _INPUT_MESSAGES), _flattened(span, _OUTPUT_MESSAGES)
    asked = as_object(json_value(first_text(span, _INVOCATION))) or {}
    model, response_id = first_text(span, "llm.model_name"), ""
    output = as_object(json_value(span.attributes.get(names.OUTPUT_VALUE))) or {}
    if "choices" in output:
        response_id = as_text(output.get("id")) or ""
    named = as_text(asked.get("model")) or as_text(asked.get("model_name")) or ""
    return RequestFacts(
        model=named or model,
        response_model=model if named else "",
        response_id=response_id,
        provider=first_text(span, "llm.provider", "llm.system"),
        first_token_ns=first_token_ns(span, (), _FIRST_TOKEN_EVENTS),
        finish_reasons=texts(span, "llm.finish_reason"),
        input_tokens=tokens(span, INPUT),
        output_tokens=tokens(span, OUTPUT),
        cached_tokens=tokens(span, *_CACHED),
        reasoning_tokens=tokens(span, _REASONING),
        cache_write_tokens=tokens(span, "llm.token_count.prompt_details.cache_write"),
        input_audio_tokens=tokens(span, "llm.token_count.prompt_details.audio"),
        output_audio_tokens=tokens(span, "llm.token_count.completion_details.audio"),
        cost_usd=cost(span, *_COST),
        history=history,
        answer=answer,
    )


def _run(span: StoredSpan) -> RunFacts:
    usage = RequestFacts(input_tokens=tokens(span, INPUT), output_tokens=tokens(span, OUTPUT))
    return RunFacts(
        agent=first_text(span, "agent.name", "graph.node.id", names.GEN_AI_AGENT_NAME),
        session_id=first_text(span, names.SESSION_ID) or None,
        usage=usage if usage.has_usage else None,
    )


def _flattened(span: StoredSpan, prefix: str) -> tuple[SaidMessage, ...] | None:
    """The messages under a prefix; None where there is none. Places may be left out, their order counts."""
    by_place = places(span.attributes, prefix)
    if not by_place:
        return None
    return tuple(message(_fields(by_place[place]), "assistant") for place in sorted(by_place))


def places(attributes: Mapping[str, Any], prefix: str) -> dict[int, dict[str, Any]]:
    """Values of a flattened list: by place, and by what follows it in the key."""
    found: dict[int, dict[str, Any]] = {}
    begin = f"{prefix}."
    for key, value in attributes.items():
        if key.startswith(begin):
            match = _PLACE.match(key, len(prefix))
            if match is not None:
                found.setdefault(int(match[1]), {})[match[2]] = value
    return found


def _fields(flat: Mapping[str, Any]) -> dict[str, Any]:
    """One message in OpenAI's form."""
    fields: dict[str, Any] = {"role": flat.get("message.role"), "content": flat.get("message.content")}
    if "message.tool_call_id" in flat:
        fields["tool_call_id"] = flat["message.tool_call_id"]
    contents = places(flat, "message.contents")
    if contents:
        parts = [contents[place] for place in sorted(contents)]
        fields["content"] = [{"type": "text", "text": part.get("message_content.text")} for part in parts]
    calls = places(flat, "message.tool_calls")
    fields["tool_calls"] = [_call(calls[place]) for place in sorted(calls)]
    return fields


def _call(flat: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": flat.get("tool_call.id"),
        "name": flat.get("tool_call.function.name"),
        "arguments": flat.get("tool_call.function.arguments"),
    }
