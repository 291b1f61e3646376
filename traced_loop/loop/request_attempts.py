"""The tries of one model request: how often, how patiently, of which model, inside the deadline, and visible.

Opens a ``traced_loop.attempt`` span per try when there was more than one.
"""

import asyncio
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from traced_loop import names
from traced_loop.errors import ModelError
from traced_loop.events import AttemptFailed, Event, ModelFellBack
from traced_loop.frozen_value import frozen_value
from traced_loop.given_values import amount, count
from traced_loop.loop.answer_pieces import AnswerPieces
from traced_loop.loop.bounded_wait import TimedOut, within
from traced_loop.messages import ModelAnswer, ModelRequest, TokenUsage
from traced_loop.models.error_kinds import kind_of_answer, kind_of_error
from traced_loop.models.routes import Route
from traced_loop.rules.model_error_kinds import KIND_RULES
from traced_loop.rules.pairing import says_something
from traced_loop.telemetry.clock import Clock
from traced_loop.telemetry.spans import Span, Telemetry

TIMEOUT: Final = "timeout"
"""``error.type`` of a request whose time was over."""

_LONGEST_SHOWN: Final = 1e9
"""Seconds: what a span holds of a longer wait fits into any store."""


@frozen_value
class RetryPolicy:
    """How often and how patiently a failed request is tried again.

    Attributes:
        attempts: tries of one model in all; 1 for no retry.
        first_delay: seconds before the second try; doubled each time, with jitter, unless the server says when.
        max_delay: seconds at most between two tries, unless the server asks for more; then they are waited, or the
            next model of the loop is asked at once where there is one.
    """

    attempts: int = 3
    first_delay: float = 0.5
    max_delay: float = 20.0

    def __post_init__(self) -> None:
        """Refuse what makes no sense.

        Raises:
            UsageError: a number is negative, not finite, or none; or there is no try at all.
        """
        count("attempts", self.attempts, of="RetryPolicy")
        amount("first_delay", self.first_delay, of="RetryPolicy", zero=True)
        amount("max_delay", self.max_delay, of="RetryPolicy", zero=True)

    def delay(self, number: int, asked: float | None) -> float:
        """Seconds to wait after the failed try ``number`` (1-based)."""
        if asked is not None:
            return asked
        doubled = min(self.max_delay, self.first_delay * float(2 ** (number - 1)))
        return doubled * (0.75 + random.random() / 4)  # noqa: S311 - jitter, not a secret


@frozen_value
class TimeBounds:
    """What a request may take.

    Attributes:
        seconds: of one model, tries and waits included.
        run_seconds: that the run has left, whatever model is asked; None for no such limit.
    """

    seconds: float
    run_seconds: float | None = None


class Attempts:
    """The tries of one request."""

    def __init__(
        self,
        routes: Sequence[Route],
        telemetry: Telemetry,
        *,
        retry: RetryPolicy,
        step: int,
        clock: Clock,
        bounds: TimeBounds,
        emit: Callable[[Event], None],
        new_id: Callable[[], str],
    ) -> None:
        """Nothing is sent yet.

        Args:
            routes: what is asked, and what stands in for it, in order; one at least.
            telemetry: where tries are shown.
            retry: how often and how patiently.
            step: 1-based, for events.
            clock: the run's.
            bounds: no try and no wait outlives them.
            emit: told about failed tries that are followed by another, and about text that comes in pieces.
            new_id: gives the execution id of a try.
        """
        self._routes = routes
        self._telemetry = telemetry
        self._retry = retry
        self._step = step
        self._clock = clock
        self._seconds = bounds.seconds
        self._run_deadline = math.inf if bounds.run_seconds is None else clock.seconds() + bounds.run_seconds
        self._deadline = clock.seconds() + bounds.seconds
        self._emit = emit
        self._new_id = new_id
        self._tries = 0
        """Of the model that is asked now."""
        self.pieces = AnswerPieces(clock, step, emit)
        self.sent = 0
        self.index = 0
        """Place of the model that is asked now."""
        self.billed: list[tuple[ModelAnswer, Route]] = []
        """Errors that were counted all the same, inside of successful responses or not, what had come of answers that
        broke off, and who counted them."""
        self.unfit_wait: float | None = None
        """Seconds that the server asked to wait and that there were not, where that ended the tries."""
        self._form: tuple[int, ModelRequest] | None = None
        self._paid: TokenUsage | None = None
        """What the latest try was billed although it failed."""

    @property
    def route(self) -> Route:
        """The model that is asked now, or was last."""
        return self._routes[self.index]

    def sent_form(self, request: ModelRequest) -> ModelRequest:
        """The request in the form of the model that is asked now; made once for all its tries."""
        if self._form is None or self._form[0] != self.index:
            self._form = self.index, self.route.sent(request)
        return self._form[1]

    @property
    def out_of_run_time(self) -> bool:
        """Whether the time that bounds the model is the run's own."""
        return self._deadline >= self._run_deadline

    async def answer(self, request: ModelRequest, *, begun: int) -> ModelAnswer:
        """The first answer that a try gives.

        Args:
            request: with the history as it is stored; each model gets it in its own form.
            begun: the first try's start, in nanoseconds since 1970.

        Raises:
            ModelError: of the last try.
        """
        first = self._start(1, 0)
        try:
            return await self._ask(request)
        except ModelError as error:
            failed = error
        before = self.index
        delay = self._delay_after(failed)
        self._show_first_try(failed, first, begun)
        while True:
            self._tell(failed, before, delay)
            await asyncio.sleep(delay)
            try:
                return await self._traced_try(request, delay)
            except ModelError as error:
                failed = error
            before = self.index
            delay = self._delay_after(failed)

    def _delay_after(self, failed: ModelError) -> float:
        """Seconds to wait before the next try, which may be another model's.

        Raises:
            ModelError: the given one, where there is no next try.
        """
        delay = self._retry.delay(self._tries, failed.retry_after)
        again = failed.retryable and self._tries < self._retry.attempts
        fits = self._clock.seconds() + delay < self._deadline
        patient = self._is_last or (failed.retry_after or 0.0) <= self._retry.max_delay
        if again and fits and patient:
            return delay
        if self._may_go_on(failed):
            return self._next_model()
        if again and not fits and failed.retry_after is not None:
            self.unfit_wait = failed.retry_after
        raise failed

    @property
    def _is_last(self) -> bool:
        return self.index == len(self._routes) - 1

    def _may_go_on(self, failed: ModelError) -> bool:
        """Whether another model is there, may take the request, and has time for it."""
        elsewhere = failed.retryable or KIND_RULES[kind_of_error(failed)].elsewhere
        return elsewhere and not self._is_last and self._clock.seconds() < self._run_deadline

    def _next_model(self) -> float:
        """Turn to the next model, which has a time of its own within the run's, and is not waited for."""
        self.index += 1
        self._tries = 0
        self._deadline = min(self._clock.seconds() + self._seconds, self._run_deadline)
        return 0.0

    def _tell(self, failed: ModelError, before: int, delay: float) -> None:
        kind = kind_of_error(failed)
        if before == self.index:
            number, word = self._tries, failed.error_type
            self._emit(AttemptFailed(step=self._step, number=number, error_type=word, delay=delay, kind=kind))
            return
        self._emit(
            ModelFellBack(
                step=self._step,
                model=self._routes[before].model.name,
                to_model=self.route.model.name,
                error_type=failed.error_type,
                kind=kind,
            )
        )

    async def _ask(self, request: ModelRequest) -> ModelAnswer:
        """One try.

        Raises:
            ModelError: no answer can be had, in time or at all.
        """
        self.sent += 1
        self._tries += 1
        self._paid = None
        try:
            answer = await self._complete(request)
        except ModelError as error:
            if self._paid is None:
                self._count(error.answer)
            raise
        if answer.error is not None and self._is_worth_another(answer):
            self._count(answer)
            kind = kind_of_answer(answer)
            raise ModelError(
                answer.error,
                error_type=answer.error_code or "_OTHER",
                retryable=KIND_RULES[kind].again,
                retry_after=answer.error_retry_after,
                kind=kind,
            )
        return answer

    async def _complete(self, request: ModelRequest) -> ModelAnswer:
        seconds = max(0.0, self._deadline - self._clock.seconds())
        asked = replace(self.sent_form(request), timeout=seconds, on_chunk=self.pieces.of_try(self.sent))
        try:
            return await self._answered(asked, seconds)
        except TimedOut as error:
            raise ModelError(f"no answer within {seconds:.3g} s", error_type=TIMEOUT) from error
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and not task.cancelling():
                raise ModelError("the model cancelled its own request", error_type="cancelled") from None
            raise

    async def _answered(self, asked: ModelRequest, seconds: float) -> ModelAnswer:
        """What the model gives. What had come of an answer that breaks off is billed, whatever breaks it off.

        Raises:
            TimedOut: the time was over.
            BaseException: the model's, an event callback's, or the cancellation of the waiting task.
        """
        try:
            try:
                return await within(self.route.model.complete(asked), seconds)
            finally:
                self.pieces.let_go()
        except BaseException:
            received = self.pieces.received()
            if received is not None:
                self.billed.append((received, self.route))
                self._paid = received.usage
            raise

    def _is_worth_another(self, answer: ModelAnswer) -> bool:
        """Whether an error inside of an answer that says nothing may pass, here or elsewhere."""
        if answer.message is not None and says_something(answer.message):
            return False
        rule = KIND_RULES[kind_of_answer(answer)]
        return rule.again or (rule.elsewhere and not self._is_last)

    def _count(self, answer: object) -> None:
        """What a failed try was billed is part of the bill."""
        if isinstance(answer, ModelAnswer) and answer.usage.source == "provider":
            self.billed.append((answer, self.route))
            self._paid = answer.usage

    def _show_first_try(self, error: ModelError, start: dict[str, Any], begun: int) -> None:
        """The first try gets its span only now: a request that works at once needs none."""
        with self._telemetry.span(names.ATTEMPT, start, brief=True, start_ns=begun) as span:
            self._mark(span, error)

    async def _traced_try(self, request: ModelRequest, delay: float) -> ModelAnswer:
        with self._telemetry.span(names.ATTEMPT, self._start(self.sent + 1, delay)) as span:
            try:
                return await self._ask(request)
            except ModelError as error:
                self._mark(span, error)
                raise

    def _start(self, number: int, delay: float) -> dict[str, Any]:
        return {
            names.ATTEMPT_NUMBER: number,
            names.ATTEMPT_KIND: "model",
            names.ATTEMPT_DELAY_MS: round(delay * 1000),
            names.EXECUTION_ID: self._new_id(),
            names.ATTEMPT_MODEL: None if self.route.alone else self.route.model.name,
            names.ATTEMPT_PROVIDER: None if self.route.alone else self.route.model.provider,
        }

    def _mark(self, span: Span, error: ModelError) -> None:
        span.fail(error.error_type, f"model request failed: {error.error_type}")
        paid = self._paid or TokenUsage()
        span.set(
            {
                **error_attributes(error),
                names.ATTEMPT_INPUT_TOKENS: paid.input,
                names.ATTEMPT_OUTPUT_TOKENS: paid.output,
                names.ATTEMPT_CACHED_TOKENS: paid.cached or None,
                names.COST_RATES: self._rates() if self._paid is not None else None,
            }
        )

    def _rates(self) -> str | None:
        """The rates of what the latest try paid, where they may be others than those of the answer."""
        pricing = None if self.route.alone else self.route.pricing()
        rates = pricing.rates if pricing is not None else None
        return rates.text if rates is not None else None


def error_attributes(error: ModelError) -> dict[str, Any]:
    """What a span says of a failed request or try: closed words and numbers."""
    wait = error.retry_after
    return {
        names.HTTP_STATUS: error.status,
        names.MODEL_ERROR_KIND: kind_of_error(error).value,
        names.MODEL_ERROR_RETRY_AFTER_MS: None if wait is None else round(min(wait, _LONGEST_SHOWN) * 1000),
    }
