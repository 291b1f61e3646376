"""A stored run as a tree: when each span began and how long it took, then the spans, indented by parent."""

from typing import Final

from rich.text import Text

from traced_loop.amount_text import UNKNOWN, nanoseconds_text
from traced_loop.read.trace import StoredSpan, StoredTrace
from traced_loop.views.lines import QUIET, packed, word
from traced_loop.views.span_words import described, title

_TIMES: Final = 18
"""Cells of the two columns of times."""
_MILLISECOND: Final = 1_000_000
_STEP: Final = 2
"""Cells by which a child stands further right than its parent."""
_DEEPEST: Final = 12
"""Below this depth lines stop moving right and say their depth: a chain of 100,000 spans stays readable."""


def tree(trace: StoredTrace, *, width: int | None = None, full: bool = False) -> list[Text]:
    """Every span, parents before children, siblings in order.

    Args:
        trace: of any shape, damaged ones included.
        width: cells of a line, or None for one line per span.
        full: cut no text.
    """
    if not trace.spans:
        return [word("no spans are stored for this run")]
    begun = trace.begun_ns
    lines = [Text(f"{'at':>8}{'took':>9}", style=QUIET)]
    for depth, span in trace.walk():
        indent = _TIMES + min(depth, _DEEPEST) * _STEP
        head = Text().append_text(_times(span, begun)).append(" " * (indent - _TIMES))
        if depth > _DEEPEST:
            head.append(f"[depth {depth}] ", style=QUIET)
        head.append_text(word(title(span), _style(span)))
        lines += packed(head, described(span, full=full), width=width, indent=indent + _STEP)
    return lines


def _times(span: StoredSpan, begun: int) -> Text:
    began = "?" if not span.start_ns else nanoseconds_text(span.start_ns - begun)
    took = "open" if span.is_open else _least(span) if span.is_recovered else nanoseconds_text(span.duration_ns)
    return Text(f"{began:>8}{took:>9} ", style=QUIET)


def _least(span: StoredSpan) -> str:
    """Of what a recovery has ended: it went on after the last sign of life."""
    took = span.duration_ns
    return f">{nanoseconds_text(took)}" if took is not None and took >= _MILLISECOND else UNKNOWN


def _style(span: StoredSpan) -> str:
    return "bold red" if span.is_error else "yellow" if span.is_open else "bold" if span.is_run else ""
