"""What a diagnosis says: one thing about one run, with its evidence, its numbers and what would prevent it."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from decimal import Decimal
from enum import StrEnum
from typing import Final

from traced_loop.frozen_value import frozen_value
from traced_loop.read.agent_run import AgentRun, Gap, StoredCall
from traced_loop.read.trace import SpanKey

MAX_EVIDENCE: Final = 16
"""Span ids and calls that one finding names; how many there are is among its numbers."""
MAX_ID_CHARACTERS: Final = 32
"""Of an id that is shown: longer ones are none, and can be anything."""

Number = int | float | Decimal
"""Counts and nanoseconds are integers, USD decimals, shares and times floats."""


class FindingKind(StrEnum):
    """What can be found."""

    STOPPED = "stopped"
    """The run ended in anything but a final answer: why, and the first cause that the trace shows."""
    WRITES = "writes"
    """A run that did not end well has written: what stays done, what is undone, of what nobody knows."""
    NO_END = "no_end"
    """The run has no end: what it was doing at the last sign of life."""
    SLOW_TOOL = "slow_tool"
    """A tool took much of the run's time."""
    SLOW_MODEL = "slow_model"
    """A request took far longer than the others."""
    RATE_LIMIT = "rate_limit"
    """The run waited because a server asked it to."""
    BACKOFF = "backoff"
    """The run waited between tries that failed."""
    FAILED_TRIES = "failed_tries"
    """Requests that failed took much of the run's time."""
    QUEUE = "queue"
    """Calls waited for others of their batch."""
    CONFIRMATION = "confirmation"
    """The run waited for a person."""
    UNACCOUNTED = "unaccounted"
    """Much of the run's time is under no span."""
    FAT_RESULT = "fat_result"
    """One tool result made all later requests dear."""
    GROWTH = "growth"
    """The history was most of what was paid for."""
    CACHE_BREAK = "cache_break"
    """The provider's cache was lost although the history only grew."""
    PAID_RETRY = "paid_retry"
    """A try that failed was billed."""
    REASONING = "reasoning"
    """Most of the output was reasoning."""
    DOUBLED = "doubled"
    """Two spans show one request: whoever sums spans bills it twice."""
    ROLL_UP = "roll_up"
    """A span repeats the sum of the requests below it: whoever sums spans bills it twice."""
    UNPRICED = "unpriced"
    """The price of a request is not known."""
    UNCOUNTED = "uncounted"
    """The tokens of a request are not known."""
    FAILING_TOOL = "failing_tool"
    """A tool failed."""
    INVALID_ARGUMENTS = "invalid_arguments"
    """Calls were refused before they ran: for their arguments, or their name."""
    TRUNCATION = "truncation"
    """An answer was cut, said or not."""
    DENIED = "denied"
    """Calls were not permitted, or a person said no."""
    LOST_RESULT = "lost_result"
    """A tool succeeded, and the model did not get what it gave."""
    NOT_UNDONE = "not_undone"
    """A write that was to be undone stays done, or nobody knows."""
    LATE_END = "late_end"
    """A tool went on after nobody waited for it any more."""
    REPETITION = "repetition"
    """The run did the same again and again."""
    DAMAGED = "damaged"
    """The input is not whole, or contradicts itself."""


class Severity(StrEnum):
    """How much it matters, the gravest first."""

    ERROR = "error"
    """The run did not do what it was to do."""
    WASTE = "waste"
    """It did, and took more time, tokens or money than it had to."""
    NOTE = "note"
    """Worth knowing; a run of which nothing else is found is healthy."""


_SEVERITIES: Final = tuple(Severity)
_KINDS: Final = tuple(FindingKind)


@frozen_value
class Finding:
    """One thing about a run.

    Attributes:
        kind: the word of the closed list.
        severity: likewise.
        title: one sentence with the numbers. It may hold names of the trace, so it must be escaped before it is shown.
        evidence: span ids, at most ``MAX_EVIDENCE``.
        calls: flat indexes of calls, likewise.
        numbers: by name; the name ends in its unit (``_ns``, ``_tokens``, ``_usd``, ``_bytes``) unless it is a count.
        cost_ns: wall time that it cost; None where it cost none.
        cost_usd: USD, likewise; None also where the price is not known.
        cost_tokens: tokens that were billed for it.
        prevent: the cheapest change that would prevent it; ``""`` where there is nothing to change.
        at_call: of a repetition the call that completed it.
        reaction: of a repetition what is to be done about it.
        untold: what the trace cannot tell about it.
    """

    kind: FindingKind
    severity: Severity
    title: str
    evidence: tuple[str, ...] = ()
    calls: tuple[int, ...] = ()
    numbers: Mapping[str, Number] = field(default_factory=dict[str, Number])
    cost_ns: int | None = None
    cost_usd: Decimal | None = None
    cost_tokens: int | None = None
    prevent: str = ""
    at_call: int | None = None
    reaction: str | None = None
    untold: tuple[Gap, ...] = ()


@frozen_value
class Totals:
    """What a run took altogether, to compare costs in different units; 0 and None stand for unknown."""

    duration_ns: int = 0
    cost_usd: Decimal | None = None
    tokens: int = 0

    def share(self, finding: Finding) -> float:
        """The largest part of the run's time, cost or tokens that a finding took, from 0 to 1."""
        parts = [0.0]
        if finding.cost_ns and self.duration_ns:
            parts.append(finding.cost_ns / self.duration_ns)
        if finding.cost_usd and self.cost_usd:
            parts.append(float(finding.cost_usd / self.cost_usd))
        if finding.cost_tokens and self.tokens:
            parts.append(finding.cost_tokens / self.tokens)
        return min(1.0, max(parts))


def most_costly_first(findings: Iterable[Finding], totals: Totals) -> tuple[Finding, ...]:
    """What a failed run wrote, then the gravest; of these how the run ended, then the most costly; else as the list."""

    def place(finding: Finding) -> tuple[bool, int, bool, float, int, tuple[str, ...], str]:
        severity, kind = _SEVERITIES.index(finding.severity), _KINDS.index(finding.kind)
        is_other = finding.kind not in {FindingKind.STOPPED, FindingKind.NO_END}
        return (
            finding.kind is not FindingKind.WRITES,
            severity,
            is_other,
            -totals.share(finding),
            kind,
            finding.evidence,
            finding.title,
        )

    return tuple(sorted(findings, key=place))


def span_ids(keys: Iterable[SpanKey | None]) -> tuple[str, ...]:
    """The ids of spans as evidence: each once, the first ``MAX_EVIDENCE``."""
    found: dict[str, None] = {}
    for key in keys:
        if key is not None and key[1]:
            found[key[1][:MAX_ID_CHARACTERS]] = None
            if len(found) == MAX_EVIDENCE:
                break
    return tuple(found)


def of_calls(calls: Iterable[StoredCall]) -> tuple[str, ...]:
    """The span ids of calls: of each the one that tells its outcome."""
    return span_ids(call.spans[-1] if call.spans else None for call in calls)


def indexes(calls: Iterable[StoredCall]) -> tuple[int, ...]:
    """The places of calls as evidence."""
    return tuple(call.index for call in calls)[:MAX_EVIDENCE]


def untold(run: AgentRun, *gaps: Gap) -> tuple[Gap, ...]:
    """Those of these gaps that the run has, in this order."""
    return tuple(gap for gap in gaps if gap in run.gaps)


def call_text(call: StoredCall) -> str:
    """A call in words: ``search (call_3)``."""
    return f"{call.tool or 'a tool'} ({call.call_id})" if call.call_id else call.tool or "a tool"


def by_tool(calls: Iterable[StoredCall]) -> dict[str, list[StoredCall]]:
    """The calls of each tool, in the order in which the tools first appear."""
    found: dict[str, list[StoredCall]] = {}
    for call in calls:
        found.setdefault(call.tool, []).append(call)
    return found


def most(words: dict[int, str]) -> list[str]:
    """The different words, the most frequent first, at most three."""
    counts: dict[str, int] = {}
    for word in words.values():
        counts[word] = counts.get(word, 0) + 1
    return sorted(counts, key=lambda word: (-counts[word], word))[:3]
