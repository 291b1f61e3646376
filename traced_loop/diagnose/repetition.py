"""Whether a stored run repeated itself, by the rules that a live run is watched by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from traced_loop import names
from traced_loop.read.agent_run import AgentRun, StoredCall
from traced_loop.read.trace import SpanKey, StoredSpan
from traced_loop.repetition_verdict import Repetition
from traced_loop.rules.repetition_detector import RepetitionDetector
from traced_loop.rules.repetition_rules import RepetitionRules, rules_in
from traced_loop.rules.seen_call import SeenCall, Standing, seen_call, standing_of, was_undone
from traced_loop.rules.undeclared_tools import named_effect, named_neutral


@dataclass(frozen=True, kw_only=True, slots=True)
class _Step:
    agent: str
    number: int
    calls: tuple[StoredCall, ...]


def repetitions(run: AgentRun, rules: RepetitionRules | None = None) -> tuple[Repetition, ...]:
    """What the run did again and again, in the order in which it was found.

    ``at`` and ``first`` are flat indexes of the run's calls. Where nobody declares what tools do, a tool whose name
    says that it writes or only thinks is taken at its word.

    Args:
        run: the run.
        rules: None for the run's own, and the defaults where it does not say.
    """
    detector = RepetitionDetector(rules or _own_rules(run) or RepetitionRules())
    spans = {span.key: span for span in run.trace.spans} if run.dialect == "traced_loop" else None
    waiting = sorted(set(run.user_messages))
    found: list[Repetition] = []
    for step in _steps(run.calls):
        while waiting and waiting[0] <= step.calls[0].index:
            waiting.pop(0)
            detector.user_message()
        seen = [_seen(call, spans) for call in step.calls]
        found.extend(detector.step(seen, agent=step.agent, number=step.number).found)
    return tuple(found)


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
