"""A small OTLP collector, run as a program of its own: gRPC and HTTP on free loopback ports, to a JSON lines file.

Usage: `python otlp_receiver.py OUTPUT [--behaviour WORD] [--http-port N] [--grpc-port N]`; the words are `BEHAVIOURS`.
The first line printed is JSON with the two ports. A record is in OUTPUT before its sender gets the answer.
It ends when its standard input does, so that it never outlives the tests.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import socket
import struct
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
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
SLOW_SECONDS = 5
POISON = "poison"
"""A span whose name begins so is refused by the behaviours that are about single spans."""
BEHAVIOURS = {
    "accept": "takes everything",
    "slow": "takes everything, after 5 s",
    "refuse": "is overloaded: 503",
    "hang": "reads, and never answers",
    "half_open": "takes the connection, and never reads",
    "reset": "resets the connection",
    "redirect": "sends elsewhere: 307; over gRPC it is overloaded",
    "too_large": "finds everything too large: 413",
    "partial": "answers success, and says that it refused all of it",
    "poison_invalid": "refuses a request with a poisonous span in it: 400",
    "poison_partial": "takes all but the poisonous spans, and says how many those were",
}
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
    """The receiver was told to refuse; the status says how."""

    def __init__(self, status: int) -> None:
        super().__init__(str(status))
        self.status = status


class Inbox:
    """Writes down what arrives, or misbehaves as it was told to."""

    def __init__(self, output: Path, behaviour: str) -> None:
        self._output = output.open("a", encoding="utf-8")
        self._behaviour = behaviour
        self._lock = threading.Lock()

    @property
    def behaviour(self) -> str:
        """The word."""
        return self._behaviour

    def take(self, signal: str, transport: str, request: Message) -> int:
        """Write the records of one export request; raise RefusedError or wait when so told.

        Returns how many of its spans were refused all the same.
        """
        if self._behaviour in {"hang", "slow"}:
            threading.Event().wait(SLOW_SECONDS if self._behaviour == "slow" else HANG_SECONDS)
        if self._behaviour in STATUSES:
            raise RefusedError(STATUSES[self._behaviour])
        found = list(records(signal, request))
        poisonous = [record for record in found if record.get("name", "").startswith(POISON)]
        if poisonous and self._behaviour == "poison_invalid":
            raise RefusedError(400)
        refused = found if self._behaviour == "partial" else poisonous if self._behaviour == "poison_partial" else []
        with self._lock:
            for record in found:
                if record in refused:
                    continue
                line = {"signal": signal, "transport": transport, **record}
                self._output.write(json.dumps(line) + "\n")
            self._output.flush()
        return len(refused) if signal == "traces" else 0


STATUSES = {"hang": 503, "refuse": 503, "redirect": 307, "too_large": 413}
CODES = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    413: grpc.StatusCode.RESOURCE_EXHAUSTED,
    307: grpc.StatusCode.UNAVAILABLE,
    503: grpc.StatusCode.UNAVAILABLE,
}


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
        if self.inbox.behaviour == "half_open":
            threading.Event().wait(HANG_SECONDS)
        if self.inbox.behaviour == "reset":
            # No time to linger: what is not sent is thrown away, and the peer is told so.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        status, answer = self._answer(body)
        self.send_response(status)
        if status == 307:
            self.send_header("Location", "http://127.0.0.1:9/v1/traces")
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(answer)))
        with suppress(OSError):  # a sender that did not wait for the answer
            self.end_headers()
            self.wfile.write(answer)

    def _answer(self, body: bytes) -> tuple[int, bytes]:
        signal = self.path.removeprefix("/v1/")
        if signal not in REQUESTS:
            return 404, b""
        if self.headers.get("Content-Type") != "application/x-protobuf":
            return 415, b""
        try:
            refused = self.inbox.take(signal, "http", REQUESTS[signal].FromString(body))
        except RefusedError as told:
            return told.status, b""
        return 200, partial_success(refused)

    def finish(self) -> None:
        """Flush, unless there is nobody any more."""
        with suppress(OSError, ValueError):
            super().finish()

    def log_message(self, *_: object) -> None:
        """Print nothing for each request."""


def partial_success(refused: int) -> bytes:
    """The answer to a request of which so many spans were refused."""
    if not refused:
        return b""
    answer = traces.ExportTraceServiceResponse()
    answer.partial_success.rejected_spans = refused
    answer.partial_success.error_message = "told to refuse"
    return answer.SerializeToString()


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
        if inbox.behaviour == "reset":
            context.abort(grpc.StatusCode.UNAVAILABLE, "told to reset")
        if inbox.behaviour == "half_open":
            threading.Event().wait(HANG_SECONDS)
        try:
            return partial_success(inbox.take(signal, "grpc", request))
        except RefusedError as told:
            context.abort(CODES[told.status], "larger than max" if told.status == 413 else "told to refuse")

    method = grpc.unary_unary_rpc_method_handler(export, request_deserializer=REQUESTS[signal].FromString)
    return grpc.method_handlers_generic_handler(GRPC_SERVICES[signal], {"Export": method})


def main() -> None:
    """Serve until standard input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--behaviour", choices=list(BEHAVIOURS), default="accept")
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
