"""Lines of words that fit a width: what does not fit goes on below, indented; nothing is lost.

Without a width each entry is one line, however long: for a pipe, ``grep`` and ``less``.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rich.cells import cell_len, chop_cells
from rich.text import Text

from traced_loop.views.visible import visible

GAP: Final = "  "
"""Between words that belong to one line."""
_NARROW: Final = 24
"""Room that a line always gets, however deep it stands."""

GOOD: Final = "green"
ODD: Final = "yellow"
BAD: Final = "bold red"
QUIET: Final = "dim"


def word(text: str, style: str = "") -> Text:
    """Text of a trace as one safe word of a line; it is never read as markup."""
    return Text(visible(text), style=style)


def packed(head: Text, words: Iterable[Text], *, width: int | None, indent: int) -> list[Text]:
    """The head and the words behind it, on as many lines as they need.

    Args:
        head: begins the first line.
        words: kept whole where they fit.
        width: cells of a line, or None for one line.
        indent: cells before the words of all lines but the first.
    """
    lines: list[Text] = []
    # A text's own style would colour what is appended to it; as a part it colours itself only.
    current, used = Text().append_text(head), head.cell_len
    room = None if width is None else max(_NARROW, width - indent)
    fresh = head.plain.endswith(" ")
    for piece in words:
        for part in (piece,) if room is None else _parts(piece, room):
            gap = 0 if fresh else len(GAP)
            if room is not None and used + gap + part.cell_len > indent + room and used > indent:
                lines.append(current)
                current, used, gap = Text(" " * indent), indent, 0
            current.append(" " * gap).append_text(part)
            used += gap + part.cell_len
            fresh = False
    lines.append(current)
    for line in lines:
        line.rstrip()
    return lines


def folded(text: str, width: int) -> Iterator[str]:
    """Lines of at most ``width`` cells, broken at spaces, and inside a word only where it is too long."""
    line, used = "", 0
    for piece in _pieces(text, width):
        size = cell_len(piece)
        if used and used + size > width:
            yield line.rstrip(" ")
            line, used = "", 0
            if piece == " ":
                continue
        line += piece
        used += size
    yield line.rstrip(" ") if line.strip(" ") else ""


def labelled(label: str, words: Sequence[Text], *, width: int | None, column: int) -> list[Text]:
    """A label and what belongs to it, in a column of its own."""
    return packed(Text(f"{label:<{column}}", style=QUIET), words, width=width, indent=column)


def _parts(piece: Text, room: int) -> list[Text]:
    if piece.cell_len <= room:
        return [piece]
    return [Text(line, style=piece.style) for line in folded(piece.plain, room)]


def _pieces(text: str, width: int) -> Iterator[str]:
    for n, part in enumerate(text.split(" ")):
        if n:
            yield " "
        if cell_len(part) <= width:
            if part:
                yield part
        else:
            yield from chop_cells(part, width)
