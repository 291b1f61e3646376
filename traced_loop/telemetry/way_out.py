"""How a span leaves: through the application's tracer, through an outlet of ours, or not at all.

Whichever it is, a span with the right ids, flags and trace state is current while it is open, so that what begins in a
tool becomes its child.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, Status, StatusCode, TraceFlags, Tracer

from traced_loop.telemetry.ids import Ids
from traced_loop.telemetry.open_span import OpenSpan
from traced_loop.telemetry.span_record import Outlet, RunScope, SpanId, SpanRecord

_KINDS: Final = {"INTERNAL": SpanKind.INTERNAL, "CLIENT": SpanKind.CLIENT}
_SAMPLED: Final = TraceFlags(TraceFlags.SAMPLED)
_UNSAMPLED: Final = TraceFlags(TraceFlags.DEFAULT)


class WayOut:
    """Starts and ends what stands for a span outside of the store. Never raises."""

    def __init__(
        self, tracer: Tracer | None, outlet: Outlet | None, ids: Ids, failed: Callable[[RunScope], None]
    ) -> None:
        """Go through one of them.

        Args:
            tracer: makes a span of its own for each; or None.
            outlet: takes the records themselves where there is no tracer; or None.
            ids: for spans that no tracer gives an id.
            failed: told of each failure of either.
        """
        self._tracer = tracer
        self._outlet = outlet
        self._ids = ids
        self._failed = failed

    def start(self, record: SpanRecord, parent: SpanContext, scope: RunScope) -> trace.Span:
        """The span that is to be current; the record gets its ids, and whether it is exported."""
        if self._tracer is None:
            return self._untraced(record, parent) if self._outlet is None else self._let_out(record, parent, scope)
        otel: trace.Span | None = None
        try:
            otel = self._tracer.start_span(
                record.name,
                kind=_KINDS[record.kind],
                attributes=record.attributes,
                links=[_link(linked) for linked in record.links],
                start_time=record.start_ns,
                record_exception=False,
                set_status_on_exception=False,
            )
        except Exception:  # noqa: BLE001 - a processor of the application may raise; the run goes on
            self._failed(scope)
        given = otel.get_span_context() if otel is not None else None
        if otel is None or given is None or not given.is_valid or given.span_id == parent.span_id:
            return self._untraced(record, parent)
        record.exported = given.trace_flags.sampled
        record.trace_id, record.span_id = given.trace_id, given.span_id
        return otel

    def end(self, otel: trace.Span, record: SpanRecord, late: Mapping[str, Any], scope: RunScope) -> None:
        """Hand an ended span on.

        Args:
            otel: what ``start`` gave.
            record: whole.
            late: those of its attributes that came or changed after the start.
            scope: counts it.
        """
        taken = True
        try:
            if self._outlet is not None and type(otel) is OpenSpan:  # isinstance of an ABC takes microseconds
                self._outlet.ended(record)
            elif otel.is_recording():
                otel.set_attributes(late)
                if record.error:
                    otel.set_status(Status(StatusCode.ERROR, record.message or None))
                otel.end(record.end_ns)
            else:
                taken = False
        except Exception:  # noqa: BLE001 - a processor of the application may raise; the run goes on
            self._failed(scope)
        else:
            scope.exported += taken

    def _untraced(self, record: SpanRecord, parent: SpanContext) -> trace.Span:
        self._identify(record, parent)
        flags = parent.trace_flags if parent.is_valid else _UNSAMPLED
        return NonRecordingSpan(SpanContext(record.trace_id, record.span_id, is_remote=False, trace_flags=flags))

    def _let_out(self, record: SpanRecord, parent: SpanContext, scope: RunScope) -> trace.Span:
        self._identify(record, parent)
        try:
            record.exported = self._outlet is not None and self._outlet.samples(record, parent)
        except Exception:  # noqa: BLE001 - the span is in the store
            self._failed(scope)
        state = parent.trace_state
        if state:
            record.trace_state = state.to_header()
        record.parent_is_remote = parent.is_remote
        flags = _SAMPLED if record.exported else _UNSAMPLED
        context = SpanContext(record.trace_id, record.span_id, is_remote=False, trace_flags=flags, trace_state=state)
        return OpenSpan(context, scope.clock.now_ns) if record.exported else NonRecordingSpan(context)

    def _identify(self, record: SpanRecord, parent: SpanContext) -> None:
        record.trace_id = parent.trace_id if parent.is_valid else self._ids.trace_id()
        record.span_id = self._ids.span_id()


def _link(span: SpanId) -> trace.Link:
    return trace.Link(SpanContext(span[0], span[1], is_remote=False, trace_flags=_UNSAMPLED))
