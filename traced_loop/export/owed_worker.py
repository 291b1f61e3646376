"""Sends in the background what a store owes to the collector of this process: of earlier runs, and of its own.

It begins when that collector has answered, so nobody waits for one that is down; it takes half of the time that it
needs, so that runs have the other half; and it ends with the process, in the time that its exit takes at most.
"""

import hashlib
import hmac
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from traced_loop import names
from traced_loop.closed_words import Refusal
from traced_loop.errors import TracedLoopError
from traced_loop.export.later_delivery import BATCH_SPANS, LaterDelivery
from traced_loop.export.otlp_endpoint import Endpoint
from traced_loop.export.watched_exporter import WatchedExporter
from traced_loop.frozen_value import frozen_value
from traced_loop.records.delivery_marks import DeliveryMarks
from traced_loop.records.owed_spans import OwedSpans, Query, Selection, sampling_text
from traced_loop.records.store import Store
from traced_loop.rules.run_sampling import RunSampling

EVERY_SECONDS: Final = 5.0
"""A process that goes on looks for what is owed this often at most, and only after its collector refused something."""

LOOKED_SECONDS: Final = 0.02
"""It looks this long through runs that owe nothing before it lets others work."""

_LOGGER: Final = logging.getLogger("traced_loop.export")
_ANSWERS: Final[frozenset[Refusal]] = frozenset({"too_large", "invalid", "partial_success"})
"""Refusals of a collector that is well."""


@frozen_value
class Target:
    """A collector as the destination of stored spans.

    Attributes:
        endpoint: its address and protocol.
        headers: that are sent to it: they choose the account.
        connect: makes an exporter to it.
    """

    endpoint: Endpoint
    headers: Mapping[str, str]
    connect: Callable[[], WatchedExporter]

    def destination(self, key: bytes) -> str:
        """What it is called in a store: 16 hexadecimal digits that tell nothing without the key of that store."""
        parts = [self.endpoint.protocol, self.endpoint.url, *(f"{k}={v}" for k, v in sorted(self.headers.items()))]
        return hmac.new(key, "\n".join(parts).encode(errors="replace"), hashlib.sha256).hexdigest()[:16]


@frozen_value
class OwingStore:
    """A store that runs of this process are recorded in."""

    destination: str
    marks: DeliveryMarks
    spans: OwedSpans

    @classmethod
    def of(cls, folder: Path, query: Query, destination: str) -> "OwingStore":
        """What of a store has to do with delivery; nothing is opened or made yet."""
        marks = DeliveryMarks(folder)
        return cls(destination=destination, marks=marks, spans=OwedSpans(folder, marks, query))


@dataclass(slots=True)
class _Needs:
    """What is known of whether there may be something to send."""

    is_well: bool = False
    """The collector has answered."""
    looked: bool = False
    refused: bool = False
    """Something was, since it was looked for the last time."""


@dataclass(slots=True)
class _State:
    wake: threading.Event = field(default_factory=threading.Event)
    closing: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)
    needs: _Needs = field(default_factory=_Needs)
    deadline: float = 0.0


class OwedWorker:
    """The stores of one pipeline, their marks, and the thread that sends what they owe."""

    def __init__(
        self, target: Target, waits: Callable[[str], bool], resent: Callable[[Mapping[str, int]], None]
    ) -> None:
        """Send nothing yet.

        Args:
            target: where to.
            waits: whether spans of a run are still in the pipeline's own queue.
            resent: told of spans that were taken after all, by run.
        """
        self._target = target
        self._waits = waits
        self._resent = resent
        self._stores: dict[Path, OwingStore] = {}
        self._warned = False
        self._state = _State()

    def begin(self) -> None:
        """Start the thread; again in a forked child, where it knows nothing of what the parent saw."""
        self._state = _State()
        threading.Thread(target=self._work, args=(self._state,), name="traced-loop-owed", daemon=True).start()

    def record_in(self, store: Store, sampling: RunSampling | None) -> dict[str, str]:
        """Have the pipeline's spans of runs in that store marked; what has to be on stored spans that are owed.

        Raises:
            StoreError: the key of the store cannot be read or written.
        """
        known = self._stores.get(store.folder)
        if known is None:
            destination = self._target.destination(store.key())
            known = self._stores[store.folder] = OwingStore.of(store.folder, store.read, destination)
        rule = {} if sampling is None else {names.DELIVERY_SAMPLING: sampling_text(sampling)}
        return {names.DELIVERY_DESTINATION: known.destination, **rule}

    def sent(self, ids: Mapping[str, Sequence[int]], refusal: Refusal | None) -> None:
        """The pipeline has sent spans, with these of ours by run; called by its thread, never on a run's path."""
        state = self._state
        if refusal is None:
            self._mark(ids)
        else:
            state.needs.refused = True
        if refusal is None or refusal in _ANSWERS:
            state.needs.is_well = True
            state.wake.set()

    def overflowed(self) -> None:
        """The pipeline's queue has dropped spans."""
        self._state.needs.refused = True

    def close(self, seconds: float) -> None:
        """Go on for that long at most; to be called when the pipeline has sent what it had."""
        state = self._state
        state.deadline = time.monotonic() + seconds
        state.closing.set()
        state.wake.set()
        if state.needs.is_well:
            state.done.wait(seconds)

    def _mark(self, by_run: Mapping[str, Sequence[int]]) -> None:
        for store in list(self._stores.values()):
            with suppress(TracedLoopError, OSError):  # they are sent once more then
                here = {run_id: ids for run_id, ids in by_run.items() if store.spans.path(run_id).exists()}
                if here:
                    store.marks.taken(store.destination, here)

    def _work(self, state: _State) -> None:
        try:
            self._look_until_closed(state)
        finally:
            state.done.set()

    def _look_until_closed(self, state: _State) -> None:
        while not state.closing.is_set():
            state.wake.wait()
            state.wake.clear()
            needs = state.needs
            if needs.is_well and (needs.refused or not needs.looked):
                self._look(state)
                state.closing.wait(EVERY_SECONDS)
        if state.needs.is_well and (state.needs.refused or not state.needs.looked):
            self._look(state)

    def _look(self, state: _State) -> None:
        """Send what is owed; what is refused on the way is looked for again."""
        state.needs.looked, state.needs.refused = True, False
        try:
            exporter = self._target.connect()
            try:
                for store in list(self._stores.values()):
                    self._deliver(store, exporter, state)
            finally:
                exporter.shutdown()
        except Exception as error:  # noqa: BLE001 - it is the store's spans that wait, and no run
            self._warn(error)

    def _deliver(self, store: OwingStore, exporter: WatchedExporter, state: _State) -> None:
        store.marks.name(store.destination, self._target.endpoint.shown)
        selection = Selection(destination=store.destination, home_only=True)
        done = LaterDelivery(store.spans, store.marks, exporter).deliver(selection, _HalfPace(state), skip=self._waits)
        self._resent(done.taken)
        if done.stopped is not None or done.interrupted:
            state.needs.refused = True

    def _warn(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            text = "what the store owes is not sent (%s): `traced-loop deliver` says more"
            with suppress(Exception):  # a log handler of the application that raises costs its line only
                _LOGGER.warning(text, type(error).__name__)


class _HalfPace:
    """Waits as long as it worked, until the process ends: then it hurries, and stops at the deadline."""

    def __init__(self, state: _State) -> None:
        self._state = state
        self._began = time.monotonic()

    def batch(self) -> int:
        """A request as the pipeline's own."""
        return BATCH_SPANS

    def sent(self, spans: int) -> bool:
        """Wait for as long as the work took; False from the deadline on."""
        state, worked = self._state, time.monotonic() - self._began
        if spans or worked > LOOKED_SECONDS:
            state.closing.wait(worked)
            self._began = time.monotonic()
        return not state.closing.is_set() or time.monotonic() < state.deadline
