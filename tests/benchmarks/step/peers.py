"""Other frameworks, by a kit of benchmarks beside this clone that measures them in environments of their own.

The kit is called and none of it is here. Its floor is its own, so what is told of a peer is its ratio to that.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.benchmarks.step.figures import Figures

KIT = Path(__file__).parents[4] / "shared" / "bench"
SKIPPED = ("floor", "bare_otel")
LIMIT_SECONDS = 1_800


def environments() -> Path:
    """Where the kit's are."""
    return Path(os.environ.get("BENCH_VENVS", Path.home() / ".cache" / "traced-loop-bench"))


def how_to_get(kit: Path) -> str | None:
    """What is missing, and the way to it; None where nothing is."""
    if not (kit / "run.py").exists():
        return f"peers are not measured: no kit in {kit}; name its folder with --kit"
    if not (environments() / "core" / "bin" / "python").exists():
        return f"peers are not measured: no environments in {environments()}; `sh {kit / 'make_venvs.sh'}` makes them"
    return None


def measured(kit: Path, repetition: int) -> list[dict[str, Any]]:
    """One repetition of every peer whose environment is there, as rows; `cpu_ms` is on the kit's own scale."""
    python = environments() / "core" / "bin" / "python"
    asked = "import json, run; print(json.dumps({name: peer[0] for name, peer in run.PEERS.items()}))"
    known = subprocess.run([python, "-c", asked], cwd=kit, capture_output=True, text=True, check=True, timeout=60)
    there = [name for name, venv in json.loads(known.stdout).items() if (environments() / venv / "bin/python").exists()]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "peers.jsonl")
        command = [str(python), str(kit / "run.py"), "--tables", "main", "--reps", "1", "--out", str(out)]
        subprocess.run(
            [*command, "--peers", ",".join(there)],
            cwd=kit,
            capture_output=True,
            check=True,
            timeout=LIMIT_SECONDS,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )
        said = [json.loads(line) for line in out.read_text().splitlines()]
    return [{"key": f"peer: {', '.join(row['key'])}", "repetition": repetition, **_plain(row["r"])} for row in said]


def _plain(found: dict[str, Any]) -> dict[str, Any]:
    if "error" in found:
        return {"error": found["error"] or "failed"}
    return {**found, "cpu_ms": found["cpu_cal"]}


def lines(figures: Figures) -> Iterator[str]:
    """A table of ratios to the floor of the kit."""
    forms: dict[str, dict[str, float]] = defaultdict(dict)
    for key in figures.keys("peer"):
        name, form, variant = key.removeprefix("peer: ").split(", ", 2)
        ratio = figures.ratio(key, f"peer: floor, {form}, off", lambda row: float(row["cpu_ms"]))
        if ratio is not None and name not in SKIPPED:
            forms[f"{name}, {variant}"][form] = ratio
    yield from ("", "Peers: CPU a step, of the floor of their own kit", "")
    for name, ratios in forms.items():
        yield f"{name:<36}" + "   ".join(f"{form} {ratio:.2f}" for form, ratio in ratios.items())
