"""Stand-ins for what Jaeger v1 listens with, on real sockets: what arrives is read by jaeger-client's own types."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NEEDS_EXTRA = "needs the extra: pip install 'traced-loop[jaeger-client]'"
pytest.importorskip("jaeger_client", reason=NEEDS_EXTRA)

from jaeger_client.thrift_gen.agent import Agent as AgentCalls  # noqa: E402 - only where it is installed
from jaeger_client.thrift_gen.jaeger import ttypes  # noqa: E402
from opentelemetry.sdk.resources import Resource  # noqa: E402
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider  # noqa: E402
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: E402
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: E402
from thrift.protocol.TBinaryProtocol import TBinaryProtocol  # noqa: E402
from thrift.protocol.TCompactProtocol import TCompactProtocol  # noqa: E402
from thrift.transport.TTransport import TMemoryBuffer  # noqa: E402

MAX_PACKET = 65_000
KINDS = ttypes.TagType._VALUES_TO_NAMES


def read_packet(data: bytes) -> Any:
    """The batch of a UDP packet, as an agent reads it."""
    reader = TCompactProtocol(TMemoryBuffer(data))
    name, _, _ = reader.readMessageBegin()
    assert name == "emitBatch"
    call = AgentCalls.emitBatch_args()
    call.read(reader)
    reader.readMessageEnd()
    return call.batch


def read_body(data: bytes) -> Any:
    """The batch of a POST, as a collector reads it."""
    batch = ttypes.Batch()
    batch.read(TBinaryProtocol(TMemoryBuffer(data)))
    return batch


def values(tags: Sequence[Any]) -> dict[str, Any]:
    """Tags as a dict."""
    return {tag.key: _value(tag) for tag in tags}


def kinds(tags: Sequence[Any]) -> dict[str, str]:
    """The type of each tag: BOOL, LONG, DOUBLE, STRING."""
    return {tag.key: KINDS[tag.vType] for tag in tags}


def _value(tag: Any) -> Any:
    by_kind = {"STRING": tag.vStr, "DOUBLE": tag.vDouble, "BOOL": tag.vBool, "LONG": tag.vLong}
    return by_kind[KINDS[tag.vType]]


class Agent:
    """A UDP socket that reads into the 65,000 bytes that agents have."""

    def __init__(self, receiving: socket.socket) -> None:
        self._socket = receiving
        self.host, self.port = receiving.getsockname()[:2]

    def packets(self, spans: int) -> list[bytes]:
        """Packets until that many spans have come."""
        arrived: list[bytes] = []
        while sum(len(read_packet(data).spans) for data in arrived) < spans:
            arrived.append(self._socket.recv(MAX_PACKET))
        return arrived

    def spans(self, count: int) -> list[Any]:
        """That many spans, in the order of arrival."""
        return [span for data in self.packets(count) for span in read_packet(data).spans]


@contextmanager
def running_agent() -> Iterator[Agent]:
    """Listen for the time of the block."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiving:
        receiving.bind(("127.0.0.1", 0))
        receiving.settimeout(60)
        yield Agent(receiving)


def closed_udp_port() -> int:
    """A port on which nobody listens."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


@dataclass
class Collector:
    """What an HTTP collector got, and the status that it answers."""

    url: str = ""
    status: int = 202
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)


@contextmanager
def running_collector(status: int = 202) -> Iterator[Collector]:
    """Answer POSTs for the time of the block."""
    collector = Collector(status=status)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.requests.append((self.path, dict(self.headers.items()), body))
            self.send_response(collector.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        collector.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()


class Recorded:
    """Spans made with a real provider, to be given to the exporter by hand."""

    def __init__(self, **resource: str | int) -> None:
        self._memory = InMemorySpanExporter()
        given = Resource({"service.name": "shop", **resource})
        self.provider = TracerProvider(resource=given, shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self._memory))
        self.tracer = self.provider.get_tracer("instrumentation", "1.2")

    @property
    def spans(self) -> list[ReadableSpan]:
        """Those that have ended."""
        return list(self._memory.get_finished_spans())


def made_spans(*attributes: dict[str, Any]) -> list[ReadableSpan]:
    """One ended span for each, named by its place."""
    recorded = Recorded()
    for place, given in enumerate(attributes):
        recorded.tracer.start_span(str(place), attributes=given).end()
    return recorded.spans
