"""Whether a stored run repeated itself, by the rules that a live run is watched by."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from traced_loop import names
from traced_loop.closed_words import RepetitionKind
from traced_loop.frozen_value import frozen_value
from traced_loop.read.agent_run import AgentRun, StoredCall
from traced_loop.read.trace import SpanKey, StoredSpan
from traced_loop.repetition_verdict import Repetition
from traced_loop.rules.repetition_detector import RepetitionDetector, StepFound
from traced_loop.rules.repetition_rules import RepetitionRules, rules_in
from traced_loop.rules.seen_call import SeenCall, Standing, seen_call, standing_of, was_undone
from traced_loop.rules.undeclared_tools import named_effect, named_neutral


@frozen_value
class _Step:
    agent: str
    number: int
    calls: tuple[StoredCall, ...]


@frozen_value
class SeenStep:
    """One step, its calls, and what the rules see of each; the step is 1-based, 0 for unknown.

    ``after_user`` is whether a person has spoken since the step before it.
    """

    number: int
    calls: tuple[StoredCall, ...]
    seen: tuple[SeenCall, ...]
    after_user: bool = False


def repetitions(run: AgentRun, rules: RepetitionRules | None = None) -> tuple[Repetition, ...]:
    """What the run did again and again, in the order in which it was found.

    ``at`` and ``first`` are flat indexes of the run's calls. Where nobody declares what tools do, a tool whose name
    says that it writes or only thinks is taken at its word.

    Args:
        run: the run.
        rules: None for the run's own, and the defaults where it does not say.
    """
    return tuple(each for _, shown in _watched(run, rules) for each in shown.found)


@dataclass(kw_only=True, slots=True)
class Streak:
    """One thing that a run did again and again, from its first occurrence until something else came.

    Attributes:
        agent: whose, ``""`` where one agent only is known.
        found: what was found of it, in its order; at least one.
        count: occurrences, the first one included.
        steps: those that repeated it; 1-based, ascending.
        last: flat index of the last call in them.
    """

    agent: str
    found: list[Repetition] = field(default_factory=list[Repetition])
    count: int = 0
    steps: list[int] = field(default_factory=list[int])
    last: int = 0

    @property
    def gravest(self) -> Repetition:
        """The first of those for which most is due."""
        return max(self.found, key=lambda each: _DUE.index(each.due))

    @property
    def alarm(self) -> Repetition:
        """The first that asks to act; else the first."""
        return next((each for each in self.found if each.reaction != "observe"), self.found[0])


_DUE = ("observe", "nudge", "stop")


def streaks(run: AgentRun) -> tuple[Streak, ...]:
    """What the run did again and again, each once, in the order in which it was found."""
    ended: list[Streak] = []
    stale: dict[str, Streak] = {}
    others: dict[tuple[str, str, str, int], Streak] = {}
    for step, shown in _watched(run, None):
        current = stale.get(step.agent)
        if current is None or shown.streak < current.count - 1 or not shown.streak:
            current = stale[step.agent] = Streak(agent=step.agent, count=1)
        if shown.streak >= current.count:
            current.count = shown.streak + 1
            current.steps.append(step.number)
            current.last = step.calls[-1].index
        for each in shown.found:
            if each.streak:
                streak = current
            else:
                key = (step.agent, each.kind, each.tool, each.first)
                streak = others.setdefault(key, Streak(agent=step.agent))
            if not streak.found:
                ended.append(streak)
            streak.found.append(each)
    for streak in others.values():
        _follow(run, streak)
    return tuple(ended)


def _follow(run: AgentRun, streak: Streak) -> None:
    """Count what came of the same after it was found, where the steps between brought something new."""
    found = streak.found[-1]
    if not 0 <= found.at < len(run.calls):
        return
    model = run.calls[found.at]
    streak.count, streak.last = found.count, found.at
    of_tool = [c for c in run.calls[found.first :] if c.agent == model.agent and c.tool == model.tool]
    steps = {call.step for call in of_tool if found.first < call.index <= found.at and _is_same(call, model, found)}
    for call in of_tool:
        if call.index <= found.at:
            continue
        if _is_same(call, model, found):
            streak.count, streak.last = streak.count + 1, call.index
            steps.add(call.step)
        elif found.kind is not RepetitionKind.REPEATED_WRITE:
            break
    streak.steps = sorted(steps)


def _is_same(call: StoredCall, model: StoredCall, found: Repetition) -> bool:
    if found.kind is RepetitionKind.EMPTY_ANSWERS:
        return call.empty is not None
    if found.kind is RepetitionKind.SAME_ERROR:
        return call.error == model.error
    return call.identity == model.identity and call.is_error == model.is_error


def _watched(run: AgentRun, rules: RepetitionRules | None) -> Iterator[tuple[_Step, StepFound]]:
    """Each step, and what it showed."""
    detector = RepetitionDetector(rules or _own_rules(run) or RepetitionRules())
    spans = {span.key: span for span in run.trace.spans} if run.dialect == "traced_loop" else None
    for step, after_user in _heard(run):
        if after_user:
            detector.user_message()
        seen = [_seen(call, spans) for call in step.calls]
        yield step, detector.step(seen, agent=step.agent, number=step.number)


def seen_steps(run: AgentRun) -> list[SeenStep]:
    """Each step of a run of ours as the rules see it, in the order in which answers were handled."""
    spans = {span.key: span for span in run.trace.spans}
    return [
        SeenStep(
            number=step.number,
            calls=step.calls,
            seen=tuple(_seen(call, spans) for call in step.calls),
            after_user=after_user,
        )
        for step, after_user in _heard(run)
    ]


def _heard(run: AgentRun) -> Iterator[tuple[_Step, bool]]:
    """Each step, and whether a person has spoken since the one before it."""
    waiting = sorted(set(run.user_messages), reverse=True)
    for step in _steps(run.calls):
        spoken = False
        while waiting and waiting[-1] <= step.calls[0].index:
            waiting.pop()
            spoken = True
        yield step, spoken


def _own_rules(run: AgentRun) -> RepetitionRules | None:
    span = next((span for span in run.trace.spans if span.key == run.run_span), None)
    text = None if span is None else span.text(names.REPETITION_RULES)
    return None if text is None else rules_in(text)


def _steps(calls: Sequence[StoredCall]) -> list[_Step]:
    """The calls of each response, in the order in which responses were handled; a call of no known step is its own."""
    groups: dict[tuple[str, int, int], list[StoredCall]] = {}
    for call in calls:
        groups.setdefault((call.agent, call.step, call.index if call.step == 0 else -1), []).append(call)
    found = [_Step(agent=key[0], number=key[1], calls=tuple(group)) for key, group in groups.items()]
    return sorted(found, key=lambda step: step.calls[-1].index)


def _seen(call: StoredCall, spans: Mapping[SpanKey, StoredSpan] | None) -> SeenCall:
    if spans is not None:
        span = spans.get(call.spans[-1]) if call.spans else None
        seen = seen_call(span.attributes if span is not None else {}, call.index)
        return was_undone(seen) if call.undone else seen
    return SeenCall(
        index=call.index,
        tool=call.tool,
        call=call.identity or "",
        standing=_standing(call),
        result=call.result,
        masked=call.masked,
        trend=call.trend,
        characters=call.result_characters or 0,
        empty=call.empty,
        error=call.error or call.error_type or call.outcome or "",
        effect=call.effect or named_effect(call.tool),
        repeatable=call.repeatable,
    )


def _standing(call: StoredCall) -> Standing:
    neutral = call.neutral or named_neutral(call.tool) or call.identity is None
    outcome = call.outcome or ("error" if call.is_error else "ok")
    error_class = call.error_class or ("deterministic" if call.is_error else None)
    return standing_of(outcome, error_class, answered=call.result is not None, neutral=neutral)
