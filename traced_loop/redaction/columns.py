"""Secrets in tables: a column whose title says that its values are secret; CSV, Markdown, terminal tables, SQL."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from traced_loop.late_pattern import late_pattern
from traced_loop.redaction.key_names import Strength, Strengths
from traced_loop.redaction.markers import is_marked
from traced_loop.redaction.opaque import is_placeholder, looks_opaque
from traced_loop.redaction.rule import Place

_TITLES: Final = ("pass", "secret", "token", "key", "pwd", "pin", "cvv")
"""One of them is in the title of a secret column, in lower case."""
_MAX_COLUMNS: Final = 64
_MAX_LINE: Final = 2_000
_MIN_VALUE: Final = 3
_TITLE: Final = late_pattern(r"[\"'`]?[A-Za-z][\w .-]{0,40}[\"'`]?\Z")
_RULE_LINE: Final = late_pattern(r"[\s|+:=-]*\Z")
_INSERT: Final = late_pattern(r"\(([^()\n]{1,2000})\)\s{0,4}values\s{0,4}", re.IGNORECASE)
_TUPLE: Final = late_pattern(r"\(((?:[^()'\n]|'(?:[^'\n]|'')*')*)\)[,\s]{0,4}")
_CELL: Final = late_pattern(r"'(?:[^'\n]|'')*'|[^,]+")


def secret_columns(text: str, lowered: str, strength_of: Strengths) -> Iterator[Place]:
    """Where the values of secret columns lie."""
    if not any(word in lowered for word in _TITLES):
        return
    if "values" in lowered:
        yield from _inserted(text, strength_of)
    if "\n" in text:
        yield from _tables(text, strength_of)


def _tables(text: str, strength_of: Strengths) -> Iterator[Place]:
    at, sign, width = 0, "", 0
    wanted: Mapping[int, Strength] = {}
    for line in text.splitlines(keepends=True):
        cells = line.split(sign) if sign else []
        if sign and _RULE_LINE.match(line):
            pass
        elif sign and len(cells) == width:
            yield from _cells(cells, wanted, at)
        else:
            sign, wanted, width = _header(line, strength_of)
        at += len(line)


def _cells(cells: list[str], wanted: Mapping[int, Strength], at: int) -> Iterator[Place]:
    for place, cell in enumerate(cells):
        value = cell.strip(" \t\r\n\"'`")
        if place in wanted and len(value) >= _MIN_VALUE and _is_told(value) and _fits(wanted[place], value):
            start = at + cell.index(value)
            yield start, start + len(value)
        at += len(cell) + 1


def _header(line: str, strength_of: Strengths) -> tuple[str, Mapping[int, Strength], int]:
    """The separator, the secret columns and the number of columns of a line of titles; ``""`` where it is none."""
    for sign in ("|", "\t", ",", ";"):
        count = line.count(sign)
        if not 1 <= count < _MAX_COLUMNS or len(line) > _MAX_LINE:
            continue
        titles = [cell.strip() for cell in line.split(sign)]
        if any(title and (not _TITLE.match(title) or looks_opaque(title)) for title in titles):
            continue
        wanted: dict[int, Strength] = {
            n: of for n, title in enumerate(titles) if title and (of := strength_of(title)) in ("any", "opaque")
        }
        if wanted:
            return sign, wanted, len(titles)
    return "", {}, 0


def _inserted(text: str, strength_of: Strengths) -> Iterator[Place]:
    for insert in _INSERT.finditer(text):
        names = [name.strip(' `"[]') for name in insert[1].split(",")]
        wanted = {place for place, name in enumerate(names) if strength_of(name) == "any"}
        row = _TUPLE.match(text, insert.end()) if wanted else None
        while row is not None:
            cells = list(_CELL.finditer(row[1]))
            if len(cells) == len(names):
                yield from _told([cells[place] for place in wanted], row.start(1))
            row = _TUPLE.match(text, row.end())


def _told(cells: list[re.Match[str]], at: int) -> Iterator[Place]:
    for cell in cells:
        value = cell[0].strip().strip("'")
        if value and _is_told(value):
            start = at + cell.start() + cell[0].index(value)
            yield start, start + len(value)


def _is_told(value: str) -> bool:
    return not is_placeholder(value) and not is_marked(value)


def _fits(strength: Strength, value: str) -> bool:
    """A column of passwords holds words, too; one of tokens can as well hold numbers of them."""
    return strength == "any" or looks_opaque(value)
