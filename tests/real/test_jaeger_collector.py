"""The Collector of deploy/ in front of the real Jaeger: what it removes, keeps, counts, and waits for."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import NonRecordingSpan, SpanContext, StatusCode, TraceFlags, set_span_in_context

from traced_loop import StopReason, names
from traced_loop.read.local_store import LocalStore

from ..command_line import only_path, program
from .child_process import poll
from .collector import CONFIG, CollectorMissingError, find_collector, running_collector
from .jaeger import JaegerMissingError, JaegerPorts, find_jaeger, running_jaeger, tags_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from opentelemetry.trace import Span, Tracer

    from .collector import Collector
    from .jaeger import Jaeger

pytestmark = pytest.mark.real

SERVICE = "traced_loop"
ORDINARY: dict[str, str | bool] = {
    names.RUN_STOP_REASON: "final_answer",
    names.RUN_COST_BAND: "lt_0.01",
    names.RUN_FLAGGED: False,
}
QUICK = {"COLLECTOR_DECISION_WAIT": "4s", "COLLECTOR_AFTER_ROOT": "1s", "COLLECTOR_KEEP_PERCENT": "0"}
CONTENT = (
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
    "gen_ai.tool.definitions",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "gen_ai.prompt.0.content",
    "gen_ai.completion.0.content",
    "input.value",
    "output.value",
    "llm.input_messages.0.message.content",
    "traceloop.entity.input",
)
NO_CONTENT = (
    "gen_ai.usage.input_tokens",
    "gen_ai.tool.name",
    "gen_ai.tool.call.id",
    "gen_ai.request.model",
    "traced_loop.args.summary",
    "llm.token_count.prompt",
    "input.mime_type",
)


@pytest.fixture(scope="module", autouse=True)
def _programs() -> None:
    """Skip where a program is missing."""
    try:
        find_jaeger()
        find_collector()
    except (JaegerMissingError, CollectorMissingError) as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def jaeger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jaeger]:
    """One Jaeger for this module."""
    with running_jaeger(tmp_path_factory.mktemp("jaeger")) as started:
        yield started


@pytest.fixture
def collector(jaeger: Jaeger, tmp_path: Path) -> Iterator[Collector]:
    """A Collector that decides quickly and keeps nothing that has no reason to be kept."""
    with collecting(tmp_path, jaeger.ports) as started:
        yield started


def collecting(folder: Path, ports: JaegerPorts) -> AbstractContextManager[Collector]:
    """The Collector of this module, in front of the Jaeger with these ports."""
    return running_collector(folder, ports.otlp_grpc, **QUICK)


@pytest.fixture
def tracer(collector: Collector) -> Iterator[Tracer]:
    """Sends each span at its end to the Collector."""
    yield from sender(collector)


def sender(collector: Collector) -> Iterator[Tracer]:
    """A tracer of an application, and its end."""
    provider = TracerProvider(resource=Resource.create({"service.name": SERVICE}))
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{collector.http_endpoint}/v1/traces")))
    yield provider.get_tracer("test")
    provider.shutdown()


def run_id(case: str) -> dict[str, str]:
    """The attribute by which a case is found again."""
    return {names.RUN_ID: f"case-{case}"}


def is_kept(jaeger: Jaeger, case: str) -> bool:
    """Whether Jaeger has a case."""
    return bool(jaeger.find(run_id(case)))


def wait_for(jaeger: Jaeger, *cases: str) -> set[str]:
    """Return the trace ids once Jaeger has these cases: a trace is decided on before it is sent."""

    def missing() -> list[str]:
        return [case for case in cases if not is_kept(jaeger, case)]

    poll(lambda: not missing(), within=60, otherwise=lambda: f"{missing()}")
    return {trace_id for case in cases for trace_id in jaeger.find(run_id(case))}


def end_run(tracer: Tracer, case: str, **attributes: Any) -> Span:
    """A trace of one span, as the root of a run; `__` in a name stands for a dot."""
    span = tracer.start_span("invoke_agent case", attributes={**run_id(case), **ORDINARY, **attributes})
    span.end()
    return span


def test_runs_worth_keeping_are_kept_and_ordinary_ones_are_not(
    jaeger: Jaeger, collector: Collector, tracer: Tracer
) -> None:
    """Every stop reason but `final_answer`, every flag, every cost from ten cents on; at a ratio of zero, no more."""
    stopped = [word for word in StopReason if word is not StopReason.FINAL_ANSWER]
    for word in stopped:
        end_run(tracer, word, **{names.RUN_STOP_REASON: word.value})
    end_run(tracer, "flagged", **{names.RUN_FLAGGED: True})
    for band in ("lt_0.01", "lt_0.10", "lt_1", "ge_1"):
        end_run(tracer, band, **{names.RUN_COST_BAND: band})
    assert collector.wait_for_decisions(len(stopped) + 5) == {"true": len(stopped) + 3, "false": 2}
    wait_for(jaeger, *stopped, "flagged", "lt_1", "ge_1")
    assert not is_kept(jaeger, "lt_0.01")
    assert not is_kept(jaeger, "lt_0.10")


def test_a_failed_or_slow_span_keeps_its_whole_run(jaeger: Jaeger, collector: Collector, tracer: Tracer) -> None:
    """An error on one span inside, or two minutes from the first to the last, and all spans of the trace are there."""
    with tracer.start_as_current_span("invoke_agent", attributes={**run_id("error inside"), **ORDINARY}):
        tracer.start_span("fine").end()
        failed = tracer.start_span("execute_tool")
        failed.set_status(StatusCode.ERROR)
        failed.end()
    began = time.time_ns() - 121 * 10**9
    tracer.start_span("invoke_agent", attributes={**run_id("slow"), **ORDINARY}, start_time=began).end()
    assert collector.wait_for_decisions(2) == {"true": 2}
    [trace_id] = wait_for(jaeger, "error inside")
    assert {span["operationName"] for span in jaeger.spans(trace_id)} == {"invoke_agent", "fine", "execute_tool"}
    wait_for(jaeger, "slow")


def test_a_run_that_never_ended_is_kept(jaeger: Jaeger, collector: Collector, tracer: Tracer) -> None:
    """Without a stop reason the wait decides; a trace that is no run of ours has no such claim."""
    for number, attributes in enumerate((run_id("never ended"), {"http.route": "/"}), 1):
        missing = SpanContext(number, number, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
        parent = set_span_in_context(NonRecordingSpan(missing))
        tracer.start_span("traced_loop.step", parent, attributes=attributes).end()
    assert collector.wait_for_decisions(2) == {"true": 1, "false": 1}
    wait_for(jaeger, "never ended")


def test_content_is_removed_and_nothing_else(jaeger: Jaeger, collector: Collector, tracer: Tracer) -> None:
    """Neither a span nor an event carries messages, arguments or results; what only looks like it stays."""
    attributes = dict.fromkeys((*CONTENT, *NO_CONTENT), "a secret")
    span = tracer.start_span("chat", attributes={**run_id("content"), names.RUN_STOP_REASON: "refused", **attributes})
    span.add_event("gen_ai.client.inference.operation.details", {CONTENT[0]: "a secret", "gen_ai.system": "openai"})
    span.end()
    assert collector.wait_for_decisions(1) == {"true": 1}
    [trace_id] = wait_for(jaeger, "content")
    [received] = jaeger.spans(trace_id)
    assert set(NO_CONTENT) <= set(tags_of(received))
    assert not set(CONTENT) & set(tags_of(received))
    [event] = received["logs"]
    assert set(tags_of(event)) == {"event", "gen_ai.system"}


def test_the_runs_of_the_demo_are_sampled_by_how_they_ended(
    jaeger: Jaeger, collector: Collector, tmp_path: Path
) -> None:
    """The limit and the confirmation are kept whole, the two answers are dropped, and all four are counted."""
    store = tmp_path / "store"
    variables = {"TRACED_LOOP_HOME": str(store), "OTEL_EXPORTER_OTLP_ENDPOINT": collector.http_endpoint}
    assert program("demo", environment={**only_path(tmp_path), **variables}).code == 0
    assert collector.wait_for_decisions(4) == {"true": 2, "false": 2}
    with LocalStore.open(store) as opened:
        runs = [opened.run(entry.run_id) for entry in opened.runs()]
    sent = Counter(span.name for run in runs for span in run.trace.spans)
    counted = collector.counted_spans
    poll(lambda: counted() == sent, within=60, otherwise=lambda: f"{sent}; {counted()}")
    for run in runs:
        is_answer = run.entry.stop_reason == "final_answer"
        wait_for_spans(jaeger, run.entry.run_id, set() if is_answer else {span.span_id for span in run.trace.spans})


def wait_for_spans(jaeger: Jaeger, wanted: str, span_ids: set[str]) -> None:
    """Return once Jaeger has exactly these spans of a run."""

    def there() -> set[str]:
        found = jaeger.find({names.RUN_ID: wanted})
        return {span["spanID"] for trace_id in found for span in jaeger.spans(trace_id)}

    poll(lambda: there() == span_ids, within=60, otherwise=lambda: f"{span_ids}; {there()}")


def test_what_jaeger_does_not_take_survives_a_restart_of_the_collector(tmp_path: Path) -> None:
    """Jaeger is away, the Collector takes a run and is stopped; both come back, and the run is in Jaeger."""
    ports = JaegerPorts.free()
    with collecting(tmp_path, ports) as before:
        for tracer in sender(before):
            end_run(tracer, "queued", **{names.RUN_STOP_REASON: "cancelled"})
        assert before.wait_for_decisions(1) == {"true": 1}
    with running_jaeger(tmp_path, ports=ports) as jaeger, collecting(tmp_path, ports):
        wait_for(jaeger, "queued")


def test_the_configuration_is_valid() -> None:
    """`validate` of the Collector itself accepts it, and has nothing to warn of."""
    command: list[str | Path] = [find_collector(), "validate", "--config", CONFIG]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert (ended.returncode, ended.stderr) == (0, "")
