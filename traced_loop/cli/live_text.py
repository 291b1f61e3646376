"""The end of an answer that is still being written, as rows of a terminal: as many as there is room for."""

from rich.cells import chop_cells

from traced_loop.views.visible import visible

MAX_ROWS = 12
MAX_CHARACTERS = 4_000
"""Kept of the text: more than ``MAX_ROWS`` of any terminal hold, so that a piece costs the same however many came."""
_TAB = "    "


class LiveText:
    """The text of the answer that is being written; read from the thread that draws, too."""

    def __init__(self) -> None:
        """Nothing has been written."""
        self._end = ""

    def add(self, text: str) -> None:
        """Add a piece."""
        self._end = (self._end + text)[-MAX_CHARACTERS:]

    def take_away(self) -> bool:
        """Show no text any more; whether there was some."""
        had, self._end = bool(self._end), ""
        return had

    def rows(self, width: int, most: int = MAX_ROWS) -> list[str]:
        """The last rows, each of at most ``width`` cells, with everything made visible that a terminal would obey."""
        rows: list[str] = []
        for line in reversed(self._end.split("\n")):
            shown = visible(line.removesuffix("\r").replace("\t", _TAB))
            rows = [*(chop_cells(shown, max(2, width)) or [""]), *rows]
            if len(rows) >= most:
                break
        while rows and not rows[-1].strip():
            rows.pop()
        return rows[-most:]
