"""The trace context on its way into another process."""

import contextvars

from opentelemetry import context as otel_context
from opentelemetry import trace

from traced_loop.telemetry.carried_context import CarriedTrace, attach_carried, carried, carried_trace, put_trace
from traced_loop.telemetry.run_context import run_id_in
from traced_loop.telemetry.spans import Telemetry
from traced_loop.testing import Spans


def test_over_there_the_span_is_the_parent_and_the_run_is_known() -> None:
    """What is carried is text alone."""
    telemetry = Telemetry(sink=Spans())
    with telemetry.run(telemetry.scope("run-1"), "invoke_agent", {}) as root:
        texts = carried()

    def over_there() -> tuple[int, int, str | None]:
        attach_carried(texts)
        span = trace.get_current_span().get_span_context()
        return span.trace_id, span.span_id, run_id_in(otel_context.get_current())

    assert all(isinstance(text, str) for text in texts.values())
    assert contextvars.Context().run(over_there) == (*root.id, "run-1")


def test_outside_of_everything_nothing_is_carried() -> None:
    """And nothing is attached."""
    assert contextvars.Context().run(carried) == {}


SAMPLED = trace.SpanContext(7, 8, is_remote=False, trace_flags=trace.TraceFlags(trace.TraceFlags.SAMPLED))


def test_a_library_is_shown_the_span_unsampled_and_what_leaves_carries_it_as_it_is() -> None:
    """The same span both times."""

    def call() -> tuple[trace.SpanContext, dict[str, str], dict[str, str]]:
        otel_context.attach(trace.set_span_in_context(trace.NonRecordingSpan(SAMPLED)))
        carried_on = CarriedTrace()
        meta: dict[str, str] = {"traceparent": "the library's"}
        with carried_on.unsampled():
            seen = trace.get_current_span().get_span_context()
            with carried_on.as_it_is():
                put_trace(meta)
        return seen, meta, carried_trace()

    seen, meta, after = contextvars.Context().run(call)

    assert (seen.trace_id, seen.span_id, seen.trace_flags.sampled) == (7, 8, False)
    assert meta == after == {"traceparent": f"00-{7:032x}-{8:016x}-01"}


def test_without_a_span_there_is_nothing_to_hide_or_to_put() -> None:
    """A library's span is a root then, as it would be without us."""

    def call() -> tuple[bool, dict[str, str]]:
        carried_on, meta = CarriedTrace(), dict[str, str]()
        with carried_on.unsampled():
            put_trace(meta)
            return trace.get_current_span().get_span_context().is_valid, meta

    assert contextvars.Context().run(call) == (False, {})
