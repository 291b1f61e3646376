"""OpenLLMetry (Traceloop): the GenAI conventions today; before, flattened messages and keys of its own."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from traced_loop import names
from traced_loop.read.dialects.gen_ai import CACHE_WRITE, CACHED, INPUT, OUTPUT, REASONING, gen_ai_facts, request_facts
from traced_loop.read.dialects.message_json import json_value, message
from traced_loop.read.dialects.openinference import places
from traced_loop.read.dialects.span_values import call_facts, first_content, first_text, first_token_ns, texts, tokens
from traced_loop.read.span_facts import RequestFacts, RunFacts, SaidMessage, SpanFacts
from traced_loop.read.trace import StoredSpan

KIND: Final = "traceloop.span.kind"
"""``workflow``, ``agent``, ``task`` or ``tool``."""
_ENTITY: Final = "traceloop.entity.name"
_INPUT, _OUTPUT = "traceloop.entity.input", "traceloop.entity.output"
USAGE_INPUT, USAGE_OUTPUT = "llm.usage.prompt_tokens", "llm.usage.completion_tokens"
_PROMPT, _COMPLETION = "gen_ai.prompt", "gen_ai.completion"
_REQUEST_TYPE: Final = "llm.request.type"
_FIRST_TOKEN_EVENTS: Final = ("llm.content.completion.chunk",)
_FIRST_TOKEN_KEYS: Final = ("llm.response.time_to_first_token", "gen_ai.response.time_to_first_chunk")
_SESSION: Final = ("traceloop.association.properties.session_id", "traceloop.association.properties.conversation_id")
_BEGINNINGS: Final = ("traceloop.", "llm.request.", "llm.usage.", f"{_PROMPT}.", f"{_COMPLETION}.")
_SIGNS: Final = frozenset({"gen_ai.is_streaming", "gen_ai.openai.api_base", "llm.is_streaming"})


def is_openllmetry(span: StoredSpan) -> bool:
    """Whether it has a key that nobody else writes."""
    return any(key.startswith(_BEGINNINGS) or key in _SIGNS for key in span.attributes)


def openllmetry_facts(span: StoredSpan) -> SpanFacts | None:
    """What the span is; a task is nothing of these."""
    kind = span.attributes.get(KIND)
    known = gen_ai_facts(span)
    if kind in ("workflow", "agent") and (known is None or known.run is None):
        return SpanFacts(dialect="openllmetry", run=_run(span, str(kind)))
    if known is not None and known.request is not None:
        return SpanFacts(dialect="openllmetry", request=_older(span, known.request))
    if known is not None:
        return replace(known, dialect="openllmetry")
    if kind == "tool":
        arguments, result = first_content(span, _INPUT), first_content(span, _OUTPUT)
        tool = first_text(span, _ENTITY) or span.name.removesuffix(".tool")
        return SpanFacts(dialect="openllmetry", call=call_facts(span, tool, "", arguments, result))
    if _REQUEST_TYPE in span.attributes and span.attributes[_REQUEST_TYPE] in ("chat", "completion"):
        return SpanFacts(dialect="openllmetry", request=_older(span, request_facts(span)))
    return None


def _older(span: StoredSpan, facts: RequestFacts) -> RequestFacts:
    """The request with what older versions wrote elsewhere."""
    completions = places(span.attributes, _COMPLETION)
    reasons = [
        found for place in sorted(completions) if isinstance(found := completions[place].get("finish_reason"), str)
    ]
    return replace(
        facts,
        finish_reasons=facts.finish_reasons or tuple(reasons) or texts(span, "llm.response.finish_reason"),
        input_tokens=tokens(span, *INPUT, USAGE_INPUT),
        output_tokens=tokens(span, *OUTPUT, USAGE_OUTPUT),
        cached_tokens=tokens(span, *CACHED, "llm.usage.cache_read_input_tokens"),
        cache_write_tokens=tokens(span, *CACHE_WRITE, "llm.usage.cache_creation_input_tokens"),
        reasoning_tokens=tokens(span, *REASONING, "llm.usage.reasoning_tokens"),
        first_token_ns=facts.first_token_ns or first_token_ns(span, _FIRST_TOKEN_KEYS, _FIRST_TOKEN_EVENTS),
        history=facts.history or _flattened(span, _PROMPT, "user"),
        answer=facts.answer or _flattened(span, _COMPLETION, "assistant"),
    )


def _run(span: StoredSpan, kind: str) -> RunFacts:
    agent = first_text(span, names.GEN_AI_AGENT_NAME, _ENTITY) or span.name.removesuffix(f".{kind}")
    return RunFacts(
        agent=agent if kind == "agent" else "",
        session_id=first_text(span, names.GEN_AI_CONVERSATION_ID, names.SESSION_ID, *_SESSION) or None,
    )


def _flattened(span: StoredSpan, prefix: str, role: str) -> tuple[SaidMessage, ...] | None:
    by_place = places(span.attributes, prefix)
    if not by_place:
        return None
    return tuple(message(_fields(by_place[place]), role) for place in sorted(by_place))


def _fields(flat: Mapping[str, Any]) -> dict[str, Any]:
    calls = places(flat, "tool_calls")
    content = json_value(flat.get("content"))
    return {
        "role": flat.get("role"),
        "content": content if isinstance(content, list) else flat.get("content"),
        "tool_call_id": flat.get("tool_call_id"),
        "tool_calls": [calls[place] for place in sorted(calls)],
    }
