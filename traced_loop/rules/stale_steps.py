"""Steps that bring nothing new: how many in a row, and after how many steps the same comes again.

A step is stale when every call in it repeats a call and its result that the run has already seen. What else happened is
news: it ends the streak, and after it each old call may be made once for free (edit, then run the tests again). One
response is one step, however many calls it holds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from traced_loop.closed_words import RepetitionKind, RepetitionReaction
from traced_loop.repetition_verdict import Repetition
from traced_loop.rules.repetition_rules import RepetitionRules
from traced_loop.rules.seen_call import SeenCall

_Worth = Literal["news", "free", "stale", "known_answer", "waits"]
"""What one call is worth: something new; an old call made for the first time since the last news; a repetition; an old
answer to new arguments; nothing either way (an error that may pass, a poll)."""


@dataclass(slots=True)
class StaleSteps:
    """The steps of one agent. A few look-ups per call."""

    rules: RepetitionRules
    streak: int = 0
    good_news: bool = False
    """Whether the last step brought an answer that is new, and not that nothing was found: that is no reason to try
    again what failed."""
    _passing: int = 0
    """Steps since the last news in which everything failed again for reasons that may pass."""
    _told: RepetitionReaction | None = None
    _first: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    """Every call with its result, and every call with the words of its result: who gave it first."""
    _long: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    _made: set[str] = field(default_factory=set[str])
    """Calls since the last news."""
    _given: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Long answers since the last news, by tool."""
    _failing: dict[str, int] = field(default_factory=dict[str, int])
    """Calls with errors that may pass since the last news: who met one first."""
    _last: dict[frozenset[tuple[str, str]], int] = field(default_factory=dict[frozenset[tuple[str, str]], int])
    _number: int = 0
    _distance: int | None = None

    def step(self, calls: Sequence[SeenCall]) -> Repetition | None:
        """Take one step, without its neutral calls; what is due for the first time in this streak, or None."""
        worths: list[_Worth] = [self._worth(call) for call in calls]
        period = self._period(calls)
        firsts = [self._first_of(call) for call in calls]
        self._note(calls)
        self.good_news = any(
            worth == "news" and call.standing == "answered" and call.empty != "nothing"
            for worth, call in zip(worths, calls, strict=True)
        )
        if "news" in worths:
            self._begin(calls)
            return None
        self._made.update(_answered(calls))
        self._given.update(_answer(call) for call in calls if self._is_long(call))
        if "free" in worths:
            return None
        counted = [n for n, worth in enumerate(worths) if worth != "waits"]
        if not counted:
            return self._fails_again(calls, firsts)
        self.streak += 1
        known_answers = all(worths[n] == "known_answer" for n in counted)
        return self._due([calls[n] for n in counted], min(firsts[n] for n in counted), period, old=known_answers)

    def user_message(self) -> None:
        """Somebody said something: what is asked again is asked for that reason."""
        self._begin(())

    def _worth(self, call: SeenCall) -> _Worth:
        if call.standing == "failed_for_now":
            return "waits"
        if not self._is_known(call):
            return self._worth_of_new(call)
        if call.poll is not None:
            return "waits"
        return "stale" if call.call in self._made else "free"

    def _is_known(self, call: SeenCall) -> bool:
        if (call.call, _end(call)) in self._first:
            return True
        return call.masked is not None and call.trend in {"mixed", "same"} and (call.call, call.masked) in self._first

    def _worth_of_new(self, call: SeenCall) -> _Worth:
        """Of a call that did not end like this before: whether the tool gave its long answer to another one."""
        if not self._is_long(call) or _answer(call) not in self._long:
            return "news"
        return "known_answer" if _answer(call) in self._given else "free"

    def _is_long(self, call: SeenCall) -> bool:
        """Whether its answer is too long to be given twice by chance; not of a write, which did another thing."""
        least = self.rules.long_answer
        return call.standing == "answered" and call.effect != "write" and least is not None and call.characters >= least

    def _first_of(self, call: SeenCall) -> int:
        if call.standing == "failed_for_now":
            return self._failing.get(call.call, call.index)
        pair = (call.call, _end(call))
        if pair not in self._first and call.masked is not None:
            pair = (call.call, call.masked)
        return self._first.get(pair, self._long.get(_answer(call), call.index))

    def _period(self, calls: Sequence[SeenCall]) -> int | None:
        """Steps since the same step; None unless it was as many the time before, or 1."""
        self._number += 1
        ends = frozenset((call.call, call.masked or _end(call)) for call in calls)
        before, self._last[ends] = self._last.get(ends), self._number
        distance = None if before is None else self._number - before
        same, self._distance = distance == self._distance or distance == 1, distance
        return distance if same else None

    def _note(self, calls: Sequence[SeenCall]) -> None:
        for call in calls:
            if call.standing == "failed_for_now":
                continue
            self._first.setdefault((call.call, _end(call)), call.index)
            if call.masked is not None:
                self._first.setdefault((call.call, call.masked), call.index)
            if self._is_long(call):
                self._long.setdefault(_answer(call), call.index)

    def _begin(self, calls: Sequence[SeenCall]) -> None:
        self.streak = self._passing = 0
        self._told = None
        self._made = _answered(calls)
        self._given = {_answer(call) for call in calls if self._is_long(call)}
        self._failing = {call.call: call.index for call in calls if call.standing == "failed_for_now"}

    def _fails_again(self, calls: Sequence[SeenCall], firsts: Sequence[int]) -> Repetition | None:
        failing = [call for call in calls if call.standing == "failed_for_now"]
        again = bool(failing) and all(call.call in self._failing for call in failing)
        for call in failing:
            self._failing.setdefault(call.call, call.index)
        if not again:
            return None
        self._passing += 1
        most = self.rules.transient_stop
        if most is None or self._passing + 1 < most or self._told == "stop":
            return None
        self._told = "stop"
        return Repetition(
            kind=RepetitionKind.TRANSIENT_ERROR,
            due="stop",
            tool=failing[-1].tool,
            count=self._passing + 1,
            threshold=most,
            streak=self._passing,
            first=min(firsts),
            at=calls[-1].index,
        )

    def _due(self, calls: Sequence[SeenCall], first: int, period: int | None, *, old: bool) -> Repetition | None:
        rules, count = self.rules, self.streak + 1
        failed = all(call.standing == "failed" for call in calls)
        stop, nudge = (rules.error_stop, None) if failed else (rules.ok_stop, rules.ok_nudge)
        due: RepetitionReaction = "stop" if stop is not None and count >= stop else "nudge"
        threshold = stop if due == "stop" else nudge
        if threshold is None or count < threshold or self._told in {due, "stop"}:
            return None
        self._told = due
        return Repetition(
            kind=RepetitionKind.KNOWN_ANSWER if old else _kind(period, failed=failed),
            due=due,
            tool=calls[-1].tool,
            count=count,
            threshold=threshold,
            streak=self.streak,
            period=period,
            first=first,
            at=calls[-1].index,
        )


def _answered(calls: Sequence[SeenCall]) -> set[str]:
    """The calls that are done with; an error that may pass is no reason not to make one again."""
    return {call.call for call in calls if call.standing != "failed_for_now"}


def _end(call: SeenCall) -> str:
    """How it ended, as one text; an error never equals a result."""
    return f"error {call.error}" if call.standing != "answered" else call.result or ""


def _answer(call: SeenCall) -> tuple[str, str]:
    return call.tool, call.result or ""


def _kind(period: int | None, *, failed: bool) -> RepetitionKind:
    if period != 1:
        return RepetitionKind.CYCLE
    return RepetitionKind.DETERMINISTIC_ERROR if failed else RepetitionKind.EQUAL_STEPS
