"""The same error again: of the same call, also across messages of the user, or of one tool whatever its arguments."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from traced_loop.closed_words import RepetitionKind, RepetitionReaction
from traced_loop.repetition_verdict import Repetition
from traced_loop.rules.repetition_rules import RepetitionRules
from traced_loop.rules.seen_call import SeenCall


@dataclass(slots=True)
class _Count:
    error: str
    first: int
    count: int = 1


@dataclass(slots=True)
class RepeatedErrors:
    """The errors of one agent that will come again; a step counts once. An answer that is news ends every count."""

    rules: RepetitionRules
    _equal: dict[tuple[str, str], _Count] = field(default_factory=dict[tuple[str, str], _Count])
    _by_tool: dict[str, _Count] = field(default_factory=dict[str, _Count])

    def step(self, calls: Sequence[SeenCall], *, good_news: bool) -> list[Repetition]:
        """Take one step, without its neutral calls."""
        if good_news:
            self._equal.clear()
            self._by_tool.clear()
        return [*self._step_of_calls(calls), *self._step_of_tools(calls)]

    def user_message(self) -> None:
        """Somebody said something: other arguments may be theirs. The same call with the same error is still that."""
        self._by_tool.clear()

    def _step_of_calls(self, calls: Sequence[SeenCall]) -> list[Repetition]:
        failed = {(call.call, call.error): call for call in calls if call.standing == "failed"}
        found: list[Repetition] = []
        for pair, call in failed.items():
            known = self._equal.get(pair)
            if known is None:
                self._equal[pair] = _Count(call.error, call.index)
                continue
            known.count += 1
            if known.count == self.rules.error_stop:
                found.append(_repetition(RepetitionKind.DETERMINISTIC_ERROR, "stop", call, known))
        return found

    def _step_of_tools(self, calls: Sequence[SeenCall]) -> list[Repetition]:
        groups: dict[str, list[SeenCall]] = {}
        for call in calls:
            groups.setdefault(call.tool, []).append(call)
        found = [self._step_of_tool(tool, group) for tool, group in groups.items()]
        return [each for each in found if each is not None]

    def _step_of_tool(self, tool: str, calls: Sequence[SeenCall]) -> Repetition | None:
        if any(call.standing == "answered" for call in calls):
            self._by_tool.pop(tool, None)
            return None
        failed = {call.error: call for call in calls if call.standing == "failed"}
        if not failed:
            return None
        known = self._by_tool.get(tool)
        if known is None or known.error not in failed:
            error = min(failed)  # one of them, whatever their order
            self._by_tool[tool] = _Count(error, failed[error].index)
            return None
        known.count += 1
        due = self._due(known.count)
        return None if due is None else _repetition(RepetitionKind.SAME_ERROR, due, failed[known.error], known)

    def _due(self, count: int) -> RepetitionReaction | None:
        if count == self.rules.same_error_stop:
            return "stop"
        return "nudge" if count == self.rules.same_error_nudge else None


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
