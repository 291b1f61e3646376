"""What a run did again and again, as findings: the detector's verdicts about its calls, with their evidence."""

from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from traced_loop.diagnose.finding import Finding, FindingKind, Severity, indexes, of_calls
from traced_loop.read.agent_run import AgentRun, Gap

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


def repeated(run: AgentRun) -> Iterator[Finding]:
    """What was found, in the order in which the run did it."""
    gaps = tuple(gap for gap in _CANNOT if gap in run.gaps)
    for found in repetitions_of(run):
        calls = [run.calls[n] for n in dict.fromkeys((found.first, found.at)) if 0 <= n < len(run.calls)]
        stops = found.reaction == "stop"
        yield Finding(
            kind=FindingKind.REPETITION,
            severity=Severity.ERROR if stops else Severity.WASTE if found.reaction == "nudge" else Severity.NOTE,
            title=f"{found.told()} ({found.kind}, at call {found.at})",
            evidence=of_calls(reversed(calls)),
            calls=indexes(calls),
            numbers={"occurrences": found.count},
            prevent="stop such a run: the loop does by itself unless its reaction is observe" if stops else "",
            at_call=found.at,
            reaction=found.reaction,
            untold=gaps,
        )
