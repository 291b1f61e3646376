"""One run of any agent, whoever wrote its trace: what every dialect gives and every finding takes.

A span of its own dialect stands behind each value, for evidence. None stands for unknown, never for zero; what the
trace cannot tell at all is a word of ``Gap``, so that a finding can say so instead of guessing.
"""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from enum import StrEnum
from typing import Literal

from traced_loop.closed_words import Emptiness, ErrorClass, Trend, UsageSource
from traced_loop.frozen_value import frozen_value
from traced_loop.outcomes import UNKNOWN_OUTCOMES, Effect, StopReason
from traced_loop.read.run_entry import RunState
from traced_loop.read.settled_write import SettledWrite
from traced_loop.read.trace import Problem, SpanKey, StoredTrace
from traced_loop.rules.pricing import Price

Dialect = Literal["traced_loop", "gen_ai", "openinference", "openllmetry", "messages"]
"""Who wrote it: ours; the GenAI conventions, current or old; OpenInference; OpenLLMetry; a log of plain messages."""


class Gap(StrEnum):
    """What a trace cannot tell."""

    NO_ARGUMENTS = "no_arguments"
    """Neither arguments nor fingerprints of them: equal calls cannot be seen."""
    NO_RESULTS = "no_results"
    """Neither results nor fingerprints of them: whether a call brought something new cannot be seen."""
    NO_TIMES = "no_times"
    """No start and end of anything."""
    NO_USAGE = "no_usage"
    """At least one request without token counts."""
    NO_PRICES = "no_prices"
    """At least one request whose price is not known."""
    NO_CALL_IDS = "no_call_ids"
    """Calls without the provider's ids: results were matched by order."""
    NO_REQUESTS = "no_requests"
    """No span of a model request."""
    NO_TOOLS = "no_tools"
    """Requests ask for tools, and no span shows them run."""
    NO_STOP_REASON = "no_stop_reason"
    """Nothing says why the run ended."""
    NO_FIRST_TOKEN = "no_first_token"  # noqa: S105 - a word, not a credential
    """Nothing says when the first part of an answer came: waiting and generating cannot be told apart."""
    NO_HISTORY = "no_history"
    """Nothing says how large the messages of a request were, beside its input tokens."""


@frozen_value
class StoredAttempt:
    """One try of a request or of a tool.

    Attributes:
        span: its own span, or None.
        number: 1-based.
        start_ns: 0 for unknown.
        end_ns: 0 for unknown or open.
        delay_ns: waited before it.
        error_type: None of one that worked.
        error_kind: a word of ``ModelErrorKind`` beside it, where the trace is ours.
        http_status: of the answer, or None.
        input_tokens: paid for this try, where it says so.
        output_tokens: likewise.
        cached_tokens: part of that input.
        model: the model that was tried, where that may be another than the request's; else ``""``.
        price: likewise, USD per million tokens behind what was paid.
    """

    span: SpanKey | None = None
    number: int = 1
    start_ns: int = 0
    end_ns: int = 0
    delay_ns: int = 0
    error_type: str | None = None
    error_kind: str = ""
    http_status: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int = 0
    model: str = ""
    price: Price | None = None


@frozen_value
class StoredRequest:
    """One request to a model, with its answer.

    Attributes:
        span: key of its span; None in a log of messages.
        step: 1-based.
        agent: who asked, ``""`` where one agent only is known.
        model: the model that was asked, ``""`` for unknown.
        response_model: the one that answered.
        response_id: the provider's id.
        provider: ``gen_ai.provider.name`` or what stands for it.
        start_ns: 0 for unknown.
        end_ns: 0 for unknown or open.
        first_token_ns: when the first part of the answer came; 0 for unknown.
        finish_reasons: the provider's words, raw.
        input_tokens: cached ones included.
        output_tokens: reasoning included.
        cached_tokens: part of the input.
        reasoning_tokens: part of the output.
        cache_write_tokens: part of the input that was written into the provider's cache.
        input_audio_tokens: part of the input.
        output_audio_tokens: part of the output.
        usage_source: who counted.
        cost_usd: None when the price is not known.
        price: USD per million tokens behind the cost; None where nothing says it.
        price_table: where that price comes from, with its version; ``""`` for a declared or unknown one.
        error_type: None of a request that was answered.
        error_kind: a word of ``ModelErrorKind`` beside it, where the trace is ours.
        asked_wait_ms: milliseconds that the server asked to wait with its last error; None for nothing, or unknown.
        http_status: of the error, or None.
        is_open: it has no end.
        attempts: more than one try; empty where one was enough, or nothing is known.
        anomalies: words of ``Anomaly``, where the trace is ours.
        call_ids: of the calls that it asked for, in order.
        called_tools: the tools' names beside them, in the same order, where known.
        text_characters: of the answer's text, where content is there.
        history_messages: messages that were sent, where known.
        is_last: a limit's last request.
        doubled: keys of other spans that show the same request, from a second instrumentation; they are not counted.
        admitted_ns: when the limits were asked before it; 0 for unknown, as in all three.
        expected_tokens: what its input was then expected to take; None for unknown.
        batch_ns: when the limits were asked before its calls.
        settled_ns: when the step was compared with the limits.
        settled_tokens: what then counted against a token limit for it, estimates included; None for unknown.
    """

    span: SpanKey | None = None
    step: int = 0
    agent: str = ""
    model: str = ""
    response_model: str = ""
    response_id: str = ""
    provider: str = ""
    start_ns: int = 0
    end_ns: int = 0
    first_token_ns: int = 0
    finish_reasons: tuple[str, ...] = ()
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_write_tokens: int | None = None
    input_audio_tokens: int | None = None
    output_audio_tokens: int | None = None
    usage_source: UsageSource | None = None
    cost_usd: Decimal | None = None
    price: Price | None = None
    price_table: str = ""
    error_type: str | None = None
    error_kind: str = ""
    asked_wait_ms: int | None = None
    http_status: int | None = None
    is_open: bool = False
    attempts: tuple[StoredAttempt, ...] = ()
    anomalies: tuple[str, ...] = ()
    call_ids: tuple[str, ...] = ()
    called_tools: tuple[str, ...] = ()
    text_characters: int | None = None
    history_messages: int | None = None
    is_last: bool = False
    doubled: tuple[SpanKey, ...] = ()
    admitted_ns: int = 0
    expected_tokens: int | None = None
    batch_ns: int = 0
    settled_ns: int = 0
    settled_tokens: int | None = None


@frozen_value
class StoredCall:
    """One call that a model asked for, and what became of it.

    Attributes:
        index: flat place over all calls of the run, 0-based.
        step: 1-based.
        agent: whose call, ``""`` where one agent only is known.
        call_id: the provider's id, or ``""``.
        tool: its name; ``_unknown`` of ours where it was not registered.
        spans: keys of the spans that show it, the one with its outcome last.
        start_ns: when it ran, else when it was looked at; 0 for unknown.
        end_ns: 0 for unknown or open.
        ran: it was carried out, whatever came of it; None where the trace does not say: see ``has_run``.
        queued_ns: waited for its turn in the batch; None for unknown.
        turn: its turn in the batch, 1-based: calls of one turn run at the same time; None for unknown.
        mode: how it ran beside the others, a word of ``ScheduleMode``; None for unknown.
        mode_reason: why, a word of ``ScheduleReason``.
        asked_span: in which a person was asked to confirm, or None.
        asked_ns: when; 0 where nobody was, or for unknown.
        waited_ns: a person took to confirm, or had when the question was cancelled.
        outcome: a word of ``Outcome``, or None where the trace does not say.
        is_error: it failed.
        is_open: it has no end.
        error_class: whether the same call can be expected to fail again.
        error_type: its type or code.
        error: identity of the error without numbers and quotes; equal for the same error about other arguments.
        identity: identity of tool and canonical arguments without what is volatile; None for unknown.
        arguments_bytes: as the model sent them.
        result: identity of the result without times, ids and the like; None for unknown.
        masked: the same without numbers.
        trend: how its numbers moved since the last result of this call with these words.
        result_characters: length of the result.
        result_bytes: likewise, before any cut.
        empty: in which way the result holds nothing, if it does.
        truncated: the model was told only a part.
        told_bytes: size of what the model was told; None for unknown.
        key: identity of a write's idempotency key; None for none and for unknown.
        appended: its result went into the history; None where the trace does not say.
        effect: as declared; None for unknown.
        timeout: seconds that its tool declares; None for none and for unknown.
        poll: declared to be asked again and again.
        neutral: it only thinks or plans, and neither counts nor resets.
        repeatable: declared to be its own each time.
        policy_rule: the rule that had the first opinion.
        policy_decision: what it said.
        validation_code: a word of ``ErrorCode`` where the arguments were refused.
        attempts: more than one try.
        replayed: it did not run: a stored result was given again.
        undone: it was done, and has been undone.
        settled: what the ledger knows by now of a write of which the trace does not; None where it has no more to say.
    """

    index: int
    step: int = 0
    agent: str = ""
    call_id: str = ""
    tool: str = ""
    spans: tuple[SpanKey, ...] = ()
    start_ns: int = 0
    end_ns: int = 0
    ran: bool | None = None
    queued_ns: int | None = None
    turn: int | None = None
    mode: str | None = None
    mode_reason: str | None = None
    asked_span: SpanKey | None = None
    asked_ns: int = 0
    waited_ns: int = 0
    outcome: str | None = None
    is_error: bool = False
    is_open: bool = False
    error_class: ErrorClass | None = None
    error_type: str | None = None
    error: str | None = None
    identity: str | None = None
    arguments_bytes: int | None = None
    result: str | None = None
    masked: str | None = None
    trend: Trend | None = None
    result_characters: int | None = None
    result_bytes: int | None = None
    empty: Emptiness | None = None
    truncated: bool = False
    told_bytes: int | None = None
    key: str | None = None
    appended: bool | None = None
    effect: Effect | None = None
    timeout: float | None = None
    poll: bool = False
    neutral: bool = False
    repeatable: bool = False
    policy_rule: str | None = None
    policy_decision: str | None = None
    validation_code: str | None = None
    attempts: tuple[StoredAttempt, ...] = ()
    replayed: bool = False
    undone: bool = False
    settled: SettledWrite | None = None

    @property
    def is_unknown(self) -> bool:
        """Whether nobody knows to this day what came of it."""
        return self.settled is None and self.outcome in UNKNOWN_OUTCOMES

    @property
    def has_run(self) -> bool:
        """Whether it was carried out: as the trace says, else where it has a time of its own."""
        return bool(self.start_ns) if self.ran is None else self.ran


@frozen_value
class AgentRun:
    """One run, as far as its trace tells it.

    Attributes:
        id: the run's own id, else the trace's, else the one of its line in a log.
        dialect: who wrote it.
        trace: the spans behind it; empty for a log of messages.
        run_span: key of the run's own span, or None.
        agents: names of the agents that take part, the first one's first.
        model: the first model that was asked, ``""`` for unknown.
        start_ns: 0 for unknown.
        end_ns: the last sign of life where the run has no end; 0 for unknown.
        is_open: the run has no end.
        state: of a run without an end whether its process lives; ``unknown`` of others, and outside of a store.
            Of one that is ``running``, ``end_ns`` is when that was seen.
        stop_reason: ours, or None.
        stop_detail: the sentence behind it.
        session_id: the conversation, or None.
        stated_input_tokens: what the run's own span says of all requests together, where it is not ours; the requests
            say it again, so it is never added to them. It is all there is where no request is shown.
        stated_output_tokens: likewise.
        requests: in the order of their start.
        calls: in the order in which the model asked for them; ``index`` is the place.
        user_messages: flat indexes of calls before which a real user's message came, the first message left out.
        gaps: what cannot be told.
        problems: what was wrong with the input.
    """

    id: str
    dialect: Dialect
    trace: StoredTrace
    run_span: SpanKey | None = None
    agents: tuple[str, ...] = ()
    model: str = ""
    start_ns: int = 0
    end_ns: int = 0
    is_open: bool = False
    state: RunState = "unknown"
    stop_reason: str | None = None
    stop_detail: str | None = None
    session_id: str | None = None
    stated_input_tokens: int | None = None
    stated_output_tokens: int | None = None
    requests: Sequence[StoredRequest] = ()
    calls: Sequence[StoredCall] = ()
    user_messages: tuple[int, ...] = ()
    gaps: frozenset[Gap] = frozenset()
    problems: tuple[Problem, ...] = ()

    @property
    def is_end_known(self) -> bool:
        """Whether ``end_ns`` is when the run ended, or was seen to go on; else it went on, nobody knows how long.

        A process that died ends nothing, and a recovery ends what it left at its last sign of life.
        """
        if self.is_open:
            return self.state == "running"
        return self.stop_reason != StopReason.UNKNOWN_AFTER_CRASH

    def without_spans(self) -> "AgentRun":
        """The run without the spans behind it, which take most of the room: for thousands of runs side by side."""
        return replace(self, trace=StoredTrace())
