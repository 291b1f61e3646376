"""Whether a store, or one run of it, is another than it was: by sizes and times of files, whichever process writes.

A stamp is a short text that is equal as long as nothing changed. It costs a few ``stat`` calls, and a look at the names
in the folder of spans only where that folder changed.
"""

from contextlib import suppress
from pathlib import Path

from traced_loop.read.run_files import run_files
from traced_loop.records.store import FILE
from traced_loop.records.trace_store import ENDED_SUFFIX, OPEN_SUFFIX


class StoreChanges:
    """Stamps of one store; a folder that is not there yet has one, too."""

    def __init__(self, folder: Path) -> None:
        self._index = [folder / FILE, folder / f"{FILE}-wal"]
        self._spans = folder / "spans"
        self._listed: tuple[str, list[Path]] = ("", [])

    def stamp(self) -> str:
        """Of the whole store: the index, which runs there are, and what the open ones have recorded."""
        folder = _stamp(self._spans)
        if self._listed[0] != folder:
            self._listed = folder, self._open_files()
        files = [path for opened in self._listed[1] for path in (opened, _ended_of(opened))]
        return "/".join([folder, *(_stamp(path) for path in [*self._index, *files])])

    def run_stamp(self, run_id: str) -> str:
        """Of one run: its two span files, and the index, which has its messages."""
        return "/".join([*(_stamp(path) for path in self._index), self.spans_stamp(run_id)])

    def spans_stamp(self, run_id: str) -> str:
        """Of the spans of one run alone. What can be no run id has none."""
        return "/".join(_stamp(path) for path in run_files(self._spans, run_id))

    def _open_files(self) -> list[Path]:
        with suppress(OSError):
            return [path for path in self._spans.iterdir() if path.name.endswith(OPEN_SUFFIX)]
        return []


def _ended_of(opened: Path) -> Path:
    return opened.with_name(opened.name.removesuffix(OPEN_SUFFIX) + ENDED_SUFFIX)


def _stamp(path: Path) -> str:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return "-"
    return f"{found.st_mtime_ns:x}.{found.st_size:x}"
