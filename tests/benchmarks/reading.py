"""How fast stored spans are read, in spans per second of CPU, and what they take, in bytes of memory per span.

Run it as ``python tests/benchmarks/reading.py [SPANS]``. Of one trace: as lines, one document, protobuf and Jaeger's
JSON into spans, and spans into a run of another agent. The bars are for an idle machine and are not part of the tests:
20,000 spans per second in each format, 15,000 into a run, 2,048 bytes per span.
"""

import io
import json
import resource
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.read.span_writers import jaeger_json, otlp_json, protobuf
from traced_loop.read.agent_run import AgentRun
from traced_loop.read.agent_runs import agent_runs
from traced_loop.read.span_file import SpanFile, read_spans
from traced_loop.read.trace import StoredSpan, StoredTrace

BARS = {"format": 20_000, "run": 15_000, "bytes": 2_048}


def long_trace(spans: int) -> Iterator[StoredSpan]:
    """One agent's run: a request and two calls a step, with ids, tokens and small content."""
    begin = 1_700_000_000_000_000_000
    yield _span(0, "", begin, "invoke_agent a", {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"})
    for n in range(1, spans):
        start = begin + n * 1_000_000
        step, place = divmod(n - 1, 3)
        if place == 0:
            yield _span(n, f"{1:016x}", start, "chat m", _request(step))
        else:
            yield _span(n, f"{1:016x}", start, "execute_tool look", _call(step, place))


def _request(step: int) -> dict[str, object]:
    calls = [
        {"type": "tool_call", "id": f"c{step}-{place}", "name": "look", "arguments": {"order": step, "place": place}}
        for place in (1, 2)
    ]
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.response.model": "gpt-4o-mini-2024-07-18",
        "gen_ai.response.id": f"chatcmpl-{step}",
        "gen_ai.response.finish_reasons": ("tool_calls",),
        "gen_ai.usage.input_tokens": 100 + step,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": calls}]),
    }


def _call(step: int, place: int) -> dict[str, object]:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look",
        "gen_ai.tool.call.id": f"c{step}-{place}",
        "gen_ai.tool.call.arguments": json.dumps({"order": step, "place": place}),
        "gen_ai.tool.call.result": json.dumps({"order": step, "state": "shipped", "items": step % 7}),
    }


def _span(number: int, parent: str, start: int, name: str, attributes: dict[str, object]) -> StoredSpan:
    return StoredSpan(
        trace_id=f"{1:032x}",
        span_id=f"{number + 1:016x}",
        parent_id=parent,
        name=name,
        kind="CLIENT" if name.startswith("chat") else "INTERNAL",
        start_ns=start,
        end_ns=start + 500_000,
        attributes=attributes,
        scope="benchmark",
        resource={"service.name": "benchmark"},
    )


def lines(spans: list[StoredSpan]) -> bytes:
    """A request a line."""
    return b"".join(json.dumps(otlp_json([span]), separators=(",", ":")).encode() + b"\n" for span in spans)


def read(data: bytes) -> tuple[StoredSpan, ...]:
    """The spans of a file's bytes."""
    found = read_spans(io.BytesIO(data), "benchmark")
    assert isinstance(found, SpanFile), found
    assert not found.problems
    return found.spans


def seconds(act: Callable[[], object]) -> float:
    """CPU seconds, the best of three."""
    best = 1e9
    for _ in range(3):
        begin = time.process_time()
        act()
        best = min(best, time.process_time() - begin)
    return best


def in_formats(spans: Sequence[StoredSpan]) -> dict[str, bytes]:
    """The same spans as a file of each format."""
    return {
        "lines": lines(spans),
        "document": json.dumps(otlp_json(spans)).encode(),
        "protobuf": protobuf(spans),
        "jaeger": json.dumps(jaeger_json(spans)).encode(),
    }


def none_of_ours(trace: StoredTrace) -> AgentRun:
    """There is none in this trace."""
    raise AssertionError(trace)


def main() -> int:
    """Print each number beside its bar; 1 where one does not reach it."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 30_000
    spans = list(long_trace(count))
    written = in_formats(spans)
    rates = {name: (count / seconds(lambda data=data: read(data)), BARS["format"]) for name, data in written.items()}  # type: ignore[misc]
    rates["into a run"] = count / seconds(lambda: agent_runs(spans, our_run=none_of_ours)), BARS["run"]
    for name, (rate, bar) in rates.items():
        sys.stdout.write(f"{name:>12}: {rate:>9,.0f} spans per second of CPU (bar {bar:,})\n")
    tracemalloc.start()
    kept = read(written["lines"])
    memory = tracemalloc.get_traced_memory()[0] / len(kept)
    sys.stdout.write(f"{'memory':>12}: {memory:>9,.0f} bytes per span (bar {BARS['bytes']:,})\n")
    sys.stdout.write(
        f"{'peak':>12}: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10:>9,} MiB of the process\n"
    )
    return int(any(rate < bar for rate, bar in rates.values()) or memory > BARS["bytes"])


if __name__ == "__main__":
    sys.exit(main())
