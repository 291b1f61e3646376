"""What a run did again and again, as findings: the detector's verdicts about its calls, with their evidence."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final, Protocol

from traced_loop.diagnose.finding import Finding, FindingKind, Severity, indexes, of_calls
from traced_loop.read.agent_run import AgentRun, Gap, StoredCall, StoredRequest

_CANNOT: Final = (Gap.NO_ARGUMENTS, Gap.NO_RESULTS)


class FoundRepetition(Protocol):
    """What a detector says of one repetition; ``at`` and ``first`` are flat indexes of calls."""

    @property
    def kind(self) -> str:
        """What is repeated."""
        ...

    @property
    def reaction(self) -> str:
        """``observe``, ``nudge`` or ``stop``."""
        ...

    @property
    def count(self) -> int:
        """Occurrences of the same thing, the first one included."""
        ...

    @property
    def first(self) -> int:
        """The call that did it first."""
        ...

    @property
    def at(self) -> int:
        """The call that completed it."""
        ...

    def told(self) -> str:
        """One short sentence."""
        ...


def repetitions_of(run: AgentRun) -> Sequence[FoundRepetition]:
    """What the detector finds in a run. The one place that asks it."""
    del run
    return ()


def _again(run: AgentRun, calls: Sequence[StoredCall]) -> list[StoredRequest]:
    """The requests that asked for the same again: those after the first occurrence's, up to the last one's."""
    if len(calls) < 2:
        return []
    first, last = calls[0], calls[-1]
    return [r for r in run.requests if r.agent == last.agent and first.step < r.step <= last.step]


def repeated(run: AgentRun) -> Iterator[Finding]:
    """What was found, in the order in which the run did it."""
    gaps = tuple(gap for gap in _CANNOT if gap in run.gaps)
    for found in repetitions_of(run):
        calls = [run.calls[n] for n in dict.fromkeys((found.first, found.at)) if 0 <= n < len(run.calls)]
        stops = found.reaction == "stop"
        again = _again(run, calls)
        costs = [request.cost_usd for request in again]
        known = [cost for cost in costs if cost is not None]
        yield Finding(
            kind=FindingKind.REPETITION,
            severity=Severity.ERROR if stops else Severity.WASTE if found.reaction == "nudge" else Severity.NOTE,
            title=f"{found.told()} ({found.kind}, at call {found.at})",
            evidence=of_calls(reversed(calls)),
            calls=indexes(calls),
            numbers={"occurrences": found.count, "requests": len(again)},
            cost_usd=sum(known, Decimal(0)) if known and len(known) == len(costs) else None,
            cost_tokens=sum((r.input_tokens or 0) + (r.output_tokens or 0) for r in again) or None,
            prevent="let the loop end such a run: its reaction to repetition is to stop, unless it was told otherwise",
            at_call=found.at,
            reaction=found.reaction,
            untold=gaps,
        )
