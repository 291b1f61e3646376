"""What a run did again and again, as findings: one per streak with its cost; and equal calls that nothing answers."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from traced_loop.diagnose.finding import Finding, FindingKind, Severity, indexes, of_calls
from traced_loop.diagnose.repetition import Streak, streaks
from traced_loop.diagnose.repetition_cost import with_cost
from traced_loop.outcomes import StopReason
from traced_loop.read.agent_run import AgentRun, Gap, StoredCall
from traced_loop.rules.undeclared_tools import named_neutral

_CANNOT: Final = (Gap.NO_ARGUMENTS, Gap.NO_RESULTS)
_ALIKE: Final = 3
"""Equal calls from which on it is worth a word that nothing tells what they brought; twice happens in good runs."""


def repeated(run: AgentRun) -> Iterator[Finding]:
    """What was found, in the order in which the run did it; what cannot be told of equal calls after it."""
    gaps = tuple(gap for gap in _CANNOT if gap in run.gaps)
    for streak in streaks(run):
        yield with_cost(run, _of_streak(run, streak, gaps), streak.steps, streak.agent)
    yield from _untold(run)


def _of_streak(run: AgentRun, streak: Streak, gaps: tuple[Gap, ...]) -> Finding:
    gravest, alarm = streak.gravest, streak.alarm
    places = dict.fromkeys((min(each.first for each in streak.found), max(streak.last, gravest.at)))
    calls = [run.calls[n] for n in places if 0 <= n < len(run.calls)]
    said = replace(gravest, count=max(streak.count, gravest.count))
    stops = gravest.due == "stop"
    return Finding(
        kind=FindingKind.REPETITION,
        severity=Severity.ERROR if stops else Severity.WASTE if gravest.due == "nudge" else Severity.NOTE,
        title=f"{said.told()} ({said.kind}, found at call {alarm.at})",
        evidence=of_calls(reversed(calls)),
        calls=indexes(calls),
        numbers={"occurrences": said.count},
        prevent=_against(run, streak) if stops else "",
        at_call=alarm.at,
        reaction=alarm.reaction,
        untold=gaps,
    )


def _against(run: AgentRun, streak: Streak) -> str:
    """What ends such a run, by who ran it and how; of one that was ended for it, the stop says why it did it."""
    if run.dialect != "traced_loop":
        return "end such a run; `traced-loop whatif SOURCE --repetition stop` tells what that saves"
    done = streak.gravest.reaction
    if done == "nudge":
        return "the model was told and went on: Loop(repetition='stop') ends such a run"
    if done == "observe":
        return "nothing was done about it: Loop(repetition='stop') ends such a run, after it has told the model"
    if run.stop_reason == StopReason.REPETITION_DETECTED:
        return ""
    return f"see why {streak.gravest.tool} is asked again: `traced-loop show RUN --messages`"


def _untold(run: AgentRun) -> Iterator[Finding]:
    """Equal calls of which the trace does not have what came back."""
    if run.dialect == "traced_loop":
        return
    alike: dict[tuple[str, str], list[StoredCall]] = {}
    for call in run.calls:
        if call.identity is not None and not (call.poll or call.neutral or named_neutral(call.tool)):
            alike.setdefault((call.agent, call.identity), []).append(call)
    for calls in alike.values():
        blind = [call for call in calls if call.result is None and not call.is_error]
        if len(blind) >= _ALIKE:
            yield _cannot_be_told(calls, blind)


def _cannot_be_told(calls: list[StoredCall], blind: list[StoredCall]) -> Finding:
    return Finding(
        kind=FindingKind.REPETITION,
        severity=Severity.NOTE,
        title=f"{calls[0].tool or 'a tool'} was called {len(calls)} times with the same arguments; {len(blind)} results"
        " are not in the trace: whether they brought something new cannot be told",
        evidence=of_calls(calls),
        calls=indexes(calls),
        numbers={"occurrences": len(calls), "without_result": len(blind)},
        prevent="record what tools give (gen_ai.tool.call.result): then it is told whether the run went round",
        at_call=calls[_ALIKE - 1].index,
        reaction="observe",
        untold=(Gap.NO_RESULTS,),
    )
