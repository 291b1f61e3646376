"""The trace context on its way into another process: W3C ``traceparent``, and the run for ``instrument``."""

from collections.abc import Mapping

from opentelemetry import context as otel_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from traced_loop.telemetry.clock import SystemClock
from traced_loop.telemetry.run_context import in_run, run_id_in
from traced_loop.telemetry.span_record import RunScope

_RUN: str = "run"


def carried() -> dict[str, str]:
    """The current context as texts."""
    texts: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(texts)
    run_id = run_id_in(None)
    return texts if run_id is None else {**texts, _RUN: run_id}


def attach_carried(texts: Mapping[str, str]) -> None:
    """Make the carried context the current one, for good: spans started here are children of the one over there."""
    context = TraceContextTextMapPropagator().extract(texts)
    if _RUN in texts:
        context = in_run(RunScope(run_id=texts[_RUN], clock=SystemClock()), context)
    otel_context.attach(context)
