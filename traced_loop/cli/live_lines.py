"""What a person sees on stderr while a run goes on: a line per thing that happened, a status line on a terminal."""

import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from types import TracebackType
from typing import Self

from rich.cells import cell_len
from rich.console import Console, Group, OverflowMethod
from rich.live import Live
from rich.text import Text

from traced_loop.amount_text import cost_text, count_text, seconds_text
from traced_loop.cli.live_text import MAX_ROWS, LiveText
from traced_loop.events import (
    AttemptFailed,
    BudgetChecked,
    BudgetWarned,
    CallCompensated,
    CallFinished,
    Event,
    ModelAnswered,
    RepetitionSeen,
    RunStarted,
    StepStarted,
    TextDelta,
)
from traced_loop.names import UNKNOWN_TOOL
from traced_loop.outcomes import Outcome
from traced_loop.repetition_verdict import Repetition
from traced_loop.run_result import Usage
from traced_loop.views.visible import cut, visible

MAX_RESULT_CHARACTERS = 200
MAX_NAME_CHARACTERS = 64
"""Of a tool's name: a registered one is no longer, and what a model writes may be."""
BAR_WIDTH = 8
_DOING = 32
"""Cells for what is waited for that no bar takes away where the terminal has them."""
_SINCE = 11
"""Cells for the spinner before it and the time behind it."""
_MIN_DOING = 20
"""Cells that what is waited for has at least."""
_SPINNER, _BAR = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "█░"
_ASCII_SPINNER, _ASCII_BAR = "|/-\\", "#."


class LiveLines:
    """Told the events of one run; to be used as a context manager, so that the status line goes when the run ends."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._on_terminal = console.is_terminal and not console.is_dumb_terminal
        ascii_only = console.options.ascii_only
        self._spinner, self._bar = (_ASCII_SPINNER, _ASCII_BAR) if ascii_only else (_SPINNER, _BAR)
        self._overflow: OverflowMethod = "crop" if ascii_only else "ellipsis"
        self._lock = threading.Lock()
        self._waiting = ""
        self._otherwise = "starting"
        self._asked = ""
        self._since = time.monotonic()
        self._usage = Usage()
        self._fractions: dict[str, float] = {}
        self._text = LiveText()
        # Last, because it asks for its first line at once.
        self._live = Live(console=console, transient=True, refresh_per_second=8, get_renderable=self.below)

    def __enter__(self) -> Self:
        if self._on_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._on_terminal:
            self._live.stop()

    @contextmanager
    def paused(self) -> Generator[None]:
        """Without the status line, so that a person can be asked and can type. What tools print stays on stderr."""
        if not self._on_terminal:
            yield
            return
        self._live.stop()
        try:
            with redirect_stdout(sys.stderr):
                yield
        finally:
            self._live.start()

    def __call__(self, event: Event) -> None:
        """Show one event; called from the thread that runs the loop."""
        with self._lock:
            if isinstance(event, TextDelta):
                self._text.add(event.text)
                self._wait(f"step {event.step}: the rest of the answer")
                return
            lines = self._lines(event)
            self._text.take_away()  # it is whole by now, or none of it counts
            for line in lines:
                self._console.print(line, soft_wrap=True)

    def _lines(self, event: Event) -> list[Text]:
        if isinstance(event, RunStarted):
            return self._wait(f"{event.model} to start")
        if isinstance(event, StepStarted):
            return self._wait(f"step {event.step}: the model")
        if isinstance(event, AttemptFailed):
            return [self._failed(event)]
        if isinstance(event, ModelAnswered):
            self._wait(f"step {event.step}: {', '.join(call.name for call in event.calls)}")
            return [_line(f"step {event.step}: finish_reason={event.finish_reason or 'none'}", "cyan")]
        if isinstance(event, CallFinished):
            return [self._finished(event)]
        if isinstance(event, CallCompensated):
            said = f"step {event.step}: call_id={event.call_id} to be undone by {event.tool}: {event.outcome}"
            return [_line(said, "yellow")]
        if isinstance(event, BudgetChecked):
            self._usage, self._fractions = event.usage, dict(event.fractions)
            return []
        if isinstance(event, BudgetWarned):
            return [_line(f"budget warning: {event.limit} {event.fraction:.0%} used", "yellow")]
        if isinstance(event, RepetitionSeen):
            found = self._named(event.repetition)
            return [_line(f"step {event.step}: repetition, {found.reaction}: {found.told()}", "yellow")]
        self._otherwise = "ending"
        return self._wait("")

    def _failed(self, event: AttemptFailed) -> Text:
        self._wait(f"step {event.step}: another try")
        of = f" of {event.call[1]} call_id={event.call[0]}" if event.call is not None else ""
        said = f"step {event.step}: try {event.number}{of} failed ({event.error_type}), again in"
        anew = "; the answer begins anew" if self._text.take_away() and self._on_terminal else ""
        return _line(f"{said} {seconds_text(event.delay)}{anew}", "yellow")

    def _finished(self, event: CallFinished) -> Text:
        call, result = event.result.call, event.result
        if result.outcome is Outcome.UNKNOWN_TOOL:
            self._asked = call.name
        shown = cut(visible(result.content), MAX_RESULT_CHARACTERS)
        said = f"step {event.step}: {cut(call.name, MAX_NAME_CHARACTERS)} call_id={call.id} result={shown}"
        return _line(said, "" if result.outcome == "ok" else "yellow")

    def _named(self, found: Repetition) -> Repetition:
        """With the name that the model wrote, where no tool has it; what spans keep of it is ``_unknown``."""
        if found.tool != UNKNOWN_TOOL or not self._asked:
            return found
        return replace(found, tool=cut(self._asked, MAX_NAME_CHARACTERS))

    def _wait(self, what: str) -> list[Text]:
        self._waiting, self._since = what, time.monotonic()
        return []

    def status(self) -> Text:
        """The line at the bottom: what is waited for and since when, tokens, cost once known, a bar for each limit.

        The nearest limit comes first; what a narrow terminal has no room for is left out.
        """
        now, usage, width = time.monotonic(), self._usage, self._console.width
        doing = self._otherwise
        if self._waiting:
            what = Text(f"waiting for {visible(self._waiting)}")
            what.truncate(max(_MIN_DOING, min(_DOING, width - _SINCE), width // 3), overflow=self._overflow)
            doing = f"{what.plain} {seconds_text(round(now - self._since, 1))}"
        spent = [f"{count_text(usage.tokens)} tokens"] if usage.tokens else []
        spent += [cost_text(usage.cost_usd)] if usage.cost_usd else []
        parts = [f"{self._spinner[int(now * 8) % len(self._spinner)]} {doing}"]
        nearest = sorted(self._fractions.items(), key=lambda limit: limit[1], reverse=True)
        for part in [*spent, *(f"{name} {self._drawn(part)}" for name, part in nearest)]:
            if cell_len("  ".join([*parts, part])) >= width:
                break
            parts.append(part)
        return Text("  ".join(parts), style="dim", no_wrap=True, overflow=self._overflow)

    def below(self) -> Group:
        """What stands below the lines: the end of the answer as far as it is written, and the line at the bottom."""
        size = self._console.size
        rows = self._text.rows(size.width, max(1, min(MAX_ROWS, size.height - 2)))
        return Group(*(Text(row, no_wrap=True, overflow="crop") for row in rows), self.status())

    def _drawn(self, part: float) -> str:
        full = min(BAR_WIDTH, round(part * BAR_WIDTH))
        return self._bar[0] * full + self._bar[1] * (BAR_WIDTH - full)


def _line(text: str, style: str = "") -> Text:
    """One line, whatever is in it: most of what it tells is a server's or a model's."""
    return Text(visible(text), style=style)
