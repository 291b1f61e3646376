"""What a run gives back: the answer, why it stopped, what it used, and what was recorded of it."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field
from decimal import Decimal
from typing import Literal

from traced_loop.closed_words import CostSource, DeliveryState
from traced_loop.errors import RunStopped
from traced_loop.frozen_value import frozen_value
from traced_loop.messages import Message, ToolCall
from traced_loop.outcomes import Effect, Risk, StopReason
from traced_loop.repetition_verdict import Repetition

ExportKind = Literal["otlp", "console", "jaeger", "application", "none"]
"""Who exports spans: our own exporter, the console's, the application's provider (delivery unknown), or nobody."""


@frozen_value
class Usage:
    """What a run has spent; the names are those of the limits in ``Budget``.

    Attributes:
        steps: steps begun.
        model_requests: requests sent, attempts included.
        tool_calls: calls executed.
        failed_tool_calls: executed calls that ended in anything but ``ok``.
        seconds: active time on the monotonic clock; waits for a confirmation are left out.
        waited_seconds: what people took to answer, beside ``seconds``.
        request_seconds: the longest request, attempts included.
        tool_seconds: the longest call of a tool that declares no timeout of its own.
        tokens: input and output together, estimates included.
        input_tokens: None when any answer's count is unknown.
        output_tokens: None when any answer's count is unknown.
        cached_tokens: part of the input that came from the provider's cache.
        reasoning_tokens: part of the output that was reasoning.
        cache_write_tokens: part of the input that was written into the provider's cache.
        input_audio_tokens: part of the input that was audio.
        output_audio_tokens: part of the output that was audio.
        cost_usd: None when any answer has no known price.
        charged_usd: what counts against a cost limit: the known cost, and estimates where it is unknown.
        cost_source: where the costs came from.
        cost_is_upper_bound: cached input was billed as input somewhere, since nobody says its rate.
        estimated: True when any token count is our estimate.
    """

    steps: int = 0
    model_requests: int = 0
    tool_calls: int = 0
    failed_tool_calls: int = 0
    seconds: float = 0.0
    waited_seconds: float = 0.0
    request_seconds: float = 0.0
    tool_seconds: float = 0.0
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


@frozen_value
class Headroom:
    """One limit at the end of a run; ``remaining`` is never negative.

    Of a limit that holds for one request or one call, ``used`` is the longest one. Of a shared budget's, ``used`` is
    what all its runs had spent by then, and ``remaining`` leaves out what those that went on had reserved.
    """

    limit: float
    used: float
    remaining: float


@frozen_value
class Pending:
    """A call that waits for a person: shown before it is confirmed, bound to exactly these arguments.

    Attributes:
        call: as the model proposed it.
        tool: the registered tool.
        arguments: validated, as plain JSON values; a copy.
        reason: why a person is asked, in the rule's words.
        rule: the rule that asks.
        effect: ``read`` or ``write``.
        risk: as the tool declares it.
        fingerprint: of tool and arguments, the same as on the call's spans: another one is another question.
    """

    call: ToolCall
    tool: str
    arguments: Mapping[str, object]
    reason: str
    rule: str = ""
    effect: Effect = "write"
    risk: Risk = "low"
    fingerprint: str = ""


@frozen_value
class Delivery:
    """What became of a run's spans on their way to a collector, at the moment of asking.

    Attributes:
        state: the word of the closed list.
        accepted: spans that the collector took, as far as it says; None when nobody here knows.
        refused: spans that it did not take, or that found the queue full; None likewise.
        waiting: spans that are still to be sent; None likewise.
    """

    state: DeliveryState
    accepted: int | None = None
    refused: int | None = None
    waiting: int | None = None

    @property
    def spans(self) -> int | None:
        """All of them together."""
        counts = (self.accepted, self.refused, self.waiting)
        return None if None in counts else sum(count or 0 for count in counts)


class LiveDelivery:
    """The question what became of a run's spans, to be asked at any time; pickled or copied, it is the answer."""

    __slots__ = ("_ask",)

    def __init__(self, ask: Callable[[], Delivery]) -> None:
        self._ask = ask

    def __call__(self) -> Delivery:
        """The answer by now."""
        return self._ask()

    def __reduce__(self) -> tuple[Callable[[Delivery], "LiveDelivery"], tuple[Delivery]]:
        """Other processes cannot ask."""
        return fixed_delivery, (self(),)


def fixed_delivery(delivery: Delivery) -> LiveDelivery:
    """An answer that does not change any more."""
    return LiveDelivery(lambda: delivery)


@frozen_value
class Receipt:
    """What became of the run's telemetry.

    Attributes:
        spans_started: spans opened, the root included.
        spans_ended: spans closed; less than started only while a run is open.
        spans_recorded: spans that the local store took; 0 without a store.
        values_truncated: attribute values and links that were cut or left out to fit.
        values_redacted: attribute values in which something was masked.
        redactions: what was masked in them, by rule.
        overhead_ms: milliseconds of wall time that the run spent in telemetry: opening and closing spans, cleaning
            their attributes, writing to the store; what exporters do in the background is not part of it.
        store_errors: writes that the local store refused.
        store_full: whether it had no room for the run, of which nothing is recorded then.
        export_errors: spans that raised in the application's tracer or in a processor of its.
        store: path of the local store, or None.
        export: who exports the spans.
        ask: answers ``delivery``; None where ``export`` says it all.
    """

    spans_started: int = 0
    spans_ended: int = 0
    spans_recorded: int = 0
    values_truncated: int = 0
    values_redacted: int = 0
    redactions: Mapping[str, int] = field(default_factory=dict[str, int])
    overhead_ms: float = 0.0
    store_errors: int = 0
    store_full: bool = False
    export_errors: int = 0
    store: str | None = None
    export: ExportKind = "none"
    ask: LiveDelivery | None = field(default=None, repr=False, compare=False)

    @property
    def delivery(self) -> Delivery:
        """What became of the spans by now; ask again for what has become of those that wait."""
        if self.ask is not None:
            return self.ask()
        if self.export == "none":
            return Delivery(state="off", accepted=0, refused=0, waiting=0)
        return Delivery(state="unknown")


@frozen_value
class RunResult:
    """The end of a run, whatever it was.

    Attributes:
        answer: the final answer; None unless the stop reason is ``final_answer``.
        partial: text that the model had said when the run stopped otherwise, or None; after a last request its text.
        stop_reason: the word of the closed list.
        stop_detail: one short sentence behind it, or ``""``.
        messages: the whole history, instructions included; replayable against a strict provider.
        usage: what was spent.
        headroom: every limit that is set, by its name in ``Budget``; a shared budget's as ``shared.tokens``.
        next_limit: the limit of the whole run that would be hit first, or None.
        last_request: whether a limit's last request without tools was made.
        run_id: for ``traced-loop show``.
        trace_id: 32 hexadecimal digits.
        pending: calls that wait for a confirmation.
        abandoned: tools that still ran when the run ended, by name, in the order in which they were left behind; when
            such a tool ends, a ``traced_loop.late_completion`` span says how.
        repetitions: what the run did again and again, in the order in which it was found.
        error: what the model server or the harness said, for people: content, so it is on no span; or None.
        receipt: what became of the run's telemetry.
    """

    answer: str | None
    partial: str | None = None
    stop_reason: StopReason
    stop_detail: str = ""
    messages: tuple[Message, ...] = ()
    usage: Usage = field(default_factory=Usage)
    headroom: Mapping[str, Headroom] = field(default_factory=dict[str, Headroom])
    next_limit: str | None = None
    last_request: bool = False
    run_id: str
    trace_id: str
    pending: tuple[Pending, ...] = ()
    abandoned: tuple[str, ...] = ()
    repetitions: tuple[Repetition, ...] = ()
    error: str | None = None
    receipt: Receipt = field(default_factory=Receipt)

    @property
    def cost(self) -> Decimal | None:
        """USD of the whole run; None when any answer has no known price."""
        return self.usage.cost_usd

    def raise_for_stop(self) -> "RunResult":
        """Return self after a final answer, and raise for every other stop reason.

        Raises:
            RunStopped: with stop reason, detail and run id.
        """
        if self.stop_reason is StopReason.FINAL_ANSWER:
            return self
        raise RunStopped(stop_reason=self.stop_reason, stop_detail=self.stop_detail, run_id=self.run_id)


_PARTIAL = "traced_loop_result"


def attach_result(error: BaseException, result: RunResult) -> None:
    """Hang what the run had reached on an exception that leaves it (cancellation, Ctrl-C, a raising callback)."""
    with suppress(AttributeError):  # an exception whose class allows no further attributes
        setattr(error, _PARTIAL, result)


def partial_result(error: BaseException) -> RunResult | None:
    """What a run had reached when this exception left it, or None when it did not come out of a run."""
    seen: set[int] = set()
    cause: BaseException | None = error
    # asyncio.timeout raises a TimeoutError whose cause is what left the run; before Python 3.11.3 it is its context.
    while cause is not None and id(cause) not in seen:
        found = getattr(cause, _PARTIAL, None)
        if isinstance(found, RunResult):
            return found
        seen.add(id(cause))
        cause = cause.__cause__ or (cause.__context__ if isinstance(cause, TimeoutError) else None)
    return None
