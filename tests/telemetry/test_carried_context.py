"""The trace context on its way into another process."""

import contextvars

from opentelemetry import context as otel_context
from opentelemetry import trace

from traced_loop.telemetry.carried_context import attach_carried, carried
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
