"""A diagnosis as the page of a run shows it: findings with their evidence, and where the time went."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Final

from traced_loop.amount_text import cost_text, count_text, nanoseconds_text, seconds_text
from traced_loop.diagnose.diagnosis import Diagnosis
from traced_loop.diagnose.finding import Finding, Number, call_text
from traced_loop.diagnose.time_books import TimeBooks
from traced_loop.frozen_value import frozen_value
from traced_loop.read.run_entry import utc
from traced_loop.views.span_words import title

MAX_FINDINGS: Final = 100
_WIDTH: Final = 1_000.0
"""Of the bar of times, in its own units."""


@frozen_value
class ShownNumber:
    """One number of a finding: its name without the unit, and the number with it."""

    name: str
    text: str


@frozen_value
class Evidence:
    """A span that shows a finding, and what it is called: by its call, else by its name; ``""`` for unknown."""

    span_id: str
    text: str


@frozen_value
class ShownFinding:
    """One thing that was found; all words are those of the diagnosis, in English.

    Attributes:
        kind: the word of the closed list.
        severity: likewise.
        title: the sentence.
        prevent: the cheapest change, or ``""``.
        evidence: where to look.
        numbers: the figures behind it.
        untold: words of what the trace cannot tell about it.
    """

    kind: str
    severity: str
    title: str
    prevent: str
    evidence: tuple[Evidence, ...]
    numbers: tuple[ShownNumber, ...]
    untold: tuple[str, ...]


@frozen_value
class TimeShare:
    """The time under one heading: nanoseconds, part of the whole from 0 to 1, and its place in the bar."""

    kind: str
    wall_ns: int
    part: float
    x: float
    width: float


@frozen_value
class ShownDiagnosis:
    """What is shown of a diagnosis; it holds no span, so that many can be kept.

    Attributes:
        findings: the most costly first, at most ``MAX_FINDINGS``.
        left_out: findings that are not among them.
        is_healthy: nothing but notes was found, and the run is over.
        is_paused: it waits for a person.
        is_running: it goes on, so that nothing is known of its end, and more may be found.
        as_of: up to when what is shown was seen: of a run that goes on the moment of the look, of another one without
            an end its last record; None where the run has ended, and for unknown.
        duration_ns: of the run; 0 for unknown.
        is_whole: the run took that; else at least that, and no part of it is told.
        times: every heading that has some, the longest first.
        gaps: words of what the trace cannot tell, and no finding says already.
    """

    findings: tuple[ShownFinding, ...]
    left_out: int
    is_healthy: bool
    is_paused: bool
    is_running: bool
    as_of: datetime | None
    duration_ns: int
    is_whole: bool
    times: tuple[TimeShare, ...]
    gaps: tuple[str, ...]


def shown_diagnosis(diagnosis: Diagnosis) -> ShownDiagnosis:
    """What is shown of it."""
    run = diagnosis.run
    words = {span.span_id: title(span) for span in reversed(run.trace.spans)}
    words.update({call.spans[-1][1]: call_text(call) for call in reversed(run.calls) if call.spans})
    findings = diagnosis.findings[:MAX_FINDINGS]
    said = {gap for finding in findings for gap in finding.untold}
    return ShownDiagnosis(
        findings=tuple(_finding(finding, words) for finding in findings),
        left_out=len(diagnosis.findings) - len(findings),
        is_healthy=diagnosis.is_healthy,
        is_paused=diagnosis.is_paused,
        is_running=diagnosis.is_running,
        as_of=utc(run.end_ns) if run.is_open else None,
        duration_ns=diagnosis.time.duration_ns,
        is_whole=diagnosis.time.is_whole,
        times=tuple(_times(diagnosis.time)),
        gaps=tuple(str(gap) for gap in diagnosis.gaps if gap not in said),
    )


def _finding(finding: Finding, words: Mapping[str, str]) -> ShownFinding:
    return ShownFinding(
        kind=str(finding.kind),
        severity=str(finding.severity),
        title=finding.title,
        prevent=finding.prevent,
        evidence=tuple(Evidence(span_id=each, text=words.get(each, "")) for each in finding.evidence),
        numbers=tuple(_number(name, number) for name, number in finding.numbers.items()),
        untold=tuple(map(str, finding.untold)),
    )


def _number(name: str, number: Number) -> ShownNumber:
    """The unit is the end of the name; without one it is a count."""
    short, _, unit = name.rpartition("_")
    if unit == "ns" and short and isinstance(number, int):
        return ShownNumber(name=short, text=nanoseconds_text(number))
    if unit == "usd" and short:
        return ShownNumber(name=short, text=cost_text(Decimal(str(number))))
    if unit == "seconds" and short:
        return ShownNumber(name=short, text=seconds_text(float(number)))
    if unit in {"tokens", "bytes"} and short:
        return ShownNumber(name=short, text=f"{count_text(float(number))} {unit}")
    if isinstance(number, Decimal):
        return ShownNumber(name=name, text=f"{number.normalize():f}")
    return ShownNumber(name=name, text=f"{number:.6g}" if isinstance(number, float) else count_text(number))


def _times(books: TimeBooks) -> Iterator[TimeShare]:
    at = 0.0
    for kind, amount in sorted(books.wall_ns.items(), key=lambda pair: -pair[1]):
        if amount > 0 and books.duration_ns:
            part = min(1.0, amount / books.duration_ns)
            width = round(part * _WIDTH, 2)
            yield TimeShare(kind=str(kind), wall_ns=amount, part=part, x=round(at, 2), width=width)
            at += width
