"""Values of a span under any of several keys, the best first: every dialect has renamed its keys more than once."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from traced_loop import names
from traced_loop.read.dialects.message_json import plain_result, shown
from traced_loop.read.dialects.wrapped_values import tool_input, tool_message, tool_output
from traced_loop.read.otlp_span import integer
from traced_loop.read.span_facts import CallFacts
from traced_loop.read.trace import StoredSpan, is_uncountable

_NO_TYPE: Final = frozenset({"_OTHER", ""})
_SECOND: Final = 1_000_000_000
_MAX_COST: Final = 1e9
_NO_RESULT: Final = frozenset({"{}", "null", ""})
_NOTHING: Final[Mapping[str, object]] = {}


def first_text(span: StoredSpan, *keys: str) -> str:
    """The first that is a text; ``""`` where none is."""
    for key in keys:
        found = span.text(key)
        if found is not None:
            return found
    return ""


def first_content(span: StoredSpan, *keys: str) -> str | None:
    """The first that is there, as text; None where none is, or it is hidden."""
    for key in keys:
        if key in span.attributes:
            return shown(span.attributes[key])
    return None


def first_value(span: StoredSpan, *keys: str) -> Any:
    """The first that is there, as it is."""
    for key in keys:
        if key in span.attributes:
            return span.attributes[key]
    return None


def tokens(span: StoredSpan, *keys: str) -> int | None:
    """The first that is a count, also as text or as a float; None for unknown, and for what is negative."""
    for key in keys:
        if key in span.attributes:
            number = token_count(span.attributes[key])
            if number is not None:
                return number
    return None


def token_count(value: object) -> int | None:
    """A count, also as text or as a float; None for what is negative, or more than anything can count."""
    number = integer(value)
    return None if number is None or number < 0 or is_uncountable(number) else number


def cost(span: StoredSpan, *keys: str) -> Decimal | None:
    """The first that is an amount in USD."""
    for key in keys:
        number = span.number(key)
        if number is not None and 0 <= number < _MAX_COST:
            return Decimal(str(number))
    return None


def texts(span: StoredSpan, key: str) -> tuple[str, ...]:
    """A list of texts; one text by itself counts as a list of it."""
    listed = tuple(span.texts(key))
    single = span.text(key)
    return listed if listed or single is None else (single,)


def first_token_ns(span: StoredSpan, keys: Sequence[str], events: Sequence[str]) -> int:
    """When the answer began to come: seconds after the start under a key, else the first event of a name; else 0."""
    for key in keys:
        told = span.number(key)
        if told is not None and 0 <= told < _SECOND and span.start_ns:
            # Some tell milliseconds under the key of the seconds: no first token comes after the last.
            found = (span.start_ns + round(told * unit) for unit in (_SECOND, _SECOND // 1000))
            return next((time for time in found if span.is_open or time <= span.end_ns), 0)
    return next((event.time_ns for event in span.events if event.name in events), 0)


def call_facts(span: StoredSpan, tool: str, call_id: str, arguments: str | None, result: str | None) -> CallFacts:
    """A tool that ran, with what is said of its failure; wrappings are taken off."""
    wrapped = tool_message(result)
    exception: Mapping[str, object] = next(
        (event.attributes for event in span.events if event.name == "exception"), _NOTHING
    )
    named = [span.text(names.ERROR_TYPE), exception.get("exception.type")]
    error_type = next((kind for kind in named if isinstance(kind, str) and kind not in _NO_TYPE), None)
    message = exception.get("exception.message")
    is_error = span.is_error or names.ERROR_TYPE in span.attributes or (wrapped is not None and wrapped.failed)
    return CallFacts(
        tool=tool,
        call_id=call_id or (wrapped.call_id if wrapped is not None else ""),
        arguments=tool_input(arguments),
        result=_result(result, is_error=is_error) if wrapped is None else wrapped.text,
        error_type=error_type if is_error else None,
        error_text=(message if isinstance(message, str) and message else span.status_message or None)
        if is_error
        else None,
        is_error=is_error,
    )


def _result(result: str | None, *, is_error: bool) -> str | None:
    """The text of a result; what some write where a tool failed and gave nothing is none."""
    if result is None or (is_error and result in _NO_RESULT):
        return None
    return plain_result(tool_output(result))
