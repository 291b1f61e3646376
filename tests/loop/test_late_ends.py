"""Tools that end when nobody waits for them any more."""

import asyncio
import queue
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from traced_loop import InvalidArguments, Loop, NotApplied, Policy, ScriptedModel, StopReason, partial_result, tool
from traced_loop.outcomes import Outcome
from traced_loop.read.local_store import LocalStore
from traced_loop.records.store import Store
from traced_loop.records.trace_store import TraceStore
from traced_loop.setup import Wiring
from traced_loop.telemetry.fingerprint import Fingerprints
from traced_loop.telemetry.spans import SpanRecord, Telemetry
from traced_loop.testing import Spans, calls, counted_wiring
from traced_loop.tool_registry import Tool

APPROVED = Policy(confirm=lambda _: True)
LATE = "traced_loop.late_completion"


class Noted(Spans):
    """Spans, of which late ones can be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.late: queue.SimpleQueue[SpanRecord] = queue.SimpleQueue()

    def ended(self, span: SpanRecord) -> None:
        super().ended(span)
        if span.name == LATE:
            self.late.put(span)


def hanging(end: threading.Event, act: Callable[[], Any], effect: Any) -> Tool:
    """A tool that hangs until an event, and then acts."""

    @tool(effect=effect, timeout=0.05)
    def hang() -> Any:
        """Hang."""
        end.wait()
        return act()

    return hang


def left_behind(spans: Noted, handler: Tool, **options: Any) -> Any:
    """The result of a run that left the tool behind."""
    script = [calls(("hang", {})), "done"]
    return Loop(ScriptedModel(script), [handler], policy=APPROVED, wiring=counted_wiring(spans), **options).run("Go.")


def raising(error: BaseException) -> Callable[[], None]:
    """What raises that."""

    def act() -> None:
        raise error

    return act


@pytest.mark.parametrize(
    ("act", "effect", "outcome", "error_type"),
    [
        pytest.param(lambda: "late", "read", Outcome.OK, None, id="read_that_works"),
        pytest.param(lambda: "late", "write", Outcome.OK, None, id="write_that_was_applied"),
        pytest.param(raising(ValueError("no")), "read", Outcome.ERROR, "ValueError", id="read_that_fails"),
        pytest.param(raising(ValueError("no")), "write", Outcome.UNKNOWN, "ValueError", id="write_that_fails"),
        pytest.param(raising(NotApplied("no")), "write", Outcome.ERROR, "tool_error", id="write_not_applied"),
        pytest.param(raising(InvalidArguments("no")), "read", Outcome.INVALID, None, id="refused_arguments"),
        pytest.param(raising(SystemExit(3)), "read", Outcome.ERROR, "SystemExit", id="an_exit"),
    ],
)
def test_a_late_end_is_a_span_of_its_own(
    act: Callable[[], Any], effect: str, outcome: Outcome, error_type: str | None
) -> None:
    """In the run's trace, linked to the call, from when it was left behind; the run has ended long before."""
    end, spans = threading.Event(), Noted()
    result = left_behind(spans, hanging(end, act, effect))
    assert result.abandoned == ("hang",)
    (root,) = spans.named("invoke_agent")
    (call,) = spans.named("execute_tool")
    end.set()

    late = spans.late.get(timeout=60)

    assert (late.trace_id, late.parent_id, late.run_id) == (root.trace_id, root.span_id, result.run_id)
    assert late.links == ((call.trace_id, call.span_id),)
    assert root.start_ns < late.start_ns < root.end_ns < late.end_ns
    assert late.attributes["traced_loop.call.id"] == "call_1"
    assert late.attributes["traced_loop.execution.id"] == call.attributes["traced_loop.execution.id"]
    assert late.attributes["traced_loop.late.seconds"] >= 0
    assert late.attributes["traced_loop.late.outcome"] == outcome
    assert (late.error, late.attributes.get("error.type")) == (error_type is not None, error_type)
    assert spans.outcomes() == {"call_1": [Outcome.UNKNOWN if effect == "write" else Outcome.TIMED_OUT]}


def test_what_ended_before_the_run_did_is_not_among_what_still_runs() -> None:
    """It is in the trace; ``abandoned`` names what goes on when the run has ended."""
    end, spans = threading.Event(), Noted()

    def answer(_: Any) -> str:
        end.set()
        spans.late.get(timeout=60)
        return "done"

    script: list[Any] = [calls(("hang", {})), answer]
    handler = hanging(end, lambda: "late", "read")
    loop = Loop(ScriptedModel(script), [handler], on_timeout="report", wiring=counted_wiring(spans))
    result = loop.run("Go.")

    assert (result.stop_reason, result.abandoned) == (StopReason.FINAL_ANSWER, ())
    assert len(spans.named(LATE)) == 1
    # Whether it was faster than the run's end must make no difference to what the run says of itself.
    receipt, others = result.receipt, len(spans.ended_spans) - 1
    assert (receipt.spans_started, receipt.spans_ended, receipt.spans_recorded) == (others, others, others)


def test_a_tool_that_a_cancelled_run_leaves_behind_is_named_and_ends_late_too() -> None:
    """Nobody waited for it, whatever the reason."""
    end, spans, started = threading.Event(), Noted(), threading.Event()

    @tool(effect="write", timeout=60)
    def hang() -> None:
        """Hang."""
        started.set()
        end.wait()

    async def cancel() -> Any:
        loop = Loop(ScriptedModel([calls(("hang", {}))]), [hang], policy=APPROVED, wiring=counted_wiring(spans))
        task = asyncio.create_task(loop.arun("Go."))
        await asyncio.to_thread(started.wait, 10)
        task.cancel()
        await asyncio.wait([task])
        try:
            await task
        except asyncio.CancelledError as error:
            return partial_result(error)

    result = asyncio.run(cancel())
    end.set()

    assert result.abandoned == ("hang",)
    assert spans.late.get(timeout=60).attributes["traced_loop.late.outcome"] == Outcome.OK


def test_an_async_tool_that_swallows_its_cancellation_ends_late_and_holds_nobody() -> None:
    """Not even ``asyncio.run``, which would wait for it for ever."""
    spans, seen = Noted(), list[str]()

    @tool(effect="read", timeout=0.05)
    async def hang() -> None:
        """Hang."""
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                seen.append("cancelled")

    async def run() -> Any:
        loop = Loop(ScriptedModel([calls(("hang", {}))]), [hang], wiring=counted_wiring(spans))
        return await loop.arun("Go.")

    result = asyncio.run(run())

    assert (result.abandoned, seen, spans.named(LATE)) == (("hang",), ["cancelled"], [])


class Both(Noted):
    """Spans that are stored, too."""

    def __init__(self, store: TraceStore) -> None:
        super().__init__()
        self._store = store

    def started(self, span: SpanRecord) -> None:
        self._store.started(span)

    def ended(self, span: SpanRecord) -> None:
        self._store.ended(span)
        super().ended(span)


@pytest.mark.parametrize("closed", [False, True], ids=["exporter_open", "exporter_closed"])
def test_a_late_end_is_stored_with_its_run_and_exported_while_somebody_takes_it(tmp_path: Path, closed: bool) -> None:
    """Whoever reads the run later finds it, though its root had ended."""
    end, taken, provider = threading.Event(), InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(taken))
    spans = Both(TraceStore(Store.open(tmp_path / "store"), {}))
    telemetry = Telemetry(sink=spans, tracer=provider.get_tracer("traced_loop"))
    wiring = Wiring(telemetry=telemetry, fingerprints=Fingerprints(b"a key for tests"))
    result = Loop(ScriptedModel([calls(("hang", {}))]), [hanging(end, lambda: 1, "read")], wiring=wiring).run("Go.")
    if closed:
        provider.shutdown()
    end.set()
    spans.late.get(timeout=60)
    provider.shutdown()

    with LocalStore.open(tmp_path / "store") as store:
        (late,) = [span for span in store.trace(result.run_id).spans if span.name == LATE]

    assert (late.trace_id, late.is_open) == (result.trace_id, False)
    assert (LATE in [span.name for span in taken.get_finished_spans()]) is not closed
