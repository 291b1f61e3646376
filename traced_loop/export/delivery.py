"""Spans on their way to a collector: in the background, in requests that receivers take, with one warning at most.

Imported only where an exporter is configured: the SDK is slow to import.
"""

import atexit
import logging
import os
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, Protocol, TypeVar

from opentelemetry.sdk.environment_variables import OTEL_BSP_MAX_EXPORT_BATCH_SIZE, OTEL_BSP_MAX_QUEUE_SIZE
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator

from traced_loop import names
from traced_loop.errors import UsageError
from traced_loop.export.owed_worker import OwedWorker, Target
from traced_loop.export.quiet_exporters import quiet, shown_words
from traced_loop.export.request_size import requests
from traced_loop.export.run_deliveries import RunDeliveries, Tally
from traced_loop.export.run_sampler import RunSampler
from traced_loop.export.watched_exporter import WatchedExporter
from traced_loop.records.store import Store
from traced_loop.rules.run_sampling import RunSampling
from traced_loop.run_result import Delivery
from traced_loop.telemetry.attributes import valid_text
from traced_loop.telemetry.metrics import ExportCounts

EXIT_SECONDS: Final = 1.0
"""The process waits this long for the collector when it ends; the local store holds the rest."""

_LOGGER: Final = logging.getLogger("traced_loop.export")

Made = TypeVar("Made")


class Closing(Protocol):
    """Something of ours that sends in the background, and can be told to come to its end."""

    def stop(self) -> None:
        """Begin to send what is left, without waiting for it. To be followed by ``close``."""
        ...

    def close(self, seconds: float = EXIT_SECONDS) -> bool:
        """Send what is left, for that long at most; True when all was sent. Closing twice is fine."""
        ...


class Pipeline:
    """A provider of our own, and what became of the spans that it was given."""

    def __init__(
        self,
        exporter: SpanExporter,
        address: str,
        sampling: RunSampling | None = None,
        *,
        target: Target | None = None,
    ) -> None:
        """Start a provider.

        Args:
            exporter: where the spans go.
            address: the same for people, without credentials.
            sampling: which runs are exported; None for all.
            target: the same as the destination of stored spans; None where nobody tells what arrived.
        """
        self._runs = RunDeliveries(_most_waiting())
        self._sampling = sampling
        self._owed = None if target is None else OwedWorker(target, self._waits, self._resent)
        self._exporter = _CollectorExporter(exporter, address, self._runs, self._owed)
        self._processor = _CountingProcessor(self._exporter, self._runs)
        self._closed = False
        self._begin()
        self.provider = TracerProvider(resource=own_resource(), shutdown_on_exit=False, id_generator=_SecretIds())
        self._sampler = None if sampling is None else RunSampler(self._processor, sampling)
        self.provider.add_span_processor(self._sampler or self._processor)
        _open.add(self)
        again = weakref.WeakMethod(self._begin)
        os.register_at_fork(after_in_child=lambda: begin() if (begin := again()) else None)

    @property
    def counts(self) -> ExportCounts:
        """What became of all spans by now; of a closed pipeline none waits any more."""
        accepted, refused, dropped = self._exporter.accepted, self._exporter.refused, self._runs.dropped
        waiting = max(0, self._processor.handed - accepted - refused - dropped)
        if self._closed:
            refused, waiting = refused + waiting, 0
        return ExportCounts(accepted=accepted, refused=refused, dropped=dropped, waiting=waiting)

    @property
    def accepted(self) -> int:
        """Spans that the collector took."""
        return self._exporter.accepted

    @property
    def refused(self) -> int:
        """Spans that the collector did not take, and spans that found the queue full."""
        return self._processor.handed - self._exporter.accepted if self._closed else self._exporter.refused

    def delivery(self, run_id: str, expected: int) -> Delivery:
        """What became of a run's spans by now.

        Args:
            run_id: of a run that has ended.
            expected: spans that it gave to the provider at least. A run of which fewer are known is so old that it
                was forgotten (see ``RunDeliveries``), or was made by the process that forked this one: ``unknown``.
        """
        if self._sampler is not None and self._sampler.decision(run_id) is False:
            return Delivery(state="not_sampled", accepted=0, refused=0, waiting=0)
        tally = self._runs.of(run_id)
        if tally is None or tally.handed < expected:
            return Delivery(state="unknown")
        return _delivery(tally, over=self._ended.is_set())

    def record_in(self, store: Store) -> dict[str, str]:
        """Have what is delivered of runs in that store marked there; what has to be on stored spans that are owed.

        Raises:
            StoreError: the key of the store cannot be read or written.
        """
        return {} if self._owed is None else self._owed.record_in(store, self._sampling)

    def close(self, seconds: float = EXIT_SECONDS) -> bool:
        """Send what is left, for that long at most; True when all was sent. Closing twice is fine.

        What earlier runs left is sent in the rest of that time.
        """
        if self._closed:
            return self.refused == 0
        self._closed = True
        until = time.monotonic() + seconds
        self.stop()
        _open.discard(self)
        if self._processor.handed > self._exporter.accepted + self._exporter.refused:
            self._ended.wait(seconds)
        if self._owed is not None:
            self._owed.close(max(0.0, until - time.monotonic()))
        complete = self.refused == 0
        if not complete:
            self._exporter.warn("not all spans were taken in time")
        return complete

    def stop(self) -> None:
        """Begin to send what is left, without waiting for it; no more spans are taken. To be followed by ``close``."""
        self._closing.set()

    def _begin(self) -> None:
        """Start the thread that will end the provider: at exit no thread can be started any more."""
        self._closing, self._ended = threading.Event(), threading.Event()
        self._runs = RunDeliveries(_most_waiting())
        self._exporter.reset(self._runs)
        self._processor.reset(self._runs)
        threading.Thread(target=self._work, name="traced-loop-export", daemon=True).start()
        if self._owed is not None:
            self._owed.begin()

    def _waits(self, run_id: str) -> bool:
        tally = self._runs.of(run_id)
        return tally is not None and tally.handed > tally.accepted + tally.refused and not self._ended.is_set()

    def _resent(self, taken: Mapping[str, int]) -> None:
        self._runs.resent(taken)

    def _work(self) -> None:
        self._closing.wait()
        with quiet(self._exporter.said):
            self.provider.shutdown()
        self._ended.set()


def close_all(pipelines: Collection[Closing], seconds: float = EXIT_SECONDS) -> bool:
    """Close them, for that long at most in all; True when all was sent."""
    until = time.monotonic() + seconds
    for pipeline in pipelines:
        pipeline.stop()
    complete = [pipeline.close(max(0.0, until - time.monotonic())) for pipeline in pipelines]
    return all(complete)


_open: Final[set[Closing]] = set()
atexit.register(lambda: close_all(list(_open)))


def closes_at_exit(pipeline: Closing) -> None:
    """Close it with the others when the process ends; it is kept until then."""
    _open.add(pipeline)


def made(make: Callable[[], Made]) -> Made:
    """What the function makes; the standard exporters go on with a setting that cannot be used, we do not.

    Raises:
        UsageError: it raised or complained.
    """
    said: list[str] = []
    with quiet(said):
        try:
            exporter = make()
        except Exception as error:
            raise UsageError(f"the OTLP exporter cannot be made: {type(error).__name__}: {error}") from error
    if said:
        raise UsageError(f"the OTLP exporter cannot be made: {said[0]}")
    return exporter


class _CountingProcessor(BatchSpanProcessor):
    """The standard batches, counted; a full queue drops spans without a word, the counts tell."""

    def __init__(self, exporter: SpanExporter, runs: RunDeliveries) -> None:
        super().__init__(exporter)
        self.reset(runs)

    def reset(self, runs: RunDeliveries) -> None:
        """Forget the count: a forked child has its own."""
        self._counting = threading.RLock()
        self._runs = runs
        self.handed = 0

    def on_end(self, span: ReadableSpan) -> None:
        if span.context is not None and span.context.trace_flags.sampled:
            # Together, so that the order of the counts is the queue's; neither waits for anything.
            with self._counting, quiet([]):
                self.handed += 1
                self._runs.handed(span)
                super().on_end(span)


class _CollectorExporter(SpanExporter):
    """The exporter behind the pipeline: counted, fed with requests of bounded size, never raising."""

    def __init__(
        self, exporter: SpanExporter, address: str, runs: RunDeliveries, owed: OwedWorker | None = None
    ) -> None:
        self._owed = owed
        self._inner = exporter
        self._address = address
        self._warned = False
        self.reset(runs)

    def reset(self, runs: RunDeliveries) -> None:
        """Forget the counts: a forked child has its own."""
        self._runs = runs
        self._dropped = 0
        self.accepted = 0
        self.refused = 0
        self.said: list[str] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        sent = [self._send(batch) for batch in requests(spans)]
        return SpanExportResult.SUCCESS if all(sent) else SpanExportResult.FAILURE

    def warn(self, otherwise: str) -> None:
        """Say once that spans were not delivered, with the exporter's own last words if there are any."""
        if not self._warned:
            self._warned = True
            text = "spans do not reach %s (%s); the run goes on, and the local store keeps what it recorded"
            warn(text, self._address, self.said, otherwise)

    def shutdown(self) -> None:
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._inner.force_flush(timeout_millis)

    def _send(self, batch: Sequence[ReadableSpan]) -> bool:
        with quiet(self.said):
            try:
                taken = self._inner.export(batch) is SpanExportResult.SUCCESS
            except Exception as error:  # noqa: BLE001 - a failing exporter costs spans, never a run
                taken = False
                self.said.append(f"{type(error).__name__}: {error}")
        if self._owed is not None:
            refusal = self._inner.refusal if isinstance(self._inner, WatchedExporter) else None
            self._owed.sent(batch, None if taken else refusal or "other")
        self._runs.sent(batch, taken=taken)
        if self._owed is not None and self._runs.dropped > self._dropped:
            self._dropped = self._runs.dropped
            self._owed.overflowed()
        if taken:
            self.accepted += len(batch)
        else:
            self.refused += len(batch)
            self.warn("it refused them")
        return taken


def warn(text: str, address: str, said: Sequence[str], otherwise: str) -> None:
    """Log that an address takes nothing, with the exporter's last words, masked and cut, if there are any."""
    _LOGGER.warning(text, address, shown_words(said[-1]) if said else otherwise)


class _SecretIds(IdGenerator):
    """Ids that an application's ``random.seed`` does not repeat."""

    def generate_span_id(self) -> int:
        return secrets.randbits(64) or 1

    def generate_trace_id(self) -> int:
        return secrets.randbits(128) or 1


def _delivery(tally: Tally, *, over: bool) -> Delivery:
    """The counts in a word; when the pipeline is over, nothing waits any more."""
    waiting = tally.handed - tally.accepted - tally.refused
    refused, waiting = (tally.refused + waiting, 0) if over else (tally.refused, waiting)
    settled: Final = "delivered" if not refused else "partly" if tally.accepted else "failed"
    return Delivery(state="pending" if waiting else settled, accepted=tally.accepted, refused=refused, waiting=waiting)


def _most_waiting() -> int:
    """What the standard queue and the request in front of it hold at most; they complain about odd settings."""
    asked = [os.environ.get(name, "") for name in (OTEL_BSP_MAX_QUEUE_SIZE, OTEL_BSP_MAX_EXPORT_BATCH_SIZE)]
    return sum(int(n) if n.isdecimal() else usual for n, usual in zip(asked, (2_048, 512), strict=True))


def own_resource() -> Resource:
    """What the environment says about this process, as valid text; our name where it gives none."""
    resource = Resource.create()
    given = {key: valid_text(value) if isinstance(value, str) else value for key, value in resource.attributes.items()}
    if str(given.get(SERVICE_NAME, "")).startswith("unknown_service"):
        given[SERVICE_NAME] = names.SERVICE_NAME_DEFAULT
    return Resource(given, resource.schema_url)
