"""The list of runs as a table: one line a run, the columns that the width has room for."""

from collections.abc import Callable, Sequence
from typing import Final

from rich.text import Text

from traced_loop.amount_text import UNKNOWN, cost_text, count_text, least_text, seconds_text, time_text
from traced_loop.read.run_entry import RunEntry
from traced_loop.views.lines import GAP, ODD, QUIET, word
from traced_loop.views.span_words import doing, verdict
from traced_loop.views.visible import cut

_NAME_CELLS: Final = 24
"""Cells of an agent's or a model's name."""

_Cell = Callable[[RunEntry], Text]


def run_table(entries: Sequence[RunEntry], *, width: int | None = None) -> list[Text]:
    """A heading and one line per run.

    Args:
        entries: in the order in which they are shown.
        width: cells of a line; columns that can be done without are left out. None for all columns.
    """
    optional = ["STARTED", "MODEL", "AGENT"]
    while True:
        columns = {name: cell for name, cell in _COLUMNS.items() if name in optional or name not in _OPTIONAL}
        rows = [[word(name, QUIET) for name in columns], *([cell(run) for cell in columns.values()] for run in entries)]
        widths = [max(row[n].cell_len for row in rows) for n in range(len(columns))]
        if width is None or not optional or sum(widths) + len(GAP) * (len(widths) - 1) <= width:
            return [line for row in rows for line in _lines(row, widths, list(columns), width)]
        optional.pop()


def _lines(row: list[Text], widths: list[int], columns: list[str], width: int | None) -> list[Text]:
    """One row; its last cell goes below where a narrow terminal has no room for it."""
    line = Text()
    for name, cell, cells in zip(columns[:-1], row[:-1], widths[:-1], strict=True):
        space = " " * (cells - cell.cell_len)
        if name in _RIGHT:
            line.append(space).append_text(cell).append(GAP)
        else:
            line.append_text(cell).append(space + GAP)
    if width is None or line.cell_len + row[-1].cell_len <= width:
        return [line.append_text(row[-1])]
    line.rstrip()
    return [line, Text(GAP).append_text(row[-1])]


def _state(run: RunEntry) -> Text:
    if run.state != "ended":
        said = {"running": "running", "died": "died", "unknown": "no end recorded"}[run.state]
        if run.open_span is not None:
            said = f"{said} in {doing(run.open_span)}"
        return word(said, ODD if run.state != "died" else "bold red")
    shown = verdict(run.stop_reason or UNKNOWN)
    return Text().append_text(shown).append(" (repeats)", style=ODD) if run.flagged else shown


def _took(run: RunEntry) -> str:
    """``>12 ms`` of a run whose process died: what came after its last sign of life nobody knows."""
    least = least_text(run.seconds_at_least)
    return seconds_text(run.seconds) if least == UNKNOWN else f">{seconds_text(run.seconds_at_least)}"


def _quiet(text: str) -> Text:
    return word(text, QUIET if text == UNKNOWN else "")


_COLUMNS: Final[dict[str, _Cell]] = {
    "RUN": lambda run: word(run.run_id),
    "STARTED": lambda run: _quiet(time_text(run.started_at)),
    "TOOK": lambda run: _quiet(_took(run)),
    "STEPS": lambda run: _quiet(count_text(run.steps)),
    "TOKENS": lambda run: _quiet(count_text(run.tokens)),
    "COST": lambda run: _quiet(cost_text(run.cost_usd)),
    "MODEL": lambda run: word(cut(run.model, _NAME_CELLS)),
    "AGENT": lambda run: word(cut(run.agent, _NAME_CELLS)),
    "STOP REASON": _state,
}
_OPTIONAL: Final = frozenset({"STARTED", "MODEL", "AGENT"})
_RIGHT: Final = frozenset({"TOOK", "STEPS", "TOKENS", "COST"})
