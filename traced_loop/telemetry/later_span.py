"""A span that starts in a run and ends at any time, in any thread, perhaps after the run has."""

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Generic, TypeVar

from opentelemetry import context as otel_context
from opentelemetry import trace

from traced_loop.telemetry.run_context import in_run
from traced_loop.telemetry.span_record import RunScope

Opened = TypeVar("Opened")


class LaterSpan(Generic[Opened]):
    """A span that has started, and waits to be opened."""

    def __init__(self, span: AbstractContextManager[Opened], scope: RunScope, begun: int) -> None:
        """Keep it.

        Args:
            span: opens and ends with ``with``.
            scope: its run.
            begun: its start, in nanoseconds since 1970.
        """
        self._span = span
        self._scope = scope
        self._begun = begun

    def seconds(self) -> float:
        """Seconds since its start."""
        return round((self._scope.clock.now_ns() - self._begun) / 1e9, 3)

    @contextmanager
    def opened(self) -> Generator[Opened]:
        """The span, open under the run's root, whatever the context; to be called once."""
        root = trace.NonRecordingSpan(self._scope.root or trace.INVALID_SPAN_CONTEXT)
        context = trace.set_span_in_context(root, otel_context.Context())
        token = otel_context.attach(in_run(self._scope, context))
        try:
            with self._span as span:
                yield span
        finally:
            otel_context.detach(token)
