"""What a collector really said: the standard exporters call a redirect and a partial success a success.

A redirect is not followed, and the spans are gone; a partial success names how many spans were refused, in an answer
that nobody reads. Both are refusals here, and every refusal has a closed word.
"""

import gzip
import logging
import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from traced_loop.closed_words import Refusal
from traced_loop.export.made_once import MadeOnce
from traced_loop.telemetry.attributes import cut

LOGGER_NAME: Final = "traced_loop.export.answers"
"""Where it is said what an exporter does not say; kept to ourselves as its own words are."""
MAX_BODY_BYTES: Final = 65_536

_LOGGER: Final = logging.getLogger(LOGGER_NAME)
_GZIP: Final = b"\x1f\x8b"
_ZLIB: Final = b"\x78"
"""What ``deflate`` begins with in HTTP; no field of a request has that number."""
_LEVEL: Final = 6
"""Of gzip, as its programs have it: the highest, which is Python's usual one, takes twice as long for a percent."""
_CREDENTIALS: Final = (
    "OTEL_PYTHON_EXPORTER_OTLP_HTTP_CREDENTIAL_PROVIDER",
    "OTEL_PYTHON_EXPORTER_OTLP_HTTP_TRACES_CREDENTIAL_PROVIDER",
)
_STATUSES: Final[Mapping[int, Refusal]] = {
    400: "invalid",
    401: "unauthorized",
    403: "unauthorized",
    404: "not_found",
    405: "not_found",
    413: "too_large",
    422: "invalid",
    429: "busy",
    502: "busy",
    503: "busy",
    504: "busy",
}
_CODES: Final[Mapping[str, Refusal]] = {
    "INVALID_ARGUMENT": "invalid",
    "RESOURCE_EXHAUSTED": "busy",
    "UNAUTHENTICATED": "unauthorized",
    "PERMISSION_DENIED": "unauthorized",
    "UNIMPLEMENTED": "not_found",
    "UNAVAILABLE": "unreachable",
    "DEADLINE_EXCEEDED": "unreachable",
    "INTERNAL": "server_error",
    "UNKNOWN": "server_error",
    "DATA_LOSS": "server_error",
}


@dataclass(slots=True)
class Answer:
    """The last answer to a request; ``problem`` is None for one that takes all of it."""

    problem: Refusal | None = None
    said: str = ""


class WatchedExporter(SpanExporter):
    """An exporter whose success is one. For one thread at a time, as exporters are."""

    def __init__(self, make: Callable[["WatchedExporter"], SpanExporter], *, takes_bytes: bool = False) -> None:
        """Make no exporter yet: ``connected`` does, or the first export.

        Args:
            make: makes it, and has it tell ``answered`` of each answer.
            takes_bytes: what is known of ``takes_bytes`` before it is made.
        """
        self._answer: Answer | None = None
        self._body = b""
        self.takes_bytes = takes_bytes
        """Whether ``send`` can be used: the transport is watched. Set by whoever makes it."""
        self.refusal: Refusal | None = None
        """Why the last export was refused; None where all of it was taken."""
        self._inner: MadeOnce[SpanExporter] = MadeOnce(lambda: make(self))

    def connected(self) -> Self:
        """The same, with the exporter within made, unless it is ended; raises what making it does. For any thread."""
        self._inner.get()
        return self

    def answered(self, answer: Answer) -> None:
        """The collector answered a request."""
        self._answer = answer

    def send(self, body: bytes) -> bool:
        """Send a request that is encoded already; False unless all of it was taken.

        The exporter within is given nothing to encode, and its transport takes this body for the empty one: headers,
        compression, certificates, tries and their waits are the exporter's.
        """
        self._body = body
        try:
            return self.export(()) is SpanExportResult.SUCCESS
        finally:
            self._body = b""

    def forget(self) -> None:
        """Let go of the request that is being sent: it is that of the process that forked this one."""
        self._body = b""

    def body(self, empty: bytes) -> bytes:
        """What goes out in the place of an empty request, compressed as that is; the same where nothing does."""
        if not self._body:
            return empty
        if empty.startswith(_GZIP):
            return gzip.compress(self._body, _LEVEL, mtime=0)
        return zlib.compress(self._body) if empty.startswith(_ZLIB) else self._body

    def message(self, empty: Any) -> Any:
        """The same over gRPC, as a message."""
        if self._body:
            empty.ParseFromString(self._body)
        return empty

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send spans; FAILURE unless all were taken."""
        if spans:
            self.forget()
        self._answer, self.refusal = None, "unreachable"
        inner = self._inner.get()
        if inner is None:
            return SpanExportResult.FAILURE
        result = inner.export(spans)
        answer = self._last()
        if result is not SpanExportResult.SUCCESS:
            self.refusal = (answer.problem or "other") if answer is not None else "unreachable"
            return result
        self.refusal = None if answer is None else answer.problem
        if answer is None or answer.problem is None:
            return result
        _LOGGER.error("%s", answer.said)
        return SpanExportResult.FAILURE

    def _last(self) -> Answer | None:
        return self._answer

    def shutdown(self) -> None:
        """End the exporter within, if there is one; none is made any more."""
        inner = self._inner.end()
        if inner is not None:
            inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Flush the exporter within, if there is one."""
        inner = self._inner.made
        return inner is None or inner.force_flush(timeout_millis)


def watched_session(watched: WatchedExporter) -> Any:
    """An HTTP session for the standard exporter that tells of each answer, and takes bodies that are encoded already.

    None where the environment names a provider of credentials, which makes the exporter's session: its answers are not
    seen then.
    """
    if any(os.environ.get(name) for name in _CREDENTIALS):
        return None
    import requests

    def seen(response: Any, *_: Any, **__: Any) -> None:
        watched.answered(_http_answer(response))

    session: Any = requests.Session()
    session.hooks["response"].append(seen)
    plain = session.request

    def request(method: str, url: str, **options: Any) -> Any:
        return plain(method, url, **{**options, "data": watched.body(options.get("data") or b"")})

    session.request = request
    watched.takes_bytes = True
    return session


def watch_grpc(exporter: Any, watched: WatchedExporter) -> None:
    """Have the standard gRPC exporter's stubs tell of each answer; it makes a new one when it connects again."""
    make, client = getattr(exporter, "_stub", None), getattr(exporter, "_client", None)
    if make is not None and client is not None:

        def watched_stub(channel: Any) -> _WatchedStub:
            return _WatchedStub(make(channel), watched)

        exporter._stub = watched_stub
        exporter._client = _WatchedStub(client, watched)
        watched.takes_bytes = True


class _WatchedStub:
    """The one call of OTLP over gRPC."""

    def __init__(self, stub: Any, watched: WatchedExporter) -> None:
        self._stub = stub
        self._watched = watched

    def Export(self, request: Any, **options: Any) -> Any:
        """Call, and tell of the answer.

        Raises:
            grpc.RpcError: as the call does.
        """
        import grpc

        try:
            response = self._stub.Export(self._watched.message(request), **options)
        except grpc.RpcError as error:
            self._watched.answered(_grpc_answer(error))
            raise
        self._watched.answered(_partial(response))
        return response


def _http_answer(response: Any) -> Answer:
    status: int = response.status_code
    if 300 <= status < 400:
        return Answer("redirect", f"it answered {status}, a redirect, which exporters do not follow")
    if status >= 300:
        unlisted: Refusal = "server_error" if status >= 500 else "other"
        return Answer(_STATUSES.get(status, unlisted), f"it answered {status}")
    body: bytes = response.content
    if not body or len(body) > MAX_BODY_BYTES or "protobuf" not in response.headers.get("content-type", ""):
        return Answer()
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    parsed = ExportTraceServiceResponse()
    try:
        parsed.ParseFromString(body)
    except Exception:  # noqa: BLE001 - the protobuf library's own errors differ between its implementations
        return Answer()
    return _partial(parsed)


def _grpc_answer(error: Any) -> Answer:
    code, details = error.code().name, str(error.details() or "")
    if code == "RESOURCE_EXHAUSTED" and "larger than max" in details:
        return Answer("too_large", f"it answered {code}: {cut(details, 200)}")
    return Answer(_CODES.get(code, "other"), f"it answered {code}")


def _partial(response: Any) -> Answer:
    refused: int = response.partial_success.rejected_spans
    if not refused:
        return Answer()
    why = cut(response.partial_success.error_message, 200)
    return Answer("partial_success", f"it answered success and refused {refused} spans{f': {why}' if why else ''}")
