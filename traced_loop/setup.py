"""Wires a loop to its surroundings: the local store, the application's tracer provider, or an exporter of our own.

Nothing happens at import. Called when a loop runs for the first time.
"""

import os
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import metrics, trace

from traced_loop import names
from traced_loop.call_ledger import CallLedger
from traced_loop.errors import UsageError
from traced_loop.export.exit_time import EXIT_SECONDS
from traced_loop.export.metrics_endpoint import MetricsTarget, metrics_targets
from traced_loop.export.otlp import build_provider, refusing
from traced_loop.export.otlp_endpoint import configured_exporter, is_disabled
from traced_loop.export.stored_resource import stored_resource
from traced_loop.fork_safe_lock import ForkSafeLock
from traced_loop.frozen_value import frozen_value
from traced_loop.records.ledger import DurableLedger
from traced_loop.records.store import FILE, Store, store_folder
from traced_loop.records.store_room import RoomWatch, max_bytes
from traced_loop.records.trace_store import TraceStore
from traced_loop.records.transcript import Transcript
from traced_loop.redaction import Redactor
from traced_loop.rules.run_sampling import RunSampling
from traced_loop.run_result import Delivery, ExportKind
from traced_loop.telemetry.export_counts import ExportCounts
from traced_loop.telemetry.fingerprint import Fingerprints
from traced_loop.telemetry.fingerprint_key import GivenKey, chosen_key
from traced_loop.telemetry.spans import Telemetry, run_id_in
from traced_loop.version import __version__

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import Span, TracerProvider

    from traced_loop.export.delivery import Pipeline
    from traced_loop.export.metric_pipeline import MetricPipeline
    from traced_loop.export.process_end import Closing
    from traced_loop.telemetry.metrics import RunMetrics

DEFAULT_STORE: Final = "default"
"""Stands for the store in ``TRACED_LOOP_HOME`` or the user's data directory."""

StoreChoice = Path | str | None
"""A folder, ``DEFAULT_STORE``, or None for no store at all."""


@frozen_value
class Wiring:
    """What a loop is connected to.

    Attributes:
        telemetry: opens spans.
        fingerprints: under the key that was given, or the store's, or one of this process.
        transcript: where messages are kept, or None.
        store: path of the store, or None.
        export: who exports the spans.
        ledger: remembers writes, or None for one in memory.
        delivery: asks our own exporter what became of a run's spans, by run id and by how many it was given; or None.
    """

    telemetry: Telemetry
    fingerprints: Fingerprints
    transcript: Transcript | None = None
    store: str | None = None
    export: ExportKind = "none"
    ledger: CallLedger | None = None
    delivery: Callable[[str, int], Delivery] | None = None


def wire(
    store: StoreChoice = DEFAULT_STORE,
    tracer_provider: trace.TracerProvider | None = None,
    otlp: str | None = None,
    sampling: RunSampling | None = None,
    fingerprint_key: GivenKey | None = None,
    redactor: Redactor | None = None,
) -> Wiring:
    """Connect a loop.

    Args:
        store: see ``StoreChoice``.
        tracer_provider: the application's, or None for the global one if there is one.
        otlp: URL of a collector to send spans to, whatever the environment says; or None.
        sampling: which runs our own exporter sends; None for all. The store keeps every run.
        fingerprint_key: see ``chosen_key``.
        redactor: masks what must not be shown; None for the built-in rules.

    Raises:
        StoreError: the store cannot be used.
        UsageError: an exporter or a key is configured that cannot be used.
    """
    provider, export, pipeline = _provider(tracer_provider, otlp, sampling)
    delivery, outlet = (None, None) if pipeline is None else (pipeline.delivery, pipeline.outlet)
    if pipeline is not None and outlet is None:
        provider = pipeline.provider
    tracer = provider.get_tracer(names.SCOPE, __version__) if provider is not None else None
    counted = _METERS.get()
    if store is None:
        prints = Fingerprints(chosen_key(fingerprint_key, os.environ, None).value)
        telemetry = Telemetry(tracer=tracer, outlet=outlet, metrics=counted, redactor=redactor)
        return Wiring(telemetry=telemetry, fingerprints=prints, export=export, delivery=delivery)
    opened = _STORES.get(None if store == DEFAULT_STORE else store)
    room = _ROOMS.get(opened)
    owed = None if pipeline is None else pipeline.record_in(opened)
    sink = TraceStore(opened, stored_resource(provider if pipeline is None else pipeline), owed, room)
    return Wiring(
        telemetry=Telemetry(tracer=tracer, outlet=outlet, sink=sink, metrics=counted, redactor=redactor),
        fingerprints=Fingerprints(chosen_key(fingerprint_key, os.environ, opened.key).value),
        transcript=Transcript(opened, room),
        store=str(opened.folder),
        export=export,
        ledger=_STORES.ledger(opened),
        delivery=delivery,
    )


def close(seconds: float = EXIT_SECONDS) -> bool:
    """Send what our own exporters still hold, for that long at most in all; True when all was sent."""
    return _closed([*_PIPELINES.taken(), *_METERS.taken()], seconds)


def _closed(pipelines: "Sequence[Closing]", seconds: float) -> bool:
    if not pipelines:
        return True  # and the SDK need not be imported
    from traced_loop.export.process_end import close_all

    return close_all(pipelines, seconds)


def instrument(provider: "TracerProvider") -> None:
    """Put ``traced_loop.run.id`` on every span that the application's provider starts inside a run, on purpose.

    Adds one span processor; libraries that tools call (HTTP clients, databases) are then found by run id too.
    """
    from opentelemetry.sdk.trace import SpanProcessor

    class RunIdProcessor(SpanProcessor):
        """Stamps spans at their start."""

        def on_start(self, span: "Span", parent_context: "Context | None" = None) -> None:
            run_id = run_id_in(parent_context)
            if run_id is not None:
                span.set_attribute(names.RUN_ID, run_id)

    provider.add_span_processor(RunIdProcessor())


def opentracing_tracer(tracer_provider: trace.TracerProvider | None = None, otlp: str | None = None) -> Any:
    """An OpenTracing tracer whose spans join the runs of loops with the same two arguments.

    For tools that are instrumented with OpenTracing: ``opentracing.set_global_tracer(opentracing_tracer())``.

    Raises:
        UsageError: the extra ``traced-loop[jaeger-client]``, which brings OpenTracing, is not installed.
    """
    from traced_loop.export.opentracing_bridge import opentracing_tracer as bridge

    provider, _, pipeline = _provider(tracer_provider, otlp, None)
    return bridge(provider if pipeline is None else pipeline.provider)


def _provider(
    given: trace.TracerProvider | None, otlp: str | None, sampling: RunSampling | None
) -> tuple[trace.TracerProvider | None, ExportKind, "Pipeline | None"]:
    """The application's provider, who exports, and our own pipeline where it is that."""
    if given is not None:
        return given, "application", None
    kind: ExportKind | None = "otlp"
    if otlp is None:
        existing = _global_provider()
        if not isinstance(existing, trace.ProxyTracerProvider):
            return existing, "application", None
        kind = configured_exporter(os.environ)
    elif is_disabled(os.environ):
        kind = None
    if kind is None:
        return None, "none", None
    return None, kind, _PIPELINES.get(kind, otlp, sampling)


def _global_provider() -> trace.TracerProvider:
    """The application's provider, or the API's stand-in for none.

    Raises:
        UsageError: the environment names a provider that is not installed.
    """
    _check_named("OTEL_PYTHON_TRACER_PROVIDER", "opentelemetry_tracer_provider")
    return trace.get_tracer_provider()


def _check_named(variable: str, group: str) -> None:
    """Say of a provider that is not installed what the API would log as a traceback before it raises."""
    named = os.environ.get(variable)
    if named and not entry_points(group=group, name=named):
        raise UsageError(f"{variable}={named} names no provider that can be loaded")


class _Stores:
    """One open store per folder and process."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._open: dict[Path, Store] = {}
        self._ledgers: dict[Path, DurableLedger] = {}

    def get(self, folder: Path | str | None) -> Store:
        path = store_folder(folder)
        with self._lock:
            store = self._open.get(path)
            if store is None or not (path / FILE).exists():
                store = self._open[path] = Store.open(path)
            return store

    def ledger(self, store: Store) -> DurableLedger:
        """The one of this process in a store, which keeps its claims alive."""
        with self._lock:
            if store.folder not in self._ledgers:
                self._ledgers[store.folder] = DurableLedger(store)
            return self._ledgers[store.folder]


class _Rooms:
    """One watch over the size of each store and process."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._watches: dict[tuple[Path, int | None], RoomWatch] = {}

    def get(self, store: Store) -> RoomWatch:
        """The watch of a store, as the environment limits it by now.

        Raises:
            UsageError: the limit is no number.
        """
        limit = max_bytes(os.environ)
        with self._lock:
            watch = self._watches.get((store.folder, limit))
            if watch is None:
                watch = self._watches[store.folder, limit] = RoomWatch(store, limit)
            return watch


class _Pipelines:
    """One exporter pipeline per destination and process."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._open: dict[tuple[str, str | None, RunSampling | None], Pipeline] = {}
        self._past: list[Pipeline] = []

    def get(self, kind: str, endpoint: str | None, sampling: RunSampling | None) -> "Pipeline":
        asked = kind, endpoint, sampling
        with self._lock:
            pipeline = self._open.get(asked)
            if pipeline is None:
                pipeline = self._open[asked] = build_provider(kind, endpoint, sampling)
            return pipeline

    def taken(self) -> "list[Pipeline]":
        """Every open one, to be closed."""
        with self._lock:
            pipelines = list(self._open.values())
            self._open.clear()
            self._past = pipelines
        return pipelines

    def counts(self) -> ExportCounts:
        """What became of the spans of all of them, those that were closed last included."""
        counts = [pipeline.counts for pipeline in (*self._past, *list(self._open.values()))]
        return ExportCounts(
            accepted=sum(each.accepted for each in counts),
            refused=sum(each.refused for each in counts),
            dropped=sum(each.dropped for each in counts),
            waiting=sum(each.waiting for each in counts),
        )


class _Meters:
    """What counts runs: by the application's provider where it has one, else by one of ours per configuration."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._theirs: tuple[metrics.MeterProvider, RunMetrics] | None = None
        self._ours: dict[tuple[MetricsTarget, ...], tuple[MetricPipeline, RunMetrics]] = {}

    def get(self) -> "RunMetrics | None":
        """None where nobody asked for metrics.

        Raises:
            UsageError: what is configured cannot be used.
        """
        provider = _global_meter_provider()
        with self._lock:
            if provider is None:
                return self._own(metrics_targets(os.environ))
            if self._theirs is None or self._theirs[0] is not provider:
                meter = provider.get_meter(names.SCOPE, __version__)
                from traced_loop.telemetry.metrics import RunMetrics

                self._theirs = provider, RunMetrics(meter, exports=_PIPELINES.counts)
            return self._theirs[1]

    def _own(self, targets: tuple[MetricsTarget, ...]) -> "RunMetrics | None":
        if not targets:
            return None
        if targets not in self._ours:
            with refusing():
                from traced_loop.export.metric_pipeline import MetricPipeline
                from traced_loop.telemetry.metrics import RunMetrics

                made = MetricPipeline(targets)
            counted = RunMetrics(made.meter(), exports=_PIPELINES.counts, renew=made.renewed)
            self._ours[targets] = made, counted
        return self._ours[targets][1]

    def taken(self) -> "list[MetricPipeline]":
        """Every open one of ours, to be closed."""
        with self._lock:
            pipelines = [pipeline for pipeline, _ in self._ours.values()]
            self._ours.clear()
        return pipelines


def _global_meter_provider() -> metrics.MeterProvider | None:
    """The application's provider, or None.

    Raises:
        UsageError: the environment names a provider that is not installed.
    """
    _check_named("OTEL_PYTHON_METER_PROVIDER", "opentelemetry_meter_provider")
    provider = metrics.get_meter_provider()
    # The API has no public name for its stand-in.
    return None if type(provider).__name__ == "_ProxyMeterProvider" else provider


_STORES: Final = _Stores()
_ROOMS: Final = _Rooms()
_PIPELINES: Final = _Pipelines()
_METERS: Final = _Meters()
