"""How far a long reading is, on one line of a terminal's stderr; nothing anywhere else."""

import sys
import time
from typing import Final

from traced_loop.amount_text import count_text, counted

EVERY_SECONDS: Final = 0.2


class Progress:
    """Tells of spans and runs that were read so far, over and over on one line, which is gone in the end.

    Args:
        shown: whether to tell at all; only on a terminal it does.
    """

    def __init__(self, *, shown: bool = True) -> None:
        self._shown = shown and sys.stderr.isatty()
        self._told_at = time.monotonic()
        self._is_there = False
        self._runs = 0

    def spans(self, number: int) -> None:
        """So many spans were read."""
        self._tell(f"{counted(number, 'span')} read")

    def run(self) -> None:
        """One more run was read."""
        self._runs += 1
        self._tell(f"{counted(self._runs, 'run')} read")

    def sent(self, number: int, planned: int, seconds: float) -> None:
        """So many spans of those that were planned are done, after so many seconds."""
        per_second = f", {count_text(round(number / seconds))} per second" if seconds > 0 else ""
        self._tell(f"{count_text(number)} of {counted(planned, 'span')} sent{per_second}")

    def _tell(self, text: str) -> None:
        if self._shown and time.monotonic() - self._told_at >= EVERY_SECONDS:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
            self._told_at, self._is_there = time.monotonic(), True

    def clear(self) -> None:
        """Take the line away."""
        if self._is_there:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._is_there = False
