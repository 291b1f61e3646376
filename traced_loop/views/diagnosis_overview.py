"""Many diagnosed runs at a glance: counts, then a line for each that is not healthy, the gravest first."""

from collections import Counter
from typing import Final

from rich.text import Text

from traced_loop.amount_text import count_text, counted
from traced_loop.diagnose.diagnosis import Diagnosis
from traced_loop.diagnose.finding import Finding, Severity
from traced_loop.views.foremost import Foremost
from traced_loop.views.lines import BAD, ODD, QUIET, labelled, packed, word

COLUMN: Final = 11
"""Cells of the labels."""
MAX_RUNS: Final = 60
"""Lines of runs in an overview; what is left out is counted."""
STYLES: Final = {Severity.ERROR: BAD, Severity.WASTE: ODD, Severity.NOTE: QUIET}
_SEVERITIES: Final = list(Severity)

_Row = tuple[str, Finding, int]
"""The run's id, its first finding, how many there are."""


class Overview:
    """Takes diagnoses one after the other and holds none: of the gravest ones a row each, of all of them counts."""

    def __init__(self) -> None:
        self.runs = 0
        self._paused = 0
        self._kinds: Counter[str] = Counter()
        self._ill: Foremost[_Row] = Foremost(MAX_RUNS)

    def add(self, diagnosis: Diagnosis) -> None:
        """The next run."""
        self.runs += 1
        if diagnosis.is_faultless and not diagnosis.is_paused:
            return
        self._paused += diagnosis.is_paused
        findings, run = diagnosis.findings, diagnosis.run
        self._kinds.update({finding.kind for finding in findings if finding.severity is not Severity.NOTE})
        key = _SEVERITIES.index(findings[0].severity), run.start_ns, run.id
        self._ill.add(key, (run.id, findings[0], len(findings)))

    def lines(self, width: int | None) -> list[Text]:
        """The overview of what came so far."""
        ill = self._ill.count
        paused = f"{count_text(self._paused)} paused, " if self._paused else ""
        said = f"{counted(self.runs, 'run')}: {count_text(self.runs - ill)} healthy, {paused}"
        said += f"{count_text(ill - self._paused)} not"
        lines = [word(said, "bold")]
        counts = sorted(self._kinds.items(), key=lambda pair: (-pair[1], pair[0]))
        if counts:
            lines += labelled("found", [word(f"{k} {count_text(n)}") for k, n in counts], width=width, column=COLUMN)
        for row in self._ill.values():
            lines += _line(row, width)
        if self._ill.left_out:
            lines.append(word(f"{count_text(self._ill.left_out)} more runs; --json has all, --run ID shows one", QUIET))
        return lines


def _line(row: _Row, width: int | None) -> list[Text]:
    run_id, top, findings = row
    head = Text().append_text(word(run_id, "bold")).append("  ")
    more = [word(f"and {findings - 1} more", QUIET)] if findings > 1 else []
    return list(packed(head, [word(f"{top.kind}: {top.title}", STYLES[top.severity]), *more], width=width, indent=4))
