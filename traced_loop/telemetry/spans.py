"""The one context manager that opens and closes a span: on its way out and to the local store at once.

    with telemetry.run(telemetry.scope(run_id), names.INVOKE_AGENT, {...}) as root:
        with telemetry.span(names.STEP, {names.STEP_INDEX: 1}) as step:
            step.set({names.STEP_OUTCOME: "final"})

The way out is the application's tracer, or an outlet of ours that takes the record itself. The store's side depends on
neither: without one, or when the sampler drops the run, ids are made here and the local record is whole. Nothing in
here raises because of telemetry: a failing tracer or store is counted.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import Tracer

from traced_loop import names
from traced_loop.errors import StoreFull
from traced_loop.redaction import Redactor, default_redactor, register_environment
from traced_loop.telemetry.attributes import Hygiene, clean_name, cut
from traced_loop.telemetry.clock import Clock, SystemClock
from traced_loop.telemetry.heard_events import heard_events
from traced_loop.telemetry.ids import Ids, RandomIds
from traced_loop.telemetry.later_span import LaterSpan
from traced_loop.telemetry.open_span import OpenSpan
from traced_loop.telemetry.run_context import in_run, running
from traced_loop.telemetry.run_context import run_id_in as run_id_in
from traced_loop.telemetry.span_attributes import MAX_LINKS, MAX_STATUS_BYTES, SpanAttributes, frame_bytes
from traced_loop.telemetry.span_record import Kind as Kind
from traced_loop.telemetry.span_record import Outlet as Outlet
from traced_loop.telemetry.span_record import RunScope as RunScope
from traced_loop.telemetry.span_record import Sink as Sink
from traced_loop.telemetry.span_record import SpanEvent as SpanEvent
from traced_loop.telemetry.span_record import SpanId as SpanId
from traced_loop.telemetry.span_record import SpanRecord as SpanRecord
from traced_loop.telemetry.type_names import type_name
from traced_loop.telemetry.wanted_extras import NOTHING, Wanted, extra_attributes
from traced_loop.telemetry.way_out import WayOut

if TYPE_CHECKING:
    from traced_loop.telemetry.content.span_content import SpanContent
    from traced_loop.telemetry.extra_attributes import ExtraAttributes
    from traced_loop.telemetry.metrics import RunMetrics


class Span:
    """A span that is open between ``with`` and its end."""

    __slots__ = ("_attributes", "_otel", "_scope", "_telemetry", "_token", "content", "held", "record")

    def __init__(self, telemetry: "Telemetry", scope: RunScope, record: SpanRecord, attributes: SpanAttributes) -> None:
        self._telemetry = telemetry
        self._scope = scope
        self._otel: trace.Span | None = None
        self._token: Any = None
        self._attributes = attributes
        self.record = record
        self.held = False
        """Whether its end waits for ``release``."""
        self.content: SpanContent | None = scope.extra.content(scope.measured) if scope.extra is not None else None
        """Where what is said in it is shown, set last of all; None while content is off."""

    @property
    def id(self) -> SpanId:
        """Trace id and span id."""
        return self.record.trace_id, self.record.span_id

    def set(self, attributes: Mapping[str, Any]) -> None:
        """Add attributes; the same hygiene as at the start. None is left out, what is beyond the bounds counted."""
        ticks = self._scope.clock.ticks
        began = ticks()
        self._attributes.set(attributes)
        self._scope.overhead_ns += ticks() - began

    def show(self, extra: "ExtraAttributes") -> None:
        """Set what the run's spans carry by option, last of all. Called by ``Telemetry.hand_on``, which is measured."""
        self._attributes.set_last(extra.at_end(self.record.attributes, self.content, self._attributes.room()))

    def fail(self, error_type: str, message: str = "") -> None:
        """Set status ERROR. Type and ``message`` must hold no content; they are masked and cut all the same."""
        self.record.error = True
        self.record.message = cut(self._scope.hygiene.masked(message), MAX_STATUS_BYTES)
        self.set({names.ERROR_TYPE: clean_name(self._scope.hygiene.masked(error_type))})

    def hold(self) -> None:
        """End in time with its ``with``, but be handed on by ``release`` only: what it decided is known later."""
        self.held = True

    def release(self, attributes: Mapping[str, Any]) -> None:
        """Add the last attributes of a held span and hand it on; to be called once, after its ``with``."""
        self.set(attributes)
        ticks = self._scope.clock.ticks
        began = ticks()
        self._telemetry.hand_on(self, self._scope)
        self._scope.overhead_ns += ticks() - began

    def __enter__(self) -> Self:
        self._telemetry.open(self, self._scope)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None and not self.record.error:
            self.fail(type_name(error))
        self._telemetry.close(self, self._scope)

    def hear(self, given: Mapping[str, Any], events: Sequence[SpanEvent]) -> None:
        """Add what others said of it. Called by ``Telemetry.hand_on``, which is measured."""
        known, hygiene = self._attributes.known, self._scope.hygiene
        for key, value in given.items():
            if key not in known:
                try:
                    self._attributes.set({key: value})
                except Exception:  # noqa: BLE001 - what is not ours may raise as soon as it is looked at
                    hygiene.truncated += 1
        self.record.events = heard_events(events, hygiene, self._attributes)

    def started_with(self, otel: trace.Span | None, token: object) -> None:
        """Remember the tracer's span and the context token; called by ``Telemetry.open``."""
        self._otel, self._token = otel, token

    def finish(self) -> tuple[trace.Span | None, Any, dict[str, Any]]:
        """What ``Telemetry.close`` needs: the tracer's span, the context token, the late attributes."""
        return self._otel, self._token, self._attributes.late


class Telemetry:
    """Opens spans for one loop. Holds no state of a run, so it can be shared."""

    def __init__(
        self,
        *,
        tracer: Tracer | None = None,
        outlet: Outlet | None = None,
        sink: Sink | None = None,
        metrics: "RunMetrics | None" = None,
        clock: Clock | None = None,
        ids: Ids | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        """Wire the two sides.

        Args:
            tracer: where spans are exported through, or None for none.
            outlet: takes the records themselves, in a tracer's place; or None.
            sink: where spans are recorded, or None for nowhere.
            metrics: what counts them, or None for nothing.
            clock: None for a new system clock in each run.
            ids: None for random ones.
            redactor: masks what must not be shown; None for the built-in rules.
        """
        self._sink = sink
        self._metrics = metrics
        self._clock = clock
        self._way_out = WayOut(tracer, outlet, ids or RandomIds(), self._not_exported)
        self.redactor = redactor or default_redactor()
        """Masks what must not be shown."""

    def scope(self, run_id: str, wanted: Wanted = NOTHING) -> RunScope:
        """The shared part of a new run, and what its spans carry by option."""
        hygiene = Hygiene(redactor=self.redactor)
        clock = self._clock or SystemClock()
        register_environment()
        return RunScope(run_id=run_id, clock=clock, hygiene=hygiene, extra=extra_attributes(wanted, hygiene))

    def run(self, scope: RunScope, name: str, attributes: Mapping[str, Any], *, links: Sequence[SpanId] = ()) -> Span:
        """The root span of a run; the caller's current span is its parent."""
        return self._new(scope, name, attributes, links=links, root=True)

    def span(
        self,
        name: str,
        attributes: Mapping[str, Any],
        *,
        kind: Kind = "INTERNAL",
        links: Sequence[SpanId] = (),
        brief: bool = False,
        start_ns: int = 0,
    ) -> Span:
        """A span under the current one, in the run that the context carries.

        Args:
            name: a constant of ``names``, with a registered tool's or the configured model's name at most.
            attributes: all that is known at the start, so that no limit evicts it.
            kind: ``CLIENT`` for a request to a server.
            links: spans that this one refers to.
            brief: ends at once and waits for nothing: not recorded at its start.
            start_ns: a start in the past, or 0 for now.

        Raises:
            RuntimeError: outside of a run.
        """
        scope = running(name)
        return self._new(scope, name, attributes, kind=kind, links=links, brief=brief, start_ns=start_ns)

    def later(self, name: str, attributes: Mapping[str, Any], *, links: Sequence[SpanId] = ()) -> LaterSpan["Span"]:
        """A span under the run's root that starts now, and is opened and ended later, in any thread.

        The run may have ended by then, and its receipt does not count it. It is recorded all the same, and exported
        where the exporter still takes spans.

        Raises:
            RuntimeError: outside of a run.
        """
        # Counts of its own: it ends in a thread of its own, and the run's would depend on which of them was faster.
        scope = replace(running(name))
        begun = scope.clock.now_ns()
        span = self._new(scope, name, attributes, links=links, brief=True, start_ns=begun)
        return LaterSpan(span, scope, begun)

    def _new(
        self,
        scope: RunScope,
        name: str,
        attributes: Mapping[str, Any],
        *,
        kind: Kind = "INTERNAL",
        links: Sequence[SpanId] = (),
        brief: bool = False,
        start_ns: int = 0,
        root: bool = False,
    ) -> Span:
        began = scope.clock.ticks()
        shown, kept = clean_name(name), tuple(links)
        if len(kept) > MAX_LINKS:
            scope.hygiene.truncated += len(kept) - MAX_LINKS
            kept = kept[:MAX_LINKS]
        frame = frame_bytes(shown, len(kept))
        extra = scope.extra.at_start(name) if scope.extra is not None else {}
        given = SpanAttributes({names.RUN_ID: scope.run_id, **extra, **attributes}, scope.hygiene, frame)
        record = SpanRecord(
            run_id=scope.run_id,
            trace_id=0,
            span_id=0,
            parent_id=0,
            name=shown,
            kind=kind,
            start_ns=start_ns,
            root=root,
            brief=brief,
            attributes=given.known,
            links=kept,
        )
        scope.overhead_ns += scope.clock.ticks() - began
        return Span(self, scope, record, given)

    def open(self, span: Span, scope: RunScope) -> None:
        """Start the span, make it current, and record its start. Called by ``with``."""
        began = scope.clock.ticks()
        record = span.record
        record.start_ns = record.start_ns or scope.clock.now_ns()
        parent = trace.get_current_span().get_span_context()
        record.parent_id = parent.span_id if parent.is_valid else 0
        otel = self._way_out.start(record, parent, scope)
        context = trace.set_span_in_context(otel)
        if record.root:
            context = in_run(scope, context)
            scope.root = otel.get_span_context()
        span.started_with(otel, otel_context.attach(context))
        scope.started += 1
        if self._sink is not None and not record.brief:
            self._record(self._sink.started, record, scope)
        if self._metrics is not None and not record.brief:
            self._count(self._metrics.started, record)
        scope.overhead_ns += scope.clock.ticks() - began

    def close(self, span: Span, scope: RunScope) -> None:
        """End the span and restore the context. Called by ``with``."""
        began = scope.clock.ticks()
        _, token, _ = span.finish()
        span.record.end_ns = max(span.record.start_ns, scope.clock.now_ns())
        otel_context.detach(token)
        if not span.held:
            self.hand_on(span, scope)
        scope.overhead_ns += scope.clock.ticks() - began

    def hand_on(self, span: Span, scope: RunScope) -> None:
        """Record an ended span whole, and export it. Called by ``close``, or by the span's ``release``."""
        otel, _, late = span.finish()
        record = span.record
        if type(otel) is OpenSpan:  # isinstance of an ABC takes microseconds
            given, events = otel.taken()
            if given or events:
                span.hear(given, events)
        if scope.extra is not None:
            self._add_extra(span, scope, scope.extra, otel)
        scope.ended += 1
        if self._sink is not None and self._record(self._sink.ended, record, scope):
            scope.recorded += 1
        if self._metrics is not None:
            self._count(self._metrics.ended, record)
        if otel is not None:
            self._way_out.end(otel, record, late, scope)

    @staticmethod
    def _add_extra(span: Span, scope: RunScope, extra: "ExtraAttributes", otel: trace.Span | None) -> None:
        record = span.record
        try:
            span.show(extra)
            extra.emit(otel or trace.INVALID_SPAN, record.attributes, span.content, record.end_ns)
        except Exception:  # noqa: BLE001 - a log processor of the application may raise; the run goes on
            scope.export_errors += 1

    def _record(self, write: Any, record: SpanRecord, scope: RunScope) -> bool:
        try:
            write(record)
        except Exception as error:  # noqa: BLE001 - telemetry never hurts: counted in the receipt instead
            scope.store_errors += 1
            scope.store_full = scope.store_full or isinstance(error, StoreFull)
            self._lost("store")
            return False
        return True

    @staticmethod
    def _count(count: Any, given: Any) -> None:
        with suppress(Exception):  # a meter of the application may raise; the run goes on
            count(given)

    def _not_exported(self, scope: RunScope) -> None:
        scope.export_errors += 1
        self._lost("tracer")

    def _lost(self, part: str) -> None:
        if self._metrics is not None:
            self._count(self._metrics.lost, part)
