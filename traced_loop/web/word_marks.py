"""How a closed word looks on every page: its colour, and a sign that says the same without colour."""

from typing import Final

from traced_loop.frozen_value import frozen_value
from traced_loop.outcomes import StopReason
from traced_loop.views.lines import BAD, GOOD, ODD, QUIET
from traced_loop.views.span_words import style_of

CLASSES: Final = {GOOD: "good", ODD: "odd", BAD: "bad", QUIET: "quiet"}
"""Classes of the page by the styles of the terminal."""
_SIGNS: Final = {"good": "✓", "odd": "●", "bad": "✕", "quiet": "?"}


@frozen_value
class WordMark:
    """The class of a word (``good``, ``odd``, ``bad``, ``quiet``), and its sign."""

    style: str
    sign: str


_OF_RUNS: Final = {
    "running": WordMark(style="odd", sign="▶"),
    StopReason.CONFIRMATION_REQUIRED: WordMark(style="odd", sign="‖"),
    "unknown": WordMark(style="quiet", sign="?"),
}


def stop_mark(word: str) -> WordMark:
    """Of a stop reason, or of the state of a run without one; a word that nobody knows is no good one."""
    return _OF_RUNS.get(word) or outcome_mark(word)


def outcome_mark(word: str) -> WordMark:
    """Of the outcome of a call."""
    style = CLASSES[style_of(word)]
    return WordMark(style=style, sign=_SIGNS[style])
