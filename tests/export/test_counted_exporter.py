"""Batches of both kinds of spans are sent in requests, counted by run, and never raise."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, TraceFlags

from traced_loop import names
from traced_loop.export.counted_exporter import CountedExporter
from traced_loop.export.otlp import watched_exporter
from traced_loop.export.otlp_bytes import RequestHead
from traced_loop.export.otlp_endpoint import Endpoint
from traced_loop.export.packed_span import packed
from traced_loop.export.run_deliveries import RunDeliveries, Tally
from traced_loop.telemetry.span_record import SpanRecord

from .collector import Collector, collector

if TYPE_CHECKING:
    import pytest

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
