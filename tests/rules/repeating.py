"""Short ways to write down what a run did, for the tests of the repetition rules."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from traced_loop.repetition_verdict import Repetition
from traced_loop.rules.repetition_detector import RepetitionDetector, StepFound
from traced_loop.rules.repetition_rules import RepetitionRules
from traced_loop.rules.seen_call import SeenCall

USER = "a person said something"


def seen(call: str, result: str | None = "", **more: Any) -> SeenCall:
    """A call, its tool the first word, answered with this; ``!text`` is an error, ``~text`` one that passes."""
    told = result or ""
    standing = {"!": "failed", "~": "failed_for_now"}.get(told[:1], "neutral" if result is None else "answered")
    more = {"standing": standing, "error": told if told[:1] in {"!", "~"} else "", **more}
    return SeenCall(index=0, tool=call.split()[0], call=call, result=result, **more)


def watch(steps: Sequence[Any], rules: RepetitionRules | None = None, agents: Sequence[str] = ()) -> list[StepFound]:
    """What each step showed: a step is a call, a list of calls, or ``USER``."""
    detector, found, index = RepetitionDetector(rules or RepetitionRules()), list[StepFound](), 0
    for number, step in enumerate(steps, 1):
        if step == USER:
            detector.user_message()
            continue
        calls = [step] if isinstance(step, SeenCall) else step
        placed = [_at(call, index + place) for place, call in enumerate(calls)]
        agent = agents[number - 1] if agents else ""
        found.append(detector.step(placed, agent=agent, number=number))
        index += len(placed)
    return found


def all_found(steps: Sequence[Any], rules: RepetitionRules | None = None) -> list[Repetition]:
    """All that a run showed."""
    return [each for step in watch(steps, rules) for each in step.found]


def acts(steps: Sequence[Any], rules: RepetitionRules | None = None) -> list[tuple[int, str, str]]:
    """Step, kind and reaction of what was acted upon."""
    return [
        (found.step, found.kind.value, found.reaction)
        for found in all_found(steps, rules)
        if found.reaction != "observe"
    ]


def _at(call: SeenCall, index: int) -> SeenCall:
    return replace(call, index=index)
