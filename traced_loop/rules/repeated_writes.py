"""A write that succeeds again, whatever its result says: a fresh id in it is a sign of a second effect, not of news."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from traced_loop.closed_words import RepetitionKind
from traced_loop.repetition_verdict import Repetition
from traced_loop.rules.repetition_rules import RepetitionRules
from traced_loop.rules.seen_call import SeenCall


@dataclass(slots=True)
class _Count:
    first: int
    others: int
    count: int = 1


@dataclass(slots=True)
class RepeatedWrites:
    """The writes of one agent since the last message of the user.

    A write that was not made before starts the count of all others anew from one: a copy that is restored before each
    further edit is no loop. A second success is shown all the same.
    """

    rules: RepetitionRules
    _made: dict[str, _Count] = field(default_factory=dict[str, _Count])
    _others: int = 0

    def step(self, calls: Sequence[SeenCall]) -> list[Repetition]:
        """Take one step, without its neutral calls."""
        writes = {
            call.call: call
            for call in calls
            if call.effect == "write" and call.standing == "answered" and not call.repeatable
        }
        # What is new in this step lies before what is repeated in it: their order is the scheduler's.
        self._others += any(call not in self._made for call in writes)
        found = [self._again(call) for call in writes.values()]
        return [each for each in found if each is not None]

    def user_message(self) -> None:
        """Somebody said something: they may want it again."""
        self._made.clear()

    def _again(self, call: SeenCall) -> Repetition | None:
        known = self._made.get(call.call)
        if known is None:
            self._made[call.call] = _Count(call.index, self._others)
            return None
        known.count = known.count + 1 if known.others == self._others else 2
        known.others = self._others
        stop, event = self.rules.write_stop, self.rules.write_event
        threshold = stop if known.count == stop else event if known.count == event else None
        if threshold is None:
            return None
        return Repetition(
            kind=RepetitionKind.REPEATED_WRITE,
            due="stop" if threshold == stop else "observe",
            tool=call.tool,
            count=known.count,
            threshold=threshold,
            first=known.first,
            at=call.index,
        )
