"""What a run did again and again, as findings: the detector's verdicts about its calls, with their evidence."""

from collections.abc import Iterator
from typing import Final

from traced_loop.diagnose.finding import Finding, FindingKind, Severity, indexes, of_calls
from traced_loop.diagnose.repetition import repetitions
from traced_loop.outcomes import StopReason
from traced_loop.read.agent_run import AgentRun, Gap

_CANNOT: Final = (Gap.NO_ARGUMENTS, Gap.NO_RESULTS)


def repeated(run: AgentRun) -> Iterator[Finding]:
    """What was found, in the order in which the run did it."""
    gaps = tuple(gap for gap in _CANNOT if gap in run.gaps)
    for found in repetitions(run):
        calls = [run.calls[n] for n in dict.fromkeys((found.first, found.at)) if 0 <= n < len(run.calls)]
        stops = found.due == "stop"
        yield Finding(
            kind=FindingKind.REPETITION,
            severity=Severity.ERROR if stops else Severity.WASTE if found.due == "nudge" else Severity.NOTE,
            title=f"{found.told()} ({found.kind}, at call {found.at})",
            evidence=of_calls(reversed(calls)),
            calls=indexes(calls),
            numbers={"occurrences": found.count},
            prevent=_against(run) if stops else "",
            at_call=found.at,
            reaction=found.reaction,
            untold=gaps,
        )


def _against(run: AgentRun) -> str:
    """What ends such a run; of one that was ended for it, why it repeats itself is said with its stop."""
    if run.stop_reason == StopReason.REPETITION_DETECTED:
        return ""
    if run.dialect == "traced_loop":
        return "Loop(repetition='stop') ends such a run, after it has told the model"
    return "end such a run; `traced-loop whatif SOURCE --repetition stop` tells what that saves"
