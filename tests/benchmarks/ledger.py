"""What a write costs in the ledger on disk, and that a read costs nothing: ``python tests/benchmarks/ledger.py``.

Bars: a claim and its end, each synced to the disk, 1 ms together at the median; a run with reads writes nothing into
the ledger.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from traced_loop.call_ledger import Write, WriteEnd
from traced_loop.records.ledger import DurableLedger
from traced_loop.records.store import Store

WRITES = 2_000
BAR_MS = 1.0
RESULT = "x" * 500


def milliseconds(ledger: DurableLedger, number: int) -> tuple[float, float, float]:
    """One write: asking, claiming, saying how it ended."""
    write = Write(tool="pay", key=f"k{number}", fingerprint="f", declared=True, run_id="run", call_id="call_1")
    begun = time.perf_counter()
    ledger.standing(write)
    asked = time.perf_counter()
    claim = ledger.begin(write).claim
    claimed = time.perf_counter()
    assert claim is not None
    ledger.settle(claim, WriteEnd(state="succeeded", content=RESULT, span=(1, 2), ended_ns=1))
    return (asked - begun) * 1e3, (claimed - asked) * 1e3, (time.perf_counter() - claimed) * 1e3


def main() -> int:
    """Measure, print, and compare with the bar."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = DurableLedger(Store.open(Path(folder) / "s"))
        taken = [milliseconds(ledger, number) for number in range(WRITES)]
    say = sys.stdout.write
    for name, values in zip(("ask", "claim", "settle"), zip(*taken, strict=True), strict=True):
        ordered = sorted(values)
        say(f"{name:<8} p50 {statistics.median(ordered):.3f} ms, p99 {ordered[len(ordered) * 99 // 100]:.3f} ms\n")
    whole = sorted(sum(each) for each in taken)
    median = statistics.median(whole)
    say(f"{'write':<8} p50 {median:.3f} ms, p99 {whole[len(whole) * 99 // 100]:.3f} ms  (bar {BAR_MS} ms at p50)\n")
    return 0 if median <= BAR_MS else 1


if __name__ == "__main__":
    sys.exit(main())
