"""One span as it is recorded, who takes it, and what the spans of one run share."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from opentelemetry.trace import SpanContext

from traced_loop.telemetry.attributes import Hygiene
from traced_loop.telemetry.clock import Clock

if TYPE_CHECKING:
    from traced_loop.telemetry.extra_attributes import ExtraAttributes

Kind = Literal["INTERNAL", "CLIENT"]
"""``CLIENT`` for a request to a server."""
SpanId = tuple[int, int]
"""Trace id and span id."""


class SpanEvent(NamedTuple):
    """Something that happened while a span was open, in nanoseconds since 1970."""

    time_ns: int
    name: str
    attributes: Mapping[str, Any]


@dataclass(slots=True)
class SpanRecord:
    """One span as the store takes it; times in nanoseconds since 1970, ``end_ns`` 0 while open.

    ``exported`` is whether a tracer, or an outlet, wanted it and hands it to its exporter. ``events`` are what others
    said while it was current. ``trace_state`` and
    ``parent_is_remote`` are what the parent said, for an outlet; the store has neither.
    """

    run_id: str
    trace_id: int
    span_id: int
    parent_id: int
    name: str
    kind: Kind
    start_ns: int
    root: bool
    brief: bool
    end_ns: int = 0
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])
    links: tuple[SpanId, ...] = ()
    error: bool = False
    message: str = ""
    exported: bool = False
    events: tuple[SpanEvent, ...] = ()
    trace_state: str = ""
    parent_is_remote: bool = False


class Sink(Protocol):
    """Takes spans as they start and end: the local store, or a test's list. May raise; it is counted."""

    def started(self, span: SpanRecord) -> None:
        """A span that can last has begun; not called for brief ones."""
        ...

    def ended(self, span: SpanRecord) -> None:
        """A span is complete."""
        ...


class Outlet(Protocol):
    """Takes spans on their way out without a tracer's own span for each; may raise, which is counted."""

    def samples(self, record: SpanRecord, parent: SpanContext) -> bool:
        """Whether a span that begins is to be exported; asked where the parent is the current span."""
        ...

    def ended(self, record: SpanRecord) -> None:
        """A span that is to be exported is complete; it does not change any more."""
        ...


@dataclass(slots=True)
class RunScope:
    """What every span of one run shares, found through the context: its id and the counts of its receipt.

    Attributes:
        run_id: of every span.
        clock: of every span.
        hygiene: what was changed in attributes.
        extra: what its spans carry by option; None for nothing.
        root: the run's own span, once it is open.
        started: spans opened.
        ended: spans handed on.
        recorded: spans that the store took.
        exported: spans that a tracer or an outlet wanted and took.
        store_errors: writes that the store refused.
        store_full: whether it refused one because it has no room.
        export_errors: spans that a tracer or an outlet raised on.
        overhead_ns: time spent in here; spans that end at once in several threads may cost some of it.
    """

    run_id: str
    clock: Clock
    hygiene: Hygiene = field(default_factory=Hygiene)
    extra: "ExtraAttributes | None" = None
    root: SpanContext | None = None
    started: int = 0
    ended: int = 0
    recorded: int = 0
    exported: int = 0
    store_errors: int = 0
    store_full: bool = False
    export_errors: int = 0
    overhead_ns: int = 0

    @contextmanager
    def measured(self) -> Generator[None]:
        """Count the time that is spent in here as overhead."""
        began = self.clock.ticks()
        try:
            yield
        finally:
            self.overhead_ns += self.clock.ticks() - began
