"""A decision table as lines, and as a JSON value for programs."""

from dataclasses import asdict
from typing import Any, Final

from rich.text import Text

from traced_loop.outcomes import Decision
from traced_loop.rules.decision_table import DecisionTable, Row
from traced_loop.views.lines import BAD, GAP, QUIET, packed, word
from traced_loop.views.span_words import verdict
from traced_loop.views.visible import cut

_NAME_CELLS: Final = 40
A_PERSON: Final = "a person"
_NOTHING: Final = "-"
"""Not decided, or not known: ``unknown`` is an outcome."""


def decision_lines(table: DecisionTable, *, width: int | None = None) -> list[Text]:
    """A heading and a line per call; where the width has no room for the table, a few lines per call.

    Args:
        table: what was decided.
        width: cells of a line, or None for lines of any length.
    """
    rows = [[word(name, QUIET) for name in _COLUMNS], *map(_cells, table.rows)]
    widths = [max(row[n].cell_len for row in rows) for n in range(len(_COLUMNS))]
    if width is None or sum(widths) + len(GAP) * (len(widths) - 1) <= width:
        lines = [_line(row, widths) for row in rows]
    else:
        lines = [line for row in rows[1:] for line in _narrow(row, width)]
    if table.stop:
        said = f"{table.stop}: {table.detail}" if table.detail else table.stop
        lines += packed(word("stops the run", QUIET), [word(said, BAD)], width=width, indent=2)
    return lines


def decision_json(table: DecisionTable) -> dict[str, Any]:
    """The table as one JSON object: ``calls`` and ``stop``; what is unknown or undecided is null."""
    stop = None if table.stop is None else {"reason": str(table.stop), "detail": table.detail or None}
    calls = [{**asdict(row), "waits_for": list(row.waits_for), "asks_a_person": row.asks} for row in table.rows]
    return {"calls": calls, "stop": stop}


def _cells(row: Row) -> list[Text]:
    waits = ", ".join([*row.waits_for, *([A_PERSON] if row.asks else [])])
    validation = Text(_NOTHING, style=QUIET) if row.validation is None else verdict(row.validation)
    if row.problem:
        validation.append_text(word(f" {row.problem}", BAD))
    return [
        word(str(row.place)),
        word(cut(row.call_id, _NAME_CELLS)),
        word(cut(row.tool, _NAME_CELLS), "bold"),
        _quiet(row.effect),
        validation,
        _decision(row),
        _quiet(None if row.turn is None else str(row.turn)),
        _quiet(row.mode),
        _quiet(row.why),
        _quiet(waits or None),
        _quiet(None) if row.outcome is None else verdict(row.outcome),
    ]


def _decision(row: Row) -> Text:
    if row.decision is None:
        return _quiet(None)
    shown = verdict(row.decision)
    rule = f" ({row.rule}: {row.reason})" if row.reason else f" ({row.rule})"
    shown.append_text(word(rule if row.rule else "", QUIET))
    if row.confirmation and row.decision == Decision.NEEDS_CONFIRMATION:
        shown.append_text(word(f" {row.confirmation}"))
    return shown


def _line(row: list[Text], widths: list[int]) -> Text:
    line = Text()
    for cell, cells in zip(row, widths, strict=True):
        line.append_text(cell).append(" " * (cells - cell.cell_len) + GAP)
    line.rstrip()
    return line


def _narrow(row: list[Text], width: int) -> list[Text]:
    head = Text(GAP).join(row[:3])
    named = zip(_COLUMNS[3:], row[3:], strict=True)
    words = [Text.assemble((f"{name.lower()} ", QUIET), cell) for name, cell in named if cell.plain != _NOTHING]
    return packed(head, words, width=width, indent=4)


def _quiet(text: str | None) -> Text:
    return word(_NOTHING, QUIET) if text is None else word(text)


_COLUMNS: Final = (
    "#",
    "CALL",
    "TOOL",
    "EFFECT",
    "VALIDATION",
    "DECISION",
    "TURN",
    "MODE",
    "WHY",
    "WAITS FOR",
    "OUTCOME",
)
