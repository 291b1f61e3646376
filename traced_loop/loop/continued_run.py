"""What a resumed run goes on from: what it has spent, what it has seen, and the calls that it takes up again.

Values, made from a run's records by whoever resumes it, and put into the state of the run here.
"""

from collections.abc import Mapping
from dataclasses import field
from decimal import Decimal

from traced_loop.frozen_value import frozen_value
from traced_loop.loop.run_state import RunState
from traced_loop.messages import ToolCall, ToolResult
from traced_loop.rules.budget import Budget, check
from traced_loop.rules.seen_call import SeenCall
from traced_loop.run_result import Usage
from traced_loop.telemetry.spans import SpanId


@frozen_value
class PastStep:
    """What the repetition rules have seen of one step.

    Attributes:
        number: 1-based.
        seen: its calls; their indexes are those of ``Continued.call_spans``.
        made: identity and span of each call that was executed, replayed or refused.
        after_user: whether a person has spoken since the step before it.
    """

    number: int
    seen: tuple[SeenCall, ...] = ()
    made: tuple[tuple[str, SpanId], ...] = ()
    after_user: bool = False


@frozen_value
class OpenStep:
    """The last answer of a run, calls of which have no result that stands.

    Attributes:
        calls: all of them, in order.
        kept: results that stand, by place in the answer.
        seen: what the repetition rules have seen of the calls that have one, likewise.
        first: 0-based place of the first result in the history.
        begun: places of the calls of which an execution may have begun.
        rejected: places of the calls that a person has rejected meanwhile.
        is_suspect: nothing shows that the answer was whole: its calls are answered and not made.
    """

    calls: tuple[ToolCall, ...]
    kept: Mapping[int, ToolResult] = field(default_factory=dict[int, ToolResult])
    seen: Mapping[int, SeenCall] = field(default_factory=dict[int, SeenCall])
    first: int
    begun: frozenset[int] = frozenset()
    rejected: frozenset[int] = frozenset()
    is_suspect: bool = False


@frozen_value
class Continued:
    """A run up to where it is resumed.

    Attributes:
        number: how often it was resumed, this time included.
        root: the run's own span before, or None where that is lost.
        usage: what it has spent.
        context_tokens: what its next request is expected to hold; None to estimate it.
        repetitions: how many calls were flagged.
        begun_with: messages that were there before the run.
        past: its steps, in order; of the step that is taken up what stands of it, as the last one.
        call_spans: the span of every call by its index, None for one that has none to show.
        answer: its final answer, where that was given and its end was not recorded; nothing is asked then.
        step: the calls to be taken up, or None.
        prompt: what a person says before it goes on, or None.
        spoken: whether a person has spoken since its last step, when it was resumed before.
    """

    number: int
    root: SpanId | None = None
    usage: Usage = field(default_factory=Usage)
    context_tokens: int | None = None
    repetitions: int = 0
    begun_with: int = 0
    past: tuple[PastStep, ...] = ()
    call_spans: tuple[SpanId | None, ...] = ()
    answer: str | None = None
    step: OpenStep | None = None
    prompt: str | None = None
    spoken: bool = False

    @property
    def links(self) -> tuple[SpanId, ...]:
        """What the run's new span links to."""
        return () if self.root is None else (self.root,)

    def restore(self, state: RunState, budget: Budget) -> None:
        """Let a new state go on from here."""
        usage = self.usage
        _restore_sums(state, usage)
        # Neither what people took to answer nor the time in which there was no process is the run's.
        state.begun -= usage.seconds + usage.waited_seconds
        state.waited = usage.waited_seconds
        state.begun_with = self.begun_with
        state.repetitions = self.repetitions
        state.context_tokens = self.context_tokens or state.context_tokens
        state.warned = set(check(budget, usage).warned)
        self._restore_calls(state)

    def _restore_calls(self, state: RunState) -> None:
        state.call_spans = list(self.call_spans)
        for n, step in enumerate(self.past):
            if step.after_user:
                state.detector.user_message()
            for identity, span in step.made:
                state.calls_seen.made(identity, span)
            if self.step is not None and n == len(self.past) - 1:
                return  # it goes on, and is judged when all of its calls have ended
            state.calls_seen.end_step()
            state.repeated += state.detector.step(step.seen, number=step.number).found
        if self.spoken:
            state.detector.user_message()


def _restore_sums(state: RunState, usage: Usage) -> None:
    state.steps, state.model_requests = usage.steps, usage.model_requests
    state.tool_calls, state.failed_tool_calls = usage.tool_calls, usage.failed_tool_calls
    state.longest_request, state.longest_tool = usage.request_seconds, usage.tool_seconds
    state.tokens, state.input_tokens, state.output_tokens = usage.tokens, usage.input_tokens, usage.output_tokens
    state.cached_tokens, state.reasoning_tokens = usage.cached_tokens, usage.reasoning_tokens
    asked = usage.tokens > 0 or usage.input_tokens is None
    state.cost_usd = usage.cost_usd if usage.cost_usd is not None or asked else Decimal(0)
    state.charged_usd, state.cost_source = usage.charged_usd, usage.cost_source
    state.estimated = usage.estimated
