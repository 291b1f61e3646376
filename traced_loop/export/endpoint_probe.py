"""One test trace to a collector, and plain words for what came of it.

Asks the endpoint directly instead of through the exporters: they retry for seconds, report success for a redirect and
for a request of which every span was refused, and say little of why.
"""

import http.client
import socket
import ssl
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final
from urllib.parse import urlsplit

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from traced_loop import names
from traced_loop.export.otlp_endpoint import Protocol
from traced_loop.export.plain_causes import bad_certificate, no_address, no_answer, no_tls, nothing_listens
from traced_loop.frozen_value import frozen_value
from traced_loop.redaction import redact_text
from traced_loop.shown_url import shown_url, without_credentials

SECONDS: Final = 5.0
"""An endpoint that needs longer for one span is no place for thousands."""
_IN_TIME: Final = f"within {SECONDS:g} s"
MAX_SAID: Final = 200
"""Characters of an endpoint's own words that are passed on."""


@frozen_value
class Probe:
    """What is asked.

    Attributes:
        url: for HTTP the full URL of the traces signal, for gRPC ``http(s)://host:port``.
        protocol: how.
        headers: sent along; never shown.
        certificate: path of a certificate authority's file, or None for the system's.
    """

    url: str
    protocol: Protocol
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    certificate: str | None = None


@frozen_value
class Finding:
    """What came of it.

    Attributes:
        taken: whether the endpoint took the span.
        problem: a closed word: ``dns``, ``refused``, ``timeout``, ``tls``, ``unauthorized``, ``not_found``,
            ``wrong_type``, ``redirect``, ``wrong_protocol``, ``too_large``, ``busy``, ``server_error``,
            ``partial_success``, ``other``; or None.
        said: one sentence for people.
    """

    taken: bool
    problem: str | None = None
    said: str = ""


def probe(asked: Probe, request: ExportTraceServiceRequest) -> Finding:
    """Send one request and tell what came of it. Never raises for what an endpoint does."""
    try:
        return _over_grpc(asked, request) if asked.protocol == "grpc" else _over_http(asked, request)
    except socket.gaierror:
        host = urlsplit(asked.url).hostname
        return _problem("dns", no_address(f"the host {host!r}"))
    except ConnectionRefusedError:
        return _problem("refused", nothing_listens(f"at {shown_url(asked.url)}"))
    except TimeoutError:
        return _problem("timeout", no_answer(shown_url(asked.url), _IN_TIME))
    except ssl.SSLError as error:
        return _problem("tls", _tls(asked.url, error))
    except (http.client.HTTPException, ConnectionResetError, BrokenPipeError):
        return _problem("wrong_protocol", _is_grpc(asked.url))
    except OSError as error:
        return _problem("other", f"{shown_url(asked.url)}: {error.strerror or type(error).__name__}")


def one_span_request(run_id: str, attributes: Mapping[str, str], start_ns: int, ids: tuple[int, int]) -> Any:
    """A request with one short span.

    Args:
        run_id: stands on the span, so that it can be found again.
        attributes: of the resource.
        start_ns: nanoseconds since 1970.
        ids: trace id and span id.
    """
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    for key, value in attributes.items():
        resource.resource.attributes.add(key=key).value.string_value = value
    scope = resource.scope_spans.add()
    scope.scope.name = names.SCOPE
    span = scope.spans.add(
        name=names.DOCTOR,
        trace_id=ids[0].to_bytes(16, "big"),
        span_id=ids[1].to_bytes(8, "big"),
        start_time_unix_nano=start_ns,
        end_time_unix_nano=start_ns + 1_000_000,
        kind=1,
    )
    span.attributes.add(key=names.RUN_ID).value.string_value = run_id
    return request


def _over_http(asked: Probe, request: Any) -> Finding:
    address = urlsplit(asked.url)
    host, path = address.hostname or "", address.path or "/"
    if address.scheme == "https":
        context = ssl.create_default_context(cafile=asked.certificate)
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            host, address.port, timeout=SECONDS, context=context
        )
    else:
        connection = http.client.HTTPConnection(host, address.port, timeout=SECONDS)
    headers = {"content-type": "application/x-protobuf", **asked.headers}
    try:
        connection.request("POST", path, request.SerializeToString(), headers)
        response = connection.getresponse()
        return _http_finding(asked.url, response.status, dict(response.getheaders()), response.read(65_536))
    finally:
        connection.close()


def _http_finding(url: str, status: int, headers: Mapping[str, str], body: bytes) -> Finding:
    said = f"{shown_url(url)} answered {status}"
    if 200 <= status < 300:
        return _success(url, headers, body)
    if 300 <= status < 400:
        target = shown_url(next((v for k, v in headers.items() if k.lower() == "location"), "elsewhere"))
        return _problem("redirect", f"{said}, a redirect to {target}: exporters do not follow it, name that address")
    known = _HTTP_PROBLEMS.get(status)
    if known is not None:
        return _problem(known[0], f"{said}: {known[1]}{_words(headers, body)}")
    if status >= 500:
        return _problem("server_error", f"{said}: the collector's own fault{_words(headers, body)}")
    return _problem("other", f"{said}{_words(headers, body)}")


_HTTP_PROBLEMS: Final = {
    400: ("wrong_type", "it does not understand the request: is this an OTLP endpoint?"),
    401: ("unauthorized", "no valid credentials: check OTEL_EXPORTER_OTLP_HEADERS"),
    403: ("unauthorized", "these credentials may not send traces: check OTEL_EXPORTER_OTLP_HEADERS"),
    404: ("not_found", "no such path: OTLP/HTTP usually ends in /v1/traces"),
    405: ("not_found", "it takes no POST there: OTLP/HTTP usually ends in /v1/traces"),
    413: ("too_large", "even one span is too large for it"),
    415: ("wrong_type", "it does not take protobuf: is this an OTLP/HTTP endpoint?"),
    429: ("busy", "too many requests: it asks to wait"),
    503: ("busy", "it is not available now"),
}


def _success(url: str, headers: Mapping[str, str], body: bytes) -> Finding:
    kind = next((v for k, v in headers.items() if k.lower() == "content-type"), "")
    if "html" in kind:
        return _problem(
            "not_found", f"{shown_url(url)} answered with a web page: is this the port of a user interface?"
        )
    response = ExportTraceServiceResponse()
    if "protobuf" in kind and body:
        try:
            response.ParseFromString(body)
        except Exception:  # noqa: BLE001 - the protobuf library's own errors differ between its implementations
            return _problem("wrong_type", f"{shown_url(url)} answered 200 with something that is no OTLP answer")
    return _partial(response) or Finding(taken=True, said=f"{shown_url(url)} took the test span")


def _partial(response: Any) -> Finding | None:
    refused = response.partial_success.rejected_spans
    why = _clean(response.partial_success.error_message)
    if not refused:
        return None
    return _problem(
        "partial_success", f"it answered success and refused {refused} of 1 spans{f': {why}' if why else ''}"
    )


def _over_grpc(asked: Probe, request: Any) -> Finding:
    # Imported here: grpc is slow to import, and only this way needs it.
    import grpc
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub

    address = urlsplit(asked.url)
    target = f"{address.hostname}:{address.port or 4317}"
    _reachable(address.hostname or "", address.port or 4317)
    if address.scheme == "https":
        root = open(asked.certificate, "rb").read() if asked.certificate else None  # noqa: SIM115, PTH123
        channel = grpc.secure_channel(target, grpc.ssl_channel_credentials(root))
    else:
        channel = grpc.insecure_channel(target)
    try:
        metadata = [(key.lower(), value) for key, value in asked.headers.items()]
        stub: Any = TraceServiceStub(channel)  # type: ignore[no-untyped-call]  # generated code
        response = stub.Export(request, timeout=SECONDS, metadata=metadata)
    except grpc.RpcError as error:
        return _grpc_finding(asked.url, error)
    finally:
        channel.close()
    return _partial(response) or Finding(taken=True, said=f"{shown_url(asked.url)} took the test span")


def _reachable(host: str, port: int) -> None:
    """Tell a wrong name or a closed port apart: gRPC says UNAVAILABLE for both, and for a wrong protocol."""
    socket.create_connection((host, port), timeout=SECONDS).close()


def _grpc_finding(url: str, error: Any) -> Finding:
    code, details = error.code().name, _clean(error.details() or "")
    said = f"{shown_url(url)} answered {code}"
    if code in {"UNAUTHENTICATED", "PERMISSION_DENIED"}:
        return _problem("unauthorized", f"{said}: check OTEL_EXPORTER_OTLP_HEADERS")
    if code == "UNIMPLEMENTED":
        return _problem("not_found", f"{said}: it speaks gRPC but takes no traces")
    if code == "DEADLINE_EXCEEDED":
        return _problem("timeout", no_answer(shown_url(url), _IN_TIME))
    if code == "RESOURCE_EXHAUSTED":
        return _problem("busy", f"{said}: it asks to wait")
    if code in {"UNAVAILABLE", "UNKNOWN", "INTERNAL"}:
        hint = "it does not speak gRPC there; OTLP/HTTP has port 4318 and OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"
        tls = (
            " (or it wants TLS: use https://)"
            if urlsplit(url).scheme == "http"
            else " (or its certificate is not valid)"
        )
        return _problem("wrong_protocol", f"{said}: {hint}{tls}. It said: {details}")
    return _problem("other", f"{said}: {details}")


def _tls(url: str, error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return bad_certificate(f"the certificate of {shown_url(url)}", error.verify_message)
    return no_tls(shown_url(url))


def _is_grpc(url: str) -> str:
    said = f"{shown_url(url)} does not answer in HTTP/1.1: it may be a gRPC port, or want TLS"
    return f"{said}; try OTEL_EXPORTER_OTLP_PROTOCOL=grpc, the port of OTLP/HTTP (4318), or https://"


def _words(headers: Mapping[str, str], body: bytes) -> str:
    """The endpoint's own words, where they are text."""
    kind = next((v for k, v in headers.items() if k.lower() == "content-type"), "")
    if not any(word in kind for word in ("json", "text/plain")):
        return ""
    said = _clean(body.decode(errors="replace"))
    return f". It said: {said}" if said else ""


def _clean(text: str) -> str:
    return redact_text(without_credentials(" ".join(text.split())))[:MAX_SAID]


def _problem(word: str, said: str) -> Finding:
    return Finding(taken=False, problem=word, said=said)
