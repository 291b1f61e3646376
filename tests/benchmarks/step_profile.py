"""Where the time of a step goes: `python tests/benchmarks/step_profile.py [RUNS]`.

Runs of five calls of one tool, over the official client, with the store and our own exporter, the servers in processes
of their own. A timer of processor time stops the event loop's thread each millisecond; what each thread has used since
goes to the innermost of its frames that belongs to a part. So the time in libraries counts for whoever called them, and
that of a background thread for what it is there for. Parts in µs a step, in spans by hand (of the SDK, eight
attributes, over its batches and its standard exporter, in this process), and in hundredths.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

sys.path.append(str(Path(__file__).parents[2]))

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from tests.benchmarks.step.agent_choice import Choice
from tests.benchmarks.step.agent_of_ours import made
from tests.benchmarks.step.servers import running_model, running_sink
from tests.benchmarks.tracing_cost import BARE
from traced_loop import setup

if TYPE_CHECKING:
    from types import FrameType

EVERY_SECONDS = 0.001
RUNS, ROUNDS, BARE_SPANS = 400, 5, 3_000
PARTS = (
    ("span values, masking, fingerprints", ("traced_loop/telemetry/", "traced_loop/redaction/")),
    ("span values, masking, fingerprints", ("traced_loop/loop/chat_attributes", "traced_loop/loop/result_marks")),
    ("store: span files, messages, runs, marks", ("traced_loop/records/",)),
    ("encoding for the collector", ("traced_loop/export/",)),
    ("budget checks", ("traced_loop/loop/budget_checks", "traced_loop/rules/budget")),
    ("validation", ("traced_loop/loop/validator", "traced_loop/argument_", "traced_loop/tool_definition")),
    ("policy", ("traced_loop/loop/policy", "traced_loop/rules/policy")),
    ("repetition", ("traced_loop/loop/repetition_", "traced_loop/rules/repetition")),
    ("tool: scheduler, executor, thread there and back", ("traced_loop/loop/scheduler", "traced_loop/loop/batch")),
    ("tool: scheduler, executor, thread there and back", ("traced_loop/loop/tool_", "traced_loop/loop/handler_run")),
    ("tool: scheduler, executor, thread there and back", ("traced_loop/loop/daemon_threads",)),
    ("request: body, answer read and priced", ("traced_loop/models/", "traced_loop/pric")),
    ("tries and deadlines of the request", ("traced_loop/loop/model_client", "traced_loop/loop/request_attempts")),
    ("tries and deadlines of the request", ("traced_loop/loop/bounded_wait",)),
    ("the official client, above HTTP", ("/openai/",)),
    ("HTTP", ("/httpx", "/httpcore", "/h11/", "/anyio/", "/sniffio/")),
    ("history, events, the run's own state", ("traced_loop/",)),
    ("the event loop", ("/asyncio/", "/selectors.py")),
)
THREADS = {"traced-loop-export": "sent in the background", "traced-loop-owed": "sent in the background"}
REST = "other"


class Sampler:
    """Counts processor time by part, while it is on."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._used: dict[int, float] = {}

    def __enter__(self) -> Self:
        self._look(None)
        self.seconds.clear()
        signal.signal(signal.SIGPROF, lambda _number, frame: self._look(frame))
        signal.setitimer(signal.ITIMER_PROF, EVERY_SECONDS, EVERY_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _look(self, frame: FrameType | None) -> None:
        frames = sys._current_frames()
        for thread in threading.enumerate():
            ident = thread.ident
            if ident is None:
                continue
            used = time.clock_gettime(time.pthread_getcpuclockid(ident))
            spent, self._used[ident] = used - self._used.get(ident, 0.0), used
            here = frame if thread is threading.main_thread() else frames.get(ident)
            self.seconds[THREADS.get(thread.name) or part_of(here)] += spent


def part_of(frame: FrameType | None) -> str:
    """The part of the innermost frame that has one."""
    while frame is not None:
        name = frame.f_code.co_filename
        for part, places in PARTS:
            if any(place in name for place in places):
                return part
        frame = frame.f_back
    return REST


def bare_seconds(traces: str) -> float:
    """Of one span by hand, until it is sent."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=traces)))
    tracer = provider.get_tracer("bare")
    began = time.process_time()
    for number in range(BARE_SPANS):
        with tracer.start_as_current_span("execute_tool look", attributes=BARE) as span:
            span.set_attribute("app.done", value=True)
        if number % 500 == 0:  # fewer than the processor would drop
            provider.force_flush()
    provider.shutdown()
    return (time.process_time() - began) / BARE_SPANS


def main() -> int:
    """Print the parts, the largest first."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    with ExitStack() as stack:
        sink, url = stack.enter_context(running_sink()), stack.enter_context(running_model())
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        traces = sink.behave("healthy")
        agent = made(_choice(url, traces, folder, runs))
        bare = min(bare_seconds(traces) for _ in range(3))

        async def work() -> float:
            for _ in range(20):
                await agent.arun()
            with sampler:
                began = time.process_time()
                for _ in range(runs):
                    await agent.arun()
                return time.process_time() - began

        sampler = Sampler()
        whole = asyncio.run(work())
        setup.close(60.0)
    told(sampler.seconds, whole, runs * (ROUNDS + 1), bare)
    return 0


def _choice(url: str, traces: str, folder: str, runs: int) -> Choice:
    values: dict[str, Any] = {"agent": "ours", "form": "async", "store": True, "export": "own", "content": False}
    return Choice(**values, model_url=url, traces=traces, folder=folder, runs=runs, rounds=ROUNDS, at_once=1)


def told(seconds: Counter[str], whole: float, steps: int, bare: float) -> None:
    """One line a part."""
    counted = sum(seconds.values())
    print(f"{'':50}{'µs a step':>10}{'bare spans':>12}{'%':>6}")
    for part, spent in [*seconds.most_common(), ("the whole step", counted)]:
        of_step = spent / counted * whole / steps
        print(f"{part:50}{of_step * 1e6:10.0f}{of_step / bare:12.1f}{100 * spent / counted:6.0f}")
    print(f"a bare span: {bare * 1e6:.0f} µs; sampled {counted / whole:.0%} of the processor time")


if __name__ == "__main__":
    sys.exit(main())
