"""Spans in the queue of a pipeline: ours, encoded when they end, and the SDK's, of whoever starts some through it."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Union

from traced_loop import names
from traced_loop.export.otlp_bytes import span_field
from traced_loop.telemetry.span_record import SpanRecord

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

MAX_REQUEST_BYTES: Final = 3_500_000
"""Receivers refuse a message of 4 MiB and more, and with it every span in it."""


class PackedSpan(NamedTuple):
    """One span of ours as a field of a request, and what it is counted by; an empty field cannot be sent."""

    run_id: str
    span_id: int
    field: bytes


WaitingSpan = Union[PackedSpan, "ReadableSpan"]


def packed(record: SpanRecord) -> PackedSpan:
    """An ended span, encoded; with an empty field where it cannot be, so that it is counted with the others."""
    try:
        field = span_field(record)
    except Exception:  # noqa: BLE001 - one span that the format has no room for costs no other
        field = b""
    return PackedSpan(record.run_id, record.span_id, field)


def packed_requests(spans: Sequence[PackedSpan], head: int) -> Iterator[list[PackedSpan]]:
    """The spans in order, in lists that stay under ``MAX_REQUEST_BYTES`` with ``head`` bytes beside them."""
    batch: list[PackedSpan] = []
    size = head
    for span in spans:
        if batch and size + len(span.field) > MAX_REQUEST_BYTES:
            yield batch
            batch, size = [], head
        size += len(span.field)
        batch.append(span)
    if batch:
        yield batch


def run_of(span: WaitingSpan) -> str | None:
    """The run of ours that it belongs to, by what stands on it."""
    if isinstance(span, PackedSpan):
        return span.run_id
    run_id = (span.attributes or {}).get(names.RUN_ID)
    return run_id if isinstance(run_id, str) and span.context is not None else None


def recorded_ids(spans: Sequence[WaitingSpan]) -> dict[str, list[int]]:
    """Ids of those that a store can have recorded, by run: the spans of our own scope."""
    by_run: dict[str, list[int]] = {}
    for span in spans:
        run_id = run_of(span)
        if run_id is None:
            continue
        if isinstance(span, PackedSpan):
            by_run.setdefault(run_id, []).append(span.span_id)
        elif span.context is not None and getattr(span.instrumentation_scope, "name", None) == names.SCOPE:
            by_run.setdefault(run_id, []).append(span.context.span_id)
    return by_run
