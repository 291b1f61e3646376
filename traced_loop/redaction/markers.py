"""What stands where something was masked, and how places of a text become markers."""

from bisect import bisect_right
from typing import Final

from traced_loop.late_pattern import late_pattern
from traced_loop.redaction.rule import Marked

FAILED: Final = "[REDACTION_FAILED]"
"""Stands for the whole value when masking it raised: a value is never passed on unmasked."""
MARKER: Final = late_pattern(r"\[REDACTED(?:_FAILED|:[a-z][a-z0-9_]{0,39})?\]")
"""Never masked again."""

_BEGIN: Final = "[REDACTED"
_VEIL: Final = "\u2588"
"""A full block: printable, no letter, no digit, and of no meaning to any rule."""
VEILED: Final = late_pattern(rf"\[{_VEIL}+\]")
"""A marker as ``veiled`` leaves it."""
_NO_WORD: Final = late_pattern(r"\W|_")
_MIN_LEFT: Final = 6
"""Letters and digits beside markers that are worth a marker of their own."""

Found = dict[str, int]
"""How often each rule masked something, by the rule's name."""


def marker(rule: str) -> str:
    """What stands in place of something that this rule masked."""
    return f"[REDACTED:{rule}]"


def without_markers(value: str) -> str:
    """What is left beside the markers."""
    return MARKER.sub("", value) if _BEGIN in value else value


def has_marker(value: str) -> bool:
    """Whether something in it was masked."""
    return _BEGIN in value and MARKER.search(value) is not None


def is_marked(value: str) -> bool:
    """Whether nothing is left but markers and a few signs around them."""
    if _BEGIN not in value and _VEIL not in value:
        return False
    return len(_NO_WORD.sub("", without_markers(value))) < _MIN_LEFT


def veiled(text: str) -> str:
    """The text with the words in its markers made unreadable, place by place.

    A rule would take them for a name or a label: ``secret]: x`` at the end of one.
    """
    return MARKER.sub(lambda found: f"[{_VEIL * (len(found[0]) - 2)}]", text) if _BEGIN in text else text


def beside_markers(text: str, places: list[Marked]) -> list[Marked]:
    """The places, cut back to what is not masked yet: a rule can take a marker's own words for a name and a value."""
    spans = [found.span() for found in MARKER.finditer(text)] if places and _BEGIN in text else []
    if not spans:
        return places
    starts = [start for start, _ in spans]
    kept: list[Marked] = []
    for start, end, name in places:
        before, behind = spans[bisect_right(starts, start) - 1], spans[bisect_right(starts, end - 1) - 1]
        from_inside = before[0] < start < before[1]
        if from_inside and behind[0] < end <= behind[1]:
            continue
        first = before[1] if from_inside else start
        last = behind[0] if behind[0] < end < behind[1] else end
        if first < last and not is_marked(text[first:last]) and any(c.isalnum() for c in text[first:last]):
            kept.append((first, last, name))
    return kept


def merged(places: list[Marked]) -> list[Marked]:
    """From left to right, overlapping ones as one, under the name of the longest."""
    whole: list[Marked] = []
    for start, end, name in sorted(places, key=lambda place: (place[0], -place[1])):
        if whole and start < whole[-1][1]:
            first, last, other = whole[-1]
            longest = name if end - start > last - first else other
            whole[-1] = (first, max(last, end), longest)
        else:
            whole.append((start, end, name))
    return whole


def rewritten(text: str, places: list[Marked], counts: Found) -> str:
    """The text with these places masked; ``counts`` is added to."""
    if not places:
        return text
    parts: list[str] = []
    at = 0
    for start, end, name in merged(places):
        parts += [text[at:start], marker(name)]
        counts[name] = counts.get(name, 0) + 1
        at = end
    return "".join([*parts, text[at:]])
