"""The AI SDK of Vercel: keys of its own (``ai.*``) beside a few of the GenAI conventions'.

A call of ``generateText`` or ``streamText`` is a run, each ``doGenerate`` or ``doStream`` in it a request.
"""

from dataclasses import replace
from typing import Final

from traced_loop.json_shapes import as_list, as_object
from traced_loop.read.dialects.gen_ai import request_facts
from traced_loop.read.dialects.message_json import called, json_value, messages, shown
from traced_loop.read.dialects.span_values import call_facts, first_content, first_text, tokens
from traced_loop.read.span_facts import RequestFacts, RunFacts, SaidMessage, SpanFacts
from traced_loop.read.trace import StoredSpan

OPERATION: Final = "ai.operationId"
"""Which function of the SDK the span is of."""
_RUNS: Final = frozenset({"ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject"})
_REQUESTS: Final = (".doGenerate", ".doStream")
_CALL: Final = "ai.toolCall"
_FUNCTION: Final = "ai.telemetry.functionId"
_TEXT, _CALLS = "ai.response.text", "ai.response.toolCalls"
_INPUT: Final = ("ai.usage.inputTokens", "ai.usage.promptTokens")
_OUTPUT: Final = ("ai.usage.outputTokens", "ai.usage.completionTokens")
_CACHED: Final = ("ai.usage.cachedInputTokens", "ai.usage.inputTokenDetails.cacheReadTokens")
_REASONING: Final = ("ai.usage.reasoningTokens", "ai.usage.outputTokenDetails.reasoningTokens")
_FIRST_CHUNK_MS: Final = "ai.response.msToFirstChunk"
_MS: Final = 1_000_000


def vercel_ai_facts(span: StoredSpan) -> SpanFacts | None:
    """What the span is; embeddings are nothing of these."""
    operation = first_text(span, OPERATION)
    if operation in _RUNS:
        return SpanFacts(dialect="gen_ai", run=_run(span))
    if operation.endswith(_REQUESTS):
        return SpanFacts(dialect="gen_ai", request=_request(span))
    if operation == _CALL:
        given = json_value(span.attributes.get("ai.toolCall.result"))
        result = given if isinstance(given, str) else first_content(span, "ai.toolCall.result")
        tool, call_id = first_text(span, "ai.toolCall.name"), first_text(span, "ai.toolCall.id")
        arguments = first_content(span, "ai.toolCall.args", "ai.toolCall.input")
        return SpanFacts(dialect="gen_ai", call=call_facts(span, tool, call_id, arguments, result))
    return None


def _request(span: StoredSpan) -> RequestFacts:
    known = request_facts(span)
    waited = span.number(_FIRST_CHUNK_MS)
    return replace(
        known,
        model=known.model or first_text(span, "ai.model.id"),
        provider=known.provider.partition(".")[0],  # openai.chat and openai.responses are one provider
        input_tokens=tokens(span, *_INPUT) if known.input_tokens is None else known.input_tokens,
        output_tokens=tokens(span, *_OUTPUT) if known.output_tokens is None else known.output_tokens,
        cached_tokens=tokens(span, *_CACHED),
        cache_write_tokens=tokens(span, "ai.usage.inputTokenDetails.cacheWriteTokens"),
        reasoning_tokens=tokens(span, *_REASONING),
        first_token_ns=0 if waited is None or waited < 0 else span.start_ns + round(waited * _MS),
        history=messages(span.attributes.get("ai.prompt.messages")),
        answer=_answer(span),
    )


def _answer(span: StoredSpan) -> tuple[SaidMessage, ...] | None:
    if _TEXT not in span.attributes and _CALLS not in span.attributes:
        return None
    entries = as_list(json_value(span.attributes.get(_CALLS))) or ()
    calls = [call for entry in entries if (call := called(as_object(entry) or {})) is not None]
    return (SaidMessage(role="assistant", text=shown(span.attributes.get(_TEXT)), calls=tuple(calls)),)


def _run(span: StoredSpan) -> RunFacts:
    usage = RequestFacts(input_tokens=tokens(span, *_INPUT), output_tokens=tokens(span, *_OUTPUT))
    return RunFacts(
        agent=first_text(span, _FUNCTION),
        session_id=first_text(span, "ai.telemetry.metadata.sessionId", "session.id") or None,
        model=first_text(span, "ai.model.id"),
        usage=usage if usage.has_usage else None,
    )
