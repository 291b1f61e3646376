"""What a file holds, by its first bytes and by its first JSON value; its name says nothing."""

from typing import Any, Final, Literal, get_args

from traced_loop.json_shapes import as_list, as_object
from traced_loop.read.jaeger_json import traces_of
from traced_loop.read.otlp_json import resource_spans
from traced_loop.read.unreadable import Unreadable

SourceFormat = Literal["store", "otlp-json", "otlp-proto", "jaeger", "messages"]
"""The local store; OTLP as JSON or protobuf; Jaeger's own JSON; a log of plain messages."""
FORMATS: Final[tuple[SourceFormat, ...]] = get_args(SourceFormat)

KNOWN: Final = "OTLP JSON or protobuf, the JSON of Jaeger, or a log of messages"
"""What can be read, for messages."""
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_PACKED: Final = {
    b"\x1f\x8b": ("gzip", "gunzip"),
    _ZSTD: ("zstd", "zstd -d"),
    b"PK\x03\x04": ("zip", "unzip"),
    b"BZh": ("bzip2", "bunzip2"),
    b"\xfd7zXZ": ("xz", "unxz"),
}
_SQLITE: Final = b"SQLite format 3\x00"
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
_UTF32: Final = b"\x00\x00"
"""In the mark of UTF-32 that begins as one of UTF-16 does; the other one begins with them."""
BOM: Final = b"\xef\xbb\xbf"
_NO_TEXT: Final = frozenset(range(32)) - {9, 10, 12, 13}
"""Bytes that no JSON text holds, and that the ids of spans in protobuf do not go without."""
_OTHER_SIGNALS: Final = {"resourceLogs": "logs", "resourceMetrics": "metrics", "resourceProfiles": "profiles"}


def is_binary(head: bytes) -> bool:
    """Whether a file that begins so is no text."""
    return any(byte in _NO_TEXT for byte in head[:4096])


def of_bytes(head: bytes, name: str) -> Unreadable | None:
    """Why a file that begins so cannot be read at all; None where it may be one of the formats."""
    if not head.strip():
        return Unreadable(text=f"{name} is empty: nothing was written to it, or it is written now")
    for begin, (packing, program) in _PACKED.items():
        if head.startswith(begin):
            return Unreadable(text=f"{name} is packed with {packing}: unpack it first, `{program}`")
    if head[4:8] == _ZSTD:
        what = "as the Collector's file exporter writes with `compression: zstd`; write without it"
        return Unreadable(text=f"{name} holds messages that are each packed with zstd, {what}")
    if head.startswith(_SQLITE):
        return Unreadable(text=f"{name} is a SQLite file: of a store of this package name the folder that it lies in")
    if head.startswith(_UTF16):
        return Unreadable(text=f"{name} is UTF-{32 if _UTF32 in head[:4] else 16}: write it as UTF-8")
    if head.removeprefix(BOM).lstrip()[:1] == b"<":
        what = "a web page or XML: of a Jaeger give the address itself (http://host:16686) or the trace as JSON"
        return Unreadable(text=f"{name} is {what}")
    return None


def of_value(value: object) -> SourceFormat | Unreadable:
    """The format of a parsed JSON value; the text of what is wrong lacks its subject."""
    if resource_spans(value) is not None:
        return "otlp-json"
    if traces_of(value) is not None:
        return "jaeger"
    fields = as_object(value)
    if _are_messages(fields, value):
        return "messages"
    if fields is None:
        return Unreadable(text=f"is JSON, but neither {KNOWN}")
    error = _error_in(fields)
    if error:
        return Unreadable(text=f"is the answer of a server that failed: {error}")
    for key, signal in _OTHER_SIGNALS.items():
        if key in fields:
            return Unreadable(text=f"holds {signal} and no spans: give the file of traces")
    if {"context", "parent_id"} <= set(fields):
        what = "what OpenTelemetry's console exporter prints, which is for people: write OTLP (its JSON file exporter)"
        return Unreadable(text=f"is {what}")
    keys = ", ".join(str(key)[:40] for key in list(fields)[:5])
    return Unreadable(text=f"is JSON, but neither {KNOWN} (its fields are {keys or 'none'})")


def _are_messages(fields: Any, value: object) -> bool:
    """One run a line, or the messages of one: each with a role."""
    entries = as_list(fields.get("messages")) if fields is not None else as_list(value)
    if entries is None:
        return fields is not None and "role" in fields
    if not entries:  # a run in which nothing was said is one; a list of nothing can be anything
        return fields is not None
    return all("role" in (as_object(entry) or {}) for entry in entries[:3])


def _error_in(fields: Any) -> str:
    errors = as_list(fields.get("errors"))
    first = as_object(errors[0]) if errors else as_object(fields.get("error"))
    if first is None:
        return ""
    return str(first.get("msg", first.get("message", "it does not say why")))[:200]
