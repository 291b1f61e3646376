"""The closed lists of the trace beside stop reasons, outcomes and decisions; ``names`` has the keys that hold them."""

from enum import StrEnum
from typing import Literal

AttemptKind = Literal["model", "tool"]
"""What was tried: a request or a tool."""
BudgetPhase = Literal["request", "batch", "step"]
"""What is about to be spent, or was."""
BudgetOutcome = Literal["ok", "warning", "exceeded"]
"""What a comparison with the limits found; ``warning`` where a limit is first seen from its ``warn_at`` on."""
StepOutcome = Literal["final", "calls_handled", "stopped"]
"""How a step ended."""
ScheduleMode = Literal["parallel", "serial", "barrier"]
"""How a call runs beside the others of its batch."""
ScheduleReason = Literal[
    "only_call", "reads_together", "write", "confirmation", "serial_group", "depends", "max_parallel", "compensation"
]
"""Why that mode."""
OnToolError = Literal["report", "stop", "compensate"]
"""What a tool's error does to the run: it is told to the model; it ends the run; what its batch did is undone."""
UsageSource = Literal["provider", "estimated", "missing"]
"""Who counted the tokens of an answer."""
CostSource = Literal["price_table", "declared", "unknown"]
"""Where a price came from."""
CostBand = Literal["lt_0.01", "lt_0.10", "lt_1", "ge_1"]
"""A cost in USD as an exact word that any store can search; the boundary belongs to the upper band."""
ConfirmationState = Literal["approved", "rejected", "pending"]
"""What came of asking a person."""
ValidationOutcome = Literal["valid", "repaired", "rejected"]
"""What became of a call's arguments."""
Trend = Literal["same", "up", "down", "mixed"]
"""How the numbers of a call's results move; ``up`` and ``down`` are one way, and news."""
RepetitionReaction = Literal["observe", "nudge", "stop"]
"""What is done about a repetition: it is shown; the model is told, too; the run ends."""
Emptiness = Literal["silent", "nothing"]
"""In which way a result holds nothing: no text or null, which is how a command says that it is done; or a list or an
object without members, which is how a search says that it found nothing."""
ErrorClass = Literal["deterministic", "transient"]
"""Whether the same call can be expected to fail again."""

DeliveryState = Literal["off", "not_sampled", "pending", "delivered", "partly", "failed", "unknown"]
"""What became of a run's spans: nothing is exported; this run was not to be; some still wait; a collector took all, a
part, none; nobody here knows (the application's own provider, or too long ago)."""

Refusal = Literal[
    "too_large",
    "invalid",
    "partial_success",
    "unreadable",
    "redirect",
    "unauthorized",
    "not_found",
    "busy",
    "server_error",
    "unreachable",
    "other",
]
"""Why spans were not taken. The first four may be the fault of a single span; ``unreadable`` is one that the store
holds damaged. The others are about the collector or the way to it: asked again later, it may take all of them."""

WaitsFor = Literal["model", "tool", "confirmation", "policy", "loop"]
"""What a run waits for: the model's answer, a tool, a person, a rule that decides, or nothing but the loop's own work
and the application's callbacks."""
SpanFate = Literal["accepted", "refused", "dropped"]
"""What became of a span that was given to an exporter: a collector took it, did not take it, or was never asked, since
the queue was full."""


class Anomaly(StrEnum):
    """What can be odd in a provider's answer, and what was made of it."""

    STOP_WITH_TOOL_CALLS = "stop_with_tool_calls"
    """Finish reason ``stop`` beside complete calls."""
    FINISH_REASON_CONTRADICTS_CALLS = "finish_reason_contradicts_calls"
    """Calls beside a finish reason that is neither ``tool_calls`` nor a cut."""
    TOOL_CALLS_MISSING = "tool_calls_missing"
    """Finish reason ``tool_calls`` without any call."""
    FINISH_REASON_MISSING = "finish_reason_missing"
    """No terminal reason at all."""
    HIDDEN_TRUNCATION = "hidden_truncation"
    """Unterminated arguments at the output limit under an innocent finish reason."""
    ID_SYNTHESIZED = "id_synthesized"
    """A call came without an id; one was made."""
    ID_DUPLICATE = "id_duplicate"
    """Two different calls shared an id; the later one got a new id."""
    CALL_ECHO = "call_echo"
    """The same call with the same id twice in one answer; kept once."""
    ARGUMENTS_NOT_TEXT = "arguments_not_text"
    """Arguments came as an object or null instead of JSON text."""
    ARGUMENTS_EMPTY = "arguments_empty"
    """Blank arguments for a tool without required parameters, taken as ``{}``."""
    ARGUMENTS_DOUBLE_ENCODED = "arguments_double_encoded"
    """An object inside a JSON string; one layer was removed."""
    ARGUMENTS_FENCED = "arguments_fenced"
    """One markdown fence around the whole value; removed."""
    TEXT_NOT_UNICODE = "text_not_unicode"
    """Unpaired surrogates in the answer; replaced by U+FFFD."""
    NUMBER_NOT_JSON = "number_not_json"
    """NaN or an infinity in the answer, which no JSON holds; replaced by null."""
    USAGE_MISSING = "usage_missing"
    """No usable token counts; estimated from the text."""
    USAGE_INCONSISTENT = "usage_inconsistent"
    """More cached tokens than input tokens, or counts of the wrong type."""
    MALFORMED_CALL = "malformed_call"
    """An entry of the calls that is not a function call."""
    SEVERAL_CHOICES = "several_choices"
    """More than one choice; only the first is used."""


class ErrorCode(StrEnum):
    """Why a call was refused, in the order in which the validator asks."""

    UNKNOWN_TOOL = "unknown_tool"
    NOT_JSON = "not_json"
    NOT_OBJECT = "not_object"
    MISSING_FIELD = "missing_field"
    UNEXPECTED_FIELD = "unexpected_field"
    WRONG_TYPE = "wrong_type"
    OUT_OF_RANGE = "out_of_range"
    TOO_LARGE = "too_large"


class RepetitionKind(StrEnum):
    """Kinds of repetition."""

    IDENTICAL_CALL = "identical_call"
    """Same tool and same canonical arguments as a call of the previous step; shown on the call, whatever it brought."""
    EQUAL_STEPS = "equal_steps"
    """The same calls brought the same results, step after step."""
    CYCLE = "cycle"
    """Calls that take turns, regularly or not, brought what they had brought before."""
    KNOWN_ANSWER = "known_answer"
    """Other arguments brought a long answer that the tool had already given."""
    DETERMINISTIC_ERROR = "deterministic_error"
    """The same call met the same error, which it will meet again."""
    TRANSIENT_ERROR = "transient_error"
    """The same call met errors that may pass, and did not."""
    SAME_ERROR = "same_error"
    """A tool met the same error in a row, about other arguments each time."""
    REPEATED_WRITE = "repeated_write"
    """The same write was applied again."""
    EMPTY_ANSWERS = "empty_answers"
    """A tool gave nothing many times in a row; a warning, never more."""
    POLL_EXHAUSTED = "poll_exhausted"
    """A tool that is declared a poll gave the same answer more often than its declaration allows."""
