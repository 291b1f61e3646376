"""The trace context on its way into another process: W3C ``traceparent``, and the run for ``instrument``."""

from collections.abc import Generator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry import propagate, trace
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from traced_loop.telemetry.clock import SystemClock
from traced_loop.telemetry.run_context import in_run, run_id_in
from traced_loop.telemetry.span_record import RunScope

_RUN: str = "run"


def carried() -> dict[str, str]:
    """The current context as texts."""
    texts = carried_trace()
    run_id = run_id_in(None)
    return texts if run_id is None else {**texts, _RUN: run_id}


def attach_carried(texts: Mapping[str, str]) -> None:
    """Make the carried context the current one, for good: spans started here are children of the one over there."""
    context = TraceContextTextMapPropagator().extract(texts)
    if _RUN in texts:
        context = in_run(RunScope(run_id=texts[_RUN], clock=SystemClock()), context)
    otel_context.attach(context)


class CarriedTrace:
    """The context of one call to another program whose client library has instrumentation of its own.

    The call has its span already: a library's span below it says the same again, and what it says of errors is
    content. So the library is shown the context unsampled, which a sampler that asks the parent (the default) obeys,
    and what leaves the process carries the context as it is.
    """

    def __init__(self) -> None:
        """Keep the current context."""
        self._context = otel_context.get_current()

    @contextmanager
    def unsampled(self) -> Generator[None, None, None]:
        """Inside it, the current span is the same one, not sampled; none where there is none."""
        span = trace.get_current_span(self._context).get_span_context()
        quiet = trace.SpanContext(span.trace_id, span.span_id, is_remote=False, trace_state=span.trace_state)
        context = trace.set_span_in_context(trace.NonRecordingSpan(quiet), self._context) if span.is_valid else None
        with _attached(context or self._context):
            yield

    @contextmanager
    def as_it_is(self) -> Generator[None, None, None]:
        """Inside it, the kept context is the current one."""
        with _attached(self._context):
            yield


def carried_trace() -> dict[str, str]:
    """The current context as W3C ``traceparent`` and ``tracestate``; empty where there is none."""
    texts: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(texts)
    return texts


def put_trace(into: MutableMapping[str, Any]) -> None:
    """Write the current context as the application's propagators do, and as W3C ``traceparent`` in any case."""
    propagate.inject(into)
    TraceContextTextMapPropagator().inject(into)


@contextmanager
def _attached(context: otel_context.Context) -> Generator[None, None, None]:
    token = otel_context.attach(context)
    try:
        yield
    finally:
        otel_context.detach(token)
