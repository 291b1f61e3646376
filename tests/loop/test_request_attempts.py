"""The tries of one model request."""

import asyncio
from decimal import Decimal

import pytest

from traced_loop import Budget, Loop, ModelError, Price, RetryPolicy, ScriptedModel, StopReason, names, tool
from traced_loop.closed_words import ModelErrorKind
from traced_loop.events import AttemptFailed, Event
from traced_loop.messages import ModelAnswer, ModelRequest, TokenUsage
from traced_loop.models.traits import OUTPUT_CEILING, ModelTraits
from traced_loop.testing import Spans, counted_wiring, play

from ..hangs import no_hang

QUICK = RetryPolicy(attempts=3, first_delay=0.001)
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
BUSY = ModelError("busy", error_type="429", retryable=True, status=429)


@tool(effect="read")
def look() -> str:
    """Look."""
    return "seen"


def test_an_error_that_says_try_again_is_tried_again() -> None:
    """Also where it comes inside a successful response."""
    limited = {"choices": None, "error": {"code": 429, "message": "rate limited"}}

    played = play([limited, "done"], retry=QUICK)

    assert (played.result.answer, played.result.usage.model_requests) == ("done", 2)


BILLED = {
    "choices": None,
    "error": {"code": 429, "message": "rate limited"},
    "usage": {"prompt_tokens": 1_000, "completion_tokens": 10},
}


def test_what_an_error_used_that_was_tried_again_counts() -> None:
    """The provider counted it: it is in the run's totals, on the one chat span, and costs what its tokens cost."""
    good = {
        "choices": [{"message": {"content": "done"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1_000, "completion_tokens": 20},
    }
    model = ScriptedModel([BILLED, BILLED, good], price=Price(input=1, output=1))

    played = play([], model=model, retry=QUICK)

    usage, span = played.result.usage, played.spans.named("chat")[0].attributes
    assert (usage.tokens, usage.input_tokens, usage.output_tokens) == (3_040, 3_000, 40)
    assert (usage.cost_usd, usage.charged_usd, usage.estimated) == (Decimal("0.00304"), Decimal("0.00304"), False)
    assert (span["gen_ai.usage.input_tokens"], span["traced_loop.cost.usd"]) == (3_000, 0.00304)
    tries = [attempt.attributes for attempt in played.spans.named("traced_loop.attempt")]
    paid = (
        "traced_loop.attempt.input_tokens",
        "traced_loop.attempt.output_tokens",
        "traced_loop.attempt.cached_tokens",
    )
    assert [tuple(map(each.get, paid)) for each in tries] == [(1_000, 10, None), (1_000, 10, None), (None, None, None)]


def test_what_the_errors_of_a_request_used_that_failed_for_good_counts() -> None:
    """Also where no try gave an answer."""
    played = play([BILLED] * 3, retry=QUICK)

    usage, span = played.result.usage, played.spans.named("chat")[0].attributes
    assert (played.result.stop_reason, usage.tokens) == (StopReason.MODEL_ERROR, 3_030)
    assert (span["gen_ai.usage.output_tokens"], span["traced_loop.usage.source"]) == (30, "provider")


def test_the_next_request_is_not_expected_to_hold_what_failed_tries_used() -> None:
    """Only the answer's own counts say how long the history is."""
    calling = {
        "choices": [{"message": {"tool_calls": [CALL]}, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 1_000, "completion_tokens": 20},
    }

    played = play([BILLED, calling, "done"], [look], retry=QUICK)

    reserved = [
        check.attributes["traced_loop.budget.reserved_tokens"]
        for check in played.spans.named("traced_loop.check_budget")
        if check.attributes["traced_loop.budget.phase"] == "request"
    ]
    assert 1_020 < reserved[1] - OUTPUT_CEILING < 1_100


def test_a_recovered_error_is_on_its_attempt_alone() -> None:
    """The chat span and the run are no errors, and each try has its span, its number and its delay."""
    events: list[Event] = []

    played = play([BUSY, "done"], retry=QUICK, on_event=events.append)

    first, second = played.spans.named("traced_loop.attempt")
    assert (first.error, second.error, played.spans.named("chat")[0].error) == (True, False, False)
    assert [s.attributes["traced_loop.attempt.number"] for s in (first, second)] == [1, 2]
    assert [(s.kind, s.attributes["traced_loop.execution.id"]) for s in (first, second)] == [
        ("INTERNAL", "execution-1"),
        ("INTERNAL", "execution-2"),
    ]
    assert (first.attributes["error.type"], first.parent_id) == ("429", played.spans.named("chat")[0].span_id)
    assert [(e.number, e.error_type) for e in events if isinstance(e, AttemptFailed)] == [(1, "429")]


@pytest.mark.parametrize(
    ("error", "requests"),
    [
        pytest.param(BUSY, 3, id="retryable"),
        pytest.param(ModelError("no", error_type="401"), 1, id="for_good"),
        pytest.param(ModelError("later", error_type="429", retryable=True, retry_after=90), 1, id="after_the_deadline"),
    ],
)
def test_a_failed_request_is_tried_again_only_where_that_can_help(error: ModelError, requests: int) -> None:
    """Never more often than allowed, and never past the deadline."""
    model = ScriptedModel([error] * 3)

    result = Loop(model, retry=QUICK, budget=Budget(seconds=60), store=None).run("Go.")

    assert (result.stop_reason, len(model.requests), result.error) == (StopReason.MODEL_ERROR, requests, str(error))


def test_a_delay_that_the_server_asks_for_is_kept() -> None:
    """Otherwise delays double up to a bound, with some jitter."""
    policy = RetryPolicy(first_delay=1, max_delay=4)

    assert policy.delay(1, 7.5) == 7.5
    assert [0.75 * full <= policy.delay(n, None) <= full for n, full in ((1, 1), (2, 2), (3, 4), (9, 4))] == [True] * 4


class Silent:
    """A model that never answers."""

    name, provider, traits = "silent", "nobody", ModelTraits()

    def __init__(self, *, stubborn: bool) -> None:
        self.asked: list[float] = []
        self.stubborn = stubborn

    async def complete(self, request: ModelRequest) -> ModelAnswer:
        self.asked.append(request.timeout)
        tries = 5 if self.stubborn else 1
        for _ in range(tries):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if not self.stubborn:
                    raise
        raise AssertionError


@pytest.mark.parametrize("stubborn", [False, True], ids=["heeds_its_cancellation", "does_not"])
@pytest.mark.parametrize(
    ("budget", "stop"),
    [
        pytest.param(Budget(seconds=0.2), StopReason.DEADLINE_EXCEEDED, id="the_runs_time"),
        pytest.param(Budget(request_seconds=0.2), StopReason.MODEL_ERROR, id="the_requests_time"),
    ],
)
def test_a_model_that_never_answers_cannot_outlive_its_time(budget: Budget, stop: StopReason, stubborn: bool) -> None:
    """The request gets what is left, and the reason on the chat span is the run's."""
    spans, model = Spans(), Silent(stubborn=stubborn)

    with no_hang():
        result = Loop(model, budget=budget, wiring=counted_wiring(spans)).run("Go.")

    (span,) = spans.named("chat")
    assert (result.stop_reason, span.attributes["traced_loop.run.stop_reason"], span.error) == (stop, stop, True)
    assert (span.attributes["error.type"], model.asked[0] < 0.21) == ("timeout", True)
    assert [m["role"] for m in result.messages] == ["user"]


def test_a_model_that_cancels_itself_is_a_model_error() -> None:
    """Only the run's own cancellation ends the run as cancelled."""
    result = play([asyncio.CancelledError()]).result

    assert (result.stop_reason, result.stop_detail) == (StopReason.MODEL_ERROR, "the model request failed: cancelled")


def test_a_failed_try_and_its_request_say_why_and_for_how_long_the_server_asked() -> None:
    """In a closed word and a number, on the attempt and, where it was the last, on the chat span."""
    busy = ModelError("busy", error_type="429", retryable=True, status=429, retry_after=0.002)

    played = play([busy, busy], retry=RetryPolicy(attempts=2))

    spans = [*played.spans.named("traced_loop.attempt"), *played.spans.named("chat")]
    keys = (names.MODEL_ERROR_KIND, names.HTTP_STATUS, names.MODEL_ERROR_RETRY_AFTER_MS)
    assert [tuple(map(span.attributes.get, keys)) for span in spans] == [("rate_limited", 429, 2)] * 3


def test_a_request_that_worked_in_the_end_says_nothing_of_what_failed() -> None:
    """An error that a later try recovered is not on the parent."""
    played = play([BUSY, "done"], retry=QUICK)

    [chat] = played.spans.named("chat")
    assert names.MODEL_ERROR_KIND not in chat.attributes
    assert played.spans.named("traced_loop.attempt")[0].attributes[names.MODEL_ERROR_KIND] == "rate_limited"


def test_what_an_error_response_was_billed_counts() -> None:
    """Counts in the body of a 4xx or 5xx: part of the run's totals, and on the attempt's span."""
    usage = TokenUsage(input=900, output=0, total=900, source="provider")
    paid = ModelError(
        "lost", error_type="502", retryable=True, answer=ModelAnswer(message=None, finish_reason=None, usage=usage)
    )
    good = {
        "choices": [{"message": {"content": "done"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1_000, "completion_tokens": 20},
    }

    played = play([paid, good], retry=QUICK)

    assert (played.result.usage.tokens, played.result.usage.input_tokens) == (1_920, 1_900)
    assert played.spans.named("traced_loop.attempt")[0].attributes[names.ATTEMPT_INPUT_TOKENS] == 900


def test_a_wait_that_does_not_fit_is_in_the_detail() -> None:
    """So that nobody wonders why there was no second try."""
    asking = ModelError("busy", error_type="429", retryable=True, status=429, retry_after=90)

    played = play([asking], budget=Budget(seconds=10))

    assert played.result.usage.model_requests == 1
    assert "asks for a wait of 1 min 30 s, more than there is time for" in played.result.stop_detail


def test_an_error_that_asks_for_a_wait_inside_a_success_is_waited_for() -> None:
    """As long as it asks, and no longer."""
    limited = {"choices": None, "error": {"code": 429, "details": [{"retryDelay": "0.002s"}]}}
    events: list[Event] = []

    played = play([limited, "done"], retry=RetryPolicy(first_delay=100), on_event=events.append)

    assert played.result.answer == "done"
    assert [e.delay for e in events if isinstance(e, AttemptFailed)] == [0.002]


@pytest.mark.parametrize("word", ["insufficient_quota", "context_length_exceeded"])
def test_what_waiting_does_not_help_is_not_tried_again(word: str) -> None:
    """Also inside a successful response and under a code that else would be; the detail says what to do."""
    played = play([{"choices": None, "error": {"code": 429, "type": word}}], retry=QUICK)

    assert (played.result.stop_reason, played.result.usage.model_requests) == (StopReason.MODEL_ERROR, 1)
    assert "the account has no credit" in played.result.stop_detail or "longer than the" in played.result.stop_detail


def test_a_filter_that_refuses_the_request_is_a_withheld_answer() -> None:
    """As if it had come with the finish reason."""
    refused = ModelError("no", error_type="400", status=400, kind=ModelErrorKind.CONTENT_FILTERED)

    played = play([refused])

    assert played.result.stop_reason is StopReason.CONTENT_FILTERED
    assert played.spans.named("chat")[0].error
