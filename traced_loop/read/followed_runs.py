"""Span files of runs that go on, read on from where they were read to: what is asked for again costs what is new.

For one process that is asked many times. What was read of a run that has stopped growing is kept as its few facts.
"""

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

from traced_loop.frozen_value import frozen_value
from traced_loop.read.otlp_json import read_lines
from traced_loop.read.recorded_run import RecordedRun, as_recorded, recorded_run
from traced_loop.read.run_entry import RunEntry, from_trace
from traced_loop.read.run_files import run_files
from traced_loop.read.span_tree import build
from traced_loop.read.trace import StoredSpan
from traced_loop.records.private_files import open_regular

_Stamp = tuple[int, int, int] | None
"""Inode, size and time of a file; None for one that is not there."""
_STILL_LOOKS: Final = 3
"""Looks at files that did not change, after which their spans are let go."""


class FollowedRuns:
    """The runs of one store of which the files are asked again and again. Not for several threads at once."""

    def __init__(self, spans: Path) -> None:
        """Nothing is read yet.

        Args:
            spans: the folder of the span files; it may be missing.
        """
        self._spans = spans
        self._runs: dict[str, _Followed] = {}

    def recorded(self, run_id: str) -> RecordedRun:
        """What the spans of a run say by now."""
        return self._followed(run_id).look().recorded

    def entry(self, known: RunEntry) -> RunEntry:
        """A run that the index knows without an end, with what its files say."""
        return as_recorded(known, self.recorded(known.run_id))

    def unindexed(self, run_id: str) -> RunEntry:
        """A run that the index does not know."""
        found = self._followed(run_id).look()
        return as_recorded(found.entry, found.recorded)

    def keep_only(self, run_ids: Collection[str]) -> None:
        """Forget what was read of others."""
        for run_id in self._runs.keys() - set(run_ids):
            del self._runs[run_id]

    def _followed(self, run_id: str) -> "_Followed":
        if run_id not in self._runs:
            self._runs[run_id] = _Followed(run_id, self._spans)
        return self._runs[run_id]


@frozen_value
class _Found:
    """What came of the last look: the run as its spans alone tell it, and what they say."""

    entry: RunEntry
    recorded: RecordedRun


class _Followed:
    """One run."""

    def __init__(self, run_id: str, spans: Path) -> None:
        self._run_id = run_id
        self._files = [_File(path) for path in run_files(spans, run_id)]
        self._stamps: list[_Stamp] = []
        self._found: _Found | None = None
        self._still = 0

    def look(self) -> _Found:
        """Read what is new."""
        stamps = [_stamp(file.path) for file in self._files]
        if self._found is not None and stamps == self._stamps:
            self._still += 1
            if self._still == _STILL_LOOKS:
                for file in self._files:
                    file.let_go()
            return self._found
        for file, stamp in zip(self._files, stamps, strict=True):
            file.read_on(stamp)
        trace = build([span for file in self._files for span in file.spans])
        self._found = _Found(entry=from_trace(self._run_id, trace), recorded=recorded_run(trace))
        self._stamps, self._still = stamps, 0
        return self._found


class _File:
    """One file that grows at its end; one that is another than it was is read anew."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.spans = list[StoredSpan]()
        self._inode: int = -1
        self._read = 0

    def read_on(self, stamp: _Stamp) -> None:
        """Read the whole lines that were not read before."""
        if stamp is None or stamp[0] != self._inode or stamp[1] < self._read:
            self.let_go()
        if stamp is None:
            return
        try:
            with open_regular(self.path) as file:
                file.seek(self._read)
                lines = _whole(file)
                self.spans += read_lines(lines, [], name=self.path.name)
        except OSError:
            self.let_go()
            return
        self._inode = stamp[0]
        self._read += sum(map(len, lines))

    def let_go(self) -> None:
        """As if nothing had been read."""
        self.spans = list[StoredSpan]()
        self._inode = -1
        self._read = 0


def _whole(lines: Iterable[bytes]) -> list[bytes]:
    return [line for line in lines if line.endswith(b"\n")]


def _stamp(path: Path) -> _Stamp:
    try:
        found = os.stat(path)  # noqa: PTH116 - asked for each open run, each time
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
