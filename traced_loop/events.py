"""What ``on_event`` is told while a run goes on: frozen values, in the order in which things happen."""

from collections.abc import Mapping

from traced_loop.closed_words import ModelErrorKind
from traced_loop.frozen_value import frozen_value
from traced_loop.messages import ToolCall, ToolResult
from traced_loop.outcomes import Outcome
from traced_loop.repetition_verdict import Repetition
from traced_loop.run_result import RunResult, Usage


@frozen_value
class RunStarted:
    """The root span is open."""

    run_id: str
    trace_id: str
    model: str


@frozen_value
class StepStarted:
    """A request is about to be sent. ``step`` is 1-based."""

    step: int


@frozen_value
class AttemptFailed:
    """A try of a request or of a tool failed and another will be made after ``delay`` seconds.

    Where ``TextDelta`` told text of a failed request, the answer begins anew: that text is no part of it.

    Attributes:
        number: of the try, 1-based.
        call: id and tool of the call that is tried; None for a request.
        kind: the closed word for why a request failed; None for a tool.
    """

    step: int
    number: int
    error_type: str
    delay: float
    call: tuple[str, str] | None = None
    kind: ModelErrorKind | None = None


@frozen_value
class ModelFellBack:
    """A model could not be asked any more, and the next one of the loop is asked at once, for the rest of the run.

    Attributes:
        model: name of the one that failed.
        to_model: name of the one that is asked now.
        error_type: of its last try.
        kind: the closed word for why that failed.
    """

    step: int
    model: str
    to_model: str
    error_type: str
    kind: ModelErrorKind


@frozen_value
class TextDelta:
    """A piece of a streamed answer's text has come; ``ModelAnswered`` has all of it once it is whole.

    Attributes:
        text: as the model wrote it, never empty.
        attempt: the try that it belongs to, 1-based: text of an earlier one is no part of the answer.
    """

    step: int
    text: str
    attempt: int = 1


@frozen_value
class ModelAnswered:
    """An answer has been read. ``finish_reason`` is the provider's word, raw."""

    step: int
    finish_reason: str | None
    text: str | None
    calls: tuple[ToolCall, ...]


@frozen_value
class CallFinished:
    """A call has its outcome, executed or not."""

    step: int
    result: ToolResult


@frozen_value
class CallCompensated:
    """A call that was done is to be undone, and this came of it; its result says so, too.

    Attributes:
        call_id: the call.
        tool: what undoes it; the call's own tool where nothing can.
        outcome: ``ok`` where it is undone.
    """

    step: int
    call_id: str
    tool: str
    outcome: Outcome


@frozen_value
class BudgetChecked:
    """The limits were compared.

    Attributes:
        phase: ``request``, ``batch`` or ``step``.
        outcome: ``ok``, ``warning`` or ``exceeded``.
        usage: what the run has spent.
        fractions: the spent part of each limit, 0 to 1 and beyond; a shared budget's limits as ``shared.tokens``.
    """

    phase: str
    outcome: str
    usage: Usage
    fractions: Mapping[str, float]


@frozen_value
class BudgetWarned:
    """A limit has come near: told once for each limit, right after the check that found it.

    Attributes:
        limit: its name in ``Budget``; a shared budget's as ``shared.tokens``, told to one of its runs.
        fraction: the spent part, ``warn_at`` or more.
    """

    limit: str
    fraction: float


@frozen_value
class RepetitionSeen:
    """The run has done the same thing as often as a rule says; ``repetition.reaction`` is what is done about it."""

    step: int
    repetition: Repetition


@frozen_value
class RunEnded:
    """The root span is closed; ``result`` is what the caller gets."""

    result: RunResult


Event = (
    RunStarted
    | StepStarted
    | AttemptFailed
    | TextDelta
    | ModelFellBack
    | ModelAnswered
    | CallFinished
    | CallCompensated
    | BudgetChecked
    | BudgetWarned
    | RepetitionSeen
    | RunEnded
)
