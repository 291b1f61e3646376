"""Sends what the store owes, in requests that receivers take; what was taken is marked at once, so it can end anywhere.

At least once, with the ids that the spans were recorded with. A span that is refused alone costs only itself: a request
that may be refused for one of its spans is cut in halves, and a span that a collector refuses alone, while it takes
others, is marked with the reason and not tried again. A collector that refuses everything ends the delivery instead.
"""

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Final, Protocol

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult

from traced_loop.closed_words import Refusal
from traced_loop.export.plain_causes import plain_words
from traced_loop.export.quiet_exporters import quiet
from traced_loop.export.request_size import requests
from traced_loop.export.stored_span import StoredSpans
from traced_loop.export.watched_exporter import WatchedExporter
from traced_loop.frozen_value import frozen_value
from traced_loop.records.delivery_marks import DeliveryMarks
from traced_loop.records.file_locks import locked
from traced_loop.records.owed_spans import OwedSpan, OwedSpans, Selection

BATCH_SPANS: Final = 512
"""Spans of one request, as the standard exporters send them."""
MAX_RUNS_LOCKED: Final = 64
"""Runs of one request; each is a file held open."""
MAX_LONE_REFUSALS: Final = 16
"""So many spans refused one by one, and none taken: it refuses everything."""

_FOR_GOOD: Final[frozenset[Refusal]] = frozenset({"too_large", "invalid", "partial_success"})
_MAYBE_ONE: Final[frozenset[Refusal]] = frozenset({*_FOR_GOOD, "server_error"})


class Pace(Protocol):
    """How fast to send."""

    def batch(self) -> int:
        """Spans that the next request may hold at most."""
        ...

    def sent(self, spans: int) -> bool:
        """So many spans were sent, or none of a run that owes none; wait as long as is wanted. False to stop."""
        ...


@dataclass(slots=True)
class Delivered:
    """What a delivery came to, so far.

    Attributes:
        taken: spans that were taken, by run.
        refused: spans that were refused for good, by reason.
        stopped: why the delivery ended before its end; None where it did not.
        interrupted: whether the pace ended it.
        said: the collector's or the exporter's last words about that.
    """

    taken: Counter[str] = field(default_factory=Counter[str])
    refused: Counter[str] = field(default_factory=Counter[str])
    stopped: Refusal | None = None
    interrupted: bool = False
    said: str = ""


@frozen_value
class _Item:
    run_id: str
    span_id: int
    span: ReadableSpan


class LaterDelivery:
    """Sends stored spans of one store to one destination."""

    def __init__(self, spans: OwedSpans, marks: DeliveryMarks, exporter: WatchedExporter) -> None:
        """Send nothing yet.

        Args:
            spans: of the store.
            marks: of the same store.
            exporter: to the destination.
        """
        self._spans = spans
        self._marks = marks
        self._exporter = exporter
        self._read = StoredSpans()
        self._suspects: list[tuple[_Item, Refusal]] = []
        self._told: Callable[[Delivered], None] = lambda _: None

    def deliver(
        self,
        selection: Selection,
        pace: Pace,
        *,
        skip: Callable[[str], bool] = lambda _: False,
        told: Callable[[Delivered], None] = lambda _: None,
    ) -> Delivered:
        """Send what is selected, the oldest runs first.

        Args:
            selection: what goes where.
            pace: how fast.
            skip: runs that are left out.
            told: told after each request how far it is.

        Raises:
            StoreError: the store cannot be read, or what was taken cannot be marked.
        """
        done, self._told = Delivered(), told
        with closing(self._batches(selection, pace, skip, done)) as batches:
            for batch in batches:
                if not self._sent_all(batch, selection.destination, pace, done):
                    break
            self._judge(selection.destination, done)
        return done

    def _sent_all(self, batch: Sequence[_Item], destination: str, pace: Pace, done: Delivered) -> bool:
        by_id = {item.span_id: item for item in batch}
        for request in requests([item.span for item in batch]):
            # A span may have been cut to fit.
            items = [(by_id[span.context.span_id], span) for span in request if span.context is not None]
            if not self._sent(items, destination, pace, done):
                return False
        return True

    def _batches(
        self, selection: Selection, pace: Pace, skip: Callable[[str], bool], done: Delivered
    ) -> Generator[list[_Item]]:
        """Spans of runs that are locked as long as they are in a batch, and settled when it was sent."""
        runs = [run_id for run_id in self._spans.runs(selection) if not skip(run_id)]
        busy = yield from self._round(selection, pace, done, runs, wait=False)
        # Whoever sends those now may be killed before it is through: look again when it has let go of them.
        if busy and not selection.home_only:
            yield from self._round(selection, pace, done, busy, wait=True)

    def _round(
        self, selection: Selection, pace: Pace, done: Delivered, runs: Sequence[str], *, wait: bool
    ) -> Generator[list[_Item], None, list[str]]:
        busy: list[str] = []
        left: Iterator[str] = iter(runs)
        over = False
        while not over:
            with ExitStack() as locks:
                complete: list[str] = []
                batch: list[_Item] = []
                while len(complete) < MAX_RUNS_LOCKED and len(batch) < pace.batch():
                    run_id = next(left, None)
                    over = run_id is None
                    if run_id is None:
                        break
                    if not locks.enter_context(locked(self._spans.path(run_id), wait=wait)):
                        busy.append(run_id)
                        continue
                    for item in self._items(run_id, selection, done):
                        batch.append(item)
                        if len(batch) >= pace.batch():
                            yield batch
                            batch = []
                    complete.append(run_id)
                    if not pace.sent(0):
                        done.interrupted = over = True
                        break
                if batch:
                    yield batch
                for run_id in complete:
                    self._spans.settle(run_id, selection.destination)
        return busy

    def _items(self, run_id: str, selection: Selection, done: Delivered) -> Iterator[_Item]:
        for owed in self._spans.of(run_id, selection):
            span = self._read.span(owed.line)
            if span is not None:
                yield _Item(run_id=run_id, span_id=owed.span_id, span=span)
            else:
                self._refused(selection.destination, [(owed, "unreadable")], done)

    def _sent(self, items: Sequence[tuple[_Item, ReadableSpan]], destination: str, pace: Pace, done: Delivered) -> bool:
        """Send spans, in halves of halves where that may help; False where it is no use to go on."""
        waiting = [list(items)]
        while waiting:
            now = waiting.pop()
            refusal = self._request([span for _, span in now], done)
            if refusal is None:
                self._taken([item for item, _ in now], destination, done)
            elif refusal not in _MAYBE_ONE:
                done.stopped = refusal
                return False
            elif len(now) > 1:
                half = len(now) // 2
                waiting += [now[half:], now[:half]]
            else:
                self._suspects.append((now[0][0], refusal))
                if not done.taken and len(self._suspects) >= MAX_LONE_REFUSALS:
                    done.stopped = refusal
                    return False
            self._told(done)
            if not pace.sent(len(now)):
                done.interrupted = True
                return False
        return True

    def _request(self, spans: Sequence[ReadableSpan], done: Delivered) -> Refusal | None:
        said: list[str] = []
        with quiet(said):
            try:
                taken = self._exporter.export(spans) is SpanExportResult.SUCCESS
            except Exception as error:  # noqa: BLE001 - exporters raise what they like
                said.append(f"{type(error).__name__}: {error}")
                taken = False
        if taken:
            return None
        # The first says what happened, the last only that there were no more tries.
        done.said = plain_words(said[:1]) if said else ""
        return self._exporter.refusal or "other"

    def _taken(self, items: Sequence[_Item], destination: str, done: Delivered) -> None:
        by_run: dict[str, list[int]] = {}
        for item in items:
            by_run.setdefault(item.run_id, []).append(item.span_id)
        self._marks.taken(destination, by_run)
        done.taken.update({run_id: len(ids) for run_id, ids in by_run.items()})

    def _judge(self, destination: str, done: Delivered) -> None:
        """Mark spans that were refused alone, if it is them: others were taken, or at least an empty request is."""
        suspects: list[tuple[_Item, Refusal]] = [each for each in self._suspects if each[1] in _FOR_GOOD]
        self._suspects.clear()
        over = done.interrupted or done.stopped is not None
        if suspects and (done.taken or (not over and self._request([], done) is None)):
            self._refused(destination, suspects, done)
            for run_id in {item.run_id for item, _ in suspects}:
                self._spans.settle(run_id, destination)

    def _refused(self, destination: str, refused: Sequence[tuple[_Item | OwedSpan, Refusal]], done: Delivered) -> None:
        self._marks.refused(destination, [(item.run_id, item.span_id, why) for item, why in refused])
        done.refused.update(why for _, why in refused)
