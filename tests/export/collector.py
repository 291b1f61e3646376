"""A collector over OTLP/HTTP on a free loopback port: takes, refuses, or never answers."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ..hangs import HANGS

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Collector:
    """A running collector and what it was sent."""

    port: int
    status: int = 200
    sizes: list[int] = field(default_factory=list)
    requests: list[Any] = field(default_factory=list)
    breaks_after: int = 1_000_000
    """Requests that are taken before it refuses all others."""
    asked: threading.Event = field(default_factory=threading.Event)
    """A request has come."""
    may_answer: threading.Event = field(default_factory=threading.Event)
    """Set unless a test clears it: no request is answered before."""

    def __post_init__(self) -> None:
        self.may_answer.set()

    @property
    def endpoint(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def spans(self) -> list[Any]:
        """Every span that was taken."""
        return [s for r in self.requests for of in r.resource_spans for scope in of.scope_spans for s in scope.spans]

    @property
    def services(self) -> set[str]:
        """Every ``service.name`` that was seen."""
        attributes = [a for r in self.requests for of in r.resource_spans for a in of.resource.attributes]
        return {a.value.string_value for a in attributes if a.key == "service.name"}


@contextmanager
def collector(status: int = 200) -> Iterator[Collector]:
    """Collect for the time of the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["content-length"]))
            state.asked.set()
            state.may_answer.wait(HANGS)
            if len(state.requests) >= state.breaks_after:
                state.status = 400
            if state.status == 200:
                state.sizes.append(len(data))
                state.requests.append(ExportTraceServiceRequest.FromString(data))
            self.send_response(state.status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state = Collector(server.server_address[1], status)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
