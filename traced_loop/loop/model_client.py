"""One model request: attempts inside the deadline, the answer read, repaired, priced and judged. Runs no tool.

Opens one ``chat`` span per usage-bearing answer.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from traced_loop import names
from traced_loop.amount_text import seconds_text
from traced_loop.closed_words import ModelErrorKind
from traced_loop.errors import ModelError
from traced_loop.events import Event
from traced_loop.frozen_value import frozen_value
from traced_loop.loop.chat_attributes import (
    answered_by,
    billed_attributes,
    finish_reasons,
    output_cap,
    start_attributes,
    word,
)
from traced_loop.loop.request_attempts import TIMEOUT, Attempts, RetryPolicy, TimeBounds, error_attributes
from traced_loop.messages import Message, ModelAnswer, ModelRequest, TokenUsage, ToolCall
from traced_loop.models.error_kinds import kind_of_answer, kind_of_error
from traced_loop.models.routes import Route
from traced_loop.outcomes import StopReason
from traced_loop.rules.answer_verdict import Verdict, judge, text_of
from traced_loop.rules.billing import Bill, bill
from traced_loop.rules.call_repair import RepairedMessage, repair
from traced_loop.rules.model_error_kinds import KIND_RULES
from traced_loop.rules.pricing import Pricing
from traced_loop.rules.token_estimate import estimated_tokens
from traced_loop.telemetry.clock import Clock
from traced_loop.telemetry.ids import Ids
from traced_loop.telemetry.spans import Span, SpanId, Telemetry
from traced_loop.telemetry.type_names import type_name


@frozen_value
class Bounds:
    """What bounds a request, and whose stop it is when the bound is hit.

    Attributes:
        seconds: that the request may take of one model, attempts and waits included.
        run_seconds: that the run has left for it, whatever model is asked; None for no such limit.
        timeout_stop: the stop when they are over: the run's deadline where the run had no more left.
        capped_stop: the stop when the answer is cut at our own output cap; None where the cap is not ours.
        last: the run has stopped already, and this is its last request: what becomes of it stops nothing.
    """

    seconds: float
    run_seconds: float | None = None
    timeout_stop: StopReason = StopReason.MODEL_ERROR
    capped_stop: StopReason | None = None
    last: bool = False


@frozen_value
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
        model: place of the model that was asked last: the run stays with it.
        span: what shows it, or None.
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
    model: int = 0
    span: SpanId | None = None


@frozen_value
class _Asked:
    """A request as the first model gets it, what it is expected to take, what bounds it, and that model's place."""

    request: ModelRequest
    input_tokens: int
    bounds: Bounds
    first: int = 0

    def estimate(self, repaired: RepairedMessage | None) -> TokenUsage:
        """What stands in for counts that the provider does not give."""
        return TokenUsage(input=self.input_tokens, output=estimated_tokens([repaired.message]) if repaired else 0)

    def estimate_of(self, broken: ModelAnswer) -> TokenUsage:
        """Likewise for an answer that is no answer: of what came of it, as far as that was written."""
        return TokenUsage(input=self.input_tokens, output=broken.usage.output or 0)


class ModelClient:
    """Asks one model, or one that stands in for it."""

    def __init__(self, routes: Sequence[Route], telemetry: Telemetry, *, retry: RetryPolicy, ids: Ids) -> None:
        self._routes = tuple(routes)
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
        model: int = 0,
        keep: Callable[[Response], None] = lambda _response: None,
    ) -> Response:
        """Send one request and judge the answer.

        Args:
            request: what to send, with the history as it is stored.
            input_tokens: what it takes, estimated: stands in where the provider does not count.
            step: 1-based.
            bounds: time and output, and what hitting them means.
            clock: the run's.
            emit: told about failed attempts and pieces of text.
            model: place of the model to begin with.
            keep: told what had come of the answer by then, where an exception or a cancellation leaves.
        """
        first = self._routes[model]
        start = {**start_attributes(first, request, step), names.LAST_REQUEST: bounds.last or None}
        with self._telemetry.span(f"{names.CHAT} {first.model.name}", start, kind="CLIENT") as span:
            attempts = Attempts(
                self._routes[model:],
                self._telemetry,
                retry=self._retry,
                step=step,
                clock=clock,
                bounds=TimeBounds(seconds=bounds.seconds, run_seconds=bounds.run_seconds),
                emit=emit,
                new_id=self._ids.execution_id,
            )
            asked = _Asked(request=attempts.sent_form(request), input_tokens=input_tokens, bounds=bounds, first=model)
            if span.content is not None:
                span.content.request(asked.request.messages, request.tools)
            try:
                answer = await attempts.answer(request, begun=span.record.start_ns)
            except ModelError as error:
                return self._failed(span, error, asked, attempts)
            except BaseException as error:
                keep(self._left(span, error, asked, attempts))
                raise
            return self._judged(span, asked, answer, attempts)

    def pricings(self, model: int = 0) -> list[Pricing | None]:
        """The prices of the model at that place and of those that stand in for it; None where nobody knows."""
        return [route.pricing() for route in self._routes[model:]]

    def _failed(self, span: Span, error: ModelError, asked: "_Asked", attempts: Attempts) -> Response:
        stop, detail = _stop_of(error, asked, attempts)
        span.fail(error.error_type, f"model request failed: {error.error_type}")
        span.set({names.RUN_STOP_REASON: None if asked.bounds.last else stop, **error_attributes(error)})
        verdict = Verdict(kind="stop", stop=stop, detail=detail, text=attempts.pieces.text)
        return self._unanswered(span, verdict, asked, attempts, str(error))

    def _left(self, span: Span, error: BaseException, asked: "_Asked", attempts: Attempts) -> Response:
        """What there is of a request that an exception or a cancellation leaves."""
        detail = f"{type_name(error)} left the model request"
        verdict = Verdict(kind="stop", stop=StopReason.CANCELLED, detail=detail, text=attempts.pieces.text)
        return self._unanswered(span, verdict, asked, attempts, None)

    def _unanswered(
        self, span: Span, verdict: Verdict, asked: "_Asked", attempts: Attempts, error: str | None
    ) -> Response:
        span.set({names.GEN_AI_FINISH_REASONS: ["error"], names.USAGE_SOURCE: "missing"})
        span.set(attempts.pieces.attributes())
        bills = _bills(attempts, asked)
        billed = reduce(Bill.plus, bills) if bills else None
        if billed is not None:
            span.set(billed_attributes(billed))
        place = asked.first + attempts.index
        return Response(verdict=verdict, bill=billed, requests=attempts.sent, error=error, model=place, span=span.id)

    def _judged(self, span: Span, asked: "_Asked", answer: ModelAnswer, attempts: Attempts) -> Response:
        route = attempts.route
        repaired = repair(answer.message, self._ids.call_id) if answer.message is not None else None
        own = bill(answer, asked.estimate(repaired), route.pricing)
        billed = reduce(Bill.plus, [*_bills(attempts, asked), own])
        judged = _verdict(answer, repaired, asked.request, route.traits.tolerate)
        verdict = _at_our_cap(judged, asked, own.usage)
        calls = repaired.calls if repaired is not None else ()
        anomalies = (*answer.anomalies, *(repaired.anomalies if repaired else ()), *verdict.anomalies)
        span.set(
            {
                names.GEN_AI_RESPONSE_MODEL: word(answer.response_model),
                names.GEN_AI_RESPONSE_ID: word(answer.response_id),
                names.GEN_AI_FINISH_REASONS: finish_reasons(answer),
                **billed_attributes(billed),
                names.CALL_IDS: ",".join(c.id for c in calls[: names.MAX_CALL_IDS]) or None,
                names.ANOMALIES: ",".join(dict.fromkeys(anomalies)) or None,
                **attempts.pieces.attributes(),
                **(answered_by(route) if attempts.index else {}),
            }
        )
        if span.content is not None:
            span.content.answer(repaired.message if repaired else None, answer.finish_reason)
        if answer.error is not None:
            span.fail(answer.error_code or "_OTHER", verdict.detail)
            span.set({names.MODEL_ERROR_KIND: kind_of_answer(answer).value})
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
            model=asked.first + attempts.index,
            span=span.id,
        )


def _tool_names(tools: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of the offered functions."""
    return [str(tool.get("function", {}).get("name")) for tool in tools]


def _stop_of(error: ModelError, asked: _Asked, attempts: Attempts) -> tuple[StopReason, str]:
    """Why a request that failed for good ends the run, in words that hold no content."""
    kind = kind_of_error(error)
    by_run = asked.bounds.timeout_stop is StopReason.DEADLINE_EXCEEDED or (attempts.index and attempts.out_of_run_time)
    if error.error_type == TIMEOUT and by_run:
        return StopReason.DEADLINE_EXCEEDED, "the run's seconds were over during a model request"
    if error.detail:
        return StopReason.MODEL_ERROR, error.detail
    said = f"the model request failed: {error.error_type}{attempts.route.where}"
    if attempts.index:
        said = f"{attempts.index + 1} models were asked, the last one failed: {error.error_type}{attempts.route.where}"
    if KIND_RULES[kind].said:
        said = f"{said}: {KIND_RULES[kind].said}"
    if attempts.unfit_wait is not None:
        said = f"{said}; the server asks for a wait of {seconds_text(attempts.unfit_wait)}, more than there is time for"
    filtered = kind is ModelErrorKind.CONTENT_FILTERED
    return (StopReason.CONTENT_FILTERED if filtered else StopReason.MODEL_ERROR), said


def _bills(attempts: Attempts, asked: _Asked) -> list[Bill]:
    return [bill(answer, asked.estimate_of(answer), route.pricing) for answer, route in attempts.billed]


def _verdict(
    answer: ModelAnswer, repaired: RepairedMessage | None, request: ModelRequest, tolerate: Collection[str]
) -> Verdict:
    if answer.error is None and repaired is not None:
        return judge(answer, repaired, tolerate, output_cap(request), _tool_names(request.tools))
    text = text_of(repaired.message.get("content")) if repaired else None
    kind = kind_of_answer(answer)
    detail = f"the provider reported an error: {(answer.error_code or '_OTHER')[:40]}"
    if KIND_RULES[kind].said:
        detail = f"{detail}: {KIND_RULES[kind].said}"
    filtered = kind is ModelErrorKind.CONTENT_FILTERED
    stop = StopReason.CONTENT_FILTERED if filtered else StopReason.MODEL_ERROR
    return Verdict(kind="stop", stop=stop, text=text, detail=detail)


def _at_our_cap(verdict: Verdict, asked: _Asked, usage: TokenUsage) -> Verdict:
    """An answer that is cut at the cap that a limit sent is that limit's stop; a shorter one was cut elsewhere."""
    cap, stop = asked.request.output_cap, asked.bounds.capped_stop
    if verdict.stop is not StopReason.TRUNCATED_RESPONSE or cap is None or stop is None:
        return verdict
    if usage.output is not None and usage.output < cap:
        return verdict
    return replace(verdict, stop=stop, detail=f"the answer was cut at {cap} tokens, all that the limit had left")
