"""Answers that tell nothing, counted call by call: empty ones of a tool, and the same one to a poll."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from traced_loop.closed_words import RepetitionKind, RepetitionReaction
from traced_loop.repetition_verdict import Repetition
from traced_loop.rules.repetition_rules import RepetitionRules
from traced_loop.rules.seen_call import SeenCall


@dataclass(slots=True)
class _Count:
    result: str
    first: int
    count: int = 1


@dataclass(slots=True)
class SameAnswers:
    """The answers of one agent's tools."""

    rules: RepetitionRules
    _empty: dict[str, _Count] = field(default_factory=dict[str, _Count])
    _polls: dict[str, _Count] = field(default_factory=dict[str, _Count])

    def step(self, calls: Sequence[SeenCall]) -> list[Repetition]:
        """Take one step, without its neutral calls."""
        answered = [call for call in calls if call.standing == "answered"]
        found = [each for call in answered for each in (self._empty_again(call), self._polled_again(call))]
        return [each for each in found if each is not None]

    def user_message(self) -> None:
        """Somebody said something: counts begin again."""
        self._empty.clear()
        self._polls.clear()

    def _empty_again(self, call: SeenCall) -> Repetition | None:
        if call.empty is None or call.effect == "write":
            self._empty.pop(call.tool, None)
            return None
        known = self._empty.get(call.tool)
        if known is None:
            self._empty[call.tool] = _Count("", call.index)
            return None
        known.count += 1
        if known.count != self.rules.empty_warning:
            return None
        return _repetition(RepetitionKind.EMPTY_ANSWERS, "observe", call, known)

    def _polled_again(self, call: SeenCall) -> Repetition | None:
        """One more than allowed is nudged, two more are stopped."""
        if call.poll is None:
            return None
        known, result = self._polls.get(call.call), call.result or ""
        if known is None or (known.result != result and call.trend not in {"mixed", "same"}):
            self._polls[call.call] = _Count(result, call.index)
            return None
        known.count += 1
        due: dict[int, RepetitionReaction] = {call.poll + 1: "nudge", call.poll + 2: "stop"}
        if known.count not in due:
            return None
        return _repetition(RepetitionKind.POLL_EXHAUSTED, due[known.count], call, known)


def _repetition(kind: RepetitionKind, due: RepetitionReaction, call: SeenCall, known: _Count) -> Repetition:
    return Repetition(
        kind=kind,
        due=due,
        tool=call.tool,
        count=known.count,
        threshold=known.count,
        first=known.first,
        at=call.index,
    )
