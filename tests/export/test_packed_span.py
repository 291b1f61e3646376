"""Spans in the queue are counted by run and marked by id, and go in requests of bounded size."""

from __future__ import annotations

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, TraceFlags

from traced_loop import names
from traced_loop.export.packed_span import MAX_REQUEST_BYTES, PackedSpan, packed, packed_requests, recorded_ids, run_of
from traced_loop.telemetry.span_record import SpanRecord

CONTEXT = SpanContext(1, 9, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def theirs(scope: str | None, run_id: object = "r") -> ReadableSpan:
    """A span that the SDK made."""
    known = InstrumentationScope(scope) if scope else None
    attributes = {names.RUN_ID: run_id} if run_id else {}
    return ReadableSpan("span", context=CONTEXT, attributes=attributes, instrumentation_scope=known)  # type: ignore[arg-type]


def test_only_spans_of_ours_are_in_a_store() -> None:
    """A library's span inside a tool counts for the run, and is recorded nowhere."""
    ours = PackedSpan("r", 7, b"")
    library, sdk, stranger = theirs("http"), theirs(names.SCOPE), theirs(None, None)
    assert [run_of(span) for span in (ours, library, sdk, stranger)] == ["r", "r", "r", None]
    assert recorded_ids([ours, library, sdk, stranger]) == {"r": [7, 9]}


def test_requests_stay_below_what_receivers_take_and_lose_nothing() -> None:
    """In order, the head counted in each."""
    spans = [PackedSpan("r", number, b"x" * 1_000_000) for number in range(8)]
    batches = list(packed_requests(spans, 400_000))
    assert [span for batch in batches for span in batch] == spans
    assert [len(batch) for batch in batches] == [3, 3, 2]
    assert all(400_000 + sum(len(span.field) for span in batch) <= MAX_REQUEST_BYTES for batch in batches)
    assert list(packed_requests([], 5)) == []


def test_a_record_is_packed_as_it_is_now() -> None:
    """What is set on it later is not sent."""
    record = SpanRecord("r", 1, 2, 0, "step", "INTERNAL", 1, root=False, brief=False, attributes={"a": "before"})
    span = packed(record)
    record.attributes["a"] = "later"
    assert (span.run_id, span.span_id) == ("r", 2)
    assert (b"before" in span.field, b"later" in span.field) == (True, False)
