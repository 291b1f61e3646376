"""Jaeger's own JSON into stored spans: what its UI downloads, and what ``/api/traces`` answers.

Times are microseconds there, a list is its JSON text, and status, kind and scope are tags. A span has one ``CHILD_OF``
reference to its parent; every other reference is a link.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast

from traced_loop.json_shapes import as_list, as_object, as_text
from traced_loop.read.otlp_span import KINDS, Say, integer
from traced_loop.read.trace import ProblemKind, SpanEvent, SpanKind, SpanLink, StoredSpan

_STATUS, _MESSAGE, _SCOPE, _SCOPE_VERSION = (
    "otel.status_code",
    "otel.status_description",
    "otel.scope.name",
    "otel.scope.version",
)
_KIND, _ERROR, _FORMAT = "span.kind", "error", "internal.span.format"
_EVENT_NAMES: Final = ("event", "message")
_KINDS: Final[Mapping[str, SpanKind]] = {kind.lower(): kind for kind in KINDS}
_MICRO: Final = 1_000


def traces_of(parsed: object) -> list[Mapping[str, Any]] | None:
    """The traces of a document: under ``data``, in a list, or one by itself; None where it is none of Jaeger's."""
    fields = as_object(parsed)
    entries = as_list(fields.get("data")) if fields is not None and "data" in fields else as_list(parsed)
    if fields is not None and _is_trace(fields):
        entries = [parsed]
    if entries is None:
        return None
    found = [trace for entry in entries if (trace := as_object(entry)) is not None and _is_trace(trace)]
    is_answer = fields is not None and not entries and {"data", "total", "errors"} <= set(fields)
    return found if found or is_answer else None


def read_traces(traces: Iterable[Mapping[str, Any]], say: Say) -> Iterator[StoredSpan]:
    """The spans of these traces; what is wrong is said, Jaeger's own warnings once each."""
    reader = _Reader(say)
    for trace in traces:
        processes = as_object(trace.get("processes")) or {}
        resources = {key: reader.resource(as_object(process) or {}) for key, process in processes.items()}
        reader.pass_on(trace.get("warnings"))
        for span in as_list(trace.get("spans")) or ():
            if isinstance(span, dict):
                yield reader.span(cast("dict[str, Any]", span), trace, resources)
            else:
                say(ProblemKind.ODD_VALUE, "an entry of spans is not an object")


def _is_trace(fields: Mapping[str, Any]) -> bool:
    return as_list(fields.get("spans")) is not None and ("traceID" in fields or "processes" in fields)


class _Reader:
    def __init__(self, say: Say) -> None:
        self._say = say
        self._known: dict[str, str] = {}
        self._passed_on: set[str] = set()

    def resource(self, process: Mapping[str, Any]) -> dict[str, Any]:
        """Who emitted spans."""
        found = self._tags(process.get("tags"))
        name = as_text(process.get("serviceName"))
        return {"service.name": name, **found} if name else found

    def pass_on(self, warnings: object) -> None:
        """Say what Jaeger warns of."""
        for warning in as_list(warnings) or ():
            text = str(warning)[:300]
            if text not in self._passed_on:
                self._passed_on.add(text)
                self._say(ProblemKind.SENDER_WARNING, f"Jaeger warns: {text}")

    def span(self, raw: Mapping[str, Any], trace: Mapping[str, Any], resources: Mapping[str, Any]) -> StoredSpan:
        """One span; of a trace in which it stands, and with the resources by the ids of their processes."""
        self.pass_on(raw.get("warnings"))
        trace_id = self._id(raw.get("traceID", trace.get("traceID")), 32)
        span_id = self._id(raw.get("spanID"), 16)
        if not trace_id or not span_id:
            self._say(ProblemKind.ODD_VALUE, f"a span named {str(raw.get('operationName'))[:80]!r} has no id")
        start, duration = self._time(raw, "startTime"), self._time(raw, "duration")
        tags = self._tags(raw.get("tags"))
        process = as_object(raw.get("process"))
        parent_id, links = self._references(raw, trace_id, is_otlp=_SCOPE in tags or tags.get(_FORMAT) == "otlp")
        return StoredSpan(
            trace_id=trace_id,
            span_id=span_id,
            parent_id=parent_id,
            links=links,
            name=self._once(as_text(raw.get("operationName")) or ""),
            start_ns=start,
            end_ns=start + duration if "duration" in raw else 0,
            is_open="duration" not in raw,
            events=tuple(self._event(log) for entry in as_list(raw.get("logs")) or () if (log := as_object(entry))),
            resource=self.resource(process) if process is not None else resources.get(str(raw.get("processID")), {}),
            **_of_tags(tags),
        )

    def _references(self, raw: Mapping[str, Any], trace_id: str, *, is_otlp: bool) -> tuple[str, tuple[SpanLink, ...]]:
        """The parent's id, and the links. Without OpenTelemetry the first reference of any kind leads to the parent."""
        parent = self._id(raw.get("parentSpanID"), 16)
        links: list[SpanLink] = []
        kinds: list[str] = []
        for entry in as_list(raw.get("references")) or ():
            reference = as_object(entry) or {}
            kind = str(reference.get("refType"))
            link = SpanLink(
                trace_id=self._id(reference.get("traceID"), 32), span_id=self._id(reference.get("spanID"), 16)
            )
            if kind == "CHILD_OF" and not parent and link.trace_id == trace_id:
                parent = link.span_id
            elif link.span_id != parent or kind != "CHILD_OF":
                links.append(link)
                kinds.append(kind)
        if not parent and links and not is_otlp and links[0].trace_id == trace_id:
            parent = links.pop(0).span_id
        return parent, tuple(links)

    def _event(self, log: Mapping[str, Any]) -> SpanEvent:
        fields = self._tags(log.get("fields"))
        name = next((fields.pop(key) for key in _EVENT_NAMES if isinstance(fields.get(key), str)), "")
        return SpanEvent(time_ns=self._time(log, "timestamp"), name=name, attributes=fields)

    def _tags(self, tags: object) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for entry in as_list(tags) or ():
            tag = as_object(entry)
            key = tag.get("key") if tag is not None else None
            if tag is None or not isinstance(key, str):
                self._say(ProblemKind.ODD_VALUE, "a tag has no key")
                continue
            value = _tag_value(tag)
            if isinstance(value, (dict, list)):
                self._say(ProblemKind.ODD_VALUE, f"the value of the tag {key[:80]!r} cannot be read")
            else:
                found[self._once(key)] = value
        return found

    def _time(self, raw: Mapping[str, Any], key: str) -> int:
        """Microseconds as nanoseconds."""
        value = raw.get(key, 0)
        number = integer(value)
        if number is None and isinstance(value, float) and value == value and abs(value) < 2**63:
            return max(0, round(value * _MICRO))
        if number is None or not 0 <= number < 2**63 // _MICRO:
            self._say(ProblemKind.ODD_VALUE, f"{key} is not a time: {str(value)[:40]!r}")
            return 0
        return number * _MICRO

    def _id(self, value: object, digits: int) -> str:
        """An id with the zeros in front that old versions leave out."""
        text = value.lower() if isinstance(value, str) else ""
        return self._once(text.zfill(digits)) if text.strip("0") else ""

    def _once(self, text: str) -> str:
        return self._known.setdefault(text, text)


def _of_tags(tags: dict[str, Any]) -> dict[str, Any]:
    """What OpenTelemetry has fields for and Jaeger has tags; the rest are attributes."""
    status, error = tags.pop(_STATUS, None), tags.pop(_ERROR, None)
    kind, message = tags.pop(_KIND, None), tags.pop(_MESSAGE, None)
    scope = tags.pop(_SCOPE, None)
    tags.pop(_SCOPE_VERSION, None)
    tags.pop(_FORMAT, None)
    return {
        "is_error": status == "ERROR" if isinstance(status, str) else error in (True, "true"),
        "status_message": message if isinstance(message, str) else "",
        "kind": _KINDS.get(kind, "UNSPECIFIED") if isinstance(kind, str) else "UNSPECIFIED",
        "scope": scope if isinstance(scope, str) else "",
        "attributes": tags,
    }


def _tag_value(tag: Mapping[str, Any]) -> Any:
    value, kind = tag.get("value"), tag.get("type")
    if kind == "int64" and not isinstance(value, bool):
        number = integer(value)
        return value if number is None else number
    if kind == "float64" and isinstance(value, (int, str)) and not isinstance(value, bool):
        try:
            return float(value)
        except (ValueError, OverflowError):
            return value
    if kind == "bool" and isinstance(value, str):
        return value == "true"
    return value
