"""Whichever way a span leaves, its children and the servers that it asks see parent, flags and trace state."""

from __future__ import annotations

import pytest
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, TraceState
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from traced_loop import names
from traced_loop.telemetry.span_record import SpanRecord
from traced_loop.telemetry.spans import Telemetry
from traced_loop.testing import CountedClock, CountedIds, Spans


class Taking:
    """An outlet that keeps what it is given."""

    def __init__(self, *, wanted: bool = True, broken: bool = False) -> None:
        self.taken: list[SpanRecord] = []
        self._wanted = wanted
        self._broken = broken

    def samples(self, record: SpanRecord, parent: SpanContext) -> bool:
        if self._broken:
            raise RuntimeError("broken")
        return self._wanted and (parent.trace_flags.sampled or not parent.is_valid)

    def ended(self, record: SpanRecord) -> None:
        self.taken.append(record)


class Refusing(Taking):
    """One that fails when a span ends."""

    def ended(self, record: SpanRecord) -> None:
        raise RuntimeError("broken")


def played(outlet: Taking) -> tuple[dict[str, str], Spans, tuple[int, int, int]]:
    """What a server asked inside a step is told, what is stored, and the counts."""
    spans, headers = Spans(), dict[str, str]()
    telemetry = Telemetry(outlet=outlet, sink=spans, clock=CountedClock(), ids=CountedIds())
    scope = telemetry.scope("run-1")
    with telemetry.run(scope, f"{names.INVOKE_AGENT} a", {}), telemetry.span(names.STEP, {names.STEP_INDEX: 1}):
        TraceContextTextMapPropagator().inject(headers)
    return headers, spans, (scope.recorded, scope.exported, scope.export_errors)


def under(flags: int, *, remote: bool) -> object:
    """A span of the application's, or of a service that called it."""
    state = TraceState([("vendor", "x")])
    return trace.use_span(
        NonRecordingSpan(SpanContext(0xABC, 0xDEF, is_remote=remote, trace_flags=TraceFlags(flags), trace_state=state))
    )


def test_without_a_parent_a_trace_begins_here() -> None:
    """Sampled, and told to whoever is asked."""
    outlet = Taking()
    headers, spans, counts = played(outlet)
    step, root = outlet.taken
    assert (outlet.taken, counts) == (spans.ended_spans, (2, 2, 0))
    assert (root.parent_id, step.parent_id, step.trace_id) == (0, root.span_id, root.trace_id)
    assert headers == {"traceparent": f"00-{root.trace_id:032x}-{step.span_id:016x}-01"}


@pytest.mark.parametrize("remote", [True, False])
def test_a_parent_is_followed_with_its_trace_state(remote: bool) -> None:
    """Only the root's parent may be in another process."""
    outlet = Taking()
    with under(TraceFlags.SAMPLED, remote=remote):  # type: ignore[attr-defined]
        headers, _, _ = played(outlet)
    step, root = outlet.taken
    assert (root.trace_id, root.parent_id, root.parent_is_remote) == (0xABC, 0xDEF, remote)
    assert (step.parent_is_remote, step.trace_state, root.trace_state) == (False, "vendor=x", "vendor=x")
    assert headers == {"traceparent": f"00-{0xABC:032x}-{step.span_id:016x}-01", "tracestate": "vendor=x"}


def test_what_is_not_sampled_stays_here_and_says_so() -> None:
    """Children elsewhere are told; the store is whole."""
    outlet = Taking()
    with under(TraceFlags.DEFAULT, remote=False):  # type: ignore[attr-defined]
        headers, spans, counts = played(outlet)
    assert (outlet.taken, len(spans.ended_spans), counts) == ([], 2, (2, 0, 0))
    assert headers["traceparent"].endswith("-00")
    assert not any(span.exported for span in spans.ended_spans)


@pytest.mark.parametrize(
    ("outlet", "errors"), [pytest.param(Taking(broken=True), 2, id="start"), pytest.param(Refusing(), 2, id="end")]
)
def test_an_outlet_that_fails_is_counted_and_nothing_else(outlet: Taking, errors: int) -> None:
    """The run goes on, and its spans are in the store."""
    _, spans, counts = played(outlet)
    assert (len(spans.ended_spans), counts) == (2, (2, 0, errors))
