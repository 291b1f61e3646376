"""Delivery counts what was taken, stays under what receivers take, and says one line when nothing goes."""

from __future__ import annotations

import logging
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult

from traced_loop import names
from traced_loop.errors import UsageError
from traced_loop.export.delivery import Pipeline
from traced_loop.export.exit_time import EXIT_SECONDS
from traced_loop.export.otlp import build_provider, target_of
from traced_loop.export.otlp_endpoint import Endpoint
from traced_loop.export.process_end import close_all
from traced_loop.export.request_size import MAX_REQUEST_BYTES
from traced_loop.rules.run_sampling import RunSampling
from traced_loop.telemetry.export_counts import ExportCounts
from traced_loop.telemetry.span_record import SpanRecord
from traced_loop.telemetry.spans import Telemetry

from ..hangs import HANGS, no_hang
from ..python_program import ONE_CALL, Ended, run_python
from .collector import collector

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from opentelemetry.sdk.trace import ReadableSpan

    from .collector import Collector


OWN_WORDS = logging.getLogger("opentelemetry.exporter.otlp.test")


class Kept(SpanExporter):
    """Keeps what it is given, and answers as it is told."""

    def __init__(self, result: SpanExportResult = SpanExportResult.SUCCESS) -> None:
        self.requests: list[list[ReadableSpan]] = []
        self.result = result

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.requests.append(list(spans))
        return self.result


class Broken(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        OWN_WORDS.error("the exporter's own words")
        raise RuntimeError("broken")


class Stuck(SpanExporter):
    def __init__(self) -> None:
        self.free = threading.Event()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.free.wait(HANGS)
        return SpanExportResult.SUCCESS


def spans(pipeline: Pipeline, count: int, **attributes: Any) -> None:
    """End that many spans."""
    tracer = pipeline.provider.get_tracer("test")
    for number in range(count):
        tracer.start_span(f"span {number}", attributes=attributes).end()


def test_everything_is_sent_when_the_pipeline_is_closed() -> None:
    """And counted."""
    exporter = Kept()
    pipeline = Pipeline(exporter, "here")
    spans(pipeline, 3)
    assert pipeline.close(5)
    assert (pipeline.accepted, pipeline.refused) == (3, 0)
    assert pipeline.counts == ExportCounts(accepted=3)
    assert [span.name for request in exporter.requests for span in request] == ["span 0", "span 1", "span 2"]
    assert pipeline.close(0)


def test_no_request_is_larger_than_receivers_take() -> None:
    """300 spans of 60 KB go in several requests, in order, and none is lost."""
    with collector() as receiver:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        pipeline = Pipeline(OTLPSpanExporter(f"{receiver.endpoint}/v1/traces"), "here")
        spans(pipeline, 300, **{f"k{n}": "ä" * 2000 for n in range(15)})
        assert pipeline.close(30)
    assert len(receiver.spans) == 300
    assert max(receiver.sizes) <= MAX_REQUEST_BYTES
    assert len(receiver.sizes) > 4


def test_a_refusal_is_one_line_with_the_reason(caplog: pytest.LogCaptureFixture) -> None:
    """However many requests are refused."""
    pipeline = Pipeline(Kept(SpanExportResult.FAILURE), "http://collector:4318")
    spans(pipeline, 1100)
    assert not pipeline.close(5)
    assert (pipeline.accepted, pipeline.refused) == (0, 1100)
    [record] = caplog.records
    assert (record.name, record.levelname, record.exc_info) == ("traced_loop.export", "WARNING", None)
    assert "http://collector:4318 (it refused them)" in record.getMessage()


def test_a_raising_exporter_is_a_refusal(caplog: pytest.LogCaptureFixture) -> None:
    """Its log is kept to ourselves; its last words are in our line."""
    pipeline = Pipeline(Broken(), "here")
    spans(pipeline, 2)
    assert not pipeline.close(5)
    assert [record.getMessage() for record in caplog.records] == [
        "spans do not reach here (RuntimeError: broken); the run goes on, and the local store keeps what it recorded"
    ]


class Unending(Kept):
    def shutdown(self) -> None:
        raise RuntimeError("broken")


def test_an_exporter_that_cannot_be_ended_keeps_nobody_waiting(caplog: pytest.LogCaptureFixture) -> None:
    """All that it took is delivered, and nothing is said."""
    pipeline = Pipeline(Unending(), "here")
    spans(pipeline, 1, **{names.RUN_ID: "r"})
    with no_hang():
        assert pipeline.close(HANGS)
    assert (pipeline.delivery("r", 1).state, caplog.records) == ("delivered", [])


class Endable(Kept):
    def __init__(self) -> None:
        super().__init__()
        self.ended = threading.Event()

    def shutdown(self) -> None:
        self.ended.set()


@pytest.mark.parametrize(
    "variable", ["OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"], ids=["provider", "queue"]
)
def test_a_setting_that_is_refused_leaves_nothing_behind(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No thread, and no exporter that goes on: each run of a program may be refused."""
    monkeypatch.setenv(variable, "-7")
    before = set(threading.enumerate())
    exporter = Endable()
    target = target_of(Endpoint(url="http://127.0.0.1:9/v1/traces", protocol="http/protobuf", source="test"))
    with pytest.raises((ValueError, UsageError)):
        Pipeline(exporter, "here", target=target)
    assert exporter.ended.wait(60)
    for thread in set(threading.enumerate()) - before:
        thread.join(60)
    assert set(threading.enumerate()) <= before


def test_the_applications_own_exporters_are_not_silenced(caplog: pytest.LogCaptureFixture) -> None:
    """Records of other threads and of other work are none of ours."""
    pipeline = Pipeline(Broken(), "here")
    spans(pipeline, 2)
    pipeline.close(5)
    caplog.clear()
    OWN_WORDS.error("the application's")
    assert [record.getMessage() for record in caplog.records] == ["the application's"]


def test_closing_waits_no_longer_than_it_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """A collector that never answers."""
    exporter = Stuck()
    pipeline = Pipeline(exporter, "here")
    spans(pipeline, 1)
    with no_hang():
        assert not pipeline.close(0.1)
    assert len(caplog.records) == 1
    assert pipeline.counts == ExportCounts(refused=1)
    exporter.free.set()


def test_spans_that_find_the_queue_full_are_counted_not_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The standard queue drops the oldest without telling anybody but the log."""
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "10")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "10")
    exporter = Stuck()
    pipeline = Pipeline(exporter, "here")
    spans(pipeline, 100)
    exporter.free.set()
    assert not pipeline.close(5)
    assert pipeline.accepted + pipeline.refused == 100
    assert pipeline.refused >= 80
    assert [record.name for record in caplog.records] == ["traced_loop.export"]


def test_what_the_sampler_drops_is_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was handed over, so nothing is refused."""
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    pipeline = Pipeline(Kept(), "here")
    spans(pipeline, 5)
    assert pipeline.close(5)
    assert (pipeline.accepted, pipeline.refused) == (0, 0)


@pytest.mark.parametrize(
    ("environment", "service"),
    [
        ({}, "traced_loop"),
        ({"OTEL_SERVICE_NAME": "shop"}, "shop"),
        ({"OTEL_RESOURCE_ATTRIBUTES": "service.name=cart,a=b"}, "cart"),
        ({"OTEL_SERVICE_NAME": "a\udcff"}, "a\ufffd"),
    ],
)
def test_the_service_has_a_name(environment: dict[str, str], service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment's, else ours, always valid text; never ``unknown_service``."""
    for name in ("OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    pipeline = Pipeline(Kept(), "here")
    assert pipeline.provider.resource.attributes["service.name"] == service
    pipeline.close(0)


class OnlyRecords(Sampler):
    """Takes the spans of ours, and has those of others recorded without being exported."""

    def should_sample(self, parent_context: Any, trace_id: int, name: str, *_: Any, **__: Any) -> SamplingResult:
        return SamplingResult(Decision.RECORD_ONLY if name.startswith("their") else Decision.RECORD_AND_SAMPLE)

    def get_description(self) -> str:
        return "only records"


def telemetry_to(receiver: Collector, sampling: RunSampling | None) -> tuple[Pipeline, Telemetry]:
    """A pipeline to a collector, and what records into it."""
    pipeline = build_provider("otlp", receiver.endpoint, sampling)
    return pipeline, Telemetry(outlet=pipeline.outlet)


@pytest.mark.parametrize("ended", [True, False], ids=["ended", "cut-off"])
@pytest.mark.parametrize("sampling", [None, RunSampling(ratio=1)], ids=["all", "held"])
def test_what_is_only_recorded_is_not_exported(ended: bool, sampling: RunSampling | None) -> None:
    """Also where it was held with its run, until that ended or the process did."""
    with collector() as receiver:
        pipeline, telemetry = telemetry_to(receiver, sampling)
        pipeline.provider.sampler = OnlyRecords()
        tracer = pipeline.provider.get_tracer("their library")
        with telemetry.run(telemetry.scope("r"), "invoke_agent x", {}) as root:
            tracer.start_span("theirs", attributes={names.RUN_ID: "r"}).end()
            if not ended:
                assert pipeline.close(10)
            root.set({names.RUN_STOP_REASON: "answered"})
        assert pipeline.close(10) is ended  # what comes after the end is not sent
    assert [span.name for span in receiver.spans] == (["invoke_agent x"] if ended else [])


@pytest.mark.parametrize("sampling", [None, RunSampling(ratio=1)], ids=["all", "held"])
def test_a_span_that_cannot_be_encoded_costs_no_other(
    sampling: RunSampling | None, caplog: pytest.LogCaptureFixture
) -> None:
    """It is counted as refused, for its run, too; those that follow it go."""
    with collector() as receiver:
        pipeline, _ = telemetry_to(receiver, sampling)
        assert pipeline.outlet is not None
        for number in (1, 2, 3):
            record = SpanRecord("r", 1, number, 0, f"span {number}", "INTERNAL", 1, root=number == 3, brief=False)
            record.end_ns = -1 if number == 2 else 2  # the format has no time before 1970
            record.attributes[names.RUN_STOP_REASON] = "answered"
            pipeline.outlet.ended(record)
        assert not pipeline.close(10)
    assert [span.name for span in receiver.spans] == ["span 1", "span 3"]
    assert pipeline.counts == ExportCounts(accepted=2, refused=1)
    delivery = pipeline.delivery("r", 3)
    assert (delivery.state, delivery.accepted, delivery.refused) == ("partly", 2, 1)
    assert "(spans of ours cannot be encoded)" in caplog.text


ENDS = {
    "normal": "",
    "sys-exit": "import sys; sys.exit(3)",
    "uncaught": "raise RuntimeError('boom')",
    "threads": "import threading, time; threading.Thread(target=time.sleep, args=(0.1,)).start()",
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_every_span_arrives_however_the_process_ends(tmp_path: Path, end: str) -> None:
    """Exactly once, and nothing is on stderr that the program did not say."""
    with collector() as receiver:
        code = f"{ONE_CALL}\nresult = one_call()\nprint(result.receipt.export)\n{end}"
        ended = run_python(code, tmp_path / "s", OTEL_EXPORTER_OTLP_ENDPOINT=receiver.endpoint)
    assert ended.out == "otlp\n"
    assert len(receiver.spans) == len({span.span_id for span in receiver.spans}) == 14
    assert receiver.services == {"traced_loop"}
    assert "boom" in end or ended.err == ""


def test_a_forked_childs_spans_arrive_too(tmp_path: Path) -> None:
    """Each process sends its own, once."""
    code = f"{ONE_CALL}\nimport os\none_call()\npid = os.fork()\none_call()\nif pid: os.waitpid(pid, 0)"
    with collector() as receiver:
        ended = run_python(code, tmp_path / "s", OTEL_EXPORTER_OTLP_ENDPOINT=receiver.endpoint)
    assert (ended.code, ended.err) == (0, "")
    assert len(receiver.spans) == len({span.span_id for span in receiver.spans}) == 3 * 14


@pytest.mark.parametrize("how", ["run('child')", "atexit.register(run, 'child')"], ids=["run", "at-exit"])
def test_a_forked_child_that_sends_first_when_it_ends_loses_nothing(tmp_path: Path, how: str) -> None:
    """Who it is needs threads to be found out, which nobody can start by then; too late, it is who its parent is."""
    code = f"""
import atexit, os
from traced_loop.export.otlp import build_provider
from traced_loop.telemetry.spans import Telemetry

pipeline = build_provider("otlp", None, None)
telemetry = Telemetry(outlet=pipeline.outlet)

def run(name):
    with telemetry.run(telemetry.scope(name), "invoke_agent " + name, {{}}):
        pass

run("parent")
pid = os.fork()
if pid:
    os.waitpid(pid, 0)
else:
    os.environ["OTEL_SERVICE_NAME"] = "child"
    {how}
"""
    with collector() as receiver:
        ended = run_python(code, tmp_path / "s", OTEL_EXPORTER_OTLP_ENDPOINT=receiver.endpoint)
    assert (ended.code, ended.err) == (0, "")
    assert sorted(span.name for span in receiver.spans) == ["invoke_agent child", "invoke_agent parent"]
    assert receiver.services == ({"traced_loop", "child"} if how.startswith("run") else {"traced_loop"})


def test_a_child_forked_in_the_middle_of_a_request_sends_its_own_spans(tmp_path: Path) -> None:
    """Those of others as well as ours; what its parent was sending is its parent's."""
    code = """
import os
from traced_loop.export.otlp import build_provider

pipeline = build_provider("otlp", None, None)
watched = pipeline._exporter._inner.connected()
inner = watched._inner.made
children = []

class Forking:
    def export(self, spans):
        if not children:
            children.append(os.fork())
            if not children[0]:
                pipeline.provider.get_tracer("test").start_span("the child's").end()
                pipeline.flush()
                os._exit(0)
        return inner.export(spans)
    shutdown = inner.shutdown

watched._inner.made = Forking()
from traced_loop.telemetry.spans import Telemetry
telemetry = Telemetry(outlet=pipeline.outlet)
with telemetry.run(telemetry.scope("r"), "invoke_agent parent", {}):
    pass
pipeline.flush()
os.waitpid(children[0], 0)
"""
    with collector() as receiver:
        ended = run_python(code, tmp_path / "s", OTEL_EXPORTER_OTLP_ENDPOINT=receiver.endpoint)
    assert (ended.code, ended.err) == (0, "")
    assert sorted(span.name for span in receiver.spans) == ["invoke_agent parent", "the child's"]


def with_a_broken_collector(folder: Path, protocol: str, kind: str, *, seconds: str) -> tuple[Ended, int]:
    """A program with a collector that its exporter would wait for, and the port of that."""
    code = f"{ONE_CALL}\nresult = one_call()\nprint(result.answer, result.receipt.store_errors)"
    listening = socket.create_server(("127.0.0.1", 0))
    with listening, collector(int(kind) if kind.isdigit() else 200) as receiver:
        port = receiver.port if kind.isdigit() else listening.getsockname()[1]
        if kind == "refused":
            listening.close()
        variables = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}",
            "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
            **({"OTEL_EXPORTER_OTLP_TIMEOUT": seconds} if seconds else {}),
        }
        return run_python(code, folder / "s", **variables), port


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
@pytest.mark.parametrize("kind", ["refused", "silent", "404", "503"])
@pytest.mark.parametrize("seconds", [f"{HANGS:g}", ""], ids=["made at once", "made when it sends"])
def test_a_broken_collector_costs_one_line_and_no_wait(tmp_path: Path, protocol: str, kind: str, seconds: str) -> None:
    """The run is as it was, the store is whole, and the process ends long before its exporter gives up."""
    ended, port = with_a_broken_collector(tmp_path, protocol, kind, seconds=seconds)
    assert (ended.code, ended.out) == (0, "3 0\n")
    assert len(ended.err_lines) == 1
    where = f"http://127.0.0.1:{port}{'' if protocol == 'grpc' else '/v1/traces'}"
    assert ended.err.startswith(f"spans do not reach {where} (")
    assert len(list((tmp_path / "s" / "spans").glob("*.otlp.jsonl"))) == 1


def test_several_ways_out_share_the_time_that_they_may_take() -> None:
    """Of three collectors that never answer the first has all of it, and the others what is left."""
    given: list[float] = []

    class Told(Pipeline):
        def close(self, seconds: float) -> bool:
            given.append(seconds)
            return super().close(seconds)

    stuck = [Stuck() for _ in range(3)]
    pipelines = [Told(exporter, f"collector {n}") for n, exporter in enumerate(stuck)]
    for pipeline in pipelines:
        spans(pipeline, 1)

    with no_hang():
        complete = close_all(pipelines, 0.5)

    for exporter in stuck:
        exporter.free.set()
    assert (complete, len(given)) == (False, 3)
    assert sum(given) < 0.6


def test_the_end_of_a_process_waits_once_for_all_its_collectors(tmp_path: Path) -> None:
    """Also where sixty loops send to sixty collectors that never answer, each of which could have what all have."""
    ports = [socket.create_server(("127.0.0.1", 0)) for _ in range(60)]
    code = f"""{ONE_CALL}
import atexit, time
ended = []
atexit.register(lambda: print(time.monotonic() - ended[0]))
for port in {[listening.getsockname()[1] for listening in ports]}:
    one_call(otlp=f"http://127.0.0.1:{{port}}")
ended.append(time.monotonic())
"""
    ended = run_python(code, tmp_path / "s")
    for listening in ports:
        listening.close()
    assert float(ended.out) < 60 * EXIT_SECONDS / 2
    assert len(ended.err_lines) == 60
