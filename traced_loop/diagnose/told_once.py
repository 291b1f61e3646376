"""What several findings say about the same calls, said once: one hang is one finding, with one advice."""

from collections.abc import Iterable, Mapping
from typing import Final

from traced_loop.diagnose.finding import Finding, FindingKind
from traced_loop.outcomes import Outcome, StopReason
from traced_loop.read.agent_run import AgentRun

_BY_THE_END: Final[Mapping[str, frozenset[FindingKind]]] = {
    StopReason.TOOL_TIMEOUT: frozenset({FindingKind.SLOW_TOOL, FindingKind.FAILING_TOOL}),
    StopReason.DEADLINE_EXCEEDED: frozenset({FindingKind.SLOW_TOOL, FindingKind.FAILING_TOOL}),
    StopReason.CANCELLED: frozenset({FindingKind.SLOW_TOOL}),
}
"""What the finding about a run's end tells already, where it names the same calls."""
_HUNG: Final = frozenset({Outcome.TIMED_OUT, Outcome.UNKNOWN})


def told_once(run: AgentRun, found: Iterable[Finding]) -> list[Finding]:
    """The findings without those that another one tells: of the run's end, or of a tool that failed by taking long."""
    findings = list(found)
    ended = {n for each in findings if each.kind is FindingKind.STOPPED for n in each.calls}
    by_the_end = _BY_THE_END.get(run.stop_reason or "", frozenset[FindingKind]())
    failing = {n for each in findings if each.kind is FindingKind.FAILING_TOOL for n in each.calls}
    hung = {n for n in failing if run.calls[n].outcome in _HUNG}

    def is_told(each: Finding) -> bool:
        calls = set(each.calls)
        of_the_end = each.kind in by_the_end and calls <= ended
        return bool(calls) and (of_the_end or (each.kind is FindingKind.SLOW_TOOL and calls <= hung))

    return [each for each in findings if not is_told(each)]
