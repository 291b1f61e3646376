"""How long `diagnose` takes over large inputs, and the memory of its process, in wall seconds and MiB.

Run it as ``python tests/benchmarks/diagnosing.py [SPANS]``: a store of SPANS spans (1,000,000) in runs of a thousand,
and a file with a tenth of them in one trace. The bars are for an idle machine and are not part of the tests: the first
answer out of a store in 5 s and 160 MiB for all of it, the overview of one in 180 s, a trace of 100,000 spans in 60 s
and 2 GiB.
"""

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.diagnose.large_runs import one_long_run, write_spans, write_store

SPANS_OF_RUN = 1_000
BARS = {"store": (5.0, 160), "overview": (180.0, 160), "trace": (60.0, 2_048)}

PEAK = r"""
import re, sys
from pathlib import Path
from traced_loop.cli import main

try:
    main()
finally:
    sys.stderr.write(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])
"""


def measured(*arguments: str) -> tuple[float, float, int]:
    """Seconds to the first line of the answer and to the end, and the peak in MiB."""
    began = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-c", PEAK, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.readline()
        first = time.monotonic() - began
        for _ in program.stdout:
            pass
        said = program.stderr.read()
    found = re.fullmatch(r"(\d+)", said.strip())
    assert found is not None, said
    return first, time.monotonic() - began, int(found[1]) >> 10


def main() -> int:
    """Print what each input took beside its bars; 1 where one is passed."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    passed = False
    with tempfile.TemporaryDirectory() as folder:
        store, trace = Path(folder, "store"), Path(folder, "trace.jsonl")
        stored = write_store(store, max(1, count // SPANS_OF_RUN), SPANS_OF_RUN)
        traced = write_spans(trace, one_long_run(count // 10))
        for command, source, spans, bar in [
            (["diagnose", "--json"], store, stored, "store"),
            (["conform", "--json"], store, stored, "store"),
            (["whatif", "--json", "--steps", "5"], store, stored, "store"),
            (["diagnose"], store, stored, "overview"),
            (["diagnose", "--json"], trace, traced, "trace"),
        ]:
            first, whole, peak = measured(command[0], str(source), *command[1:])
            seconds, mib = BARS[bar]
            passed |= first > seconds or peak > mib
            sys.stdout.write(
                f"{' '.join(command):>28} {source.name:<11} {spans:>9,} spans: first line {first:6.1f} s, "
                f"all {whole:6.1f} s, {peak:>5,} MiB (bars {seconds} s, {mib:,} MiB)\n"
            )
            sys.stdout.flush()
    return int(passed)


if __name__ == "__main__":
    sys.exit(main())
