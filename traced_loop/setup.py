"""Wires a loop to its surroundings: the local store, the application's tracer provider, or an exporter of our own.

Nothing happens at import. Called when a loop runs for the first time.
"""

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from opentelemetry import trace

from traced_loop import names
from traced_loop.export.otlp import Pipeline, build_provider, configured_exporter
from traced_loop.json_shapes import as_object
from traced_loop.records.store import Store, store_folder
from traced_loop.records.trace_store import TraceStore
from traced_loop.records.transcript import Transcript
from traced_loop.telemetry.fingerprint import Fingerprints
from traced_loop.telemetry.spans import Telemetry, run_id_in
from traced_loop.version import __version__

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import Span, TracerProvider

DEFAULT_STORE: Final = "default"
"""Stands for the store in ``TRACED_LOOP_HOME`` or the user's data directory."""

StoreChoice = Path | str | None
"""A folder, ``DEFAULT_STORE``, or None for no store at all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wiring:
    """What a loop is connected to.

    Attributes:
        telemetry: opens spans.
        fingerprints: under the store's key, or one of this process.
        transcript: where messages are kept, or None.
        store: path of the store, or None.
        export: who exports the spans.
    """

    telemetry: Telemetry
    fingerprints: Fingerprints
    transcript: Transcript | None = None
    store: str | None = None
    export: Literal["otlp", "application", "none"] = "none"


def wire(
    store: StoreChoice = DEFAULT_STORE,
    tracer_provider: trace.TracerProvider | None = None,
    otlp: str | None = None,
) -> Wiring:
    """Connect a loop.

    Args:
        store: see ``StoreChoice``.
        tracer_provider: the application's, or None for the global one if there is one.
        otlp: URL of a collector to send spans to, whatever the environment says; or None.

    Raises:
        StoreError: the store cannot be used.
        UsageError: an exporter is configured that cannot be used.
    """
    provider, export = _provider(tracer_provider, otlp)
    tracer = provider.get_tracer(names.SCOPE, __version__) if provider is not None else None
    if store is None:
        return Wiring(telemetry=Telemetry(tracer=tracer), fingerprints=Fingerprints(), export=export)
    opened = _STORES.get(None if store == DEFAULT_STORE else store)
    return Wiring(
        telemetry=Telemetry(tracer=tracer, sink=TraceStore(opened, _resource(provider))),
        fingerprints=Fingerprints(opened.key()),
        transcript=Transcript(opened),
        store=str(opened.folder),
        export=export,
    )


def close(seconds: float = 1.0) -> bool:
    """Send what our own exporters still hold, for that long at most each; True when all was sent."""
    return _PIPELINES.close(seconds)


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


def _provider(
    given: trace.TracerProvider | None, otlp: str | None
) -> tuple[trace.TracerProvider | None, Literal["otlp", "application", "none"]]:
    if given is not None:
        return given, "application"
    if otlp is not None:
        return _PIPELINES.get("otlp", otlp).provider, "otlp"
    existing = trace.get_tracer_provider()
    if not isinstance(existing, trace.ProxyTracerProvider):
        return existing, "application"
    kind = configured_exporter(os.environ)
    return (None, "none") if kind is None else (_PIPELINES.get(kind, None).provider, "otlp")


def _resource(provider: trace.TracerProvider | None) -> Mapping[str, Any]:
    """The provider's resource for the stored spans, else what the environment says."""
    known = as_object(getattr(getattr(provider, "resource", None), "attributes", None))
    if known is not None:
        return {key: value for key, value in known.items() if isinstance(value, (str, bool, int, float))}
    service = os.environ.get("OTEL_SERVICE_NAME") or names.SERVICE_NAME_DEFAULT
    pairs = (pair.partition("=") for pair in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "").split(","))
    more = {key.strip(): value.strip() for key, _, value in pairs if key.strip() and value.strip()}
    return {**more, "service.name": service if "OTEL_SERVICE_NAME" in os.environ else more.get("service.name", service)}


class _Stores:
    """One open store per folder and process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[Path, Store] = {}

    def get(self, folder: Path | str | None) -> Store:
        path = store_folder(folder)
        with self._lock:
            store = self._open.get(path)
            if store is None or not (path / "store.db").exists():
                store = self._open[path] = Store.open(path)
            return store


class _Pipelines:
    """One exporter pipeline per destination and process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[tuple[str, str | None], Pipeline] = {}

    def get(self, kind: str, endpoint: str | None) -> Pipeline:
        with self._lock:
            pipeline = self._open.get((kind, endpoint))
            if pipeline is None:
                pipeline = self._open[kind, endpoint] = build_provider(kind, endpoint)
            return pipeline

    def close(self, seconds: float) -> bool:
        with self._lock:
            pipelines = list(self._open.values())
            self._open.clear()
        complete = [pipeline.close(seconds) for pipeline in pipelines]
        return all(complete)


_STORES: Final = _Stores()
_PIPELINES: Final = _Pipelines()
