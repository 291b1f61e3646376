"""One model request: attempts inside the deadline, the answer read, repaired, priced and judged. Runs no tool.

Opens one ``chat`` span per usage-bearing answer.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Final, overload

from traced_loop import names
from traced_loop.errors import ModelError
from traced_loop.events import Event
from traced_loop.loop.request_attempts import TIMEOUT, Attempts, RetryPolicy
from traced_loop.messages import Message, Model, ModelAnswer, ModelRequest, TokenUsage, ToolCall
from traced_loop.models.traits import traits_of
from traced_loop.outcomes import StopReason
from traced_loop.rules.answer_verdict import Verdict, judge, text_of
from traced_loop.rules.billing import Bill, bill
from traced_loop.rules.call_repair import RepairedMessage, repair
from traced_loop.rules.pricing import Pricing
from traced_loop.rules.token_estimate import estimated_tokens
from traced_loop.telemetry.clock import Clock
from traced_loop.telemetry.ids import Ids
from traced_loop.telemetry.spans import Span, Telemetry

_REQUEST_KEYS: Final[Mapping[str, str]] = {
    "temperature": names.GEN_AI_REQUEST_TEMPERATURE,
    "top_p": names.GEN_AI_REQUEST_TOP_P,
    "frequency_penalty": names.GEN_AI_REQUEST_FREQUENCY_PENALTY,
    "presence_penalty": names.GEN_AI_REQUEST_PRESENCE_PENALTY,
    "seed": names.GEN_AI_REQUEST_SEED,
    "stop": names.GEN_AI_REQUEST_STOP,
    "reasoning_effort": names.GEN_AI_REQUEST_REASONING,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """What bounds a request, and whose stop it is when the bound is hit.

    Attributes:
        seconds: that the request may take, attempts and waits included.
        timeout_stop: the stop when they are over: the run's deadline where the run had no more left.
        capped_stop: the stop when the answer is cut at our own output cap; None where the cap is not ours.
        last: the run has stopped already, and this is its last request: what becomes of it stops nothing.
    """

    seconds: float
    timeout_stop: StopReason = StopReason.MODEL_ERROR
    capped_stop: StopReason | None = None
    last: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Response:
    """A judged answer, or why there is none.

    Attributes:
        verdict: what to do.
        truncated: whether the answer was cut, said or not.
        message: the assistant message as it may be stored, or None.
        calls: the calls in it.
        bill: what all tries used together, or None when nothing is known to be billed.
        context_tokens: what the history takes with this answer in it, or None when unknown.
        requests: requests that were sent.
        finish_reason: the provider's word, raw, or None.
        error: what the server or the client said, for people, never for a span; or None.
    """

    verdict: Verdict
    truncated: bool = False
    message: Message | None = None
    calls: tuple[ToolCall, ...] = ()
    bill: Bill | None = None
    context_tokens: int | None = None
    requests: int = 1
    finish_reason: str | None = None
    error: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Asked:
    """A request, what it is expected to take, and what bounds it."""

    request: ModelRequest
    input_tokens: int
    bounds: Bounds

    def estimate(self, repaired: RepairedMessage | None) -> TokenUsage:
        """What stands in for counts that the provider does not give."""
        return TokenUsage(input=self.input_tokens, output=estimated_tokens([repaired.message]) if repaired else 0)


class ModelClient:
    """Asks one model."""

    def __init__(self, model: Model, telemetry: Telemetry, *, retry: RetryPolicy, ids: Ids) -> None:
        self._model = model
        self._traits = traits_of(model)
        self._telemetry = telemetry
        self._retry = retry
        self._ids = ids

    async def request(
        self,
        request: ModelRequest,
        *,
        input_tokens: int,
        step: int,
        bounds: Bounds,
        clock: Clock,
        emit: Callable[[Event], None],
    ) -> Response:
        """Send one request and judge the answer.

        Args:
            request: what to send.
            input_tokens: what it takes, estimated: stands in where the provider does not count.
            step: 1-based.
            bounds: time and output, and what hitting them means.
            clock: the run's.
            emit: told about failed attempts.
        """
        name = f"{names.CHAT} {self._model.name}"
        start = {**self._start_attributes(request, step), names.LAST_REQUEST: bounds.last or None}
        with self._telemetry.span(name, start, kind="CLIENT") as span:
            attempts = Attempts(
                self._model,
                self._telemetry,
                retry=self._retry,
                step=step,
                clock=clock,
                deadline=clock.seconds() + bounds.seconds,
                emit=emit,
                new_id=self._ids.execution_id,
            )
            if span.content is not None:
                span.content.request(request.messages, request.tools)
            asked = _Asked(request=request, input_tokens=input_tokens, bounds=bounds)
            try:
                answer = await attempts.answer(request, begun=span.record.start_ns)
            except ModelError as error:
                return self._failed(span, error, asked, attempts)
            return self._judged(span, asked, answer, attempts)

    def pricing(self, model: str | None = None) -> Pricing | None:
        """The price of the given model, else of the requested one; None when nobody knows."""
        return self._traits.pricing(model or self._model.name)

    def sendable(self, messages: list[Message]) -> list[Message]:
        """The history without the fields that this provider refuses to get back."""
        strip = self._traits.strip
        if not strip:
            return messages
        return [{k: v for k, v in m.items() if k not in strip} if m.get("role") == "assistant" else m for m in messages]

    def _start_attributes(self, request: ModelRequest, step: int) -> dict[str, Any]:
        traits = self._traits
        parameters = {key: request.parameters.get(field) for field, key in _REQUEST_KEYS.items()}
        stop = parameters[names.GEN_AI_REQUEST_STOP]
        return {
            names.GEN_AI_OPERATION: names.CHAT,
            names.GEN_AI_PROVIDER: self._model.provider,
            names.GEN_AI_REQUEST_MODEL: self._model.name,
            names.SERVER_ADDRESS: traits.server_address,
            names.SERVER_PORT: traits.server_port,
            names.STEP_INDEX: step,
            **parameters,
            names.GEN_AI_REQUEST_STOP: [stop] if isinstance(stop, str) else stop,
            names.GEN_AI_REQUEST_MAX_TOKENS: output_cap(request),
        }

    def _where(self) -> str:
        """The server, as far as it is known."""
        host, port = self._traits.server_address, self._traits.server_port
        return "" if host is None else f" ({host}:{port})" if port else f" ({host})"

    def _failed(self, span: Span, error: ModelError, asked: "_Asked", attempts: Attempts) -> Response:
        failed = f"the model request failed: {error.error_type}{self._where()}"
        stop, detail = StopReason.MODEL_ERROR, error.detail or failed
        if error.error_type == TIMEOUT and asked.bounds.timeout_stop is StopReason.DEADLINE_EXCEEDED:
            stop, detail = StopReason.DEADLINE_EXCEEDED, "the run's seconds were over during a model request"
        span.fail(error.error_type, f"model request failed: {error.error_type}")
        span.set({names.GEN_AI_FINISH_REASONS: ["error"], names.HTTP_STATUS: error.status})
        span.set({names.RUN_STOP_REASON: None if asked.bounds.last else stop, names.USAGE_SOURCE: "missing"})
        verdict = Verdict(kind="stop", stop=stop, detail=detail)
        bills = self._bills(attempts.billed, asked)
        if not bills:
            return Response(verdict=verdict, requests=attempts.sent, error=str(error))
        billed = reduce(Bill.plus, bills)
        span.set(_billed_attributes(billed))
        return Response(verdict=verdict, bill=billed, requests=attempts.sent, error=str(error))

    def _judged(self, span: Span, asked: "_Asked", answer: ModelAnswer, attempts: Attempts) -> Response:
        repaired = repair(answer.message, self._ids.call_id) if answer.message is not None else None
        own = bill(answer, asked.estimate(repaired), self.pricing)
        billed = reduce(Bill.plus, [*self._bills(attempts.billed, asked), own])
        judged = self._verdict(answer, repaired, asked.request)
        verdict = _at_our_cap(judged, asked, own.usage)
        calls = repaired.calls if repaired is not None else ()
        anomalies = (*answer.anomalies, *(repaired.anomalies if repaired else ()), *verdict.anomalies)
        span.set(
            {
                names.GEN_AI_RESPONSE_MODEL: _word(answer.response_model),
                names.GEN_AI_RESPONSE_ID: _word(answer.response_id),
                names.GEN_AI_FINISH_REASONS: _finish_reasons(answer),
                **_billed_attributes(billed),
                names.CALL_IDS: ",".join(c.id for c in calls[: names.MAX_CALL_IDS]) or None,
                names.ANOMALIES: ",".join(dict.fromkeys(anomalies)) or None,
            }
        )
        if span.content is not None:
            span.content.answer(repaired.message if repaired else None, answer.finish_reason)
        if verdict.stop is StopReason.MODEL_ERROR:
            span.fail(answer.error_code or "_OTHER", verdict.detail)
        if verdict.kind == "stop" and not asked.bounds.last:
            span.set({names.RUN_STOP_REASON: verdict.stop})
        return Response(
            verdict=verdict,
            truncated=judged.stop is StopReason.TRUNCATED_RESPONSE,
            message=repaired.message if repaired else None,
            calls=calls,
            bill=billed,
            context_tokens=own.usage.total,
            requests=attempts.sent,
            finish_reason=answer.finish_reason,
            error=answer.error,
        )

    def _bills(self, answers: Sequence[ModelAnswer], asked: "_Asked") -> list[Bill]:
        return [bill(answer, asked.estimate(None), self.pricing) for answer in answers]

    def _verdict(self, answer: ModelAnswer, repaired: RepairedMessage | None, request: ModelRequest) -> Verdict:
        if answer.error is None and repaired is not None:
            return judge(answer, repaired, self._traits.tolerate, output_cap(request))
        text = text_of(repaired.message.get("content")) if repaired else None
        detail = f"the provider reported an error: {(answer.error_code or '_OTHER')[:40]}"
        return Verdict(kind="stop", stop=StopReason.MODEL_ERROR, text=text, detail=detail)


def output_cap(request: ModelRequest) -> int | None:
    """The cap on the answer that the request carries: ours, or the caller's under either of its names."""
    for value in (
        request.output_cap,
        request.parameters.get("max_completion_tokens"),
        request.parameters.get("max_tokens"),
    ):
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def _at_our_cap(verdict: Verdict, asked: _Asked, usage: TokenUsage) -> Verdict:
    """An answer that is cut at the cap that a limit sent is that limit's stop; a shorter one was cut elsewhere."""
    cap, stop = asked.request.output_cap, asked.bounds.capped_stop
    if verdict.stop is not StopReason.TRUNCATED_RESPONSE or cap is None or stop is None:
        return verdict
    if usage.output is not None and usage.output < cap:
        return verdict
    return replace(verdict, stop=stop, detail=f"the answer was cut at {cap} tokens, all that the limit had left")


_WORD: Final = re.compile(r"[\w.:/@+-]{1,128}", re.ASCII)
"""What ids, model names and finish reasons look like; anything else in their place is text, and text is content: not
every writing puts spaces between words."""


@overload
def _word(text: str) -> str: ...
@overload
def _word(text: None) -> None: ...
def _word(text: str | None) -> str | None:
    """The provider's word as it may stand on a span, raw where it is a word."""
    return text if text is None or _WORD.fullmatch(text) else "_other"


def _finish_reasons(answer: ModelAnswer) -> list[str] | None:
    if answer.finish_reason is not None:
        return [_word(answer.finish_reason)]
    return ["error"] if answer.error is not None else None


def _billed_attributes(billed: Bill) -> dict[str, Any]:
    usage, pricing = billed.usage, billed.pricing
    rates = pricing.rates if pricing is not None else None
    return {
        names.GEN_AI_INPUT_TOKENS: usage.input,
        names.GEN_AI_OUTPUT_TOKENS: usage.output,
        names.GEN_AI_CACHED_TOKENS: usage.cached or None,
        names.GEN_AI_REASONING_TOKENS: usage.reasoning or None,
        names.GEN_AI_CACHE_WRITE_TOKENS: usage.cache_write or None,
        names.GEN_AI_AUDIO_INPUT_TOKENS: usage.input_audio or None,
        names.GEN_AI_AUDIO_OUTPUT_TOKENS: usage.output_audio or None,
        names.USAGE_SOURCE: usage.source,
        names.COST_USD: float(billed.cost) if billed.cost is not None else None,
        names.COST_SOURCE: billed.source,
        names.COST_RATES: rates.text if rates is not None else None,
        names.COST_UPPER_BOUND: billed.is_upper_bound or None,
        names.COST_TABLE: pricing.table if pricing is not None else None,
    }
