"""What the repetition rules find, in numbers: nothing of a call or of a result is in it."""

from dataclasses import replace

from traced_loop.closed_words import RepetitionKind, RepetitionReaction
from traced_loop.frozen_value import frozen_value

_RANK: dict[RepetitionReaction, int] = {"observe": 0, "nudge": 1, "stop": 2}


@frozen_value
class Repetition:
    """One thing that a run has done again and again.

    Attributes:
        kind: what is repeated.
        due: what its number asks for.
        reaction: what is done: what is due, as far as the rules allow it.
        tool: the tool of the call that completed it.
        count: occurrences of the same thing, the first one included; of a cycle the steps since its last news.
        threshold: the number that ``count`` has reached.
        streak: steps in a row that brought nothing new.
        period: steps until the same comes again, 1 for equal steps; None where it is not told.
        first: flat index of the call that did it first.
        at: flat index of the call that completed it.
        step: 1-based; 0 where nobody counts.
    """

    kind: RepetitionKind
    due: RepetitionReaction
    reaction: RepetitionReaction = "observe"
    tool: str
    count: int
    threshold: int
    streak: int = 0
    period: int | None = None
    first: int
    at: int
    step: int = 0

    @property
    def rank(self) -> int:
        """What is done, as a number: more is more."""
        return _RANK[self.reaction]

    def allowed(self, most: RepetitionReaction) -> "Repetition":
        """The same with what is due done as far as ``most``."""
        reaction = self.due if _RANK[self.due] <= _RANK[most] else most
        return replace(self, reaction=reaction)

    def told(self) -> str:
        """One short sentence with the tool and the numbers, without content."""
        return f"{self.tool} {_SAID[self.kind].format(count=self.count)}{self._again()}"

    def _again(self) -> str:
        return f", every {self.period} steps" if self.period is not None and self.period > 1 else ""


_SAID = {
    RepetitionKind.IDENTICAL_CALL: "was called {count} times alike",
    RepetitionKind.EQUAL_STEPS: "brought the same {count} times",
    RepetitionKind.CYCLE: "and the calls around it brought nothing new in {count} steps",
    RepetitionKind.KNOWN_ANSWER: "gave an answer that it had already given {count} times",
    RepetitionKind.DETERMINISTIC_ERROR: "failed {count} times alike",
    RepetitionKind.TRANSIENT_ERROR: "failed {count} times for reasons that were to pass",
    RepetitionKind.SAME_ERROR: "failed {count} times in a row with the same error about other arguments",
    RepetitionKind.REPEATED_WRITE: "wrote the same {count} times",
    RepetitionKind.EMPTY_ANSWERS: "gave {count} empty answers in a row",
    RepetitionKind.POLL_EXHAUSTED: "gave the same answer {count} times, more than its poll allows",
}
