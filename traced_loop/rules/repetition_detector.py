"""Whether a run repeats itself: asked after each step, live or on a stored trace, with the same answer.

State is kept per agent; a call costs a few look-ups, whatever came before it. Nothing here waits, reads or writes.
"""

from collections.abc import Sequence
from dataclasses import replace

from traced_loop.frozen_value import frozen_value
from traced_loop.repetition_verdict import Repetition
from traced_loop.rules.repeated_errors import RepeatedErrors
from traced_loop.rules.repeated_writes import RepeatedWrites
from traced_loop.rules.repetition_rules import RepetitionRules
from traced_loop.rules.same_answers import SameAnswers
from traced_loop.rules.seen_call import SeenCall
from traced_loop.rules.stale_steps import StaleSteps


@frozen_value
class StepFound:
    """What one step showed.

    Attributes:
        streak: steps in a row, up to this one, that brought nothing new.
        found: what has reached a number of the rules with this step, the gravest first.
    """

    streak: int = 0
    found: tuple[Repetition, ...] = ()

    @property
    def gravest(self) -> Repetition | None:
        """What is to be done about this step, if anything."""
        return self.found[0] if self.found else None


class RepetitionDetector:
    """Watches the steps of one run."""

    def __init__(self, rules: RepetitionRules) -> None:
        self.rules = rules
        self._agents: dict[str, _Agent] = {}

    def step(self, calls: Sequence[SeenCall], *, agent: str = "", number: int = 0) -> StepFound:
        """Take all calls of one response, once they have ended.

        Args:
            calls: in call order; neutral ones neither count nor reset.
            agent: whose step; each agent is watched by itself.
            number: of the step, for the verdicts.
        """
        counting = [call for call in calls if call.standing != "neutral"]
        watched = self._agents.get(agent)
        if watched is None:
            watched = self._agents[agent] = _Agent(self.rules)
        if not counting:
            return StepFound(streak=watched.stale.streak)
        shown = [each.allowed(self.rules.reaction) for each in watched.step(counting)]
        found = [replace(each, step=number, streak=watched.stale.streak) for each in shown]
        found.sort(key=lambda each: each.rank, reverse=True)
        return StepFound(streak=watched.stale.streak, found=tuple(found))

    def user_message(self) -> None:
        """A person said something to the run; a nudge or another message of the program is none."""
        for watched in self._agents.values():
            watched.user_message()


class _Agent:
    def __init__(self, rules: RepetitionRules) -> None:
        self.stale = StaleSteps(rules)
        self._errors = RepeatedErrors(rules)
        self._writes = RepeatedWrites(rules)
        self._answers = SameAnswers(rules)

    def step(self, calls: Sequence[SeenCall]) -> list[Repetition]:
        stale = self.stale.step(calls)
        errors = self._errors.step(calls, good_news=self.stale.good_news)
        found = [*self._writes.step(calls), *errors, *self._answers.step(calls)]
        if stale is not None and stale.due not in {each.due for each in errors}:
            found.append(stale)
        return found

    def user_message(self) -> None:
        for each in (self.stale, self._errors, self._writes, self._answers):
            each.user_message()
