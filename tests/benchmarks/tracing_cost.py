"""What a traced span costs, without client and network: `tracing_cost.py [--rounds N] [--at-most RATIO]`.

Runs of a scripted model, once traced (store, redaction, fingerprints, and our own exporter to a collector in another
process), once with neither store nor exporter, and once so with spans by hand: of the SDK, over its batches and its
standard exporter, to the same collector, at each request and each event. What the first and the last need beyond the
second is put down to their spans, until all are sent. Processor time of all threads, in short turns in one process, the
least of 60: what else a machine does only adds to it. Bar: 1.6 spans by hand for one of ours, 7 a step at least, none
lost. The checks of every change take 20 rounds and let 2 pass, so that a busy machine fails none of them.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.append(str(Path(__file__).parents[2]))

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_ON

from tests.benchmarks.step.servers import running_sink
from traced_loop import Budget, Loop, ScriptedModel, setup, tool
from traced_loop.models.scripted import calls

if TYPE_CHECKING:
    from collections.abc import Callable

BAR = 1.6
RUNS, STEPS, ROUNDS = 4, 5, 60
MIN_SPANS_OF_STEP = 7
"""Fewer spans a step are no trace of what a step does, so a cheap one would say nothing."""

BARE: dict[str, Any] = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "look",
    "gen_ai.tool.type": "function",
    "gen_ai.tool.call.id": "call_1",
    "gen_ai.usage.input_tokens": 1234,
    "app.step": 3,
    "app.limit": 7,
    "app.ok": True,
}


@tool(effect="read")
def look(order_id: str) -> dict[str, Any]:
    """Look an order up."""
    return {"order_id": order_id, "state": "paid", "lines": ["a", "b"], "cents": 1234}


def seconds(act: Callable[[], object]) -> float:
    """Processor time of all threads."""
    began = time.process_time()
    act()
    return time.process_time() - began


def runs(at_each: Callable[[], None], *, store: str | None = None, otlp: str | None = None) -> int:
    """RUNS runs of one loop; how many spans they started.

    The function is called where spans by hand would stand: at each request, and at each of the loop's events.
    """
    one = [*(calls(("look", {"order_id": f"A-{n}"})) for n in range(STEPS)), "done"]

    def asked(said: Any) -> Callable[[Any], Any]:
        def line(_request: object) -> Any:
            at_each()
            return said

        return line

    model = ScriptedModel([asked(said) for said in one] * RUNS)
    budget = Budget(steps=STEPS + 2, tool_calls=None, tokens=None, seconds=None)
    loop = Loop(model, [look], budget=budget, store=store, otlp=otlp, on_event=lambda _event: at_each())

    async def every() -> int:
        return sum([(await loop.arun("Go.")).receipt.spans_started for _ in range(RUNS)])

    return asyncio.run(every())


class Measured:
    """The three things that are measured in turns, each in seconds of processor time of RUNS runs."""

    def __init__(self, store: str, traces: str) -> None:
        self._store, self._traces = store, traces
        self.spans = self.bare_spans = 0
        self._provider = TracerProvider(sampler=ALWAYS_ON, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=traces)))
        self._tracer = self._provider.get_tracer("bare")

    def traced(self) -> None:
        """With everything, until it is sent."""
        self.spans = runs(_nothing, store=self._store, otlp=self._traces)
        assert setup.close(60.0)

    def untraced(self) -> None:
        """Kept and sent nowhere."""
        runs(_nothing)

    def bare(self) -> None:
        """Kept nowhere, but with spans by hand, until they are sent."""
        self.bare_spans = 0
        runs(self._span)
        self._provider.force_flush()

    def _span(self) -> None:
        self.bare_spans += 1
        with self._tracer.start_as_current_span("execute_tool look", attributes=BARE) as span:
            span.set_attribute("app.done", value=True)

    def close(self) -> None:
        """Send nothing any more."""
        self._provider.shutdown()


def _nothing() -> None:
    """Where no span is."""


def main() -> int:
    """Print what each is; 1 where a span costs more than the bar, where steps have too few, or where one is lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"turns of each kind ({ROUNDS})")
    parser.add_argument("--at-most", type=float, default=BAR, help=f"spans by hand that one of ours may cost ({BAR})")
    asked = parser.parse_args()
    rounds = asked.rounds
    rows: list[tuple[float, float, float]] = []
    with ExitStack() as stack:
        sink = stack.enter_context(running_sink())
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        measured = Measured(folder, sink.behave("healthy"))
        for number in range(rounds + 1):
            row = seconds(measured.bare), seconds(measured.untraced), seconds(measured.traced)
            if number:  # the first one warms up
                rows.append(row)
        measured.close()
        expected = (measured.spans + measured.bare_spans) * (rounds + 1)
        lost = expected - sink.counted()["unique"]
    return told(rows, (measured.spans, measured.bare_spans, lost), asked.at_most)


def told(rows: list[tuple[float, float, float]], counted: tuple[int, int, int], bar: float) -> int:
    """Print the figures, and decide; counted are our spans, those by hand, and the lost ones."""
    (spans, bare_spans, lost), steps = counted, RUNS * (STEPS + 1)
    with_bare, untraced, traced = (1e6 * min(column) for column in zip(*rows, strict=True))
    bare, ours = (with_bare - untraced) / bare_spans, (traced - untraced) / spans
    ratio, of_step = ours / bare, spans / steps
    missed = ratio > bar or of_step < MIN_SPANS_OF_STEP or lost > 0
    print(f"a bare span    {bare:6.1f} µs of processor time")
    print(f"a span of ours {ours:6.1f} µs, {of_step:.2f} a step, which takes {untraced / steps:.0f} µs without")
    print(f"ratio          {ratio:6.2f}    bar {bar:g}")
    print(f"lost           {lost:6} spans")
    print("missed" if missed else "met")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
