"""The spans of each run, held back until it has ended: then they are handed on together, or dropped together."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final, Generic, TypeVar

from traced_loop.frozen_value import frozen_value
from traced_loop.rules.run_sampling import RunSampling

MAX_SPANS_HELD: Final = 10_000
"""Spans of one run that are held back; a longer run is kept, and goes out as it comes."""
MAX_DECISIONS: Final = 10_000
"""Ended runs of which the decision is remembered, for spans that end after their run."""

Held = TypeVar("Held")


@frozen_value
class EndedRun:
    """What a run is judged by, from its root: attributes, whether it failed, seconds that it took, and its trace."""

    attributes: Mapping[str, Any]
    failed: bool
    seconds: float
    trace_id: int


class HeldSpans(Generic[Held]):
    """What is held, and what was decided. Any thread may ask."""

    def __init__(self, sampling: RunSampling) -> None:
        """Hold nothing yet."""
        self._sampling = sampling
        self._decisions: OrderedDict[str, bool] = OrderedDict()
        self.begin()

    def begin(self) -> None:
        """Hold nothing; again in a forked child, whose parent sends what it holds. What was decided stays known."""
        self._lock = threading.RLock()  # a signal handler may end a span in the middle
        self._held: dict[str, list[Held]] = {}

    def ready(self, run_id: str | None, span: Held, root: EndedRun | None = None) -> list[Held]:
        """What can be handed on now that a span has ended.

        Args:
            run_id: of its run; None for a span of no run, which passes at once.
            span: that ended.
            root: the run's end, where it is that.
        """
        if run_id is None:
            return [span]
        with self._lock:
            known = self._decisions.get(run_id)
            if known is not None:
                return [span] if known else []
            held = self._held.setdefault(run_id, [])
            held.append(span)
            if root is not None:
                return self._decided(run_id, keep=self._keeps(root))
            return self._decided(run_id, keep=True) if len(held) > MAX_SPANS_HELD else []

    def decision(self, run_id: str) -> bool | None:
        """Whether a run was kept; None where that is not decided, or too long ago."""
        with self._lock:
            return self._decisions.get(run_id)

    def rest(self) -> list[Held]:
        """All that is held, and not any more: a run that has not ended by now is not unremarkable."""
        with self._lock:
            left = [span for spans in self._held.values() for span in spans]
            self._held.clear()
        return left

    def _keeps(self, root: EndedRun) -> bool:
        return self._sampling.keeps(root.attributes, failed=root.failed, seconds=root.seconds, trace_id=root.trace_id)

    def _decided(self, run_id: str, *, keep: bool) -> list[Held]:
        self._decisions[run_id] = keep
        while len(self._decisions) > MAX_DECISIONS:
            self._decisions.popitem(last=False)
        held = self._held.pop(run_id, [])
        return held if keep else []
