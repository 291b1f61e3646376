"""The header by which Jaeger's own clients pass a trace on: ``uber-trace-id: TRACE:SPAN:PARENT:FLAGS``, all in hex.

    token = attach(uber_trace_id.extract(request.headers))   # the run becomes a child of the caller's span
    uber_trace_id.inject(headers)                            # inside a tool: the other side becomes its child

Nothing in here raises: a header that is not exactly right counts as absent. Needs no jaeger-client.
"""

import re
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Final, cast
from urllib.parse import unquote

from opentelemetry import trace
from opentelemetry.context import Context, get_current
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

HEADER: Final = "uber-trace-id"
SAMPLED: Final = 1
"""The next bit is *debug* here, which forces every later service to keep the trace, and *random id* in W3C."""
MAX_LENGTH: Final = 128
"""Characters of a header that is looked at; a right one has 75 at most, with its colons escaped."""

_HEADER: Final = re.compile(r"([0-9a-f]{1,32}):([0-9a-f]{1,16}):[0-9a-f]{1,16}:([0-9a-f]{1,2})", re.IGNORECASE)


def parsed(value: object) -> SpanContext | None:
    """The span that a header's value names, or None when it is malformed. Colons may be escaped, as some clients do."""
    if not isinstance(value, str) or len(value) > MAX_LENGTH:
        return None
    match = _HEADER.fullmatch(unquote(value).strip())
    if match is None:
        return None
    flags = TraceFlags(int(match[3], 16) & SAMPLED)
    context = SpanContext(int(match[1], 16), int(match[2], 16), is_remote=True, trace_flags=flags)
    return context if context.is_valid else None


def rendered(context: SpanContext) -> str | None:
    """A header's value for the span, or None when it is invalid. A trace id of 64 bits stays one of 16 digits."""
    if not context.is_valid:
        return None
    digits = 16 if context.trace_id < 2**64 else 32
    return f"{context.trace_id:0{digits}x}:{context.span_id:016x}:0:{context.trace_flags & SAMPLED:x}"


def extract(headers: Mapping[str, object], context: Context | None = None) -> Context:
    """The context with the caller's span as the current one; unchanged without a right header, or when two disagree.

    Args:
        headers: names in any case; a value may be a list of one.
        context: what to add to, or None for the current context.
    """
    known = get_current() if context is None else context
    callers = [parsed(value) for value in _values(headers)]
    first = callers[0] if callers else None
    if first is None or any(other != first for other in callers):
        return known
    return trace.set_span_in_context(NonRecordingSpan(first), known)


def inject(headers: MutableMapping[str, str], context: Context | None = None) -> None:
    """Set the header for the current span, or for that of ``context``; nothing where there is none."""
    value = rendered(trace.get_current_span(context).get_span_context())
    if value is not None:
        headers[HEADER] = value


def _values(headers: Mapping[str, object]) -> Iterator[object]:
    for name, value in headers.items():
        if str(name).lower() == HEADER:
            yield from cast("list[object]", value) if isinstance(value, list) else (value,)
