"""A success is one: a redirect and a partial success are refusals, each with its word, over HTTP and over gRPC."""

from __future__ import annotations

import gzip
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from traced_loop.export.otlp import watched_exporter
from traced_loop.export.otlp_endpoint import Endpoint
from traced_loop.export.quiet_exporters import quiet
from traced_loop.export.watched_exporter import WatchedExporter

from .answering_server import answering

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PROTOBUF = {"content-type": "application/x-protobuf"}
SERVICE = "opentelemetry.proto.collector.trace.v1.TraceService"


def answer(refused: int) -> Any:
    """A partial success, or a whole one."""
    response = traces.ExportTraceServiceResponse()
    if refused:
        response.partial_success.rejected_spans = refused
        response.partial_success.error_message = "too old"
    return response


def sent(exporter: WatchedExporter) -> tuple[bool, str | None, str]:
    """What comes of a request without spans: whether it was taken, why not, and the last words."""
    said: list[str] = []
    with quiet(said):
        taken = exporter.export([]) is SpanExportResult.SUCCESS
    exporter.shutdown()
    return taken, exporter.refusal, said[-1] if said else ""


def over_http(url: str) -> WatchedExporter:
    """The exporter that a run would have."""
    return watched_exporter(Endpoint(url=url, protocol="http/protobuf", source="test"))


@pytest.mark.parametrize(
    ("status", "refusal"),
    [
        (200, None),
        (202, None),
        (301, "redirect"),
        (302, "redirect"),
        (307, "redirect"),
        (400, "invalid"),
        (401, "unauthorized"),
        (403, "unauthorized"),
        (404, "not_found"),
        (409, "other"),
        (413, "too_large"),
        (500, "server_error"),
    ],
)
def test_each_status_has_its_word(status: int, refusal: str | None) -> None:
    """Only 2xx takes the spans."""
    with answering(status, {**PROTOBUF, "location": "http://127.0.0.1:9/"}) as server:
        taken, why, _ = sent(over_http(server.url))
    assert (taken, why, len(server.bodies)) == (refusal is None, refusal, 1)


def test_a_partial_success_is_a_refusal() -> None:
    """With its reason in our one line; a body that is no OTLP answer tells nothing."""
    with answering(200, PROTOBUF, answer(3).SerializeToString()) as server:
        assert sent(over_http(server.url)) == (
            False, "partial_success", "it answered success and refused 3 spans: too old"
        )  # fmt: skip
    for body in (answer(0).SerializeToString(), b"\xff\xff"):
        with answering(200, PROTOBUF, body) as server:
            assert sent(over_http(server.url))[:2] == (True, None)


def test_nobody_there_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when an earlier request was answered."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    with answering(200) as server:
        exporter = over_http(server.url)
        with quiet([]):
            assert exporter.export([]) is SpanExportResult.SUCCESS
    assert sent(exporter)[:2] == (False, "unreachable")


def test_where_credentials_make_the_session_answers_are_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment's provider of credentials is kept; it is found by the exporter, and this one is not installed."""
    from traced_loop.errors import UsageError

    monkeypatch.setenv("OTEL_PYTHON_EXPORTER_OTLP_HTTP_TRACES_CREDENTIAL_PROVIDER", "none-such")
    with pytest.raises(UsageError, match="none-such"):
        over_http("http://127.0.0.1:9/v1/traces")


def request_of(name: str) -> bytes:
    """A request that is encoded already."""
    request = traces.ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add().spans.add().name = name
    return request.SerializeToString()


@pytest.mark.parametrize("compression", ["none", "gzip", "deflate"])
def test_a_body_goes_out_as_the_environment_says(compression: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compressed, with its headers, by the standard exporter's own tries; an empty request stays what it is."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", compression)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-account=a%20b")
    unpack = {"none": bytes, "gzip": gzip.decompress, "deflate": zlib.decompress}[compression]
    with answering(200, PROTOBUF) as server:
        exporter = over_http(server.url)
        assert exporter.takes_bytes
        assert exporter.send(request_of("a" * 500))
        assert exporter.export([]) is SpanExportResult.SUCCESS
        exporter.shutdown()
    assert [unpack(body) for body in server.bodies] == [request_of("a" * 500), b""]
    assert server.headers[0]["x-account"] == "a b"
    assert server.headers[0]["content-type"] == "application/x-protobuf"
    assert server.headers[0].get("content-encoding", "none") == compression
    assert server.headers[0]["content-length"] == str(len(server.bodies[0]))


def given(spans: list[ReadableSpan], empty: bytes = b"") -> bytes:
    """What an exporter that forgot nothing puts out for these spans while it sends a body."""
    out: list[bytes] = []

    class Inner(SpanExporter):
        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            if not spans and not out:
                out.append(watched.body(empty))
                watched.export(asked)
            elif spans:
                out.append(watched.body(b"spans"))
            return SpanExportResult.SUCCESS

    asked = spans
    watched = WatchedExporter(lambda _: Inner())
    assert watched.send(b"body")
    return out[-1]


def test_spans_are_never_replaced_by_a_body() -> None:
    """A process may have been forked while its parent sent one."""
    assert given([ReadableSpan("a")]) == b"spans"


@pytest.mark.parametrize(
    ("empty", "out"),
    [
        (b"", b"body"),
        (b"\x0a\x00", b"body"),
        (zlib.compress(b""), zlib.compress(b"body")),
        (zlib.compress(b"", 9), zlib.compress(b"body")),
        (gzip.compress(b""), gzip.compress(b"body", 6, mtime=0)),
    ],
)
def test_a_body_is_compressed_as_the_request_is_that_it_replaces(empty: bytes, out: bytes) -> None:
    """One that is not compressed takes it as it is, whether or not it is empty."""
    assert given([], empty) == out


def test_a_refused_body_has_the_word_of_its_answer() -> None:
    """As spans have."""
    with answering(413) as server:
        exporter = over_http(server.url)
        with quiet([]):
            assert not exporter.send(request_of("a"))
        exporter.shutdown()
    assert exporter.refusal == "too_large"


def test_a_body_goes_over_grpc_too() -> None:
    """As the message that it is."""
    seen: list[bytes] = []
    with grpc_server(None, seen=seen) as exporter:
        assert exporter.takes_bytes
        assert exporter.send(request_of("a"))
        exporter.shutdown()
    assert seen == [request_of("a")]


@contextmanager
def grpc_server(
    code: grpc.StatusCode | None, details: str = "", refused: int = 0, seen: list[bytes] | None = None
) -> Iterator[WatchedExporter]:
    """An exporter to a collector that gives this answer."""

    def export(body: bytes, context: grpc.ServicerContext) -> bytes:
        if seen is not None:
            seen.append(body)
        if code is not None:
            context.abort(code, details)
        return answer(refused).SerializeToString()

    server = grpc.server(ThreadPoolExecutor(2))
    handler = grpc.unary_unary_rpc_method_handler(export)
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, {"Export": handler})])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield watched_exporter(Endpoint(url=f"http://127.0.0.1:{port}", protocol="grpc", source="test"))
    finally:
        server.stop(None).wait()


@pytest.mark.parametrize(
    ("code", "details", "refusal"),
    [
        (None, "", None),
        (grpc.StatusCode.INVALID_ARGUMENT, "no", "invalid"),
        (grpc.StatusCode.UNAUTHENTICATED, "no", "unauthorized"),
        (grpc.StatusCode.UNIMPLEMENTED, "no", "not_found"),
        (grpc.StatusCode.INTERNAL, "no", "server_error"),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "message larger than max (5 vs. 4)", "too_large"),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "slower", "busy"),
        (grpc.StatusCode.UNAVAILABLE, "later", "unreachable"),
        (grpc.StatusCode.NOT_FOUND, "no", "other"),
    ],
)
def test_each_code_has_its_word(
    code: grpc.StatusCode | None, details: str, refusal: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also over the stub that the exporter makes when it connects again."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "2")
    with grpc_server(code, details) as exporter:
        assert sent(exporter)[:2] == (refusal is None, refusal)


def test_a_partial_success_over_grpc_is_a_refusal() -> None:
    """The exporter throws that answer away."""
    with grpc_server(None, refused=2) as exporter:
        assert sent(exporter) == (False, "partial_success", "it answered success and refused 2 spans: too old")
