"""What a run has told so far, put in order for its page: steps with their texts, calls and results, limits, waits."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from traced_loop.events import (
    AttemptFailed,
    BudgetChecked,
    BudgetWarned,
    CallCompensated,
    CallFinished,
    Event,
    ModelAnswered,
    ModelFellBack,
    RepetitionSeen,
    RunStarted,
    StepStarted,
    TextDelta,
)
from traced_loop.frozen_value import frozen_value
from traced_loop.messages import ToolCall, ToolResult
from traced_loop.run_result import Usage


@frozen_value
class LiveCall:
    """A call of an answer, and what came of it so far; ``result`` is None until it has its outcome."""

    call: ToolCall
    result: ToolResult | None = None


@frozen_value
class LiveNote:
    """Something that happened beside calls and texts.

    Attributes:
        kind: its key in the page's words.
        values: what the words name.
        delay: seconds until the next try, of a try that failed; else None.
    """

    kind: str
    values: Mapping[str, object] = field(default_factory=dict[str, object])
    delay: float | None = None

    @property
    def is_before_text(self) -> bool:
        """Whether it is about a request that was sent before the text came."""
        return self.kind in {"failed_request", "fell_back"}


@frozen_value
class LiveStep:
    """One step so far.

    Attributes:
        number: 1-based.
        text: what the model said in it, as far as it is there; ``""`` for nothing.
        is_whole: whether the answer is complete.
        finish_reason: the provider's word; None where there is none, or not yet.
        calls: what the answer asks for, in its order.
        notes: in the order in which they came.
    """

    number: int
    text: str = ""
    is_whole: bool = False
    finish_reason: str | None = None
    calls: tuple[LiveCall, ...] = ()
    notes: tuple[LiveNote, ...] = ()

    @property
    def mark(self) -> str:
        """Equal as long as it shows the same."""
        ended = sum(each.result is not None for each in self.calls)
        return f"{len(self.text)}.{self.is_whole:d}.{len(self.calls)}.{ended}.{len(self.notes)}"


@frozen_value
class LiveProgress:
    """A run so far.

    Attributes:
        run_id: None before it has begun.
        model: likewise.
        steps: in their order.
        usage: what is spent, as of the last check.
        fractions: the spent part of each limit, the nearest first.
        waits_for: key of the words for what it waits for: ``start``, ``model``, ``rest``, ``tools``, ``try``, ``next``.
        waits_of: what that names: tools, for ``tools``; seconds, for ``try``.
    """

    run_id: str | None = None
    model: str | None = None
    steps: tuple[LiveStep, ...] = ()
    usage: Usage = field(default_factory=Usage)
    fractions: Mapping[str, float] = field(default_factory=dict[str, float])
    waits_for: str = "start"
    waits_of: object = ""


def live_progress(events: Sequence[Event]) -> LiveProgress:
    """What these events tell together."""
    reader = _Reader()
    for event in events:
        reader.take(event)
    nearest = sorted(reader.fractions.items(), key=lambda limit: limit[1], reverse=True)
    waits_for, waits_of = reader.waits
    return LiveProgress(
        run_id=reader.run_id,
        model=reader.model,
        steps=tuple(step.value() for step in reader.steps),
        usage=reader.usage,
        fractions=dict(nearest),
        waits_for=waits_for,
        waits_of=waits_of,
    )


class _Step:
    def __init__(self, number: int) -> None:
        self.number = number
        self.text = ""
        self.is_whole = False
        self.finish_reason: str | None = None
        self.calls: dict[str, LiveCall] = {}
        self.notes: list[LiveNote] = []

    def value(self) -> LiveStep:
        return LiveStep(
            number=self.number,
            text=self.text,
            is_whole=self.is_whole,
            finish_reason=self.finish_reason,
            calls=tuple(self.calls.values()),
            notes=tuple(self.notes),
        )


class _Reader:
    def __init__(self) -> None:
        self.run_id: str | None = None
        self.model: str | None = None
        self.steps: list[_Step] = []
        self.usage = Usage()
        self.fractions: Mapping[str, float] = {}
        self.waits: tuple[str, object] = ("start", "")

    def take(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self.run_id, self.model = event.run_id, event.model
        elif isinstance(event, BudgetChecked):
            self.usage, self.fractions = event.usage, event.fractions
        elif isinstance(event, BudgetWarned):
            self._note("warned", limit=event.limit, percent=f"{event.fraction:.0%}")
        elif isinstance(event, (TextDelta, ModelAnswered, StepStarted)):
            self._written(event)
        elif isinstance(event, (AttemptFailed, ModelFellBack)):
            self._failed(event)
        elif isinstance(event, CallFinished):
            self._answered(event)
        elif isinstance(event, CallCompensated):
            self._note("undone", call=event.call_id, tool=event.tool, outcome=event.outcome)
        elif isinstance(event, RepetitionSeen):
            found = event.repetition
            self._note("repeated", what=found.told(), reaction=found.reaction)

    def _step(self, number: int) -> _Step:
        found = next((step for step in self.steps if step.number == number), None)
        if found is None:
            found = _Step(number)
            self.steps.append(found)
        return found

    def _note(self, kind: str, *, delay: float | None = None, **values: Any) -> None:
        step = self.steps[-1] if self.steps else self._step(1)
        step.notes.append(LiveNote(kind=kind, values=values, delay=delay))

    def _written(self, event: TextDelta | ModelAnswered | StepStarted) -> None:
        step = self._step(event.step)
        if isinstance(event, StepStarted):
            self.waits = "model", ""
        elif isinstance(event, TextDelta):
            step.text, self.waits = event.text, ("rest", "")
        else:
            step.text, step.is_whole, step.finish_reason = event.text or "", True, event.finish_reason
            step.calls.update({call.id: LiveCall(call=call) for call in event.calls})
            self._waits_for_tools(step)

    def _failed(self, event: AttemptFailed | ModelFellBack) -> None:
        self._step(event.step)
        if isinstance(event, ModelFellBack):
            self._note("fell_back", model=event.model, to=event.to_model, error=event.kind)
            self.waits = "model", ""
        elif event.call is None:
            self._step(event.step).text = ""  # the answer begins anew
            self._note("failed_request", delay=event.delay, number=event.number, error=event.kind or event.error_type)
            self.waits = "try", event.delay
        else:
            call_id, tool = event.call
            values = {"number": event.number, "error": event.error_type, "call": call_id, "tool": tool}
            self._note("failed_call", delay=event.delay, **values)

    def _answered(self, event: CallFinished) -> None:
        step, call = self._step(event.step), event.result.call
        step.calls[call.id] = LiveCall(call=call, result=event.result)
        self._waits_for_tools(step)

    def _waits_for_tools(self, step: _Step) -> None:
        open_ones = [each.call.name for each in step.calls.values() if each.result is None]
        self.waits = ("tools", ", ".join(open_ones)) if open_ones else ("next", "")
