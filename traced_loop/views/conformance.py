"""What came of holding traces to the promises: a line per violation, and as JSON values for programs."""

from collections.abc import Iterable
from typing import Any, Final

from rich.text import Text

from traced_loop.amount_text import count_text, counted
from traced_loop.diagnose.conformance import Conformance, Violation
from traced_loop.views.lines import BAD, GOOD, QUIET, packed, word

MAX_LINES: Final = 150
"""Violations with a line of their own; what is left out is counted."""
_SHOWN_IDS: Final = 4


def conformance_lines(found: Iterable[Conformance], *, width: int | None = None) -> list[Text]:
    """One line per violation, then one that says how many there are, and what was not checked.

    Each is looked at once, and then let go.
    """
    lines: list[Text] = []
    skipped: dict[str, None] = {}
    unended: list[Conformance] = []
    runs = broken = violations = foreign = 0
    for each in found:
        runs, broken = runs + 1, broken + bool(each.violations)
        for violation in each.violations[: max(0, MAX_LINES - violations)]:
            lines += _violation(each.run_id, violation, width)
        violations += len(each.violations)
        if each.is_running:
            unended.append(each)
        elif each.not_checked:
            foreign += 1
            skipped.update(dict.fromkeys(each.not_checked))
    if violations > MAX_LINES:
        lines.append(word(f"{count_text(violations - MAX_LINES)} more; --json has all", QUIET))
    said = f"{counted(violations, 'violation')} in {count_text(broken)} of {counted(runs, 'run')}"
    lines.append(word(said, BAD if violations else GOOD))
    for each in unended[:MAX_LINES]:
        head = word(f"{each.run_id}  not ended: {counted(len(each.not_checked), 'check')} left out:", QUIET)
        lines += packed(head, [word(rule, QUIET) for rule in each.not_checked], width=width, indent=4)
    if skipped:
        head = word(f"not checked in {counted(foreign, 'run')} of another dialect:", QUIET)
        lines += packed(head, [word(rule, QUIET) for rule in skipped], width=width, indent=4)
    return lines


def _violation(run_id: str, violation: Violation, width: int | None) -> Iterable[Text]:
    spans = [word(span_id, QUIET) for span_id in violation.span_ids[:_SHOWN_IDS]]
    head = Text().append_text(word(run_id, "bold")).append("  ").append_text(word(violation.rule, BAD))
    return packed(head, [word(violation.text), *spans], width=width, indent=4)


def conformance_json(found: Conformance) -> dict[str, Any]:
    """One run as one JSON value."""
    return {
        "id": found.run_id,
        "violations": [
            {"rule": violation.rule, "text": violation.text, "span_ids": list(violation.span_ids)}
            for violation in found.violations
        ],
        "not_checked": list(found.not_checked),
        "running": found.is_running,
    }
