"""Metrics on their way out: a provider of our own, one warning at most, and an end that waits for nobody.

Imported only where metrics are configured: the SDK is slow to import.
"""

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from opentelemetry.metrics import Meter
from opentelemetry.sdk.metrics import AlwaysOffExemplarFilter, MeterProvider
from opentelemetry.sdk.metrics.export import (
    ConsoleMetricExporter,
    MetricExporter,
    MetricExportResult,
    MetricReader,
    MetricsData,
    PeriodicExportingMetricReader,
)

from traced_loop import names
from traced_loop.export.delivery import made
from traced_loop.export.exit_time import EXIT_SECONDS
from traced_loop.export.late_import import IDLE_SECONDS, made_late
from traced_loop.export.made_once import MadeOnce
from traced_loop.export.metrics_endpoint import MetricsTarget
from traced_loop.export.one_warning import OneWarning
from traced_loop.export.otlp_endpoint import Endpoint, only_address_is_set
from traced_loop.export.own_resource import own_resource
from traced_loop.export.process_end import closes_at_exit
from traced_loop.export.prometheus_page import PrometheusPage, prometheus_parts
from traced_loop.export.quiet_exporters import heard, quiet
from traced_loop.version import __version__

_TRACES_ONLY: Final = ("code: 404", "code: 405", "code: 501", "UNIMPLEMENTED")
"""What the standard exporters say of a receiver that does not know metrics, over HTTP and over gRPC."""


class MetricPipeline:
    """A provider of our own and where it sends."""

    def __init__(self, targets: Sequence[MetricsTarget]) -> None:
        """Start it.

        Raises:
            UsageError: an exporter cannot be made, or an extra is not installed.
        """
        self._targets = targets
        self._closed = False
        self._begin()
        closes_at_exit(self)

    def meter(self) -> Meter:
        """Where metrics go in."""
        return self._provider.get_meter(names.SCOPE, __version__)

    def renewed(self) -> Meter:
        """A meter that has counted nothing: in a forked child, to which what its parent counted does not belong."""
        for exporter in self._exporters:
            exporter.muted = True
        self._closing.set()
        self._begin()
        return self.meter()

    def load(self) -> None:
        """Make what is made late now."""
        for exporter in self._exporters:
            exporter.load()

    def stop(self) -> None:
        """Begin to send what is left, without waiting for it. To be followed by ``close``."""
        self._closing.set()

    def close(self, seconds: float = EXIT_SECONDS) -> bool:
        """Send what is left, for that long at most; True when it was sent. Closing twice is fine."""
        if not self._closed:
            self._closed = True
            self.stop()
            if not self._ended.wait(seconds):
                for exporter in self._exporters:
                    exporter.fail("they were not taken in time")
        return self._ended.is_set() and not any(exporter.failed for exporter in self._exporters)

    def _begin(self) -> None:
        self._exporters: list[_Warning] = []
        self._pages: list[PrometheusPage] = []
        readers = [self._reader(target) for target in self._targets]
        # Exemplars would cost a step as much again as its metrics, and few stores keep them: boards link to Jaeger's
        # search instead.
        self._provider = MeterProvider(
            readers, resource=own_resource(), exemplar_filter=AlwaysOffExemplarFilter(), shutdown_on_exit=False
        )
        self._closing, self._ended = threading.Event(), threading.Event()
        # Started now: at exit no thread can be started any more.
        work = _end_of(self._provider, self._exporters, self._pages, self._closing, self._ended)
        threading.Thread(target=work, name="traced-loop-metrics", daemon=True).start()

    def _reader(self, target: MetricsTarget) -> MetricReader:
        if target.address is not None:
            page = PrometheusPage(*target.address)
            self._pages.append(page)
            return page.reader
        if target.endpoint is None:
            exporter = _Warning(ConsoleMetricExporter(), target)
        else:
            late = only_address_is_set(os.environ, target.endpoint)
            exporter = _Warning(_Late(target.endpoint) if late else made(_otlp_exporter(target.endpoint)), target)
        self._exporters.append(exporter)
        return PeriodicExportingMetricReader(exporter)


def check_targets(targets: Sequence[MetricsTarget]) -> None:
    """Make the exporters that a run would make, send nothing, and let go of them.

    Raises:
        UsageError: one cannot be made, or an extra is not installed.
    """
    for target in targets:
        if target.endpoint is not None:
            exporter: Any = made(_otlp_exporter(target.endpoint))
            exporter.shutdown()
        elif target.address is not None:
            prometheus_parts()


class _Late(MetricExporter):
    """The standard exporter over HTTP, made when it sends for the first time.

    For an endpoint of which ``only_address_is_set``, so that none can refuse its configuration.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__()
        self._inner: MadeOnce[Any] = MadeOnce(lambda: made_late(endpoint, lambda: _otlp_exporter(endpoint)()))

    def load(self) -> None:
        """Make it, unless it is ended. For any thread."""
        self._inner.get()

    def export(self, metrics_data: MetricsData, timeout_millis: float = 10_000, **kwargs: Any) -> MetricExportResult:
        inner = self._inner.get()
        if inner is None:
            return MetricExportResult.FAILURE
        taken: MetricExportResult = inner.export(metrics_data, timeout_millis, **kwargs)
        return taken

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        return self._inner.made is None or bool(self._inner.made.force_flush(timeout_millis))

    def shutdown(self, timeout_millis: float = 30_000, **kwargs: Any) -> None:
        inner = self._inner.end()
        if inner is not None:
            inner.shutdown(timeout_millis, **kwargs)


class _Warning(MetricExporter):
    """The exporter behind a reader: heard, never raising; of failures one is told."""

    def __init__(self, exporter: MetricExporter, target: MetricsTarget) -> None:
        # Which of totals and differences a receiver wants is the inner one's to know (a standard variable says it).
        super().__init__(
            preferred_temporality=getattr(exporter, "_preferred_temporality", None),
            preferred_aggregation=getattr(exporter, "_preferred_aggregation", None),
        )
        self._inner: Any = exporter
        self._target = target
        self._said: list[str] = []
        self._warning = OneWarning()
        self.muted = False
        """Whether nothing is sent any more: the receiver takes no metrics, or they are another process's."""
        self.failed = False

    def export(self, metrics_data: MetricsData, timeout_millis: float = 10_000, **kwargs: Any) -> MetricExportResult:
        if self.muted:
            return MetricExportResult.SUCCESS
        with quiet(self._said):
            try:
                taken = self._inner.export(metrics_data, timeout_millis, **kwargs) is MetricExportResult.SUCCESS
            except Exception as error:  # noqa: BLE001 - a failing exporter costs metrics, never a run
                taken = False
                heard(self._said, f"{type(error).__name__}: {error}")
        if not taken:
            self._refused()
        return MetricExportResult.SUCCESS if taken else MetricExportResult.FAILURE

    def load(self) -> None:
        """Make what is made late now; what that raises is said where something is sent."""
        if isinstance(self._inner, _Late):
            with quiet(self._said), suppress(Exception):
                self._inner.load()

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        return bool(self._inner.force_flush(timeout_millis))

    def shutdown(self, timeout_millis: float = 30_000, **kwargs: Any) -> None:
        with quiet(self._said):
            self._inner.shutdown(timeout_millis, **kwargs)

    def _refused(self) -> None:
        if not self._target.asked and self._said and any(word in self._said[-1] for word in _TRACES_ONLY):
            self.muted = True
        else:
            self.fail("it refused them")

    def fail(self, otherwise: str) -> None:
        """Say once that metrics were not taken, with the exporter's own last words if there are any."""
        self.failed = True
        if self._target.asked:  # else what is said about spans is enough
            text = "metrics do not reach %s (%s); the run goes on"
            self._warning.say(text, self._target.shown, self._said, otherwise)


def _end_of(
    provider: MeterProvider,
    exporters: Sequence[_Warning],
    pages: Sequence[PrometheusPage],
    closing: threading.Event,
    ended: threading.Event,
) -> Callable[[], None]:
    """What ends a provider when it is told to; holds no pipeline, so that one may be let go."""

    def work() -> None:
        if not closing.wait(IDLE_SECONDS):
            for exporter in exporters:
                exporter.load()
        closing.wait()
        with quiet([]), suppress(Exception):  # of an exporter that is not ours
            provider.shutdown()
        ended.set()  # nobody waits for the pages: the server looks twice a second whether it is to end
        for page in pages:
            page.close()

    return work


def _otlp_exporter(endpoint: Endpoint) -> Callable[[], MetricExporter]:
    """What makes the exporter; its module is imported before, so that what it logs while it is made can be heard."""
    if endpoint.protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter as Grpc

        return lambda: Grpc(endpoint.url, endpoint.url.startswith("http://"))
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter as Http

    return lambda: Http(endpoint.url)
