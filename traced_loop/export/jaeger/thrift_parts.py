"""What jaeger-client is used for: its generated thrift types. Nothing else touches them, so ``Any`` ends here.

Its senders are not used: they want an event loop of tornado, never learn that nobody listens, and know no HTTP. Its
types have no accelerated encoder in today's thrift: a span of a run takes 0.2 milliseconds, one of 20 attributes 0.5.
"""

import base64
import json
import math
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from typing import Any, Final, Protocol

from traced_loop.errors import UsageError
from traced_loop.telemetry.attributes import valid_text

EXTRA: Final = "pip install 'traced-loop[jaeger-client]'"
_INT64: Final = 2**63


class Encodable(Protocol):
    """Anything that was generated from Jaeger's thrift files."""

    def write(self, oprot: Any, /) -> None:
        """Write the structure with a thrift protocol."""
        ...


class Tag(Encodable, Protocol):
    """A typed key and value; ``vStr`` is None unless the value is text."""

    key: str
    vStr: str | None


class Log(Encodable, Protocol):
    """An event: a time and fields."""

    fields: list[Tag]


class Span(Encodable, Protocol):
    """A span as Jaeger takes it."""

    operationName: str
    references: list[Encodable]
    tags: list[Tag]
    logs: list[Log]


class Process(Encodable, Protocol):
    """Who sent the spans of one batch."""

    serviceName: str
    tags: list[Tag]


class Wire(Protocol):
    """One of the two forms in which spans travel."""

    @property
    def limit(self) -> int:
        """Bytes that a message may have at most."""
        ...

    def encode(self, structure: Encodable) -> bytes:
        """The structure's bytes: the same alone and as a member of a list."""
        ...

    def message(self, process: Process, spans: Sequence[bytes]) -> bytes:
        """A whole message around encoded spans."""
        ...


class AgentPacket:
    """Thrift compact, an ``emitBatch`` call: what agents take over UDP on 6831, and Jaeger 2 with them."""

    limit: int = 64_999
    """Agents read a packet into 65,000 bytes and lose what is longer; the kernel would send up to 65,507."""

    def encode(self, structure: Encodable) -> bytes:
        """See ``Wire.encode``."""
        return _written(structure, "TCompactProtocol")

    def message(self, process: Process, spans: Sequence[bytes]) -> bytes:
        """See ``Wire.message``."""
        return _written(_agent().emitBatch_args(batch=_batch(process, spans)), "TCompactProtocol", call="emitBatch")


class CollectorRequest:
    """Thrift binary, one batch: the body of a POST to a collector on 14268."""

    limit: int = 4_000_000
    """Jaeger 2 takes 20 MiB and v1 anything; a proxy between may be stricter."""

    def encode(self, structure: Encodable) -> bytes:
        """See ``Wire.encode``."""
        return _written(structure, "TBinaryProtocol")

    def message(self, process: Process, spans: Sequence[bytes]) -> bytes:
        """See ``Wire.message``."""
        return _written(_batch(process, spans), "TBinaryProtocol")


def require() -> None:
    """Import what is needed.

    Raises:
        UsageError: jaeger-client is missing, or ``six``, which it needs without saying so.
    """
    try:
        for load in (_types, _agent, http_client):
            load()
    except ImportError as error:
        raise UsageError(f"Jaeger's own formats need jaeger-client ({error}): {EXTRA}") from error


def tag(key: str, value: object) -> Tag:
    """A typed tag. Integers beyond 64 bits, NaN and infinities become text, bytes base64, lists and mappings JSON.

    Jaeger takes NaN and infinities, and then fails to give out the whole trace, since JSON has no word for them.
    """
    types, name = _types(), valid_text(key)
    made: Tag
    if isinstance(value, bool):
        made = types.Tag(key=name, vType=types.TagType.BOOL, vBool=value)
    elif isinstance(value, int) and -_INT64 <= value < _INT64:
        made = types.Tag(key=name, vType=types.TagType.LONG, vLong=value)
    elif isinstance(value, float) and math.isfinite(value):
        made = types.Tag(key=name, vType=types.TagType.DOUBLE, vDouble=value)
    else:
        made = types.Tag(key=name, vType=types.TagType.STRING, vStr=_text(value))
    return made


def log(time_ns: int, fields: Iterable[Tag]) -> Log:
    """An event."""
    made: Log = _types().Log(timestamp=time_ns // 1000, fields=list(fields))
    return made


def child_of(trace_id: int, span_id: int) -> Encodable:
    """The reference to a parent."""
    return _reference(_types().SpanRefType.CHILD_OF, trace_id, span_id)


def follows_from(trace_id: int, span_id: int) -> Encodable:
    """A link. Jaeger's references have no attributes."""
    return _reference(_types().SpanRefType.FOLLOWS_FROM, trace_id, span_id)


def process(service: str, tags: Iterable[Tag]) -> Process:
    """Who sends."""
    made: Process = _types().Process(serviceName=valid_text(service), tags=list(tags))
    return made


def span(
    *,
    trace_id: int,
    span_id: int,
    parent_id: int,
    name: str,
    flags: int,
    start_ns: int,
    end_ns: int,
    references: Iterable[Encodable],
    tags: Iterable[Tag],
    logs: Iterable[Log],
) -> Span:
    """A span; ``parent_id`` is 0 for none. Both times are cut to microseconds, so no child ends after its parent."""
    made: Span = _types().Span(
        traceIdLow=_signed(trace_id),
        traceIdHigh=_signed(trace_id >> 64),
        spanId=_signed(span_id),
        parentSpanId=_signed(parent_id),
        operationName=valid_text(name),
        references=list(references),
        flags=flags,
        startTime=start_ns // 1000,
        duration=max(0, end_ns // 1000 - start_ns // 1000),
        tags=list(tags),
        logs=list(logs),
    )
    return made


@cache
def http_client() -> Any:
    """The HTTP transport that comes with thrift."""
    return import_module("thrift.transport.THttpClient").THttpClient


@cache
def _types() -> Any:
    return import_module("jaeger_client.thrift_gen.jaeger.ttypes")


@cache
def _agent() -> Any:
    return import_module("jaeger_client.thrift_gen.agent.Agent")


class _Encoded:
    """Stands for a structure that was encoded before, so that packing encodes nothing twice."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def write(self, oprot: Any, /) -> None:
        oprot.trans.write(self._data)


def _batch(process: Process, spans: Sequence[bytes]) -> Any:
    return _types().Batch(process=process, spans=[_Encoded(data) for data in spans])


def _reference(kind: int, trace_id: int, span_id: int) -> Encodable:
    made: Encodable = _types().SpanRef(
        refType=kind, traceIdLow=_signed(trace_id), traceIdHigh=_signed(trace_id >> 64), spanId=_signed(span_id)
    )
    return made


def _written(structure: Encodable, protocol: str, *, call: str | None = None) -> bytes:
    """The bytes of a structure, within a call that expects no answer if one is named."""
    buffer: Any = import_module("thrift.transport.TTransport").TMemoryBuffer()
    out: Any = getattr(import_module(f"thrift.protocol.{protocol}"), protocol)(buffer)
    if call is None:
        structure.write(out)
    else:
        out.writeMessageBegin(call, import_module("thrift.Thrift").TMessageType.ONEWAY, 0)
        structure.write(out)
        out.writeMessageEnd()
    return bytes(buffer.getvalue())


def _signed(number: int) -> int:
    """The lowest 64 bits as thrift's signed integer."""
    low = number & 2 * _INT64 - 1
    return low - 2 * _INT64 if low >= _INT64 else low


def _text(value: object) -> str:
    if isinstance(value, str):
        return valid_text(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, (int, float)):
        return str(value)
    return valid_text(json.dumps(value, ensure_ascii=False, default=str))
