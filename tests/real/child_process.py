"""Programs that run beside the tests: started, watched until ready, ended by their own process id."""

from __future__ import annotations

import re
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

Found = TypeVar("Found")

READY_WITHIN = 20.0
POLL_INTERVAL = 0.02


def poll(look: Callable[[], Found | None], *, within: float, otherwise: Callable[[], str]) -> Found:
    """Return the first truthy answer of `look`, or raise TimeoutError with what `otherwise` says."""
    deadline = time.monotonic() + within
    while not (found := look()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"not seen within {within:g} s: {otherwise()}")
        time.sleep(POLL_INTERVAL)
    return found


@dataclass(frozen=True)
class ChildProcess:
    """A running program whose whole output goes to a file."""

    process: subprocess.Popen[bytes]
    log: Path

    def output(self) -> str:
        """Return what the program has printed so far."""
        return self.log.read_text(errors="replace")

    def wait_for_output(self, pattern: str, *, within: float = READY_WITHIN) -> re.Match[str]:
        """Return the first match of `pattern` in the output; raise as soon as the program has ended."""

        def look() -> re.Match[str] | None:
            ended = self.process.poll()
            match = re.search(pattern, self.output())
            if match is None and ended is not None:
                raise RuntimeError(f"{self.process.args!r} ended with {ended}: {self.output()}")
            return match

        return poll(look, within=within, otherwise=lambda: f"{pattern!r} in {self.output()!r}")

    def stop(self, *, within: float = 5.0) -> None:
        """End the program: ask, wait, then kill. Harmless when it has ended already."""
        self.process.terminate()
        try:
            self.process.wait(within)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@contextmanager
def running(
    command: Sequence[str | Path], log: Path, *, environment: Mapping[str, str] | None = None
) -> Iterator[ChildProcess]:
    """Run `command` for the time of the block. Its standard input ends when this process does."""
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT, env=environment
        ) as process,
    ):
        child = ChildProcess(process, log)
        try:
            yield child
        finally:
            child.stop()
