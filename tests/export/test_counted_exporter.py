"""Batches of both kinds of spans are sent in requests, counted by run, and never raise."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, TraceFlags

from traced_loop import names
from traced_loop.export.counted_exporter import CountedExporter
from traced_loop.export.otlp import watched_exporter
from traced_loop.export.otlp_bytes import RequestHead
from traced_loop.export.otlp_endpoint import Endpoint
from traced_loop.export.packed_span import packed
from traced_loop.export.quiet_exporters import MAX_SAID
from traced_loop.export.run_deliveries import RunDeliveries, Tally
from traced_loop.telemetry.span_record import SpanRecord

from .collector import Collector, collector

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from traced_loop.export.packed_span import PackedSpan

HEAD = RequestHead({"service.name": "shop"}, "", names.SCOPE, "1")


def ours(number: int, text: str = "") -> PackedSpan:
    """A span of a run, encoded."""
    record = SpanRecord("r", 1, number, 0, f"ours {number}", "INTERNAL", 1, root=False, brief=False, end_ns=2)
    record.attributes["text"] = text
    return packed(record)


def theirs(number: int) -> ReadableSpan:
    """A span that a library started through our provider inside of the run."""
    context = SpanContext(1, number, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    scope = InstrumentationScope("http")
    return ReadableSpan(
        f"theirs {number}", context, resource=Resource({}), attributes={names.RUN_ID: "r"},
        start_time=1, end_time=2, instrumentation_scope=scope,
    )  # fmt: skip


def exporter_to(receiver: Collector) -> tuple[CountedExporter, RunDeliveries]:
    """It, and the counts by run."""
    url = f"{receiver.endpoint}/v1/traces"
    inner = watched_exporter(Endpoint(url=url, protocol="http/protobuf", source="test"))
    exporter = CountedExporter(inner, "here", lambda: HEAD, None)
    runs = RunDeliveries()
    exporter.reset(runs)
    return exporter, runs


def test_both_kinds_of_one_batch_arrive_and_are_counted() -> None:
    """Each kind in its own request."""
    with collector() as receiver:
        exporter, runs = exporter_to(receiver)
        for _ in range(4):
            runs.handed("r")
        exporter.send([ours(1), theirs(2), ours(3), theirs(4)])
        exporter.shutdown()
    assert [span.name for span in receiver.spans] == ["ours 1", "ours 3", "theirs 2", "theirs 4"]
    assert len(receiver.requests) == 2
    assert (exporter.accepted, exporter.refused, runs.of("r")) == (4, 0, Tally(handed=4, accepted=4))
    assert receiver.services == {"shop"}


def test_a_batch_too_large_for_one_request_goes_in_several() -> None:
    """As they are encoded, nothing is above the bound."""
    with collector() as receiver:
        exporter, _ = exporter_to(receiver)
        exporter.send([ours(number, "x" * 900_000) for number in range(1, 9)])
        exporter.shutdown()
    assert len(receiver.spans) == 8
    assert (len(receiver.sizes), max(receiver.sizes) < 3_500_000) == (3, True)


def test_what_is_refused_or_dropped_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """And counted for the run."""
    with collector(400) as receiver:
        exporter, runs = exporter_to(receiver)
        for _ in range(3):
            runs.handed("r")
        exporter.drop(ours(1))
        exporter.send([ours(2)])
        exporter.send([ours(3)])
        exporter.shutdown()
    assert (exporter.accepted, exporter.refused, exporter.dropped) == (0, 2, 1)
    assert runs.of("r") == Tally(handed=3, refused=3)
    assert [(record.name, record.levelno) for record in caplog.records] == [("traced_loop.export", logging.WARNING)]


def test_spans_of_which_no_request_can_be_made_are_refused_once(caplog: pytest.LogCaptureFixture) -> None:
    """Those of others in the same batch go."""

    def head() -> RequestHead:
        raise RuntimeError("no resource")

    with collector() as receiver:
        url = f"{receiver.endpoint}/v1/traces"
        inner = watched_exporter(Endpoint(url=url, protocol="http/protobuf", source="test"))
        exporter, runs = CountedExporter(inner, "here", head, None), RunDeliveries()
        exporter.reset(runs)
        for _ in range(3):
            runs.handed("r")
        exporter.send([ours(1), theirs(2), ours(3)])
        exporter.shutdown()
    assert [span.name for span in receiver.spans] == ["theirs 2"]
    assert (exporter.accepted, exporter.refused, runs.of("r")) == (1, 2, Tally(handed=3, accepted=1, refused=2))
    assert "RuntimeError: no resource" in caplog.text


class _FullDisk(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        raise OSError("no space left")


@contextmanager
def full_disk() -> Iterator[None]:
    """The application's log takes nothing and raises."""
    handler = _FullDisk()
    logging.getLogger("traced_loop.export").addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger("traced_loop.export").removeHandler(handler)


def test_a_log_that_raises_costs_no_span() -> None:
    """What is refused is counted, and nothing is raised to whoever sends or closes."""
    with collector(400) as receiver, full_disk():
        exporter, _ = exporter_to(receiver)
        exporter.send([ours(1), theirs(2)])
        exporter.shutdown()
    assert (exporter.accepted, exporter.refused) == (0, 2)


class _Raising(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        raise RuntimeError("broken" * 1_000)

    def shutdown(self) -> None:
        raise RuntimeError("broken, too")


def test_of_what_an_exporter_says_the_last_is_kept() -> None:
    """Also of one that raises each time, and when it ends."""
    exporter = CountedExporter(_Raising(), "here", lambda: HEAD, None)
    for number in range(20):
        exporter.send([theirs(number)])
    exporter.shutdown()
    assert (exporter.refused, len(exporter.said), exporter.said[-1]) == (20, MAX_SAID, "RuntimeError: broken, too")
