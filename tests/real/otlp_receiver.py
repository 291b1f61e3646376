"""A small OTLP collector, run as a program of its own: gRPC and HTTP on free loopback ports, to a JSON lines file.

Usage: `python otlp_receiver.py OUTPUT [--behaviour accept|refuse|hang] [--http-port N] [--grpc-port N]`.
The first line printed is JSON with the two ports. A record is in OUTPUT before its sender gets the answer.
It ends when its standard input does, so that it never outlives the tests.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from google.protobuf.message import Message
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

LOOPBACK = "127.0.0.1"
HANG_SECONDS = 60
REQUESTS: dict[str, type[Message]] = {
    "traces": traces.ExportTraceServiceRequest,
    "metrics": metrics.ExportMetricsServiceRequest,
    "logs": logs.ExportLogsServiceRequest,
}
GRPC_SERVICES = {
    "traces": "opentelemetry.proto.collector.trace.v1.TraceService",
    "metrics": "opentelemetry.proto.collector.metrics.v1.MetricsService",
    "logs": "opentelemetry.proto.collector.logs.v1.LogsService",
}


class RefusedError(Exception):
    """The receiver was told to behave as one that is overloaded."""


class Inbox:
    """Writes down what arrives, or misbehaves as it was told to."""

    def __init__(self, output: Path, behaviour: str) -> None:
        self._output = output.open("a", encoding="utf-8")
        self._behaviour = behaviour
        self._lock = threading.Lock()

    def take(self, signal: str, transport: str, request: Message) -> None:
        """Write the records of one export request; raise RefusedError or wait when so told."""
        if self._behaviour == "hang":
            threading.Event().wait(HANG_SECONDS)
        if self._behaviour != "accept":
            raise RefusedError
        with self._lock:
            for record in records(signal, request):
                line = {"signal": signal, "transport": transport, **record}
                self._output.write(json.dumps(line) + "\n")
            self._output.flush()


def records(signal: str, request: Any) -> Iterator[dict[str, Any]]:
    """Yield one record for each span; metrics and logs stay one record for each request."""
    if signal != "traces":
        yield {"request": MessageToDict(request, preserving_proto_field_name=True)}
        return
    for of_resource in request.resource_spans:
        resource = plain_map(of_resource.resource.attributes)
        for of_scope in of_resource.scope_spans:
            scope = {"scope_name": of_scope.scope.name, "scope_version": of_scope.scope.version}
            for span in of_scope.spans:
                yield {**plain_span(span), **scope, "resource": resource}


def plain_span(span: Span) -> dict[str, Any]:
    """Return a span as JSON-able fields, ids in hex, enums by their short names."""
    return {
        "name": span.name,
        "trace_id": span.trace_id.hex(),
        "span_id": span.span_id.hex(),
        "parent_span_id": span.parent_span_id.hex() or None,
        "kind": Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_"),
        "status": Status.StatusCode.Name(span.status.code).removeprefix("STATUS_CODE_"),
        "status_message": span.status.message,
        "start_ns": span.start_time_unix_nano,
        "end_ns": span.end_time_unix_nano,
        "attributes": plain_map(span.attributes),
        "dropped_attributes": span.dropped_attributes_count,
        "events": [{"name": event.name, "attributes": plain_map(event.attributes)} for event in span.events],
        "links": [
            {
                "trace_id": link.trace_id.hex(),
                "span_id": link.span_id.hex(),
                "attributes": plain_map(link.attributes),
            }
            for link in span.links
        ],
    }


def plain_map(attributes: Iterable[KeyValue]) -> dict[str, Any]:
    """Return attributes as a dict."""
    return {attribute.key: plain_value(attribute.value) for attribute in attributes}


def plain_value(value: AnyValue) -> Any:
    """Return an attribute's value as JSON-able; bytes in hex."""
    match value.WhichOneof("value"):
        case None:
            return None
        case "array_value":
            return [plain_value(item) for item in value.array_value.values]
        case "kvlist_value":
            return plain_map(value.kvlist_value.values)
        case "bytes_value":
            return value.bytes_value.hex()
        case field:
            return getattr(value, field)


class HttpHandler(BaseHTTPRequestHandler):
    """OTLP/HTTP with protobuf bodies, plain or gzip."""

    protocol_version = "HTTP/1.1"
    inbox: Inbox

    def do_POST(self) -> None:
        """Take one export request and answer with its status (http.server gives this method its name)."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.send_response(self._status(body))
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _status(self, body: bytes) -> int:
        signal = self.path.removeprefix("/v1/")
        if signal not in REQUESTS:
            return 404
        if self.headers.get("Content-Type") != "application/x-protobuf":
            return 415
        try:
            self.inbox.take(signal, "http", REQUESTS[signal].FromString(body))
        except RefusedError:
            return 503
        return 200

    def log_message(self, *_: object) -> None:
        """Print nothing for each request."""


def serve_http(inbox: Inbox, port: int) -> int:
    """Start the HTTP side; return its port."""
    handler = type("BoundHandler", (HttpHandler,), {"inbox": inbox})
    server = ThreadingHTTPServer((LOOPBACK, port), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def serve_grpc(inbox: Inbox, port: int) -> tuple[grpc.Server, int]:
    """Start the gRPC side; return the server, which must be kept, and its port."""
    server = grpc.server(ThreadPoolExecutor(max_workers=4))
    server.add_generic_rpc_handlers([grpc_service(inbox, signal) for signal in REQUESTS])
    bound = server.add_insecure_port(f"{LOOPBACK}:{port}")
    server.start()
    return server, bound


def grpc_service(inbox: Inbox, signal: str) -> grpc.GenericRpcHandler:
    """Return the `Export` service of one signal."""

    def export(request: Message, context: grpc.ServicerContext) -> bytes:
        try:
            inbox.take(signal, "grpc", request)
        except RefusedError:
            context.abort(grpc.StatusCode.UNAVAILABLE, "told to refuse")
        return b""

    method = grpc.unary_unary_rpc_method_handler(export, request_deserializer=REQUESTS[signal].FromString)
    return grpc.method_handlers_generic_handler(GRPC_SERVICES[signal], {"Export": method})


def main() -> None:
    """Serve until standard input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--behaviour", choices=["accept", "refuse", "hang"], default="accept")
    parser.add_argument("--http-port", type=int, default=0)
    parser.add_argument("--grpc-port", type=int, default=0)
    options = parser.parse_args()
    inbox = Inbox(options.output, options.behaviour)
    http_port = serve_http(inbox, options.http_port)
    _server, grpc_port = serve_grpc(inbox, options.grpc_port)
    sys.stdout.write(json.dumps({"http_port": http_port, "grpc_port": grpc_port}) + "\n")
    sys.stdout.flush()
    sys.stdin.read()
    os._exit(0)  # requests that hang would keep an ordinary exit waiting


if __name__ == "__main__":
    main()
