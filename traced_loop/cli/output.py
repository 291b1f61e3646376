"""Where commands write: lines for people, with colour on a terminal only, and JSON for programs."""

import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

from rich.console import Console
from rich.text import Text

from traced_loop.views.visible import visible

T = TypeVar("T")


def line_width() -> int | None:
    """Cells of a line of stdout: the terminal's, or ``COLUMNS`` where that is set; None for a pipe or a file."""
    console = Console()
    return console.width if console.is_terminal or os.environ.get("COLUMNS", "").isdigit() else None


def write_lines(lines: Iterable[Text]) -> None:
    """Write lines to stdout.

    Raises:
        UsageError: the system refuses; not for a reader that has gone away, which is no error to talk about.
    """
    console = Console(highlight=False, emoji=False, markup=False)
    if console.is_terminal:
        for line in lines:
            console.print(line, soft_wrap=True)  # the views have broken the lines
    else:
        sys.stdout.writelines(f"{line.plain}\n" for line in lines)
    sys.stdout.flush()


def write_answer(text: str) -> None:
    """Write a model's text to stdout: as it is to a pipe or a file, and so that it moves no cursor on a terminal.

    Raises:
        UsageError: as ``write_lines``.
    """
    sys.stdout.write(f"{_on_terminal(text) if sys.stdout.isatty() else text}\n")
    sys.stdout.flush()


def write_json(value: Any) -> None:
    """Write one JSON value as one line: ASCII only, so that nothing in it can move a terminal's cursor.

    A number that JSON has not (``NaN``, ``Infinity``) is written as null, for unknown.

    Raises:
        UsageError: as ``write_lines``.
    """
    try:
        text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=True, allow_nan=False)
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def write_found(
    found: Iterable[T], *, lines: Callable[..., Iterable[Text]], value: Callable[[T], Any], as_json: bool
) -> None:
    """Write what was found about runs: for people all of it together, for programs a JSON value a line.

    Args:
        found: a value a run, each asked for when its turn comes.
        lines: the view of all of them; takes ``width``.
        value: one of them as a JSON value.
        as_json: for programs.

    Raises:
        UsageError: as ``write_lines``.
    """
    if not as_json:
        write_lines(lines(found, width=line_width()))
        return
    for each in found:
        write_json(value(each))


def note(line: Text | str) -> None:
    """Write one line to stderr."""
    sys.stderr.write(f"{line.plain if isinstance(line, Text) else line}\n")


def _finite(value: Any) -> Any:
    """The same with None in place of what is no finite number."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {_finite(key): _finite(inner) for key, inner in cast("dict[Any, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in cast("Sequence[Any]", value)]
    return value


def _on_terminal(text: str) -> str:
    """Line by line with what a terminal would obey made visible; line ends and tabs stay what they are."""
    lines = (line.removesuffix("\r").split("\t") for line in text.split("\n"))
    return "\n".join("\t".join(map(visible, parts)) for parts in lines)
