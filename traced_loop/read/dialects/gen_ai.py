"""The GenAI conventions of OpenTelemetry, current and old names, and what frameworks that follow them add.

Content stands in attributes today; before, it stood in events of the span (``gen_ai.user.message``, ``gen_ai.choice``).
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from traced_loop import names
from traced_loop.json_shapes import as_list, as_object, as_text
from traced_loop.read.dialects.message_json import finish_reasons, json_value, message, messages, parts_of
from traced_loop.read.dialects.span_values import (
    call_facts,
    cost,
    first_content,
    first_text,
    first_token_ns,
    first_value,
    texts,
    token_count,
    tokens,
)
from traced_loop.read.span_facts import CallFacts, RequestFacts, RunFacts, SaidMessage, SpanFacts
from traced_loop.read.trace import SpanEvent, StoredSpan

REQUESTS: Final = frozenset({"chat", "generate_content", "text_completion"})
"""Operations that are a model request; embeddings and retrieval are no step of a loop."""
RUNS: Final = frozenset({names.INVOKE_AGENT, "invoke_workflow"})
"""Operations that are a run, or one agent's part of it."""

SPAN_INPUT: Final = (names.GEN_AI_INPUT_TOKENS, "gen_ai.usage.prompt_tokens")
SPAN_OUTPUT: Final = (names.GEN_AI_OUTPUT_TOKENS, "gen_ai.usage.completion_tokens")
"""Tokens of a request, which whoever adds up spans takes."""
INPUT: Final = (*SPAN_INPUT, "gen_ai.aggregated_usage.input_tokens")
OUTPUT: Final = (*SPAN_OUTPUT, "gen_ai.aggregated_usage.output_tokens")
"""These, and sums that stand under a key of their own."""
CACHED: Final = (
    names.GEN_AI_CACHED_TOKENS,
    "gen_ai.usage.cache_read_input_tokens",
    "gen_ai.usage.input_tokens.cached",
    "gen_ai.usage.details.cache_read_tokens",
    "gen_ai.usage.details.cached_tokens",
)
CACHE_WRITE: Final = (
    names.GEN_AI_CACHE_WRITE_TOKENS,
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_creation_input_tokens",
    "gen_ai.usage.details.cache_write_tokens",
)
REASONING: Final = (
    names.GEN_AI_REASONING_TOKENS,
    "gen_ai.usage.reasoning_tokens",
    "gen_ai.usage.output_tokens.reasoning",
    "gen_ai.usage.details.reasoning_tokens",
)
_COST: Final = ("gen_ai.usage.cost.amount", "gen_ai.usage.cost", "gen_ai.usage.total_cost", "operation.cost")
_FIRST_TOKEN: Final = ("gen_ai.response.time_to_first_chunk", "gen_ai.server.time_to_first_token")
_HISTORY: Final = (names.GEN_AI_INPUT_MESSAGES, "gen_ai.prompt")
_ANSWER: Final = (names.GEN_AI_OUTPUT_MESSAGES, "gen_ai.completion")
_ARGUMENTS: Final = (names.GEN_AI_TOOL_CALL_ARGUMENTS, "tool_arguments", "gen_ai.tool.arguments", "gen_ai.prompt")
_RESULT: Final = (names.GEN_AI_TOOL_CALL_RESULT, "tool_response", "gen_ai.tool.result", "gen_ai.completion")
_SESSION: Final = (names.GEN_AI_CONVERSATION_ID, names.SESSION_ID)
_CHOICE: Final = "gen_ai.choice"
_MESSAGE_EVENTS: Final = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_CONTENT_EVENTS: Final = {"gen_ai.content.prompt": "gen_ai.prompt", "gen_ai.content.completion": "gen_ai.completion"}
_LANGSMITH_USAGE: Final = "langsmith.metadata.usage_metadata"
_SAID_OF_ANSWERS: Final = (
    names.GEN_AI_RESPONSE_MODEL,
    names.GEN_AI_RESPONSE_ID,
    names.GEN_AI_FINISH_REASONS,
    *INPUT[:2],
    *OUTPUT[:2],
)


def gen_ai_facts(span: StoredSpan) -> SpanFacts | None:
    """What the span is; None where it is neither a request nor a tool nor a run."""
    attributes = span.attributes
    operation = span.text(names.GEN_AI_OPERATION)
    if operation in REQUESTS or (operation is None and _looks_like_request(span)):
        return SpanFacts(dialect="gen_ai", request=request_facts(span))
    if operation == names.EXECUTE_TOOL or (
        operation is None and (names.GEN_AI_TOOL_NAME in attributes or names.GEN_AI_TOOL_CALL_ID in attributes)
    ):
        return SpanFacts(dialect="gen_ai", call=_call(span))
    if operation in RUNS or (operation is None and _looks_like_run(span)):
        return SpanFacts(dialect="gen_ai", run=_run(span, operation))
    return None


def request_facts(span: StoredSpan) -> RequestFacts:
    """The request of a span that is one."""
    answer = first_value(span, *_ANSWER)
    reasons = texts(span, names.GEN_AI_FINISH_REASONS) or finish_reasons(answer)
    history_events, answer_events, event_reasons = _of_events(span)
    cached, reasoning = _usage_details(span)
    return RequestFacts(
        model=first_text(span, names.GEN_AI_REQUEST_MODEL, "model_name"),
        response_model=first_text(span, names.GEN_AI_RESPONSE_MODEL),
        response_id=first_text(span, names.GEN_AI_RESPONSE_ID),
        provider=first_text(span, names.GEN_AI_PROVIDER, "gen_ai.system").lower(),
        first_token_ns=first_token_ns(span, _FIRST_TOKEN, ("gen_ai.content.completion.chunk",)),
        finish_reasons=reasons or event_reasons,
        input_tokens=tokens(span, *INPUT),
        output_tokens=tokens(span, *OUTPUT),
        cached_tokens=cached if (found := tokens(span, *CACHED)) is None else found,
        reasoning_tokens=reasoning if (found := tokens(span, *REASONING)) is None else found,
        cache_write_tokens=tokens(span, *CACHE_WRITE),
        input_audio_tokens=tokens(span, names.GEN_AI_AUDIO_INPUT_TOKENS),
        output_audio_tokens=tokens(span, names.GEN_AI_AUDIO_OUTPUT_TOKENS),
        cost_usd=cost(span, *_COST),
        history=messages(first_value(span, *_HISTORY)) or history_events,
        answer=messages(answer, "assistant") or answer_events,
    )


def _usage_details(span: StoredSpan) -> tuple[int | None, int | None]:
    """Cached and reasoning tokens, where LangSmith has them beside the others."""
    usage = as_object(json_value(span.attributes.get(_LANGSMITH_USAGE))) or {}
    read = as_object(usage.get("input_token_details")) or {}
    wrote = as_object(usage.get("output_token_details")) or {}
    return token_count(read.get("cache_read")), token_count(wrote.get("reasoning"))


def _looks_like_request(span: StoredSpan) -> bool:
    """Without an operation: something is said of an answer; of an agent's span that is a sum."""
    attributes = span.attributes
    if names.GEN_AI_TOOL_NAME in attributes or _looks_like_run(span):
        return False
    is_asked = span.kind == "CLIENT" and names.GEN_AI_REQUEST_MODEL in attributes
    return is_asked or any(key in attributes for key in _SAID_OF_ANSWERS)


def _looks_like_run(span: StoredSpan) -> bool:
    """Without an operation: an agent is named, and no model that it asks there."""
    attributes = span.attributes
    if "agent_name" in attributes and "model_name" in attributes:
        return True
    return names.GEN_AI_AGENT_NAME in attributes and names.GEN_AI_REQUEST_MODEL not in attributes


def _call(span: StoredSpan) -> CallFacts:
    tool = first_text(span, names.GEN_AI_TOOL_NAME) or span.name.removeprefix(f"{names.EXECUTE_TOOL} ")
    arguments, result = first_content(span, *_ARGUMENTS), first_content(span, *_RESULT)
    for event in span.events:  # as Strands has them: the input is a message for the tool, the result its choice
        if event.name == "gen_ai.tool.message" and arguments is None:
            arguments = _event_text(event, "content")
        elif event.name == _CHOICE and result is None:
            result = _event_text(event, "message")
    return call_facts(span, tool, first_text(span, names.GEN_AI_TOOL_CALL_ID), arguments, result)


def _run(span: StoredSpan, operation: str | None) -> RunFacts:
    agent = first_text(span, names.GEN_AI_AGENT_NAME, "agent_name")
    usage = request_facts(span)
    return RunFacts(
        agent="" if operation == "invoke_workflow" else agent or _after(span.name, names.INVOKE_AGENT),
        session_id=first_text(span, *_SESSION) or None,
        model=first_text(span, names.GEN_AI_REQUEST_MODEL, "model_name"),
        usage=usage if usage.has_usage else None,
    )


def _after(name: str, word: str) -> str:
    """What a span's name adds to its operation."""
    return name[len(word) + 1 :] if name.startswith(f"{word} ") else ""


def _of_events(
    span: StoredSpan,
) -> tuple[tuple[SaidMessage, ...] | None, tuple[SaidMessage, ...] | None, tuple[str, ...]]:
    """History, answer and finish reasons, where they stand in the span's events or in a list of them."""
    history: list[SaidMessage] = []
    answer: list[SaidMessage] = []
    reasons: list[str] = []
    for name, fields in _events(span):
        if name in _CONTENT_EVENTS:
            found = messages(fields.get(_CONTENT_EVENTS[name])) or ()
            (history if name == "gen_ai.content.prompt" else answer).extend(found)
        elif name == names.GEN_AI_OPERATION_DETAILS:
            history.extend(messages(fields.get(names.GEN_AI_INPUT_MESSAGES)) or ())
            answer.extend(messages(fields.get(names.GEN_AI_OUTPUT_MESSAGES), "assistant") or ())
        elif name in _MESSAGE_EVENTS:
            history.append(message(_with_parts(fields), _MESSAGE_EVENTS[name]))
        elif name == _CHOICE:
            inner = as_object(json_value(fields.get("message")))
            said = {"content": fields.get("message"), **fields} if inner is None else inner
            answer.append(message(_with_parts(said), "assistant"))
            reasons.extend(reason for reason in [as_text(fields.get("finish_reason"))] if reason)
    return tuple(history) or None, tuple(answer) or None, tuple(reasons)


def _with_parts(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """An event's fields; content that is the JSON of parts is these."""
    parts = parts_of(fields.get("content"))
    return fields if parts is None else {**fields, "content": parts}


def _events(span: StoredSpan) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """Names and fields: of the span's events, and of those that Pydantic AI once put into an attribute."""
    for event in span.events:
        content = as_object(json_value(event.attributes.get("gen_ai.event.content")))
        yield event.name, content if content is not None else event.attributes
    listed = json_value(span.attributes.get("events")) if "events" in span.attributes else None
    for entry in as_list(listed) or ():
        fields = as_object(entry) or {}
        yield str(fields.get("event.name")), fields


def _event_text(event: SpanEvent, key: str) -> str | None:
    value = event.attributes.get(key)
    return value if isinstance(value, str) else None
