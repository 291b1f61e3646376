"""Spans on their way to a collector: in the background, in requests that receivers take, with one warning at most.

Imported only where an exporter is configured: the SDK is slow to import.
"""

import os
import threading
import time
import weakref
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from opentelemetry.sdk.resources import Resource
from opentelemetry.trace import SpanContext

from traced_loop import names
from traced_loop.errors import UsageError
from traced_loop.export.counted_exporter import CountedExporter
from traced_loop.export.exit_time import EXIT_SECONDS
from traced_loop.export.held_spans import EndedRun, HeldSpans
from traced_loop.export.otlp_bytes import RequestHead
from traced_loop.export.owed_worker import OwedWorker, Target
from traced_loop.export.own_provider import environment_sampler, needs_sdk_spans, own_provider
from traced_loop.export.own_resource import own_resource
from traced_loop.export.packed_span import WaitingSpan, packed, run_of
from traced_loop.export.process_end import closes_at_exit, is_closed
from traced_loop.export.quiet_exporters import quiet
from traced_loop.export.run_deliveries import RunDeliveries, Tally
from traced_loop.export.span_queue import SpanQueue, queue_limits
from traced_loop.records.store import Store
from traced_loop.rules.run_sampling import RunSampling
from traced_loop.run_result import Delivery
from traced_loop.telemetry.export_counts import ExportCounts
from traced_loop.telemetry.span_record import Outlet, SpanRecord
from traced_loop.version import __version__

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter

Made = TypeVar("Made")


class Pipeline:
    """Our own way to a collector, and what became of the spans that it was given.

    Spans of ours go in as records, through ``outlet``; spans that others start go in through ``provider``.
    """

    def __init__(
        self,
        exporter: "SpanExporter",
        address: str,
        sampling: RunSampling | None = None,
        *,
        target: Target | None = None,
    ) -> None:
        """Start it.

        Args:
            exporter: where the spans go.
            address: the same for people, without credentials.
            sampling: which runs are exported; None for all.
            target: the same as the destination of stored spans; None where nobody tells what arrived.

        Raises:
            UsageError: a limit of the queue cannot be used.
            ValueError: the SDK refuses a variable of the environment. Either way the exporter is ended, and no thread
                is left.
        """
        self._runs = RunDeliveries()
        self._sampling = sampling
        self._held: HeldSpans[Any] | None = None if sampling is None else HeldSpans(sampling)
        self._owed = None if target is None else OwedWorker(target, self._waits, self._resent)
        self._exporter = CountedExporter(exporter, address, self._head, self._owed)
        with _otherwise(self._exporter.shutdown):
            limits = queue_limits(os.environ)
            self._resource = own_resource()
        self._queue: SpanQueue[WaitingSpan] = SpanQueue(
            limits, self._exporter.send, self._exporter.drop, self._over, self._exporter.load
        )
        self._resource_is_parents = False
        self._provider: TracerProvider | None = None
        self._closed = False
        self._begin()
        with _otherwise(self._let_go):
            self.outlet = self._way_in()
            """Takes records of ours; None where they have to be spans of the SDK's, from ``provider``."""
        closes_at_exit(self)
        again = weakref.WeakMethod(self._begin_in_child)
        os.register_at_fork(after_in_child=lambda: begin() if (begin := again()) else None)

    @property
    def provider(self) -> "TracerProvider":
        """A provider whose spans go the same way; made when it is first asked for."""
        with self._making:
            if self._provider is None:
                flush = self._queue.flush
                self._provider = own_provider(self.resource, self._put, flush, self._sampling, self._held)
            return self._provider

    @property
    def resource(self) -> Resource:
        """What is said of this process."""
        if self._resource_is_parents:  # a detector may say something else of a forked child
            with suppress(Exception):  # it needs threads, which a process that ends cannot start: the parent's is left
                self._resource = own_resource()
            self._resource_is_parents = False
        return self._resource

    @property
    def counts(self) -> ExportCounts:
        """What became of all spans by now; of a closed pipeline none waits any more."""
        sent = self._exporter
        accepted, refused, dropped = sent.accepted, sent.refused, sent.dropped
        waiting = max(0, self._queue.handed - accepted - refused - dropped)
        if self._closed:
            refused, waiting = refused + waiting, 0
        return ExportCounts(accepted=accepted, refused=refused, dropped=dropped, waiting=waiting)

    @property
    def accepted(self) -> int:
        """Spans that the collector took."""
        return self._exporter.accepted

    @property
    def refused(self) -> int:
        """Spans that were not taken; while it is open, without those that wait and those that found the queue full."""
        return self._queue.handed - self._exporter.accepted if self._closed else self._exporter.refused

    def delivery(self, run_id: str, expected: int) -> Delivery:
        """What became of a run's spans by now.

        Args:
            run_id: of a run that has ended.
            expected: spans that it gave to the pipeline at least. A run of which fewer are known is so old that it
                was forgotten (see ``RunDeliveries``), or was made by the process that forked this one: ``unknown``.
        """
        if self._held is not None and self._held.decision(run_id) is False:
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

    def flush(self) -> None:
        """Send all that waits, in this thread, and wait for the answers, however long the exporter tries."""
        self._queue.flush()

    def close(self, seconds: float = EXIT_SECONDS) -> bool:
        """Send what is left, for that long at most; True when all was sent. Closing twice is fine.

        What earlier runs left is sent in the rest of that time.
        """
        if self._closed:
            return self.refused == 0
        self._closed = True
        until = time.monotonic() + seconds
        self.stop()
        is_closed(self)
        if self._queue.handed > self._exporter.accepted + self._exporter.refused:
            self._ended.wait(seconds)
        if self._owed is not None:
            self._owed.close(max(0.0, until - time.monotonic()))
        complete = self.refused == 0
        if not complete:
            self._exporter.warn("not all spans were taken in time")
        return complete

    def load(self) -> None:
        """Import what sends, where something waits to be sent."""
        if self._queue.handed > self._exporter.accepted + self._exporter.refused:
            self._exporter.load()

    def stop(self) -> None:
        """Begin to send what is left, without waiting for it; no more spans are taken. To be followed by ``close``."""
        for span in self._held.rest() if self._held is not None else ():
            self._put(span)  # a run that has not ended by now is not unremarkable
        self._queue.close()

    def _begin(self) -> None:
        """Start the thread, which will also end the exporter: at exit no thread can be started any more."""
        self._making = threading.RLock()
        self._ended = threading.Event()
        self._runs = RunDeliveries()
        self._exporter.reset(self._runs)
        self._shared: RequestHead | None = None
        if self._held is not None:
            self._held.begin()
        self._queue.begin()
        if self._owed is not None:
            self._owed.begin()

    def _way_in(self) -> Outlet | None:
        if self._exporter.takes_bytes and not needs_sdk_spans(os.environ):
            return _RecordOutlet(self._ended_record, environment_sampler(lambda: self.provider))
        _ = self.provider  # now, so that a setting which cannot be used is said
        return None

    def _let_go(self) -> None:
        """End the threads, and with them the exporter, before anything was sent."""
        self._queue.close()
        if self._owed is not None:
            self._owed.close(0.0)

    def _begin_in_child(self) -> None:
        self._resource_is_parents = True
        self._begin()

    def _head(self) -> RequestHead:
        """What all spans of ours share in a request."""
        if self._shared is None:
            known = self.resource
            self._shared = RequestHead(known.attributes, known.schema_url, names.SCOPE, __version__)
        return self._shared

    def _ended_record(self, record: SpanRecord) -> None:
        if self._resource_is_parents:
            _ = self.resource  # now: when the process ends, and this is sent, it may be too late
        if self._held is None:
            self._put(record)
            return
        for span in self._held.ready(record.run_id, record, _ended_run(record)):
            self._put(span)

    def _put(self, span: "SpanRecord | ReadableSpan") -> None:
        """The one way into the queue, also of what was held: a span that others only record stays where it is."""
        if not isinstance(span, SpanRecord) and (span.context is None or not span.context.trace_flags.sampled):
            return
        waiting: WaitingSpan = packed(span) if isinstance(span, SpanRecord) else span
        run_id = run_of(waiting)
        if run_id is not None:
            self._runs.handed(run_id)
        self._queue.put(waiting)

    def _waits(self, run_id: str) -> bool:
        tally = self._runs.of(run_id)
        return tally is not None and tally.handed > tally.accepted + tally.refused and not self._ended.is_set()

    def _resent(self, taken: Mapping[str, int]) -> None:
        self._runs.resent(taken)

    def _over(self) -> None:
        try:
            self._exporter.shutdown()
        finally:
            self._ended.set()


@contextmanager
def _otherwise(end: Callable[[], None]) -> Generator[None]:
    """End what was begun where the block raises."""
    try:
        yield
    except BaseException:
        end()
        raise


class _RecordOutlet:
    """Takes records, of the runs that the environment's sampler wants."""

    def __init__(self, take: Callable[[SpanRecord], None], sampler: Any) -> None:
        self._take = take
        self._sampler = sampler

    def ended(self, record: SpanRecord) -> None:
        """See ``Outlet.ended``."""
        self._take(record)

    def samples(self, record: SpanRecord, parent: SpanContext) -> bool:
        """See ``Outlet.samples``."""
        if self._sampler is None:
            return parent.trace_flags.sampled if parent.is_valid else True
        asked = self._sampler.should_sample(None, record.trace_id, record.name, attributes=record.attributes)
        return bool(asked.decision.is_sampled())


def _ended_run(record: SpanRecord) -> EndedRun | None:
    if not record.root or names.RUN_STOP_REASON not in record.attributes:
        return None
    seconds = (record.end_ns - record.start_ns) / 1e9
    return EndedRun(attributes=record.attributes, failed=record.error, seconds=seconds, trace_id=record.trace_id)


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


def _delivery(tally: Tally, *, over: bool) -> Delivery:
    """The counts in a word; when the pipeline is over, nothing waits any more."""
    waiting = tally.handed - tally.accepted - tally.refused
    refused, waiting = (tally.refused + waiting, 0) if over else (tally.refused, waiting)
    settled: Final = "delivered" if not refused else "partly" if tally.accepted else "failed"
    return Delivery(state="pending" if waiting else settled, accepted=tally.accepted, refused=refused, waiting=waiting)
