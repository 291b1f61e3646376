"""How fast stored spans are read, diagnosed and drawn: `python tests/benchmarks/readers.py [SPANS] [--profile]`.

Spans per second of CPU, and the peak of memory beyond what the process had before, as MiB per million spans; each in a
process of its own, of SPANS spans (30,000) in one trace. Read: of an agent's run in each format. Into a run, diagnosed,
drawn: of a run of ours, after it was read; drawn is what `traced-loop show` prints, at 120 cells, to nowhere.
`--profile` says where the time of each goes. `reading.py` and `diagnosing.py` have the bars.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2]))

from traced_loop.read.agent_run import AgentRun
from traced_loop.read.agent_runs import agent_runs
from traced_loop.read.our_run import our_run
from traced_loop.read.span_file import SpanFile, read_spans
from traced_loop.read.trace import StoredSpan

FORMATS = ("lines", "document", "protobuf", "jaeger")
WIDTH = 120
SHOWN_FUNCTIONS = 8


def peak_kib() -> int:
    """Of this process."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


def spans_of(path: Path) -> tuple[StoredSpan, ...]:
    """All of a file's."""
    with path.open("rb") as stream:
        found = read_spans(stream, path.name)
    assert isinstance(found, SpanFile), found
    assert not found.problems, found.problems[0]
    return found.spans


def run_of(path: Path) -> AgentRun:
    """The one in a file."""
    [run] = agent_runs(spans_of(path), our_run=our_run)
    return run


def diagnosed(path: Path) -> Callable[[], object]:
    """What it takes to say what is wrong with a run."""
    from traced_loop.diagnose.diagnosis import diagnose
    from traced_loop.views.diagnosis import diagnosis_lines

    run = run_of(path)
    return lambda: diagnosis_lines([diagnose(run)])


def drawn(path: Path) -> Callable[[], object]:
    """What it takes to show every span of it in a terminal."""
    from rich.console import Console

    from traced_loop.views.tree import tree

    trace, nowhere = run_of(path).trace, Console(file=Path("/dev/null").open("w"), width=WIDTH)  # noqa: SIM115

    def act() -> None:
        for line in tree(trace, width=WIDTH):
            nowhere.print(line, soft_wrap=True)

    return act


def into_a_run(path: Path) -> Callable[[], object]:
    """What it takes to make a run of spans."""
    spans = spans_of(path)
    return lambda: agent_runs(spans, our_run=our_run)


ACTS: dict[str, Callable[[Path], Callable[[], object]]] = {
    **{f"read, {name}": lambda path: lambda: spans_of(path) for name in FORMATS},
    "into a run": into_a_run,
    "diagnosed": diagnosed,
    "drawn": drawn,
}


def measured(act: str, path: Path, *, profile: bool) -> dict[str, Any]:
    """One act in this process: its CPU seconds, and KiB of its peak beyond the imports."""
    before = peak_kib()
    ready = ACTS[act](path)
    profiler = cProfile.Profile()
    began = time.process_time()
    kept = profiler.runcall(ready) if profile else ready()
    seconds = time.process_time() - began
    del kept
    return {"seconds": seconds, "kib": peak_kib() - before, "top": _top(profiler) if profile else []}


def _top(profiler: cProfile.Profile) -> list[str]:
    stats: Any = pstats.Stats(profiler)
    rows = sorted(stats.stats.items(), key=lambda row: -row[1][2])[:SHOWN_FUNCTIONS]
    whole = stats.total_tt
    return [
        f"{100 * found[2] / whole:4.0f} %  {Path(place[0]).name}:{place[1]} {place[2]}, {found[1]:,} calls"
        for place, found in rows
    ]


def write_files(folder: Path, count: int) -> dict[str, Path]:
    """A file for each act."""
    from tests.benchmarks.reading import in_formats, long_trace
    from tests.diagnose.large_runs import one_long_run, write_spans

    for name, data in in_formats(list(long_trace(count))).items():
        (folder / name).write_bytes(data)
    ours = folder / "ours.jsonl"
    write_spans(ours, one_long_run(count))
    return {act: folder / act.removeprefix("read, ") if act.startswith("read") else ours for act in ACTS}


def main() -> None:
    """Print a line for each act."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("spans", nargs="?", type=int, default=30_000)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--act", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.act:
        print(json.dumps(measured(options.act[0], Path(options.act[1]), profile=options.profile)))
        return
    with tempfile.TemporaryDirectory() as folder:
        for act, path in write_files(Path(folder), options.spans).items():
            command = [sys.executable, __file__, "--act", act, str(path), *["--profile"] * options.profile]
            ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            found = json.loads(ended.stdout)
            rate, mib = options.spans / found["seconds"], found["kib"] / 1024 / options.spans * 1e6
            under = " under the profiler" if options.profile else ""
            print(f"{act:<14} {rate:>9,.0f} spans per second of CPU{under}, {mib:>6,.0f} MiB per million", flush=True)
            for line in found["top"]:
                print(f"    {line}")


if __name__ == "__main__":
    main()
