"""The layout of a board as an SVG: where each panel is, what it is called, how it is drawn. No data, no Grafana."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

COLUMN, ROW, GAP = 40, 22, 4


def picture(title: str, panels: Sequence[dict[str, Any]]) -> str:
    """Draw the panels of a board's JSON."""
    bottom = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels)
    width, height = 24 * COLUMN, (bottom + 1) * ROW
    boxes = "\n".join(_box(panel) for panel in panels)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        ' font-family="sans-serif" font-size="12">\n'
        f"<title>Layout of the board {escape(title)}</title>\n"
        f'<rect width="{width}" height="{height}" fill="#fff"/>\n{boxes}\n</svg>\n'
    )


def _box(panel: dict[str, Any]) -> str:
    place = panel["gridPos"]
    left, top = place["x"] * COLUMN, place["y"] * ROW
    width, height = place["w"] * COLUMN - GAP, place["h"] * ROW - GAP
    if panel["type"] == "row":
        return f'<text x="{left + 4}" y="{top + 16}" font-weight="bold" fill="#222">{escape(panel["title"])}</text>'
    kind = f"{panel['type']}, {panel['fieldConfig']['defaults']['unit']}"
    return (
        f'<rect x="{left}" y="{top}" width="{width}" height="{height}" rx="3" fill="#f4f5f5" stroke="#bbb"/>'
        f'<text x="{left + 8}" y="{top + 18}" fill="#222">{escape(panel["title"])}</text>'
        f'<text x="{left + 8}" y="{top + 34}" fill="#777">{escape(kind)}</text>'
    )
