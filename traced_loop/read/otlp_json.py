"""OTLP JSON into stored spans: one request (``ExportTraceServiceRequest`` or ``TracesData``) a line, or one document.

A line that cannot be read is a problem with its number; the lines around it are read.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from traced_loop.json_shapes import as_list, as_object
from traced_loop.read.otlp_span import NESTED, SpanReader
from traced_loop.read.trace import Problem, ProblemKind, StoredSpan
from traced_loop.records.private_files import open_regular

__all__ = ["MAX_PROBLEMS", "NESTED", "Listing", "read_document", "read_file", "read_lines", "resource_spans"]

MAX_PROBLEMS: Final = 1_000
"""Problems of one input that are listed; of more only the number is told."""
_BEGIN: Final = '{"resourceSpans"'
_NAMES: Final = ("resourceSpans", "resource_spans", "batches")
_WRAPPERS: Final = ("result", "data", "trace", "traces")
"""Under which other programs put the list: answers of Jaeger's API v3, of Tempo, and what people save of them."""
_MAX_WRAPPERS: Final = 4


def read_file(path: Path) -> tuple[list[StoredSpan], list[Problem]]:
    """The spans of one file of lines, in its order, and what is wrong with it. A missing file is an empty one."""
    problems: list[Problem] = []
    spans: list[StoredSpan] = []
    try:
        with open_regular(path) as lines:
            spans.extend(read_lines(lines, problems, name=path.name))
    except FileNotFoundError:
        pass
    except OSError as error:
        text = f"{path} cannot be read: {error.strerror or error}"
        problems.append(Problem(kind=ProblemKind.FILE_UNREADABLE, text=text))
    return spans, problems


def read_lines(
    lines: Iterable[bytes], problems: list[Problem], *, name: str = "the input", first: int = 1
) -> Iterator[StoredSpan]:
    """The spans of lines that still have their ends; blank lines are skipped.

    Args:
        lines: as a binary file gives them.
        problems: what is wrong is appended here.
        name: of the file, for those problems.
        first: number of the first of these lines.
    """
    reader = _LinesReader(name, problems, first)
    for line in lines:
        yield from reader.read(line)
    reader.close()


def read_document(parsed: object, problems: list[Problem], *, name: str = "the input") -> Iterator[StoredSpan]:
    """The spans of one parsed document."""
    listing = Listing(name, problems)
    found = resource_spans(parsed)
    if found is None:
        listing.say(ProblemKind.UNREADABLE_LINE, "is JSON, but no OTLP trace (no list resourceSpans)")
        return
    yield from SpanReader(listing.say).spans(found)
    listing.close()


def resource_spans(parsed: object) -> list[Any] | None:
    """The list ``resourceSpans`` of a document, of several in a list, or under a name that others wrap it in."""
    waiting: list[object] = [parsed]
    found: list[Any] = []
    is_there = False
    for _ in range(_MAX_WRAPPERS):
        below: list[object] = []
        for holder in waiting:
            fields = as_object(holder) or {}
            named = [entries for name in _NAMES if (entries := as_list(fields.get(name))) is not None]
            if named:
                is_there = True
                found.extend(named[0])
            else:
                below.extend(fields[name] for name in _WRAPPERS if name in fields)
                below.extend(as_list(holder) or ())
        waiting = below
    return found if is_there else None


class Listing:
    """Lists what is wrong with one input, up to a bound."""

    def __init__(self, name: str, problems: list[Problem]) -> None:
        self._name = name
        self._problems = problems
        self._bound = len(problems) + MAX_PROBLEMS
        self._unlisted = 0
        self.line: int | None = None

    def say(self, kind: ProblemKind, what: str) -> None:
        """List one."""
        if len(self._problems) >= self._bound:
            self._unlisted += 1
            return
        place = self._name if self.line is None else f"{self._name}, line {self.line}"
        self._problems.append(Problem(kind=kind, text=f"{place}: {what}", line=self.line))

    def close(self) -> None:
        """Tell how many were not listed."""
        if self._unlisted:
            text = f"{self._name}: {self._unlisted} more problems like these"
            self._problems.append(Problem(kind=ProblemKind.MORE, text=text))


class _LinesReader:
    """Reads lines one by one; knows the number of each for what it has to say."""

    def __init__(self, name: str, problems: list[Problem], first: int) -> None:
        self._listing = Listing(name, problems)
        self._spans = SpanReader(self._listing.say)
        self._number = first - 1

    def read(self, line: bytes) -> Iterator[StoredSpan]:
        """The spans of the next line."""
        self._number += 1
        self._listing.line = self._number
        if not line.strip():
            return
        parsed = self._parse(line)
        if parsed is None:
            return
        found = resource_spans(parsed)
        if found is None:
            self._listing.say(ProblemKind.UNREADABLE_LINE, "is JSON, but no OTLP trace (no list resourceSpans)")
        else:
            yield from self._spans.spans(found)

    def close(self) -> None:
        """After the last line."""
        self._listing.close()

    def _parse(self, line: bytes) -> object:
        """The JSON value of the line; None and a problem when there is none."""
        try:
            text = line.decode()
        except UnicodeDecodeError:
            self._listing.say(ProblemKind.UNREADABLE_LINE, "is not UTF-8; unreadable bytes were replaced")
            text = line.decode(errors="replace")
        try:
            return _loads(text)
        except (ValueError, RecursionError) as error:
            return self._rest(text, error)

    def _rest(self, text: str, error: Exception) -> object:
        """What can be saved of a line that is not JSON: a whole request behind one that was torn."""
        begin = text.rfind(_BEGIN)
        if begin > 0:
            with suppress(ValueError, RecursionError):
                rest = _loads(text[begin:])
                self._listing.say(ProblemKind.TORN_LINE, "begins with a torn request, which was left out")
                return rest
        if text.endswith("\n"):
            self._listing.say(ProblemKind.UNREADABLE_LINE, f"is not JSON and was left out ({_short(error)})")
        else:
            what = "has no end and was left out: the writer was killed, or writes now"
            self._listing.say(ProblemKind.TORN_LINE, what)
        return None


def _loads(text: str) -> object:
    parsed: object = json.loads(text)
    return parsed


def _short(error: Exception) -> str:
    return "nested too deep" if isinstance(error, RecursionError) else str(error)[:80]
