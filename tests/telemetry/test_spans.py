"""The one context manager: it always ends what it began, on both sides, and never raises because of telemetry."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import NoOpTracerProvider, StatusCode

from traced_loop import names
from traced_loop.telemetry.span_attributes import MAX_ATTRIBUTES
from traced_loop.telemetry.spans import Telemetry, run_id_in
from traced_loop.telemetry.type_names import type_name
from traced_loop.testing import CountedClock, CountedIds, Spans

if TYPE_CHECKING:
    from traced_loop.telemetry.spans import SpanRecord


class Raising(SpanProcessor):
    def on_start(self, span: object, parent_context: object = None) -> None:
        raise RuntimeError("a processor of the application")


class RaisingAtEnd(SpanProcessor):
    def on_end(self, span: ReadableSpan) -> None:
        raise RuntimeError("a processor of the application")


class BrokenSink:
    def started(self, span: SpanRecord) -> None:
        raise OSError("disk full")

    def ended(self, span: SpanRecord) -> None:
        raise OSError("disk full")


def sdk(*processors: SpanProcessor, **options: Any) -> tuple[trace.Tracer, InMemorySpanExporter]:
    """A tracer of the SDK, and what it exports."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False, **options)
    for processor in (*processors, SimpleSpanProcessor(exporter)):
        provider.add_span_processor(processor)
    return provider.get_tracer("test"), exporter


def play(telemetry: Telemetry) -> Any:
    """A run with one step, and the step's two ends."""
    scope = telemetry.scope("run-1")
    with telemetry.run(scope, "invoke_agent a", {"k": "v"}) as root:
        with telemetry.span(names.STEP, {names.STEP_INDEX: 1}) as step:
            step.set({names.STEP_OUTCOME: "final"})
        root.set({"late": 2})
    return scope


def test_a_span_begins_and_ends_in_the_store_with_its_run_and_parent() -> None:
    """Ids and times come from the given sources; every span carries the run."""
    spans = Spans()
    play(Telemetry(sink=spans, clock=CountedClock(), ids=CountedIds()))
    step, root = spans.ended_spans
    assert (root.name, root.parent_id, root.root, step.parent_id) == ("invoke_agent a", 0, True, root.span_id)
    assert (root.trace_id, step.trace_id, root.span_id, step.span_id) == (1, 1, 1, 2)
    assert step.attributes == {names.RUN_ID: "run-1", names.STEP_INDEX: 1, names.STEP_OUTCOME: "final"}
    assert root.start_ns < step.start_ns < step.end_ns < root.end_ns


def test_the_tracer_gets_the_same_spans_as_the_store() -> None:
    """Names, ids, times, attributes and parents are equal on both sides."""
    tracer, exporter = sdk()
    spans = Spans()
    play(Telemetry(tracer=tracer, sink=spans, clock=CountedClock()))
    exported = [
        (s.name, s.context.trace_id, s.context.span_id, s.start_time, s.end_time, dict(s.attributes))
        for s in exporter.get_finished_spans()
    ]
    stored = [(s.name, s.trace_id, s.span_id, s.start_ns, s.end_ns, s.attributes) for s in spans.ended_spans]
    assert exported == stored


@pytest.mark.parametrize(
    "tracer",
    [
        pytest.param(None, id="no-tracer"),
        pytest.param(NoOpTracerProvider().get_tracer("x"), id="no-op-tracer"),
        pytest.param(sdk(sampler=ALWAYS_OFF)[0], id="sampled-out"),
        pytest.param(sdk(Raising())[0], id="raising-processor"),
        pytest.param(sdk(RaisingAtEnd())[0], id="processor-raising-at-the-end"),
    ],
)
def test_the_local_record_is_whole_whatever_the_tracer_does(tracer: trace.Tracer | None) -> None:
    """Both spans, one trace, the right parent."""
    spans = Spans()
    scope = play(Telemetry(tracer=tracer, sink=spans))
    step, root = spans.ended_spans
    assert (step.parent_id, step.trace_id) == (root.span_id, root.trace_id)
    assert len({0, root.span_id, step.span_id}) == 3
    assert (scope.started, scope.ended, scope.recorded) == (2, 2, 2)


def test_a_broken_store_is_counted_and_nothing_else() -> None:
    """Two starts and two ends were lost; the tracer has its spans."""
    tracer, exporter = sdk()
    scope = play(Telemetry(tracer=tracer, sink=BrokenSink()))
    assert (scope.started, scope.ended, scope.recorded, scope.store_errors) == (2, 2, 0, 4)
    assert len(exporter.get_finished_spans()) == 2


def test_the_applications_current_span_is_the_parent() -> None:
    """The run joins the trace that the caller is in, with a tracer or without."""
    tracer, _ = sdk()
    spans = Spans()
    with tracer.start_as_current_span("application") as above:
        play(Telemetry(sink=spans))
    context = above.get_span_context()
    root = spans.ended_spans[1]
    assert (root.trace_id, root.parent_id, root.root) == (context.trace_id, context.span_id, True)


@pytest.mark.parametrize(
    "error", [ValueError("a secret"), KeyboardInterrupt(), SystemExit(3), asyncio.CancelledError()]
)
def test_whatever_leaves_a_span_ends_it_as_an_error(error: BaseException) -> None:
    """Status ERROR and the type, on both sides; the text of the exception is content, and on neither."""
    tracer, exporter = sdk()
    spans = Spans()
    telemetry = Telemetry(tracer=tracer, sink=spans)
    with pytest.raises(type(error)) as raised, telemetry.run(telemetry.scope("r"), "a", {}), telemetry.span("b", {}):
        raise error
    assert raised.value is error
    assert spans.open == []
    for stored, exported in zip(spans.ended_spans, exporter.get_finished_spans(), strict=True):
        assert (stored.error, stored.message) == (True, "")
        assert stored.attributes[names.ERROR_TYPE] == type_name(error)
        assert (exported.status.status_code, exported.status.description, exported.events) == (
            StatusCode.ERROR,
            None,
            (),
        )


def test_what_a_span_was_failed_with_is_not_replaced_by_what_leaves_it() -> None:
    """The first word counts."""
    spans = Spans()
    telemetry = Telemetry(sink=spans)

    def run() -> None:
        with telemetry.run(telemetry.scope("r"), "a", {}) as span:
            span.fail("timeout", "too late; password=hunter22")
            raise ValueError("text")

    with pytest.raises(ValueError, match="text"):
        run()
    record = spans.ended_spans[0]
    assert (record.attributes[names.ERROR_TYPE], record.message) == (
        "timeout",
        "too late; password=[REDACTED:assigned_secret]",
    )


def test_a_status_text_is_bounded_and_valid() -> None:
    """A huge text with half characters would cost the whole batch."""
    spans = Spans()
    telemetry = Telemetry(sink=spans)
    with telemetry.run(telemetry.scope("r"), "look\ud83e" * 100, {}) as span:
        span.fail("x", "bad \ud83e" * 1_000_000)
    record = spans.ended_spans[0]
    assert len(record.message.encode()) <= 256
    assert len(record.name.encode()) <= 128


def test_a_brief_span_is_recorded_once() -> None:
    """It ends at once, so its start says nothing."""
    events: list[str] = []

    class Sink:
        def started(self, span: SpanRecord) -> None:
            events.append(f"started {span.name}")

        def ended(self, span: SpanRecord) -> None:
            events.append(f"ended {span.name}")

    telemetry = Telemetry(sink=Sink())
    with telemetry.run(telemetry.scope("r"), "run", {}), telemetry.span("check", {}, brief=True):
        pass
    assert events == ["started run", "ended check", "ended run"]


def test_a_span_outside_of_a_run_is_a_mistake_of_ours() -> None:
    """It would carry no run id."""
    with pytest.raises(RuntimeError, match="outside of a run"):
        Telemetry().span("x", {})


def test_the_current_run_is_known_inside_of_it_only() -> None:
    """Tools and processors ask for it through the context."""
    telemetry = Telemetry()
    with telemetry.run(telemetry.scope("r-7"), "run", {}):
        inside = run_id_in(None)
    assert (inside, run_id_in(None)) == ("r-7", None)


def test_the_number_of_attributes_is_bounded_and_known_ones_can_change() -> None:
    """The SDK would evict the first ones, which backends classify by; what did not fit is in the receipt."""
    spans = Spans()
    telemetry = Telemetry(sink=spans)
    scope = telemetry.scope("r")
    with telemetry.run(scope, "run", {"first": 1}) as span:
        span.set({f"k{n}": n for n in range(200)})
        span.set({"first": 2, "beyond": 3})
    attributes = spans.ended_spans[0].attributes
    assert (len(attributes), attributes["first"], "beyond" in attributes) == (MAX_ATTRIBUTES, 2, False)
    assert scope.hygiene.truncated == 203 - MAX_ATTRIBUTES


def test_a_link_and_a_start_in_the_past_are_kept() -> None:
    """On both sides."""
    tracer, exporter = sdk()
    spans = Spans()
    telemetry = Telemetry(tracer=tracer, sink=spans)
    with telemetry.run(telemetry.scope("r"), "run", {}), telemetry.span("b", {}, links=[(5, 6)], start_ns=7):
        pass
    exported = exporter.get_finished_spans()[0]
    link = exported.links[0].context
    assert (link.trace_id, link.span_id, exported.start_time) == (5, 6, 7)
    assert (spans.ended_spans[0].links, spans.ended_spans[0].start_ns) == (((5, 6),), 7)


def test_parallel_tasks_keep_their_own_parents() -> None:
    """Spans of one task are not the parents of another's."""
    spans = Spans()
    telemetry = Telemetry(sink=spans)

    async def work(name: str) -> None:
        with telemetry.span(name, {}):
            await asyncio.sleep(0)
            with telemetry.span(f"{name}.inner", {}):
                await asyncio.sleep(0)

    async def run() -> None:
        with telemetry.run(telemetry.scope("r"), "run", {}):
            await asyncio.gather(work("a"), work("b"))

    asyncio.run(run())
    by_name = {span.name: span for span in spans.ended_spans}
    assert by_name["a.inner"].parent_id == by_name["a"].span_id
    assert by_name["b.inner"].parent_id == by_name["b"].span_id
    assert by_name["a"].parent_id == by_name["b"].parent_id == by_name["run"].span_id


def test_a_held_span_ends_in_time_and_is_handed_on_when_it_is_released() -> None:
    """Its last attribute is known only later; its times are its own, and nothing is lost or counted twice."""
    spans = Spans()
    telemetry = Telemetry(sink=spans, clock=CountedClock(), ids=CountedIds())
    scope = telemetry.scope("run-1")

    with telemetry.run(scope, names.INVOKE_AGENT, {}):
        with telemetry.span(names.STEP, {}) as held:
            held.hold()
        with telemetry.span(names.APPEND_RESULTS, {}) as after:
            pass
        before = [span.name for span in spans.ended_spans]
        held.release({names.STEP_OUTCOME: "stopped"})

    assert before == [names.APPEND_RESULTS]
    assert held.record.end_ns < after.record.start_ns
    assert (held.record.attributes[names.STEP_OUTCOME], scope.started, scope.ended) == ("stopped", 3, 3)


def test_an_error_that_is_called_like_a_key_is_masked_on_its_span() -> None:
    """A class made at run time can have any name; those of letters stay."""
    key = "sk-proj-" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7" * 2
    spans = Spans()
    telemetry = Telemetry(sink=spans, clock=CountedClock(), ids=CountedIds())
    for name in (key, "PaymentRefused"):
        with pytest.raises(Exception), telemetry.run(telemetry.scope("r"), "root", {}):  # noqa: B017, PT011 - made here
            raise type(name, (Exception,), {"__module__": "builtins"})

    masked, plain = (str(span.attributes[names.ERROR_TYPE]) for span in spans.ended_spans)
    assert key not in masked
    assert "[REDACTED:" in masked
    assert plain == "PaymentRefused"
