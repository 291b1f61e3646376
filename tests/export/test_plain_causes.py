"""What the standard exporters say of a collector that cannot be reached, and what people are told, on real sockets."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter

from traced_loop.export.endpoint_probe import Probe, one_span_request, probe
from traced_loop.export.plain_causes import plain_words
from traced_loop.export.quiet_exporters import quiet

from ..models.chat_server import closed_port, silent_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from traced_loop.export.otlp_endpoint import Protocol

NOBODY = "http://no-such-host.invalid:4318"
NOTHING_LISTENS = "nothing listens there: is the collector running, is the port right?"
NO_ADDRESS = "its host has no address: check its spelling and your network"


def said_of(url: str, protocol: Protocol = "http/protobuf", seconds: float = 1.5) -> list[str]:
    """What the real exporter logs of one request there."""
    said: list[str] = []
    with quiet(said):
        exporter = (
            GrpcExporter(url, insecure=True, timeout=seconds)
            if protocol == "grpc"
            else HttpExporter(f"{url}/v1/traces", timeout=seconds)
        )
        exporter.export(())
        exporter.shutdown()
    assert said
    return said


@contextmanager
def hanging_up() -> Iterator[str]:
    """A server that reads a request and closes the connection."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_a_port_at_which_nothing_listens_is_said_to_be_one(protocol: Protocol) -> None:
    """In the words that ``doctor`` has for it, but for the place."""
    url = f"http://127.0.0.1:{closed_port()}"
    found = probe(Probe(url=url, protocol=protocol), one_span_request("r", {}, 1, (1, 1)))
    assert plain_words(said_of(url, protocol)) == NOTHING_LISTENS
    assert found.said == NOTHING_LISTENS.replace("there", f"at {url}")


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_a_host_that_no_one_knows_is_said_to_have_no_address(protocol: Protocol) -> None:
    """The same for both protocols; where this machine resolves anything, there is nothing to see."""
    try:
        socket.getaddrinfo("no-such-host.invalid", 4318)
    except OSError:
        assert plain_words(said_of(NOBODY, protocol, 4)) == NO_ADDRESS
    else:
        pytest.skip("this machine gives an address to a name that cannot exist: ask another resolver")


def test_an_https_address_of_a_plain_endpoint_is_said_to_be_one() -> None:
    """With what to write."""
    with hanging_up() as address:
        assert plain_words(said_of(f"https://{address}")) == (
            "it does not speak TLS there: use http:// for a plain endpoint"
        )


def test_a_connection_that_is_closed_without_an_answer_is_said_to_be() -> None:
    """Whatever the reason is: ``doctor`` looks for it."""
    with hanging_up() as address:
        assert plain_words(said_of(f"http://{address}")).startswith("it closed the connection without an answer")


@pytest.mark.parametrize("call", ["Read timed out. (read timeout=1.0)", "ConnectTimeoutError(...)"])
def test_a_collector_that_hangs_is_said_not_to_answer(call: str) -> None:
    """In time, which is the exporter's own matter."""
    said = f"Transient error HTTPConnectionPool(host='localhost', port=9): {call} encountered, retrying in 0.90s."
    assert plain_words([said, "Failed to export spans batch due to timeout, max retries or shutdown."]) == (
        "it did not answer in time"
    )


def test_a_certificate_that_is_not_accepted_is_said_with_the_reason() -> None:
    """As the library has it."""
    error = ssl.SSLCertVerificationError(
        1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c:1006)"
    )
    said = f"Transient error HTTPSConnectionPool(host='h', port=1): (Caused by SSLError({error!r})), retrying in 1s."
    assert plain_words([said]) == (
        "its certificate is not valid: self-signed certificate. For a private authority set"
        " OTEL_EXPORTER_OTLP_CERTIFICATE"
    )


@pytest.mark.parametrize(
    "words",
    [
        "it answered 503",
        "it answered success and refused 3 spans: upstream: Connection refused",
        "Failed to export spans batch code: 502, reason: upstream timed out",
        "Transient error HTTPConnectionPool(host='h', port=1): (Caused by ProxyError('Cannot connect to proxy.',"
        " NewConnectionError('[Errno 111] Connection refused'))) encountered, retrying in 1s.",
        "RuntimeError: broken",
        "Failed to export spans batch due to timeout, max retries or shutdown.",
    ],
)
def test_what_tells_no_cause_stays_as_it_was_said(words: str) -> None:
    """A collector's own words above all: they may be about somebody else's connection."""
    assert plain_words([words]) == words


def test_a_server_that_is_silent_is_given_up_without_the_library_s_words() -> None:
    """What is said of it names no class of a library, whichever of its tries was the last."""
    with silent_server() as url:
        assert "HTTPConnectionPool" not in plain_words(said_of(url.removesuffix("/v1"), seconds=0.3))
