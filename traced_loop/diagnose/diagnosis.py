"""One run diagnosed: its books, and what was found, the most costly first. The same input gives the same text."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Final

from traced_loop import names
from traced_loop.diagnose.cost import costs
from traced_loop.diagnose.doubles import double_findings, doubles
from traced_loop.diagnose.errors import errors
from traced_loop.diagnose.finding import Finding, FindingKind, Severity, Totals, most_costly_first, span_ids
from traced_loop.diagnose.repeated import repeated
from traced_loop.diagnose.stall import stalls
from traced_loop.diagnose.stop import stopped
from traced_loop.diagnose.time_books import TimeBooks, time_books
from traced_loop.diagnose.token_books import TokenBooks, token_books
from traced_loop.diagnose.told_once import told_once
from traced_loop.diagnose.writes import writes
from traced_loop.frozen_value import frozen_value
from traced_loop.outcomes import StopReason
from traced_loop.read.agent_run import AgentRun, Gap
from traced_loop.read.dialects.span_dialect import is_ours
from traced_loop.read.span_tree import MAX_SPAN_IDS
from traced_loop.read.spending import run_cost
from traced_loop.read.trace import Problem, ProblemKind


@frozen_value
class Diagnosis:
    """What can be said of one run.

    Attributes:
        run: the run.
        time: where its wall time went.
        tokens: what its tokens were for.
        cost_usd: of the run; None where it is not known.
        findings: the most costly first.
        gaps: what the trace cannot tell, in the order of the closed list.
    """

    run: AgentRun
    time: TimeBooks
    tokens: TokenBooks
    cost_usd: Decimal | None
    findings: tuple[Finding, ...]
    gaps: tuple[Gap, ...] = ()

    @property
    def is_healthy(self) -> bool:
        """Whether nothing but notes was found, and the run is over."""
        return not self.is_paused and not self.is_running and self.is_faultless

    @property
    def is_faultless(self) -> bool:
        """Whether nothing but notes was found, so far."""
        return all(finding.severity is Severity.NOTE for finding in self.findings)

    @property
    def is_running(self) -> bool:
        """Whether the run goes on: nothing is known of its end, and more may be found."""
        return self.run.is_open and self.run.state == "running"

    @property
    def is_paused(self) -> bool:
        """Whether the run stopped for a person to decide, and did nothing wrong: it can go on."""
        paused = self.run.stop_reason == StopReason.CONFIRMATION_REQUIRED
        return paused and not any(finding.severity is Severity.ERROR for finding in self.findings)


def diagnose(run: AgentRun) -> Diagnosis:
    """Diagnose one run, of any dialect and in any state."""
    time, tokens = time_books(run), token_books(run)
    again = doubles(run)
    found = [
        *stopped(run, time, tokens),
        *writes(run),
        *stalls(run, time),
        *costs(run, tokens),
        *double_findings(run, again),
        *errors(run),
        *repeated(run),
    ]
    found += _damaged(run.problems, {finding.kind for finding in found})
    found += _missing(run)
    found = told_once(run, found)
    cost = _cost(run, tokens)
    totals = Totals(
        duration_ns=time.active_ns, cost_usd=cost, tokens=(tokens.input_tokens or 0) + (tokens.output_tokens or 0)
    )
    return Diagnosis(
        run=run,
        time=time,
        tokens=tokens,
        cost_usd=cost,
        findings=most_costly_first((_shown(run, finding) for finding in found), totals),
        gaps=tuple(gap for gap in Gap if gap in run.gaps and not _is_told(run, gap, cost)),
    )


def _shown(run: AgentRun, finding: Finding) -> Finding:
    """Calls that no span shows are shown by the requests that asked for them."""
    if finding.evidence or not finding.calls:
        return finding
    asked = {(run.calls[n].agent, run.calls[n].step) for n in finding.calls}
    spans = span_ids(r.span for r in run.requests if (r.agent, r.step) in asked)
    return replace(finding, evidence=spans) if spans else finding


def _is_told(run: AgentRun, gap: Gap, cost: Decimal | None) -> bool:
    """Whether the price table tells what the trace does not, or there is nothing to tell yet."""
    still_runs = run.is_open and run.state == "running"
    return (gap is Gap.NO_PRICES and cost is not None) or (gap is Gap.NO_STOP_REASON and still_runs)


def _cost(run: AgentRun, tokens: TokenBooks) -> Decimal | None:
    """What the run says that it cost, else the sum over its requests, each once; None where any is unknown."""
    own = next((span for span in run.trace.spans if span.key == run.run_span), None)
    said = None if own is None else run_cost(own)
    if said is not None:
        return said
    billed = [billed.request for chain in tokens.billed for billed in chain]
    costs_of = [request.cost_usd for request in billed]
    known = [cost for cost in costs_of if cost is not None]
    if known and len(known) == len(costs_of) and not tokens.uncounted:
        return sum(known, Decimal(0))
    return None if tokens.uncounted else tokens.cost_usd()


def _missing(run: AgentRun) -> Iterator[Finding]:
    """Spans that the run's receipt counted, and that are not here: what they would tell cannot be told."""
    own = next((span for span in run.trace.spans if span.key == run.run_span), None)
    started = None if own is None else own.count(names.RECEIPT_STARTED)
    here = sum(is_ours(span) and span.name != names.LATE_COMPLETION for span in run.trace.spans)
    if own is not None and started is not None and here < started:
        yield Finding(
            kind=FindingKind.DAMAGED,
            severity=Severity.NOTE,
            title=f"{started - here} of the {started} spans that the run started are not here, nor what they told",
            evidence=(own.span_id,),
            numbers={"started": started, "missing": started - here},
            prevent="read the local store, which has all of them; sampling and a full queue lose spans on their way",
        )


_WHY: Final = {
    ProblemKind.ORPHAN: "the parent had not ended, was not exported, or is kept elsewhere",
    ProblemKind.DUPLICATE: "a sender that tries again after it was heard",
    ProblemKind.CONFLICT: "two writers that use one id, or a span that was exported twice while it changed",
    ProblemKind.TORN_LINE: "the writer was killed, or writes now",
}
"""Likely causes of what is wrong with an input."""


_ALSO_FOUND: Final = {
    ProblemKind.DOUBLED: FindingKind.DOUBLED,
    ProblemKind.UNANSWERED_CALL: FindingKind.LOST_RESULT,
    ProblemKind.STRAY_RESULT: FindingKind.LOST_RESULT,
}
"""Problems of a reader that are findings of their own."""

_PREVENT: Final = {
    ProblemKind.UNANSWERED_CALL: "tell the model a result of every call, of one that failed or was not made the error:"
    " providers refuse such a history, and models make up what is missing",
    ProblemKind.STRAY_RESULT: "send each result under the id of its call, right after the answer that asked for it",
}
"""What mends those that make a run wrong, and not only its trace."""


def _damaged(problems: tuple[Problem, ...], told: set[FindingKind]) -> Iterator[Finding]:
    """What is wrong with the input, kind by kind; what a finding tells already is left out."""
    by_kind: dict[ProblemKind, list[Problem]] = {}
    for problem in problems:
        # A sum is found where it stands under the key of a request; under one of its own it misleads nobody.
        if problem.kind is not ProblemKind.ROLL_UP:
            by_kind.setdefault(problem.kind, []).append(problem)
    for kind, found in by_kind.items():
        finding = _ALSO_FOUND.get(kind, FindingKind.DAMAGED)
        if finding in told and kind not in _PREVENT:
            continue
        more = f"; and {len(found) - 1} more of this kind" if len(found) > 1 else ""
        why = f" (likely: {_WHY[kind]})" if kind in _WHY else ""
        ids = tuple(dict.fromkeys(span_id for problem in found for span_id in problem.span_ids))
        yield Finding(
            kind=finding,
            severity=Severity.ERROR if kind in _PREVENT else Severity.NOTE,
            title=f"{'' if kind in _ALSO_FOUND else f'{kind}: '}{found[0].text}{more}{why}",
            evidence=ids[:MAX_SPAN_IDS],
            numbers={"problems": len(found)},
            prevent=_PREVENT.get(kind, ""),
        )
