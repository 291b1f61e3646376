"""OTLP JSON, one ``ExportTraceServiceRequest`` (or ``TracesData``) a line, into stored spans.

Tolerant by the rules of the format and beyond: unknown fields are ignored, missing ones are empty, 64-bit numbers may
be text or numbers. A line that cannot be read is a problem with its number; the lines around it are read.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from traced_loop.json_shapes import as_list, as_object, as_text
from traced_loop.read.trace import Problem, ProblemKind, SpanEvent, SpanKind, SpanLink, StoredSpan

_KINDS: Final[tuple[SpanKind, ...]] = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
_KIND_NUMBERS: Final = {str(kind): number for number, kind in enumerate(_KINDS)}
_ERROR: Final = (2, "2", "STATUS_CODE_ERROR")
_MAX_DEPTH: Final = 16
"""Levels of lists and mappings inside one attribute value; what lies deeper becomes ``NESTED``."""
_UINT64: Final = 2**64
_BEGIN: Final = '{"resourceSpans"'

NESTED: Final = "<nested too deep>"
"""Stands for the part of an attribute value that lies too deep."""


def read_file(path: Path) -> tuple[list[StoredSpan], list[Problem]]:
    """The spans of one file, in its order, and what is wrong with it. A missing file is an empty one."""
    problems: list[Problem] = []
    spans: list[StoredSpan] = []
    try:
        with path.open("rb") as lines:
            spans.extend(read_lines(lines, problems, name=path.name))
    except FileNotFoundError:
        pass
    except OSError as error:
        text = f"{path} cannot be read: {error.strerror or error}"
        problems.append(Problem(kind=ProblemKind.FILE_UNREADABLE, text=text))
    return spans, problems


def read_lines(lines: Iterable[bytes], problems: list[Problem], *, name: str = "the input") -> Iterator[StoredSpan]:
    """The spans of lines that still have their ends; blank lines are skipped.

    Args:
        lines: as a binary file gives them.
        problems: what is wrong is appended here.
        name: of the file, for those problems.
    """
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        reader = _LineReader(name, number, problems)
        parsed = reader.parse(line)
        if parsed is not None:
            yield from reader.spans(parsed)


class _LineReader:
    """Reads one line; knows its number for what it has to say."""

    def __init__(self, name: str, number: int, problems: list[Problem]) -> None:
        self._name = name
        self._number = number
        self._problems = problems

    def parse(self, line: bytes) -> object:
        """The JSON value of the line; None and a problem when there is none."""
        try:
            text = line.decode()
        except UnicodeDecodeError:
            self._say(ProblemKind.UNREADABLE_LINE, "is not UTF-8; unreadable bytes were replaced")
            text = line.decode(errors="replace")
        try:
            return _loads(text)
        except (ValueError, RecursionError) as error:
            return self._rest(text, error)

    def spans(self, parsed: object) -> Iterator[StoredSpan]:
        """Every span of a parsed line."""
        request = as_object(parsed)
        if request is None or as_list(request.get("resourceSpans")) is None:
            self._say(ProblemKind.UNREADABLE_LINE, "is JSON, but no OTLP trace (no list resourceSpans)")
            return
        for resource_spans in self._objects(request, "resourceSpans"):
            resource = self._attributes(as_object(resource_spans.get("resource")) or {})
            for scope_spans in self._objects(resource_spans, "scopeSpans"):
                scope = as_text((as_object(scope_spans.get("scope")) or {}).get("name")) or ""
                for span in self._objects(scope_spans, "spans"):
                    yield self._span(span, scope, resource)

    def _rest(self, text: str, error: Exception) -> object:
        """What can be saved of a line that is not JSON: a whole request behind one that was torn."""
        begin = text.rfind(_BEGIN)
        if begin > 0:
            with suppress(ValueError, RecursionError):
                rest = _loads(text[begin:])
                self._say(ProblemKind.TORN_LINE, "begins with a torn request, which was left out")
                return rest
        if text.endswith("\n"):
            self._say(ProblemKind.UNREADABLE_LINE, f"is not JSON and was left out ({_short(error)})")
        else:
            self._say(ProblemKind.TORN_LINE, "has no end and was left out: the writer was killed, or writes now")
        return None

    def _span(self, raw: Any, scope: str, resource: dict[str, Any]) -> StoredSpan:
        trace_id, span_id = self._id(raw, "traceId"), self._id(raw, "spanId")
        if not trace_id or not span_id:
            self._say(ProblemKind.ODD_VALUE, f"a span named {str(raw.get('name'))[:80]!r} has no id")
        end = self._time(raw, "endTimeUnixNano")
        status = as_object(raw.get("status")) or {}
        return StoredSpan(
            trace_id=trace_id,
            span_id=span_id,
            parent_id=self._id(raw, "parentSpanId"),
            name=as_text(raw.get("name")) or "",
            kind=_kind(raw.get("kind")),
            start_ns=self._time(raw, "startTimeUnixNano"),
            end_ns=end,
            attributes=self._attributes(raw),
            links=tuple(self._link(link) for link in self._objects(raw, "links")),
            events=tuple(self._event(event) for event in self._objects(raw, "events")),
            is_error=status.get("code") in _ERROR,
            status_message=as_text(status.get("message")) or "",
            is_open=end == 0,
            scope=scope,
            resource=resource,
        )

    def _link(self, raw: Any) -> SpanLink:
        ids = self._id(raw, "traceId"), self._id(raw, "spanId")
        return SpanLink(trace_id=ids[0], span_id=ids[1], attributes=self._attributes(raw))

    def _event(self, raw: Any) -> SpanEvent:
        name = as_text(raw.get("name")) or ""
        return SpanEvent(time_ns=self._time(raw, "timeUnixNano"), name=name, attributes=self._attributes(raw))

    def _attributes(self, holder: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for pair in self._objects(holder, "attributes"):
            key = pair.get("key")
            if not isinstance(key, str):
                self._say(ProblemKind.ODD_VALUE, "an attribute has no key")
                continue
            value = _value(pair.get("value"), _MAX_DEPTH)
            if isinstance(value, _Odd):
                self._say(ProblemKind.ODD_VALUE, f"the value of the attribute {key[:80]!r} cannot be read")
            else:
                found[key] = value
        return found

    def _objects(self, holder: Any, key: str) -> Iterator[Any]:
        value = holder.get(key)
        items = as_list(value)
        if items is None and value is not None:
            self._say(ProblemKind.ODD_VALUE, f"{key} is not a list")
        for item in items or ():
            if as_object(item) is None:
                self._say(ProblemKind.ODD_VALUE, f"an entry of {key} is not an object")
            else:
                yield item

    def _time(self, raw: Any, key: str) -> int:
        value = raw.get(key)
        number = 0 if value is None or value == "" else _integer(value)
        if number is None or not 0 <= number < _UINT64:
            self._say(ProblemKind.ODD_VALUE, f"{key} is not a time: {str(value)[:40]!r}")
            return 0
        return number

    def _id(self, raw: Any, key: str) -> str:
        value = raw.get(key)
        if value is not None and not isinstance(value, str):
            self._say(ProblemKind.ODD_VALUE, f"{key} is not text")
        text = value.lower() if isinstance(value, str) else ""
        return text if text.strip("0") else ""  # all zeros is the format's other way to say none

    def _say(self, kind: ProblemKind, what: str) -> None:
        text = f"{self._name}, line {self._number}: {what}"
        self._problems.append(Problem(kind=kind, text=text, line=self._number))


class _Odd:
    """Stands for a value that cannot be read: None is a value of the format."""


_ODD: Final = _Odd()


def _value(raw: object, depth: int) -> Any:
    """One ``AnyValue``; an empty one is None."""
    value = as_object(raw)
    if value is None:
        return None if raw is None else _ODD
    if "stringValue" in value or "bytesValue" in value:
        text = value.get("stringValue", value.get("bytesValue"))
        return text if isinstance(text, str) else _ODD
    if "boolValue" in value:
        return value["boolValue"] if isinstance(value["boolValue"], bool) else _ODD
    if "intValue" in value:
        number = _integer(value["intValue"])
        return _ODD if number is None else number if -_UINT64 < number < _UINT64 else str(number)
    if "doubleValue" in value:
        return _double(value["doubleValue"])
    return _nested(value, depth)


def _nested(value: Any, depth: int) -> Any:
    if depth == 0:
        return NESTED
    if "arrayValue" in value:
        items = as_list((as_object(value["arrayValue"]) or {}).get("values")) or []
        return tuple(_or_none(_value(item, depth - 1)) for item in items)
    if "kvlistValue" in value:
        pairs = as_list((as_object(value["kvlistValue"]) or {}).get("values")) or []
        objects = [pair for item in pairs if (pair := as_object(item)) is not None]
        return {str(pair.get("key")): _or_none(_value(pair.get("value"), depth - 1)) for pair in objects}
    return None if not value else _ODD


def _or_none(value: Any) -> Any:
    return None if isinstance(value, _Odd) else value


def _integer(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    try:
        return int(value) if isinstance(value, (int, str)) else None
    except ValueError:
        return None


def _double(value: object) -> Any:
    """A number, or the texts ``NaN``, ``Infinity`` and ``-Infinity`` of the format."""
    try:
        return float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else _ODD
    except (ValueError, OverflowError):
        return _ODD


def _kind(value: object) -> SpanKind:
    """The kind by its number, or by its name with the format's prefix or without."""
    number = _integer(value)
    if number is None and isinstance(value, str):
        number = _KIND_NUMBERS.get(value.removeprefix("SPAN_KIND_"))
    return _KINDS[number] if number is not None and 0 <= number < len(_KINDS) else "UNSPECIFIED"


def _loads(text: str) -> object:
    parsed: object = json.loads(text)
    return parsed


def _short(error: Exception) -> str:
    return "nested too deep" if isinstance(error, RecursionError) else str(error)[:80]
