"""What a step of a loop costs: `python -m tests.benchmarks.step [--quick] [--json FILE] [--peers]`.

Agents in processes of their own, against a scripted server and a collector in others: the floor (the official client
and a loop by hand), that with bare spans by hand, ours traced in every way and untraced. All in turns within one run,
five repetitions (25 minutes; `--quick`: one repetition of what matters most, a minute). Exit 1 where a bar is missed.
On a machine that does other things, believe CPU and ratios, and neither wall time nor steps a second. Agents import
what the environment has: `PYTHONPATH=FOLDER` measures another checkout.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.benchmarks.step import peers
from tests.benchmarks.step.bars import bars
from tests.benchmarks.step.cells import cells
from tests.benchmarks.step.figures import Figures
from tests.benchmarks.step.report import bar_lines, tables
from tests.benchmarks.step.session import Row, measure

TRACING_COST = Path(__file__).parents[1] / "tracing_cost.py"
PACKAGES = ("traced-loop", "openai", "opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http", "pydantic")


def asked() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.step", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one repetition of what matters most")
    parser.add_argument("--only", metavar="TABLE", help="one table: cost, length, 'at once' or collector")
    parser.add_argument("--repetitions", type=int, help="of each cell (5, --quick: 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write every repetition")
    parser.add_argument("--peers", action="store_true", help="measure other frameworks, too (needs their kit)")
    parser.add_argument("--kit", type=Path, default=peers.KIT, help="the folder of the kit")
    return parser.parse_args()


def machine() -> Row:
    """What a reader of the figures has to know of where they come from."""
    asked = "import traced_loop; print(traced_loop.__path__[0])"  # as agents find it: not in this folder first
    found = subprocess.run([sys.executable, "-P", "-c", asked], capture_output=True, text=True, check=True)
    package = found.stdout.strip()
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=package, capture_output=True, text=True, check=False)
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit.stdout.strip() or None,
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
        "versions": {name: importlib.metadata.version(name) for name in PACKAGES},
    }


def span_ratio(*, quick: bool) -> float | None:
    """What `tracing_cost` finds, in a process of its own."""
    command = [sys.executable, str(TRACING_COST), "--rounds", "20" if quick else "60"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    found = re.search(r"^ratio +([\d.]+)", ended.stdout, re.MULTILINE)
    return None if found is None else float(found[1])


def told(line: str) -> None:
    """Progress, beside the report."""
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    """Measure, print, keep; 1 where a bar is missed."""
    options = asked()
    repetitions = options.repetitions or (1 if options.quick else 5)
    chosen = [cell for cell in cells(quick=options.quick) if options.only in {None, cell.table}]
    before, rows = machine(), []
    for number in range(repetitions):
        rows += [{**row, "repetition": number} for row in measure(chosen, number, told)]
        if options.peers and peers.how_to_get(options.kit) is None:
            rows += peers.measured(options.kit, number)
    ratio = None if options.only else span_ratio(quick=options.quick)
    figures = Figures(rows)
    found = bars(figures, ratio)
    for line in _report(options, before, figures, found):
        print(line)
    if options.json:
        whole = {"machine": before, "load_after": os.getloadavg(), "rows": rows, "bars": [_kept(bar) for bar in found]}
        options.json.write_text(json.dumps(whole, indent=1) + "\n")
    return int(any(bar.missed for bar in found))


def _report(options: argparse.Namespace, before: Row, figures: Figures, found: list[Any]) -> list[str]:
    versions = ", ".join(f"{name} {version}" for name, version in before["versions"].items())
    load = f"load {before['load'][0]:.1f} before and {os.getloadavg()[0]:.1f} after"
    missing = peers.how_to_get(options.kit)
    others = list(peers.lines(figures)) if options.peers and missing is None else []
    return [
        f"{before['at']}, {before['cores']} cores, {load}, Python {before['python']}, {versions}",
        *tables(figures),
        *(others or ["", missing or "peers are not measured: --peers measures them"]),
        *bar_lines(found),
        *(f"failed: {error}" for error in figures.errors),
    ]


def _kept(bar: Any) -> Row:
    return {"about": bar.about, "found": bar.found, "limit": bar.limit, "verdict": bar.verdict}


if __name__ == "__main__":
    sys.exit(main())
