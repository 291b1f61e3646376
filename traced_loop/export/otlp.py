"""Our own exporter pipeline: only built when an endpoint is configured and the application has no provider.

Headers, timeouts, certificates, samplers and resource come from the standard ``OTEL_*`` variables, read by the standard
exporters; where spans go and how is read in ``otlp_endpoint``.
"""

import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from traced_loop.errors import UsageError
from traced_loop.export.otlp_endpoint import Endpoint, configured_exporter, headers, only_address_is_set, resolve
from traced_loop.rules.run_sampling import RunSampling

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

    from traced_loop.export.delivery import Pipeline
    from traced_loop.export.owed_worker import Target
    from traced_loop.export.watched_exporter import WatchedExporter


def build_provider(kind: str, endpoint: str | None = None, sampling: RunSampling | None = None) -> "Pipeline":
    """A provider of our own that delivers in the background.

    Args:
        kind: ``otlp``, ``console`` or ``jaeger``.
        endpoint: base URL of a collector, or None for what the environment says.
        sampling: which runs are exported; None for all.

    Raises:
        UsageError: an endpoint, a protocol or an ``OTEL_*`` variable that cannot be used, or an extra that is not
            installed.
    """
    with refusing():
        return _built(kind, endpoint, sampling)


@contextmanager
def refusing() -> Generator[None]:
    """Say of whatever the SDK raises that it is a setting: it reads its variables at import and in constructors.

    Raises:
        UsageError: it raised.
    """
    try:
        yield
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"OpenTelemetry refuses its configuration, look at the OTEL_* variables: {error}") from error


def _built(kind: str, endpoint: str | None, sampling: RunSampling | None) -> "Pipeline":
    from traced_loop.export.delivery import Pipeline

    if kind == "console":
        return Pipeline(_console_exporter(), "the console", sampling)
    if kind == "jaeger":
        from traced_loop.export.jaeger.environment import jaeger_exporter

        return Pipeline(*jaeger_exporter(os.environ), sampling)
    found = resolve(os.environ, endpoint)
    if found is None:
        raise UsageError("no OTLP endpoint is configured")
    exporter = (late_exporter if only_address_is_set(os.environ, found) else watched_exporter)(found)
    return Pipeline(exporter, found.shown, sampling, target=target_of(found))


def target_of(endpoint: Endpoint) -> "Target":
    """A collector as the destination of stored spans."""
    from traced_loop.export.owed_worker import Target

    return Target(endpoint=endpoint, headers=headers(os.environ), connect=lambda: watched_exporter(endpoint))


def watched_exporter(endpoint: Endpoint) -> "WatchedExporter":
    """The standard exporter to a collector, configured by the environment, whose success is one.

    Raises:
        UsageError: it cannot be made.
    """
    from traced_loop.export.delivery import made
    from traced_loop.export.watched_exporter import WatchedExporter

    make = _otlp_exporter(endpoint)
    return made(lambda: WatchedExporter(make).connected())


def late_exporter(endpoint: Endpoint) -> "WatchedExporter":
    """The same, over HTTP, made when it sends for the first time.

    For an endpoint of which ``only_address_is_set``, so that no exporter can refuse its configuration.
    """
    from traced_loop.export.late_import import made_late
    from traced_loop.export.watched_exporter import WatchedExporter

    def make(watched: "WatchedExporter") -> "SpanExporter":
        return made_late(endpoint, lambda: _otlp_exporter(endpoint)(watched))

    return WatchedExporter(make, takes_bytes=True)


def check_exporter(environment: Mapping[str, str], endpoint: Endpoint | None) -> None:
    """Make the exporter that a run would make, send nothing, and let go of it.

    Raises:
        UsageError: it cannot be made.
    """
    if endpoint is not None:
        watched_exporter(endpoint).shutdown()
    elif configured_exporter(environment) == "jaeger":
        from traced_loop.export.jaeger.environment import jaeger_exporter

        jaeger_exporter(environment)[0].shutdown()


def _otlp_exporter(endpoint: Endpoint) -> "Callable[[WatchedExporter], SpanExporter]":
    """What makes the exporter; its module is imported before, so that what it logs while it is made can be heard."""
    from traced_loop.export.watched_exporter import watch_grpc, watched_session

    if endpoint.protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as Grpc

        def make_grpc(watched: "WatchedExporter") -> "SpanExporter":
            exporter = Grpc(endpoint.url, endpoint.url.startswith("http://"))
            watch_grpc(exporter, watched)
            return exporter

        return make_grpc
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as Http

    return lambda watched: Http(endpoint.url, session=watched_session(watched))


def _console_exporter() -> "SpanExporter":
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter

    return ConsoleSpanExporter()
