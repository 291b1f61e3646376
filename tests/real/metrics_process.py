"""A process of `metrics_workload.py`: started with a page for Prometheus, told what to do, asked for its totals."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

from ..python_program import environment
from .jaeger import free_ports

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = Path(__file__).with_name("metrics_workload.py")


@dataclass(frozen=True)
class Workload:
    """A running workload."""

    process: subprocess.Popen[str]
    port: int

    def work(self) -> dict[str, Any]:
        """Run everything once more; the totals of all runs by now."""
        totals: dict[str, Any] = json.loads(self._say("work"))
        return totals

    def hang(self) -> None:
        """Begin a run that waits for its tool until the workload ends."""
        self._say("hang")

    def page(self) -> str:
        """The page of metrics as it is now."""
        with urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=60) as answer:
            text: str = answer.read().decode()
        return text

    def _say(self, word: str) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()


@contextmanager
def running_workload(agent: str, folder: Path, **variables: str) -> Iterator[Workload]:
    """Run one for the time of the block, with metrics for Prometheus and the given variables."""
    [port] = free_ports(1)
    given = {"OTEL_METRICS_EXPORTER": "prometheus", "OTEL_EXPORTER_PROMETHEUS_PORT": str(port), **variables}
    with subprocess.Popen(
        [sys.executable, PROGRAM, agent],
        env=environment(folder / "store", **given),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield Workload(process, port)
        finally:
            process.kill()
