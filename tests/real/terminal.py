"""A terminal for tests: the program runs on a pseudo-terminal, and a small screen shows what a person would see."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from typing import TYPE_CHECKING, Self

from ..command_line import PROGRAM, WITHIN

if TYPE_CHECKING:
    from collections.abc import Mapping

_PIECE = re.compile(r"\x1b\[(?P<private>\??)(?P<number>\d*)(?:;\d+)*(?P<kind>[A-Za-z])|\r|\n|[^\x1b\r\n]+")


class Screen:
    """What is left on a terminal of so many columns: knows the few controls that a status line takes."""

    def __init__(self, columns: int) -> None:
        self.lines: list[str] = [""]
        self.cursor_shown = True
        self._columns, self._row, self._column = columns, 0, 0

    def feed(self, text: str) -> None:
        """Take output; what is no known control is refused, so that nothing is overlooked."""
        pieces = list(_PIECE.finditer(text))
        assert "".join(piece[0] for piece in pieces) == text, text
        for piece in pieces:
            self._take(piece)

    def _take(self, piece: re.Match[str]) -> None:
        kind = piece["kind"]
        if piece[0] == "\r":
            self._column = 0
        elif piece[0] == "\n":
            self._down()
        elif kind is None:
            for character in piece[0]:
                self._write(character)
        elif kind == "A":
            self._row = max(0, self._row - int(piece["number"] or 1))
        elif kind == "K":
            self.lines[self._row] = ""
        elif piece["private"] and kind in "lh":
            self.cursor_shown = kind == "h"
        else:
            assert kind == "m", piece[0]

    def _write(self, character: str) -> None:
        if self._column == self._columns:
            self._down()
            self._column = 0
        line = self.lines[self._row].ljust(self._column)
        self.lines[self._row] = line[: self._column] + character + line[self._column + 1 :]
        self._column += 1

    def _down(self) -> None:
        self._row += 1
        if self._row == len(self.lines):
            self.lines.append("")


class OnTerminal:
    """The command line on a terminal of its own, to be used as a context manager."""

    def __init__(self, *arguments: str, columns: int = 80, environment: Mapping[str, str]) -> None:
        self._columns = columns
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.process = subprocess.Popen(
            [PROGRAM, *arguments], stdin=slave, stdout=slave, stderr=slave, env={**os.environ, **environment}
        )
        os.close(slave)
        self.output = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._master)

    def read_until(self, text: str, *, times: int = 1, within: float = WITHIN) -> None:
        """Read until that text has come so often; AssertionError when it does not."""
        deadline = time.monotonic() + within
        while self.output.count(text.encode()) < times:
            assert self._read(deadline), self.output[-500:]

    def type(self, text: str) -> None:
        r"""What somebody types; ``\x04`` is Ctrl-D."""
        os.write(self._master, text.encode())

    def interrupt(self) -> None:
        """What Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)

    def end(self, *, within: float = WITHIN) -> tuple[int, Screen]:
        """Read to the end; the exit code, and the screen as it is left."""
        deadline = time.monotonic() + within
        while self._read(deadline):
            assert time.monotonic() < deadline, self.output[-500:]
        code = self.process.wait(within)
        screen = Screen(self._columns)
        screen.feed(self.output.decode())
        return code, screen

    def _read(self, deadline: float) -> bool:
        """Read something; False when the program has closed the terminal, or the time is over."""
        waiting = select.poll()  # select() takes no descriptor from 1,024 on
        waiting.register(self._master, select.POLLIN)
        ready = waiting.poll(max(0.0, deadline - time.monotonic()) * 1000)
        try:
            read = os.read(self._master, 65536) if ready else b""
        except OSError:  # Linux says so when nobody holds the other side
            read = b""
        self.output += read
        return bool(read)
