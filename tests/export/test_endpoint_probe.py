"""What ``doctor`` says of an endpoint, against real sockets."""

import shutil
import socket
import ssl
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from traced_loop import names
from traced_loop.export.endpoint_probe import Probe, one_span_request, probe

from .answering_server import answering

PROTOBUF = {"content-type": "application/x-protobuf"}


def request() -> Any:
    """One span, ids and time fixed."""
    return one_span_request("run-1", {"service.name": "shop"}, 1_700_000_000_000_000_000, (7, 8))


def http(url: str, **more: Any) -> Probe:
    """What the tests ask over HTTP."""
    return Probe(url=url, protocol="http/protobuf", **more)


def closed_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def refusing_one(why: str) -> bytes:
    """An answer that says success and refuses the span."""
    response = ExportTraceServiceResponse()
    response.partial_success.rejected_spans = 1
    response.partial_success.error_message = why
    return response.SerializeToString()


def test_an_endpoint_that_takes_the_span_is_fine() -> None:
    """What it was sent is one span of the given service, with the run id and the given headers."""
    with answering(200, PROTOBUF) as server:
        finding = probe(http(server.url, headers={"api-key": "s3cret"}), request())

    sent = ExportTraceServiceRequest.FromString(server.bodies[0])
    span = sent.resource_spans[0].scope_spans[0].spans[0]
    assert finding.taken
    assert (span.attributes[0].key, span.attributes[0].value.string_value) == (names.RUN_ID, "run-1")
    assert sent.resource_spans[0].resource.attributes[0].value.string_value == "shop"
    assert server.headers[0]["api-key"] == "s3cret"


@pytest.mark.parametrize(
    ("status", "headers", "body", "problem", "said"),
    [
        pytest.param(401, {}, b"", "unauthorized", "OTEL_EXPORTER_OTLP_HEADERS", id="no credentials"),
        pytest.param(403, {}, b"", "unauthorized", "may not send", id="wrong credentials"),
        pytest.param(404, {}, b"", "not_found", "/v1/traces", id="wrong path"),
        pytest.param(405, {}, b"", "not_found", "/v1/traces", id="no POST there"),
        pytest.param(415, {}, b"", "wrong_type", "protobuf", id="wrong media type"),
        pytest.param(400, {}, b"", "wrong_type", "OTLP", id="not understood"),
        pytest.param(413, {}, b"", "too_large", "too large", id="too large"),
        pytest.param(429, {}, b"", "busy", "wait", id="too many requests"),
        pytest.param(503, {}, b"", "busy", "not available", id="unavailable"),
        pytest.param(500, {}, b"", "server_error", "own fault", id="its own fault"),
        pytest.param(418, {}, b"", "other", "418", id="an odd status"),
        pytest.param(302, {"location": "https://x.test/login"}, b"", "redirect", "https://x.test/login", id="redirect"),
        pytest.param(200, {"content-type": "text/html"}, b"<html>", "not_found", "web page", id="a web page"),
        pytest.param(200, PROTOBUF, b"\xff\xff\xff", "wrong_type", "no OTLP answer", id="no OTLP answer"),
        pytest.param(200, PROTOBUF, refusing_one("quota"), "partial_success", "quota", id="success that refuses"),
    ],
)
def test_each_refusal_has_its_word_and_its_advice(
    status: int, headers: Mapping[str, str], body: bytes, problem: str, said: str
) -> None:
    """The word is of a closed list; the sentence says what to do."""
    with answering(status, headers, body) as server:
        finding = probe(http(server.url), request())

    assert (finding.taken, finding.problem) == (False, problem)
    assert said in finding.said


def test_an_endpoints_own_words_are_passed_on_without_credentials() -> None:
    """They are cut, and masked like any text that leaves the process."""
    words = b'{"message": "bad key sk-abcdefghijklmnopqrstuvwx"}' + b" " * 9_000
    with answering(401, {"content-type": "application/json"}, words) as server:
        finding = probe(http(server.url), request())

    assert "bad key" in finding.said
    assert "sk-abcdefghijklmnopqrstuvwx" not in finding.said
    assert len(finding.said) < 500


def test_credentials_in_an_address_are_not_shown() -> None:
    """The sentence names the host only."""
    with answering(404) as server:
        finding = probe(http(server.url.replace("//", "//ann:pw123@")), request())

    assert "pw123" not in finding.said


def test_a_closed_port_is_told_from_a_wrong_name() -> None:
    """Refused and unresolvable have words of their own, over HTTP and gRPC alike."""
    port = closed_port()
    words = [
        probe(Probe(url=url, protocol=protocol), request()).problem
        for url in (f"http://127.0.0.1:{port}", "http://no-such-host.invalid:4318")
        for protocol in ("http/protobuf", "grpc")
    ]

    assert words == ["refused", "refused", "dns", "dns"]


def test_http_to_a_grpc_port_names_grpc() -> None:
    """A gRPC server does not answer in HTTP/1.1."""
    server = grpc.server(ThreadPoolExecutor(1))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        finding = probe(http(f"http://127.0.0.1:{port}/v1/traces"), request())
    finally:
        server.stop(None).wait(60)

    assert finding.problem == "wrong_protocol"
    assert "OTEL_EXPORTER_OTLP_PROTOCOL=grpc" in finding.said


def test_a_grpc_server_without_the_service_says_so() -> None:
    """It speaks gRPC and takes no traces."""
    server = grpc.server(ThreadPoolExecutor(1))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        finding = probe(Probe(url=f"http://127.0.0.1:{port}", protocol="grpc"), request())
    finally:
        server.stop(None).wait(60)

    assert finding.problem == "not_found"


def test_grpc_to_an_http_port_names_http() -> None:
    """The port answers, but not in gRPC."""
    with answering(200, PROTOBUF) as server:
        finding = probe(Probe(url=server.url.removesuffix("/v1/traces"), protocol="grpc"), request())

    assert finding.problem == "wrong_protocol"
    assert "http/protobuf" in finding.said


def test_tls_to_a_plain_port_says_so() -> None:
    """https:// where nobody speaks TLS."""
    with answering(200, PROTOBUF) as server:
        finding = probe(http(server.url.replace("http://", "https://")), request())

    assert finding.problem == "tls"
    assert "http://" in finding.said


@pytest.mark.skipif(
    shutil.which("openssl") is None, reason="makes a certificate with the openssl command: install openssl"
)
def test_a_certificate_that_nobody_signed_is_named_and_can_be_trusted(tmp_path: Path) -> None:
    """Refused by default; taken with the file of its authority."""
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, check=True, capture_output=True, timeout=60)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)

    with answering(200, PROTOBUF, tls=tls) as server:
        unknown = probe(http(server.url), request())
        trusted = probe(http(server.url, certificate=str(certificate)), request())

    assert unknown.problem == "tls"
    assert "OTEL_EXPORTER_OTLP_CERTIFICATE" in unknown.said
    assert trusted.taken
