"""What one run has spent and why it stops: the only mutable state of the loop, owned by its controller."""

from collections.abc import Awaitable
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Any, Final

from traced_loop import names
from traced_loop.closed_words import CostSource
from traced_loop.loop.history import History
from traced_loop.loop.late_ends import LeftBehind
from traced_loop.loop.model_client import Response
from traced_loop.loop.policy import Identity
from traced_loop.loop.policy_engine import Confirmation
from traced_loop.loop.tool_executor import Executed
from traced_loop.messages import Message
from traced_loop.outcomes import STOP_RANK, StopReason
from traced_loop.repetition_verdict import Repetition
from traced_loop.rules.budget import NOTHING, Limit, Reserve
from traced_loop.rules.number_trend import NumberTrends
from traced_loop.rules.repetition import ConsecutiveCalls
from traced_loop.rules.repetition_detector import RepetitionDetector, StepFound
from traced_loop.rules.repetition_rules import RepetitionRules
from traced_loop.rules.shared_budget import Share
from traced_loop.rules.token_estimate import estimated_tokens
from traced_loop.run_result import Headroom, Pending, Usage
from traced_loop.telemetry.spans import RunScope, Span, SpanId
from traced_loop.telemetry.type_names import type_name

_USAGE_FIELDS: Final = tuple(each.name for each in fields(Usage))
_USAGE_AMOUNTS: Final = tuple(each.name for each in fields(Usage) if "Decimal" in str(each.type))
"""Kept as text: JSON has no exact numbers."""


@dataclass(slots=True, kw_only=True)
class RunState:
    """One run while it goes on."""

    scope: RunScope
    history: History
    identity: Identity | None
    begun: float
    context_tokens: int
    """Tokens that the next request is expected to hold: the last known usage plus an estimate of what was added."""
    allowed: frozenset[str] | None = None
    """Names of the tools that this run may use, beside the policy's list; None for all."""
    share: Share | None = None
    """The run's part of a budget that it shares with others."""
    kept: Reserve = NOTHING
    """What is set aside for a last request."""
    before: Usage = field(default_factory=Usage)
    """What was spent when this step began."""
    reserved: Reserve = NOTHING
    """What the request and the batch of this step had reserved."""
    warned: set[Limit] = field(default_factory=set[Limit])
    shared_rooms: dict[str, Headroom] = field(default_factory=dict[str, Headroom])
    """How far the shared budget was from its limits when the run ended."""
    model: int = 0
    """Place of the model that is asked: that of the loop, or one that stands in for it."""
    last_request: bool = False
    longest_request: float = 0.0
    longest_tool: float = 0.0
    waited: float = 0.0
    steps: int = 0
    model_requests: int = 0
    tool_calls: int = 0
    failed_tool_calls: int = 0
    tokens: int = 0
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cache_write_tokens: int = 0
    input_audio_tokens: int = 0
    output_audio_tokens: int = 0
    cost_usd: Decimal | None = Decimal(0)
    charged_usd: Decimal = Decimal(0)
    cost_source: CostSource = "unknown"
    cost_is_upper_bound: bool = False
    estimated: bool = False
    repetitions: int = 0
    begun_with: int = 0
    """Messages that were there before the run: those after them are its own."""
    calls_seen: ConsecutiveCalls = field(default_factory=ConsecutiveCalls)
    detector: RepetitionDetector = field(default_factory=lambda: RepetitionDetector(RepetitionRules()))
    step_found: StepFound = field(default_factory=StepFound)
    """What the last step showed of repetitions, until the check after it."""
    repeated: list[Repetition] = field(default_factory=list[Repetition])
    call_spans: list[SpanId | None] = field(default_factory=list[SpanId | None])
    """The span of every call of the run that ran or was refused, by its flat index."""
    trends: NumberTrends = field(default_factory=NumberTrends)
    prompted: bool = False
    """Whether a person has spoken since the last step, as the next one says."""
    answer: str | None = None
    partial: str | None = None
    stop: StopReason | None = None
    stop_detail: str = ""
    error: str | None = None
    pending: list[Pending] = field(default_factory=list[Pending])
    left_behind: list[LeftBehind] = field(default_factory=list[LeftBehind])
    """Tools that still ran when they were not waited for any more."""
    undecided: list[tuple[Span, StopReason]] = field(default_factory=list[tuple[Span, StopReason]])
    """Spans that wait to know whether the reason that they give is the run's, each with that reason."""
    asked: tuple[int, str] = (0, "")
    """How many messages the last request held, and their digest; where an engine keeps steps."""
    replayed: int = 0
    """Steps that an engine had kept, and that were not done again."""
    leaving: BaseException | None = None
    """An exception that a tool raised and that must leave the run once every call is answered."""

    @property
    def run_id(self) -> str:
        """The run."""
        return self.scope.run_id

    def usage(self) -> Usage:
        """What has been spent by now."""
        return Usage(
            steps=self.steps,
            model_requests=self.model_requests,
            tool_calls=self.tool_calls,
            failed_tool_calls=self.failed_tool_calls,
            seconds=self.active_seconds(),
            waited_seconds=self.waited,
            request_seconds=self.longest_request,
            tool_seconds=self.longest_tool,
            tokens=self.tokens,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cached_tokens=self.cached_tokens,
            reasoning_tokens=self.reasoning_tokens,
            cache_write_tokens=self.cache_write_tokens,
            input_audio_tokens=self.input_audio_tokens,
            output_audio_tokens=self.output_audio_tokens,
            # A run of which no answer had a known price cost an unknown amount, not nothing.
            cost_usd=None if self.cost_source == "unknown" else self.cost_usd,
            charged_usd=self.charged_usd,
            cost_source=self.cost_source,
            cost_is_upper_bound=self.cost_is_upper_bound and self.cost_source != "unknown",
            estimated=self.estimated,
        )

    def progress(self) -> dict[str, Any]:
        """What has been spent by now as plain JSON values, amounts as decimal text: what a run goes on from."""
        spent = self.usage()
        kept: dict[str, Any] = {name: getattr(spent, name) for name in _USAGE_FIELDS}
        for name in _USAGE_AMOUNTS:
            kept[name] = None if kept[name] is None else str(kept[name])
        kept |= {"context_tokens": self.context_tokens, "repetitions": self.repetitions, "begun_with": self.begun_with}
        return kept

    def active_seconds(self) -> float:
        """Seconds since the start, without waits for people."""
        return self.scope.clock.seconds() - self.begun - self.waited

    def catch_up(self, *, seconds: float, waited: float) -> None:
        """Count active seconds and waits for people of a process before this one, as far as they are ahead."""
        self.waited = max(self.waited, waited)
        self.begun -= max(0.0, seconds - self.active_seconds())

    def settle(self, response: Response) -> None:
        """Count what an answer used, known or estimated."""
        self.model_requests += response.requests
        self.model = response.model
        if response.context_tokens is not None:
            self.context_tokens = response.context_tokens
        billed = response.bill
        if billed is None:
            return  # nothing was answered, so nothing is known to be billed
        usage = billed.usage
        self.tokens += usage.total or 0
        self.input_tokens = _plus(self.input_tokens, usage.input)
        self.output_tokens = _plus(self.output_tokens, usage.output)
        self.cached_tokens += usage.cached
        self.reasoning_tokens += usage.reasoning
        self.cache_write_tokens += usage.cache_write
        self.input_audio_tokens += usage.input_audio
        self.output_audio_tokens += usage.output_audio
        self.estimated = self.estimated or usage.source != "provider"
        self.cost_usd = None if self.cost_usd is None or billed.cost is None else self.cost_usd + billed.cost
        self.charged_usd += billed.charged
        self.cost_is_upper_bound = self.cost_is_upper_bound or billed.is_upper_bound
        self.cost_source = billed.source if self.cost_usd is not None else "unknown"

    def keep(self, response: Response) -> None:
        """Count what had come of an answer that was left in the middle, and keep its text."""
        self.settle(response)
        self.partial = response.verdict.text or self.partial

    def added(self, messages: list[Message]) -> None:
        """Count messages that the next request will hold beside what the last answer counted."""
        self.context_tokens += estimated_tokens(messages)

    def finish(self, answer: str) -> None:
        """The run has its answer; no limit found exceeded after it takes it away."""
        self.answer, self.partial, self.stop, self.stop_detail = answer, None, StopReason.FINAL_ANSWER, ""

    def said(self) -> tuple[str | None, str]:
        """What the run says at its end, and the message schema's word for whether that is its answer."""
        return (self.partial, "error") if self.answer is None else (self.answer, "stop")

    def show_decisions(self) -> None:
        """Let the spans go that wait for the run's stop reason; it stands on those that decided it."""
        for span, reason in self.undecided:
            span.release({names.RUN_STOP_REASON: reason if reason is self.stop else None})
        self.undecided.clear()

    def take(self, executed: Executed, tool: str) -> None:
        """What the end of an execution means for the run: whether it stops, or is left."""
        if executed.stop is not None:
            self.undecided.append((executed.span, executed.stop))
        if executed.raised is not None:
            self.leaving = self.leaving or executed.raised
            self.stop_for(StopReason.CANCELLED, f"{type_name(executed.raised)} left {tool}")
        if executed.stop is not None:
            self.stop_for(executed.stop, executed.detail)

    async def person(self, asking: Awaitable[Confirmation]) -> Confirmation:
        """What a person says; the wait is not the run's time, also where it is cut off."""
        begun = self.scope.clock.seconds()
        try:
            confirmation = await asking
        except BaseException:  # cancelled while a person was asked, or an approver that raises
            self.waited += self.scope.clock.seconds() - begun
            raise
        self.waited += confirmation.waited
        return confirmation

    def stop_for(self, reason: StopReason, detail: str = "") -> None:
        """The run must stop; of several reasons that are due together the precedence of stops decides.

        What is not in it - the final answer, a refusal, a bad response - is a verdict on what happened, and stands
        whatever limit is found exceeded after it.
        """
        if self.stop is None or STOP_RANK.get(reason, len(STOP_RANK)) < STOP_RANK.get(self.stop, 0):
            self.stop, self.stop_detail = reason, detail


def _plus(total: int | None, more: int | None) -> int | None:
    return None if total is None or more is None else total + more
