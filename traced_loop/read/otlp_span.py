"""One span of an OTLP JSON document, as parsed JSON, into a stored span.

Tolerant by the rules of the format and beyond: unknown fields are ignored, missing ones are empty, 64-bit numbers may
be text or numbers, ids hexadecimal or base64 (protobuf's own mapping), names snake_case, as protobuf has them, or
camelCase. What cannot be read is said, and left out.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from traced_loop import names
from traced_loop.json_shapes import as_list, as_object, as_text
from traced_loop.read.trace import COUNTED, ProblemKind, SpanEvent, SpanKind, SpanLink, StoredSpan

KINDS: Final[tuple[SpanKind, ...]] = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
"""By their number."""
NESTED: Final = "<nested too deep>"
"""Stands for the part of an attribute value that lies too deep."""
MAX_DEPTH: Final = 16
"""Levels of lists and mappings inside one attribute value; what lies deeper becomes ``NESTED``."""

_INT_NAMES: Final = frozenset({"intValue", "int_value"})
_KIND_NUMBERS: Final = {str(kind): number for number, kind in enumerate(KINDS)}
_ERROR: Final = (2, "2", "STATUS_CODE_ERROR")
_UINT64: Final = 2**64
_BASE64_SIZES: Final = {22: 16, 24: 16, 11: 8, 12: 8}
"""Characters of an id in base64, with its filling or without, and its bytes. None of them is the size of a hexadecimal
id."""
_WORDS: Final = (names.CHAT, names.EXECUTE_TOOL, names.INVOKE_AGENT, "function", "openai", "api.openai.com", "ok")
_HEX_SIZES: Final = (16, 32)
_MAX_TIME_DIGITS: Final = 20
_SNAKE: Final = re.compile(r"(?<=[a-z])([A-Z])")

Say = Callable[[ProblemKind, str], None]
"""Takes what is wrong: the kind, and a sentence without its subject."""


class SpanReader:
    """Reads the spans of one input; equal keys, scopes and resources of it are kept once."""

    def __init__(self, say: Say) -> None:
        self.say = say
        # Words of operations and providers come with every span.
        self._known: dict[str, str] = {word: word for word in _WORDS}
        self._last: tuple[object, dict[str, Any]] = None, {}

    def spans(self, all_resource_spans: Sequence[Any]) -> Iterator[StoredSpan]:
        """Every span below the entries of a list ``resourceSpans``."""
        for resource_spans in self._each_object(all_resource_spans, "resourceSpans"):
            resource = self._resource(resource_spans.get("resource"))
            for key in ("scopeSpans", "scope_spans", "instrumentationLibrarySpans"):
                for scope_spans in self._objects(resource_spans, key):
                    scope_of = scope_spans.get("scope", scope_spans.get("instrumentationLibrary"))
                    scope = self._once(as_text((as_object(scope_of) or {}).get("name")) or "")
                    for span in self._objects(scope_spans, "spans"):
                        yield self._span(span, scope, resource)

    def _resource(self, raw: object) -> dict[str, Any]:
        """One mapping for all that came from one resource in a row: a file of lines repeats it in each."""
        if raw != self._last[0]:
            self._last = raw, self.attributes(as_object(raw) or {})
        return self._last[1]

    def _span(self, raw: Any, scope: str, resource: dict[str, Any]) -> StoredSpan:
        trace_id, span_id = self._once(self._id(raw, "traceId")), self._id(raw, "spanId")
        if not trace_id or not span_id:
            self.say(ProblemKind.ODD_VALUE, f"a span named {str(raw.get('name'))[:80]!r} has no id")
        end = self._time(raw, "endTimeUnixNano")
        status = as_object(raw.get("status")) or {}
        return StoredSpan(
            trace_id=trace_id,
            span_id=span_id,
            parent_id=self._id(raw, "parentSpanId"),
            name=self._once(as_text(raw.get("name")) or ""),
            kind=_kind(raw.get("kind")),
            start_ns=self._time(raw, "startTimeUnixNano"),
            end_ns=end,
            attributes=self.attributes(raw),
            links=tuple([self._link(link) for link in self._objects(raw, "links")]) if "links" in raw else (),
            events=tuple([self._event(event) for event in self._objects(raw, "events")]) if "events" in raw else (),
            is_error=status.get("code") in _ERROR if status else False,
            status_message=as_text(status.get("message")) or "" if status else "",
            is_open=end == 0,
            scope=scope,
            resource=resource,
        )

    def _link(self, raw: Any) -> SpanLink:
        ids = self._id(raw, "traceId"), self._id(raw, "spanId")
        return SpanLink(trace_id=ids[0], span_id=ids[1], attributes=self.attributes(raw))

    def _event(self, raw: Any) -> SpanEvent:
        name = self._once(as_text(raw.get("name")) or "")
        return SpanEvent(time_ns=self._time(raw, "timeUnixNano"), name=name, attributes=self.attributes(raw))

    def attributes(self, holder: Mapping[str, Any]) -> dict[str, Any]:
        """The attributes of a span, an event, a link or a resource."""
        if holder.get("attributes") is None:
            return {}
        found: dict[str, Any] = {}
        known = self._known
        for pair in self._objects(holder, "attributes"):
            try:  # the way of nearly all of them: a trace has millions
                key, value = pair["key"], pair["value"]
                text = value.get("stringValue")
            except (KeyError, AttributeError):
                text = key = None
            if type(text) is str and type(key) is str:
                found[known.setdefault(key, key)] = known.get(text, text)
            else:
                self._attribute(pair, found)
        return found

    def _attribute(self, pair: Any, found: dict[str, Any]) -> None:
        key = pair.get("key")
        if not isinstance(key, str):
            self.say(ProblemKind.ODD_VALUE, "an attribute has no key")
            return
        value = attribute_value(pair.get("value"))
        if isinstance(value, Odd):
            self.say(ProblemKind.ODD_VALUE, f"the value of the attribute {key[:80]!r} cannot be read")
        else:
            found[self._once(key)] = value
            if isinstance(value, str) and _INT_NAMES & pair["value"].keys() and COUNTED.search(key):
                self.say(ProblemKind.ODD_VALUE, f"the integer {key[:80]!r} has more than 64 bits: it is taken as text")

    def _objects(self, holder: Mapping[str, Any], key: str) -> Sequence[Any]:
        """The objects of a list; what is none is said and left out."""
        value = holder.get(key)
        if value is None:
            return ()
        items = as_list(value)
        if items is None:
            self.say(ProblemKind.ODD_VALUE, f"{key} is not a list")
            return ()
        return self._each_object(items, key)

    def _each_object(self, items: Sequence[Any], key: str) -> Sequence[Any]:
        objects: list[Any] = [item for item in items if isinstance(item, dict)]
        for _ in range(len(items) - len(objects)):
            self.say(ProblemKind.ODD_VALUE, f"an entry of {key} is not an object")
        return objects

    def _time(self, raw: Mapping[str, Any], key: str) -> int:
        value = raw.get(key)
        if isinstance(value, str) and len(value) < _MAX_TIME_DIGITS and value.isdecimal():  # nearly always
            return int(value)
        value = _named(raw, key)
        number = 0 if value is None or value == "" else integer(value)
        if number is None or not 0 <= number < _UINT64:
            self.say(ProblemKind.ODD_VALUE, f"{key} is not a time: {str(value)[:40]!r}")
            return 0
        return number

    def _id(self, raw: Mapping[str, Any], key: str) -> str:
        value = raw.get(key)
        if isinstance(value, str) and len(value) in _HEX_SIZES:  # nearly always
            return value.lower() if value.strip("0") else ""
        value = _named(raw, key)
        if value is not None and not isinstance(value, str):
            self.say(ProblemKind.ODD_VALUE, f"{key} is not text")
        return identifier(value) if isinstance(value, str) else ""

    def _once(self, text: str) -> str:
        """The same object for equal texts of which there are few."""
        return self._known.setdefault(text, text)


class Odd:
    """Stands for a value that cannot be read: None is a value of the format."""


_ODD: Final = Odd()


def identifier(text: str) -> str:
    """An id in lower-case hexadecimal; ``""`` for all zeros, which is the format's other way to say none."""
    size = _BASE64_SIZES.get(len(text))
    if size is not None:
        try:
            decoded = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        except (binascii.Error, ValueError):
            decoded = b""
        if len(decoded) == size:
            text = decoded.hex()
    text = text.lower()
    return text if text.strip("0") else ""


def attribute_value(raw: object, depth: int = MAX_DEPTH) -> Any:
    """One ``AnyValue``; an empty one is None, one that cannot be read an ``Odd``."""
    if not isinstance(raw, dict):
        return None if raw is None else _ODD
    value = cast("dict[str, Any]", raw)
    if len(value) == 1:
        [(key, inner)] = value.items()
        if key == "stringValue" and isinstance(inner, str):
            return inner
        if key == "intValue" and isinstance(inner, str) and len(inner) < 19 and inner.isdecimal() and inner.isascii():
            return int(inner)
    value = {_SNAKE_NAMES.get(key, key): inner for key, inner in value.items()}
    if "stringValue" in value or "bytesValue" in value:
        text = value.get("stringValue", value.get("bytesValue"))
        return text if isinstance(text, str) else _ODD
    if "boolValue" in value:
        return value["boolValue"] if isinstance(value["boolValue"], bool) else _ODD
    if "intValue" in value:
        number = integer(value["intValue"])
        return _ODD if number is None else number if -_UINT64 < number < _UINT64 else str(number)
    if "doubleValue" in value:
        return _double(value["doubleValue"])
    return _nested(value, depth)


_SNAKE_NAMES: Final = {
    f"{kind}_value": f"{kind}Value" for kind in ("string", "bytes", "bool", "int", "double", "array", "kvlist")
}


def _nested(value: dict[str, Any], depth: int) -> Any:
    if depth == 0:
        return NESTED
    if "arrayValue" in value:
        items = as_list((as_object(value["arrayValue"]) or {}).get("values")) or []
        return tuple(_or_none(attribute_value(item, depth - 1)) for item in items)
    if "kvlistValue" in value:
        pairs = as_list((as_object(value["kvlistValue"]) or {}).get("values")) or []
        objects = [pair for item in pairs if (pair := as_object(item)) is not None]
        return {
            as_text(pair.get("key")) or "": _or_none(attribute_value(pair.get("value"), depth - 1)) for pair in objects
        }
    return None if not value else _ODD


def _or_none(value: Any) -> Any:
    return None if isinstance(value, Odd) else value


def integer(value: object) -> int | None:
    """A whole number, as a number or as text; else None."""
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
    number = value if type(value) is int else integer(value)
    if number is None and isinstance(value, str):
        number = _KIND_NUMBERS.get(value.removeprefix("SPAN_KIND_"))
    return KINDS[number] if number is not None and 0 <= number < len(KINDS) else "UNSPECIFIED"


def _named(raw: Mapping[str, Any], key: str) -> Any:
    """A field by its name in the mapping, or by the one that protobuf has for it."""
    value = raw.get(key)
    return raw.get(_SNAKE.sub(lambda found: f"_{found[1].lower()}", key)) if value is None and key not in raw else value
