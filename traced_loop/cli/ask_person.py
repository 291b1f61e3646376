"""Asks the person at the terminal about one call: what it would do, with which arguments, and why it is asked.

Nothing is asked without a terminal. No answer, which is what the end of the input is, leaves the call pending.
"""

import asyncio
import json
import os
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from typing import Final

from rich.console import Console
from rich.text import Text

from traced_loop.amount_text import count_text, counted
from traced_loop.json_shapes import as_object
from traced_loop.loop.policy import Answer, Approved, Rejected
from traced_loop.redaction import Found, default_redactor
from traced_loop.run_result import Pending
from traced_loop.views.visible import cut, visible

MAX_VALUE_CHARACTERS: Final = 2_000
"""Characters of one argument that are shown; how many there are is said beside a longer one."""
_MAX_NAME_CHARACTERS: Final = 64
_YES, _NO = frozenset({"y", "yes"}), frozenset({"n", "no", ""})


class Person:
    """Whoever sits at the terminal of a run."""

    def __init__(self, console: Console, paused: Callable[[], AbstractContextManager[None]]) -> None:
        """Ask on this console.

        Args:
            console: where the question goes.
            paused: keeps the status line away while it is open.
        """
        self._console = console
        self._paused = paused

    async def ask(self, pending: Pending) -> Answer:
        """Ask about one call; a yes is bound to the arguments that were shown, None is no answer."""
        if not _is_there():
            return None
        with self._paused():
            for line in question(pending):
                self._console.print(line, soft_wrap=True)
            return await self._answer(pending)

    async def _answer(self, pending: Pending) -> Answer:
        with suppress(OSError, termios.error):  # what was typed before the question is no answer to it
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
        while True:
            self._console.print(Text("Run it with exactly these arguments? [y/N] ", style="bold"), end="")
            try:
                line = await _typed_line(sys.stdin.fileno())
            except asyncio.CancelledError:
                self._console.print()  # what follows begins on a line of its own
                raise
            if line is None:
                self._console.print()
                return None
            said = line.strip().lower()
            if said in _YES:
                return Approved(by="terminal", fingerprint=pending.fingerprint)
            if said in _NO:
                return Rejected(by="terminal")
            self._console.print(Text("Please answer y or n; Ctrl-D leaves it open, Ctrl-C ends the run.", "yellow"))


def question(pending: Pending) -> Iterator[Text]:
    """The lines of the question. What is secret is masked, and what a terminal would obey is made visible."""
    found: Found = {}
    shown = default_redactor().value(dict(pending.arguments), found)
    # Low is what a tool has that declares nothing, and nobody's assurance.
    risk = "high risk" if pending.risk == "high" else "no high risk declared"
    yield Text(f"{visible(pending.tool)} asks to run: {pending.effect}, {risk}", style="bold yellow")
    rule = f" ({pending.rule})" if pending.rule and pending.rule != pending.reason else ""
    yield Text(f"  because   {visible(pending.reason)}{visible(rule)}")
    fields = as_object(shown)
    for name, value in ({"arguments": shown} if fields is None else fields).items():
        yield Text(f"  {visible(cut(name, _MAX_NAME_CHARACTERS)):<9} {_shown(value)}")
    if fields == {}:
        yield Text("  without arguments")
    if found:
        yield Text(f"  {counted(sum(found.values()), 'value')} masked", style="dim")


def _shown(value: object) -> str:
    whole = json.dumps(value, ensure_ascii=False)
    if len(whole) <= MAX_VALUE_CHARACTERS:
        return visible(whole)
    return f"{visible(cut(whole, MAX_VALUE_CHARACTERS))} ({count_text(len(whole))} characters in all)"


def _is_there() -> bool:
    """Whether there is somebody to ask: input and stderr are a terminal, and it is ours to read from."""
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()  # else reading would stop a job in the background
    except OSError:
        return True  # a terminal without jobs


async def _typed_line(descriptor: int) -> str | None:
    """One line; None at the end of the input. Reads the descriptor itself, so that a cancelled wait holds no lock."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[str | None] = loop.create_future()
    typed = bytearray()

    def read() -> None:
        try:
            data = os.read(descriptor, 4096)
        except OSError:  # the terminal went away
            data = b""
        typed.extend(data)
        if not ended.done() and (not data or b"\n" in data):
            ended.set_result(typed.decode(errors="replace") if data else None)

    loop.add_reader(descriptor, read)
    try:
        return await ended
    finally:
        loop.remove_reader(descriptor)
