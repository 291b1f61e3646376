"""What came of holding traces to the promises: a line per violation, and as JSON values for programs."""

from collections.abc import Sequence
from typing import Any, Final

from rich.text import Text

from traced_loop.amount_text import count_text, counted
from traced_loop.diagnose.conformance import Conformance
from traced_loop.views.lines import BAD, GOOD, QUIET, packed, word

MAX_LINES: Final = 150
"""Violations with a line of their own; what is left out is counted."""
_SHOWN_IDS: Final = 4


def conformance_lines(found: Sequence[Conformance], *, width: int | None = None) -> list[Text]:
    """One line per violation, then one that says how many there are, and what was not checked."""
    every = [(each.run_id, violation) for each in found for violation in each.violations]
    lines: list[Text] = []
    for run_id, violation in every[:MAX_LINES]:
        spans = [word(span_id, QUIET) for span_id in violation.span_ids[:_SHOWN_IDS]]
        head = Text().append_text(word(run_id, "bold")).append("  ").append_text(word(violation.rule, BAD))
        lines += packed(head, [word(violation.text), *spans], width=width, indent=4)
    if len(every) > MAX_LINES:
        lines.append(word(f"{count_text(len(every) - MAX_LINES)} more; --json has all", QUIET))
    broken = sum(bool(each.violations) for each in found)
    said = f"{counted(len(every), 'violation')} in {count_text(broken)} of {counted(len(found), 'run')}"
    lines.append(word(said, BAD if every else GOOD))
    skipped = list(dict.fromkeys(rule for each in found for rule in each.not_checked))
    if skipped:
        foreign = sum(bool(each.not_checked) for each in found)
        head = word(f"not checked in {counted(foreign, 'run')} of another dialect:", QUIET)
        lines += packed(head, [word(rule, QUIET) for rule in skipped], width=width, indent=4)
    return lines


def conformance_json(found: Conformance) -> dict[str, Any]:
    """One run as one JSON value."""
    return {
        "id": found.run_id,
        "violations": [
            {"rule": violation.rule, "text": violation.text, "span_ids": list(violation.span_ids)}
            for violation in found.violations
        ],
        "not_checked": list(found.not_checked),
    }
