"""Our own exporter pipeline: only built when an endpoint is configured and the application has no provider.

Endpoints, headers, timeouts, samplers and resource come from the standard ``OTEL_*`` variables, read by the standard
exporters. What is ours: which protocol is meant when nobody says, and the errors that say what to write instead.
"""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlsplit

from traced_loop.errors import UsageError
from traced_loop.rules.run_sampling import RunSampling

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

    from traced_loop.export.delivery import Pipeline

GRPC_PORT: Final = 4317
"""Registered port of OTLP/gRPC; OTLP/HTTP has 4318."""

_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")


def is_disabled(environment: Mapping[str, str]) -> bool:
    """Whether ``OTEL_SDK_DISABLED`` switches exporting off."""
    return environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"


def configured_exporter(environment: Mapping[str, str]) -> Literal["otlp", "console", "jaeger"] | None:
    """``otlp``, ``console`` or ``jaeger`` when the environment asks for it, else None.

    ``OTEL_TRACES_EXPORTER`` decides; without it, an endpoint means ``otlp``.

    Raises:
        UsageError: an exporter that is not known here.
    """
    if is_disabled(environment):
        return None
    asked = environment.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    if asked == "none":
        return None
    if asked == "otlp":
        return "otlp"
    if asked == "console":
        return "console"
    if asked == "jaeger":
        return "jaeger"
    if asked:
        raise UsageError(f"OTEL_TRACES_EXPORTER={asked}: known are otlp, jaeger, console and none")
    return "otlp" if any(environment.get(name) for name in _ENDPOINTS) else None


def build_provider(kind: str, endpoint: str | None = None, sampling: RunSampling | None = None) -> "Pipeline":
    """A provider of our own that delivers in the background.

    Args:
        kind: ``otlp``, ``console`` or ``jaeger``.
        endpoint: base URL of a collector, or None for what the environment says.
        sampling: which runs are exported; None for all.

    Raises:
        UsageError: an endpoint or a protocol that cannot be used, or an extra that is not installed.
    """
    from traced_loop.export.delivery import Pipeline, made

    if kind == "console":
        return Pipeline(_console_exporter(), "the console", sampling)
    if kind == "jaeger":
        from traced_loop.export.jaeger.environment import jaeger_exporter

        return Pipeline(*jaeger_exporter(os.environ), sampling)
    make, address = _otlp_exporter(endpoint)
    return Pipeline(made(make), address, sampling)


def _otlp_exporter(endpoint: str | None) -> tuple["Callable[[], SpanExporter]", str]:
    """What makes the exporter, and the address for people; everything that can be wrong is said here."""
    given = endpoint or next((os.environ[name] for name in _ENDPOINTS if os.environ.get(name)), "")
    asked = next((os.environ[name].strip().lower() for name in _PROTOCOLS if os.environ.get(name)), "")
    scheme, port, path = _address(given)
    # Nobody sends HTTP to the gRPC port on purpose; the specification's default would lose every span there.
    protocol = asked or ("grpc" if port == GRPC_PORT else "http/protobuf")
    if protocol not in {"grpc", "http/protobuf"}:
        raise UsageError(f"OTEL_EXPORTER_OTLP_PROTOCOL={protocol}: known are http/protobuf and grpc")
    if given and scheme not in {"http", "https"} and (endpoint is not None or protocol != "grpc"):
        raise UsageError(f"the OTLP endpoint wants a URL, as http://localhost:4318, not {_hidden(given)!r}")
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as Grpc

        insecure = True if endpoint and scheme == "http" else None
        return lambda: Grpc(endpoint, insecure), _hidden(given) or f"http://localhost:{GRPC_PORT}"
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as Http

    full = endpoint if endpoint is None or path.endswith("/v1/traces") else f"{endpoint.rstrip('/')}/v1/traces"
    return lambda: Http(full), _hidden(given) or "http://localhost:4318"


def _address(given: str) -> tuple[str, int | None, str]:
    """Scheme, port and path of an endpoint."""
    try:
        address = urlsplit(given if "//" in given else f"//{given}")
        return address.scheme, address.port, address.path.rstrip("/")
    except ValueError as error:
        raise UsageError(f"the OTLP endpoint is no valid address: {_hidden(given)!r}") from error


def _console_exporter() -> "SpanExporter":
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter

    return ConsoleSpanExporter()


def _hidden(url: str) -> str:
    """The address without its credentials."""
    scheme, separator, rest = url.rpartition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"
