"""One delivery of what a store owes, or of runs that somebody names, to one collector: from its plan to its account."""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Final

from traced_loop.closed_words import Refusal
from traced_loop.export.later_delivery import BATCH_SPANS, Delivered, LaterDelivery
from traced_loop.export.owed_worker import OwingStore, Target
from traced_loop.frozen_value import frozen_value
from traced_loop.records.owed_spans import OwedSpans, Selection
from traced_loop.records.store import Store

_OTHERS: Final = 0.25
"""Seconds that a sleep for the rate lasts at most, so that an interrupt is heard."""


@frozen_value
class Owing:
    """How much is to be sent."""

    spans: int = 0
    runs: int = 0


@frozen_value
class Account:
    """What a delivery came to.

    Attributes:
        to: the collector, for people.
        taken: spans that it took.
        runs: of so many runs.
        refused: spans that it refused for good, by reason; they are not tried again.
        left: what is still to be sent, of what was selected.
        running: runs that were selected and still run.
        stopped: why the delivery ended early, or None.
        said: the last words about that, or ``""``.
        interrupted: whether a person ended it.
        seconds: that it took.
    """

    to: str
    taken: int
    runs: int
    refused: Mapping[str, int] = field(default_factory=dict[str, int])
    left: Owing
    running: int = 0
    stopped: Refusal | None = None
    said: str = ""
    interrupted: bool = False
    seconds: float = 0.0

    @property
    def complete(self) -> bool:
        """Whether all that was selected has been taken."""
        return not (self.left.spans or self.refused or self.running)


def deliver(
    store: Store,
    target: Target,
    *,
    whole: bool,
    run_ids: frozenset[str] | None,
    rate: float | None,
    told: Callable[[Owing, int, float], None],
) -> Account:
    """Send, until all is sent, the collector refuses, or a person interrupts.

    Args:
        store: an open one.
        target: where to.
        whole: all that it has not taken, not only what is owed.
        run_ids: of these runs only; None for all.
        rate: spans per second at most; None for as fast as it goes.
        told: told now and then of how much there was to send, how many spans are done, and seconds since the beginning.

    Raises:
        StoreError: the store cannot be read, or what was taken cannot be marked.
        UsageError: the exporter cannot be made.
    """
    owing = OwingStore.of(store.folder, store.read, target.destination(store.key()))
    selection = Selection(destination=owing.destination, whole=whole, run_ids=run_ids)
    owing.marks.name(owing.destination, target.endpoint.shown)
    began = time.monotonic()
    plan = owed_in(owing.spans, selection)
    done = Delivered()

    def keep(so_far: Delivered) -> None:
        nonlocal done
        done = so_far
        told(plan, so_far.taken.total() + so_far.refused.total(), time.monotonic() - began)

    exporter = target.connect()
    try:
        done = LaterDelivery(owing.spans, owing.marks, exporter).deliver(selection, RatePace(rate), told=keep)
    except KeyboardInterrupt:
        done.interrupted = True
    finally:
        exporter.shutdown()
    return _account(owing, target, selection, done, time.monotonic() - began)


def owed_in(spans: OwedSpans, selection: Selection) -> Owing:
    """How much there is to send.

    Raises:
        StoreError: the store cannot be read.
    """
    counts = Counter({run_id: sum(1 for _ in spans.of(run_id, selection)) for run_id in spans.runs(selection)})
    return Owing(spans=counts.total(), runs=sum(count > 0 for count in counts.values()))


class RatePace:
    """So many spans per second at most, counted from the first."""

    def __init__(
        self,
        rate: float | None,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rate = rate
        self._sleep = sleep
        self._now = now
        self._began = now()
        self._sent = 0

    def batch(self) -> int:
        """At most what goes in a second."""
        return BATCH_SPANS if self._rate is None else max(1, min(BATCH_SPANS, int(self._rate)))

    def sent(self, spans: int) -> bool:
        """Wait until so many may have been sent."""
        self._sent += spans
        if self._rate is not None:
            while (left := self._began + self._sent / self._rate - self._now()) > 0:
                self._sleep(min(left, _OTHERS))
        return True


def _account(owing: OwingStore, target: Target, selection: Selection, done: Delivered, seconds: float) -> Account:
    wanted = selection.run_ids
    running = len([run_id for run_id in owing.spans.busy() if wanted is not None and run_id in wanted])
    return Account(
        to=target.endpoint.shown,
        taken=done.taken.total(),
        runs=len(done.taken),
        refused=dict(done.refused),
        left=owed_in(owing.spans, selection),
        running=running,
        stopped=done.stopped,
        said=done.said if done.stopped is not None else "",
        interrupted=done.interrupted,
        seconds=seconds,
    )
