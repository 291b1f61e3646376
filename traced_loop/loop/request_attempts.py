"""The tries of one model request: how often, how patiently, inside the deadline, and visible.

Opens a ``traced_loop.attempt`` span per try when there was more than one.
"""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from traced_loop import names
from traced_loop.errors import ModelError
from traced_loop.events import AttemptFailed, Event
from traced_loop.given_values import amount, count
from traced_loop.loop.answer_pieces import AnswerPieces
from traced_loop.loop.bounded_wait import TimedOut, within
from traced_loop.messages import Model, ModelAnswer, ModelRequest, TokenUsage
from traced_loop.models.chat_completion import is_retryable_code
from traced_loop.rules.pairing import says_something
from traced_loop.telemetry.clock import Clock
from traced_loop.telemetry.spans import Span, Telemetry

TIMEOUT: Final = "timeout"
"""``error.type`` of a request whose time was over."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryPolicy:
    """How often and how patiently a failed request is tried again.

    Attributes:
        attempts: tries in all; 1 for no retry.
        first_delay: seconds before the second try; doubled each time, with jitter, unless the server says when.
        max_delay: seconds at most between two tries.
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


class Attempts:
    """The tries of one request."""

    def __init__(
        self,
        model: Model,
        telemetry: Telemetry,
        *,
        retry: RetryPolicy,
        step: int,
        clock: Clock,
        deadline: float,
        emit: Callable[[Event], None],
        new_id: Callable[[], str],
    ) -> None:
        """Nothing is sent yet.

        Args:
            model: what is asked.
            telemetry: where tries are shown.
            retry: how often and how patiently.
            step: 1-based, for events.
            clock: the run's.
            deadline: on that clock; no try and no wait outlives it.
            emit: told about failed tries that are followed by another, and about text that comes in pieces.
            new_id: gives the execution id of a try.
        """
        self._model = model
        self._telemetry = telemetry
        self._retry = retry
        self._step = step
        self._clock = clock
        self._deadline = deadline
        self._emit = emit
        self._new_id = new_id
        self.pieces = AnswerPieces(clock, step, emit)
        self.sent = 0
        self.billed: list[ModelAnswer] = []
        """Errors inside of successful responses that were tried again, or given up, and were counted all the same; and
        what had come of answers that broke off."""
        self._paid: TokenUsage | None = None
        """What the latest try was billed although it failed."""

    async def answer(self, request: ModelRequest, *, begun: int) -> ModelAnswer:
        """The first answer that a try gives; ``begun`` is the first try's start, in nanoseconds since 1970.

        Raises:
            ModelError: of the last try.
        """
        try:
            return await self._ask(request)
        except ModelError as error:
            failed = error
        delay = self._delay_after(failed)
        self._show_first_try(failed, begun)
        while True:
            event = AttemptFailed(step=self._step, number=self.sent, error_type=failed.error_type, delay=delay)
            self._emit(event)
            await asyncio.sleep(delay)
            try:
                return await self._traced_try(request, delay)
            except ModelError as error:
                failed = error
            delay = self._delay_after(failed)

    def _delay_after(self, failed: ModelError) -> float:
        """Seconds to wait before the next try.

        Raises:
            ModelError: the given one, where there is no next try.
        """
        delay = self._retry.delay(self.sent, failed.retry_after)
        enough_time = self._clock.seconds() + delay < self._deadline
        if not failed.retryable or self.sent >= self._retry.attempts or not enough_time:
            raise failed
        return delay

    async def _ask(self, request: ModelRequest) -> ModelAnswer:
        """One try.

        Raises:
            ModelError: no answer can be had, in time or at all.
        """
        self.sent += 1
        self._paid = None
        seconds = max(0.0, self._deadline - self._clock.seconds())
        try:
            answer = await self._answered(request, seconds)
        except TimedOut as error:
            raise ModelError(f"no answer within {seconds:.3g} s", error_type=TIMEOUT) from error
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and not task.cancelling():
                raise ModelError("the model cancelled its own request", error_type="cancelled") from None
            raise
        says_nothing = answer.message is None or not says_something(answer.message)
        if answer.error is not None and is_retryable_code(answer.error_code) and says_nothing:
            if answer.usage.source == "provider":
                self.billed.append(answer)
                self._paid = answer.usage
            raise ModelError(answer.error, error_type=answer.error_code or "_OTHER", retryable=True)
        return answer

    async def _answered(self, request: ModelRequest, seconds: float) -> ModelAnswer:
        """What the model gives. What had come of an answer that breaks off is billed, whatever breaks it off.

        Raises:
            TimedOut: the time was over.
            BaseException: the model's, an event callback's, or the cancellation of the waiting task.
        """
        asked = replace(request, timeout=seconds, on_chunk=self.pieces.of_try(self.sent))
        try:
            try:
                return await within(self._model.complete(asked), seconds)
            finally:
                self.pieces.let_go()
        except BaseException:
            received = self.pieces.received()
            if received is not None:
                self.billed.append(received)
                self._paid = received.usage
            raise

    def _show_first_try(self, error: ModelError, begun: int) -> None:
        """The first try gets its span only now: a request that works at once needs none."""
        with self._telemetry.span(names.ATTEMPT, self._start(1, 0), brief=True, start_ns=begun) as span:
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
        }

    def _mark(self, span: Span, error: ModelError) -> None:
        span.fail(error.error_type, f"model request failed: {error.error_type}")
        paid = self._paid or TokenUsage()
        span.set(
            {
                names.HTTP_STATUS: error.status,
                names.ATTEMPT_INPUT_TOKENS: paid.input,
                names.ATTEMPT_OUTPUT_TOKENS: paid.output,
                names.ATTEMPT_CACHED_TOKENS: paid.cached or None,
            }
        )
