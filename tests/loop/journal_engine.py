"""A durable engine of a few lines, for tests: each step's text is a line of a file, written before it is given."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

from traced_loop import UsageError
from traced_loop.engine import Body


class JournalEngine:
    """See ``Engine``; ``passes`` is told each boundary of each step, and may end the process there."""

    keeps_steps = True

    def __init__(self, folder: Path, passes: Callable[[str, str], None] = lambda _where, _name: None) -> None:
        self._folder = folder
        self._passes = passes
        folder.mkdir(exist_ok=True)

    def kept(self, run_id: str) -> dict[str, str]:
        """The texts of a run's steps, by name."""
        path = self._folder / f"{run_id}.steps"
        return dict(map(json.loads, path.read_text().splitlines())) if path.exists() else {}

    async def start(self, run_id: str, task: str, body: Body) -> None:
        path = self._folder / f"{run_id}.task"
        if path.exists() and path.read_text() != task:
            raise UsageError(f"run {run_id} was started with another task")
        path.write_text(task)
        await body(task)

    async def resume(self, run_id: str, body: Body) -> None:
        path = self._folder / f"{run_id}.task"
        if not path.exists():
            raise UsageError(f"no run {run_id} was started")
        await body(path.read_text())

    def cancel(self, run_id: str) -> bool:
        (self._folder / f"{run_id}.cancelled").touch()
        return True

    def is_cancelled(self, run_id: str) -> bool:
        return (self._folder / f"{run_id}.cancelled").exists()

    async def step(self, run_id: str, name: str, do: Callable[[], Awaitable[str]]) -> str:
        found = self.kept(run_id)
        if name in found:
            return found[name]
        self._passes("before", name)
        text = await do()
        self._passes("done", name)
        with (self._folder / f"{run_id}.steps").open("a", encoding="ascii") as file:
            file.write(json.dumps([name, text]) + "\n")
        self._passes("kept", name)
        return text
