"""What a span costs: `python tests/benchmarks/spans.py`. Processor time of all threads, as ratios to a span of the SDK.

The spans of a scripted run of six steps are opened, set and closed again as they were recorded, so that neither the
loop nor a model is in the time. A bare span has eight attributes, and goes over the SDK's batches and its standard
exporter. Both are sent to an HTTP server in another process that takes everything.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from traced_loop import Budget, setup, tool
from traced_loop.testing import calls, play

if TYPE_CHECKING:
    from collections.abc import Callable

    from traced_loop.telemetry.span_record import SpanRecord
    from traced_loop.telemetry.spans import Telemetry

RUNS, ROUNDS = 20, 7

TAKING = """
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Taking(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()
    def log_message(self, *_):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Taking)
print(server.server_port, flush=True)
server.serve_forever()
"""
BARE = {
    "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "m",
    "server.address": "127.0.0.1", "gen_ai.usage.input_tokens": 1234, "gen_ai.usage.output_tokens": 20,
    "loop.turn": 3, "loop.ok": True,
}  # fmt: skip


@tool(effect="read")
def look(order_id: str) -> dict[str, Any]:
    """Look an order up."""
    return {"order_id": order_id, "state": "paid", "items": ["a", "b"], "cents": 1234}


def recorded() -> list[SpanRecord]:
    """The spans of a run, each after the one that it stands in."""
    script = [*(calls(("look", {"order_id": f"A-{n}"})) for n in range(5)), "done"]
    budget = Budget(steps=8, tool_calls=None, tokens=None, seconds=None)
    return sorted(play(script, [look], budget=budget).spans.ended_spans, key=lambda span: span.start_ns)


def replayed(telemetry: Telemetry, records: list[SpanRecord]) -> None:
    """The same spans again, in a run of its own."""
    scope = telemetry.scope(f"20261130T120000-{os.urandom(4).hex()}")
    open_spans: list[tuple[int, Any]] = []
    for record in records:
        while open_spans and open_spans[-1][0] != record.parent_id:
            open_spans.pop()[1].__exit__(None, None, None)
        half = dict(list(record.attributes.items())[: len(record.attributes) // 2])
        span = (
            telemetry.run(scope, record.name, half)
            if record.root
            else telemetry.span(record.name, half, kind=record.kind, brief=record.brief)
        )
        span.__enter__()
        span.set({key: value for key, value in record.attributes.items() if key not in half})
        open_spans.append((record.span_id, span))
    while open_spans:
        open_spans.pop()[1].__exit__(None, None, None)


def ours(records: list[SpanRecord], store: str | None, otlp: str | None) -> Callable[[], None]:
    """Spans as a loop with these two arguments makes them."""
    telemetry = setup.wire(store=store, otlp=otlp).telemetry

    def act() -> None:
        for _ in range(RUNS):
            replayed(telemetry, records)
        for pipeline in list(setup._PIPELINES._open.values()) if otlp else ():
            pipeline.flush()

    return act


def bare(count: int, url: str) -> Callable[[], None]:
    """As many spans of the SDK."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{url}/v1/traces")))
    tracer = provider.get_tracer("bare")

    def act() -> None:
        for _ in range(RUNS * count):
            with tracer.start_as_current_span("bare", attributes=BARE):
                pass
        provider.force_flush()

    return act


def measured(kinds: dict[str, Callable[[], None]], spans: int) -> dict[str, list[float]]:
    """Microseconds a span in each round, each kind once in every round."""
    found: dict[str, list[float]] = {name: [] for name in kinds}
    for number in range(ROUNDS + 1):
        for name, act in kinds.items():
            began = time.process_time()
            act()
            if number:  # the first one warms up
                found[name].append((time.process_time() - began) / spans * 1e6)
    return found


def main() -> None:
    """Print the medians, and the medians of the ratios of each round."""
    with (
        subprocess.Popen([sys.executable, "-c", TAKING], stdout=subprocess.PIPE, text=True) as server,
        tempfile.TemporaryDirectory() as folder,
    ):
        url = f"http://127.0.0.1:{int(server.stdout.readline() if server.stdout else 0)}"
        records = recorded()
        kinds = {
            "a bare span": bare(len(records), url),
            "ours, kept nowhere": ours(records, None, None),
            "ours, in the store": ours(records, f"{folder}/a", None),
            "ours, sent": ours(records, None, url),
            "ours, stored and sent": ours(records, f"{folder}/b", url),
        }
        found = measured(kinds, RUNS * len(records))
        server.terminate()
    base = found["a bare span"]
    for name, times in found.items():
        ratio = statistics.median(one / other for one, other in zip(times, base, strict=True))
        sys.stdout.write(f"{name:24}{statistics.median(times):6.1f} µs, {ratio:.2f} of a bare span\n")


if __name__ == "__main__":
    main()
