"""The closed lists of the trace beside stop reasons, outcomes and decisions; ``names`` has the keys that hold them."""

from enum import StrEnum
from typing import Literal

ReconcileAnswer = Literal["done", "not_done", "unknown", "failed"]
"""What a tool found out of a write of which nobody knew what came of it; ``failed`` where it could not be asked."""
ReconcileCause = Literal["timeout", "error", "earlier"]
"""Why nobody knew: it gave no answer in its time, it raised, or it is of an earlier call."""
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
CostSource = Literal["price_table", "declared", "provider", "unknown"]
"""Where a cost came from: a price of the table or of the caller, or the provider's own bill beside the answer."""
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

StoreFault = Literal["locked", "full", "read_only", "gone", "damaged", "newer", "unusable"]
"""What is wrong with a store: another process holds it; the disk is full; nothing may be written; its file was taken
away; it is no database any more; a newer version wrote it; something else."""


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
    FINISH_REASON_UNKNOWN = "finish_reason_unknown"
    """A finish reason that is none that is known, and no calls."""
    CALL_AS_TEXT = "call_as_text"
    """The answer's text is a call of an offered tool in the notation of some model; it is not run."""
    CALL_DEPRECATED = "call_deprecated"
    """A call in the field ``function_call``, which the protocol gave up; it is not run."""
    NAME_NOT_VALID = "name_not_valid"
    """A call of a name that no tool can have; it is unknown, and nothing is made of it."""
    CONTENT_NOT_TEXT = "content_not_text"
    """Content that is neither text nor a list of parts; replaced by null."""
    CONTENT_TYPE_WRONG = "content_type_wrong"
    """A JSON body under the type of something else; read as the JSON that it is."""
    HIDDEN_TRUNCATION = "hidden_truncation"
    """Unterminated arguments at the output limit under an innocent finish reason."""
    ITEM_INCOMPLETE = "item_incomplete"
    """A message or a call that is not complete, in an answer that is said to be."""
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
    STREAM_IGNORED = "stream_ignored"
    """The answer came whole although a stream was asked for."""
    STREAM_INDEX_MISSING = "stream_index_missing"
    """Pieces of calls without an index, put together by id or by order."""
    STREAM_INDEX_REUSED = "stream_index_reused"
    """Several calls of a stream under one index, told apart by id or by where the arguments end."""
    STREAM_INDEX_GAP = "stream_index_gap"
    """The indexes of a stream's calls do not count from 0 without a hole; the calls that came are taken."""
    STREAM_CALL_UNCLEAR = "stream_call_unclear"
    """A piece of a call that can be read in two ways, or in none: no call of the answer runs."""
    STREAM_UNFINISHED = "stream_unfinished"
    """A stream that said that it was over before it gave a finish reason."""
    STREAM_FINISH_CHANGED = "stream_finish_changed"
    """Two different finish reasons in one stream; the one that permits less counts."""
    STREAM_AFTER_FINISH = "stream_after_finish"
    """Text or calls that came after the finish reason; they count."""
    STREAM_EVENT_ODD = "stream_event_odd"
    """An event of a stream that is JSON and no object; skipped."""
    REPLAY_DIVERGED = "replay_diverged"
    """A recorded answer to a request that differs from the recorded one."""


class ModelErrorKind(StrEnum):
    """Why a request to a model failed; ``rules.model_error_kinds`` says what follows from each."""

    CONNECTION = "connection"
    """No connection, or one that broke before the answer was there."""
    TIMEOUT = "timeout"
    """No answer in time: ours was over, or the server gave up (408, 504)."""
    STALLED = "stalled"
    """A stream that stopped in the middle, though its connection stood."""
    CONFLICT = "conflict"
    """The server was busy with something that the request needs (409)."""
    RATE_LIMITED = "rate_limited"
    """Too many requests or tokens for now (429)."""
    QUOTA_EXHAUSTED = "quota_exhausted"
    """No credit or no quota is left (402, or 429 with such a word): waiting does not help."""
    OVERLOADED = "overloaded"
    """The server is up and takes no more for now (503, 529, or such a word)."""
    SERVER_ERROR = "server_error"
    """The server or what stands behind it failed (5xx)."""
    TOOL_USE_FAILED = "tool_use_failed"
    """The server could not read the call that the model wrote, and gave none of its answer."""
    CONTEXT_TOO_LONG = "context_too_long"
    """The history does not fit into the model's context."""
    REQUEST_TOO_LARGE = "request_too_large"
    """One request is larger than the server takes, or than the account's rate allows at all (413)."""
    AUTH = "auth"
    """The key is missing, wrong or expired (401)."""
    PERMISSION = "permission"
    """The key may not do this (403)."""
    NOT_FOUND = "not_found"
    """No such model, deployment or address (404)."""
    REDIRECTED = "redirected"
    """The server points elsewhere (3xx), where nothing is sent."""
    INVALID_REQUEST = "invalid_request"
    """The server does not take the request as it is (another 4xx), or it cannot be written at all."""
    CONTENT_FILTERED = "content_filtered"
    """The provider's filter refused the request."""
    INVALID_RESPONSE = "invalid_response"
    """The body of the answer cannot be read as JSON."""
    NO_ANSWER = "no_answer"
    """A readable body without a message in it: another API, or a page of a proxy."""
    REPLAY_DIVERGED = "replay_diverged"
    """The request differs from the recorded one."""
    REPLAY_ENDED = "replay_ended"
    """The request comes after the last recorded one."""
    REPLAY_INCOMPLETE = "replay_incomplete"
    """What came of the recorded request is not known."""
    OTHER = "other"
    """Nothing that is known tells."""


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
