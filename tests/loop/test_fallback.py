"""Models that stand in for one that cannot be asked: who is asked, who is paid, and what the trace says of it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from traced_loop import (
    Budget,
    Loop,
    ModelError,
    Price,
    RetryPolicy,
    ScriptedModel,
    StopReason,
    UsageError,
    names,
    tool,
)
from traced_loop.closed_words import ModelErrorKind
from traced_loop.events import AttemptFailed, Event, ModelFellBack
from traced_loop.messages import ModelAnswer, ModelRequest
from traced_loop.models.traits import ModelTraits
from traced_loop.testing import CountedClock, CountedIds, Played, Spans, calls, counted_wiring

QUICK = RetryPolicy(attempts=2, first_delay=0.001)
BUSY = ModelError("busy", error_type="503", retryable=True, status=503)
NO_KEY = ModelError("who?", error_type="401", status=401)
SAID = {
    "choices": [{"message": {"content": "done"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1000, "completion_tokens": 100},
}


@tool(effect="read")
def look() -> str:
    """Look."""
    return "seen"


def play(*models: ScriptedModel, clock: CountedClock | None = None, **options: Any) -> Played:
    """Run on the first of the models, with the others behind it."""
    spans, ids = Spans(), CountedIds()
    wiring = counted_wiring(spans, clock, ids)
    loop = Loop(
        models[0], options.pop("tools", ()), fallback=models[1:], wiring=wiring, ids=ids, retry=QUICK, **options
    )
    return Played(result=loop.run("Go."), spans=spans, model=models[-1])


def scripted(name: str, *script: Any, provider: str = "scripted", **options: Any) -> ScriptedModel:
    """A script under a name."""
    model = ScriptedModel(script, name=name, **options)
    model.provider = provider
    return model


def tries(played: Played) -> list[tuple[Any, ...]]:
    """Model, provider and kind of error of each attempt."""
    keys = (names.ATTEMPT_MODEL, names.ATTEMPT_PROVIDER, names.MODEL_ERROR_KIND)
    return [tuple(map(span.attributes.get, keys)) for span in played.spans.named("traced_loop.attempt")]


def test_the_next_model_is_asked_once_the_tries_of_the_first_are_used_up() -> None:
    """One chat span under the first one's name; each try says whom it asked."""
    played = play(scripted("big", BUSY, BUSY), scripted("small", "done", provider="elsewhere"))

    assert (played.result.answer, played.result.usage.model_requests) == ("done", 3)
    assert tries(played) == [
        ("big", "scripted", "overloaded"),
        ("big", "scripted", "overloaded"),
        ("small", "elsewhere", None),
    ]
    [chat] = played.spans.named("chat")
    a = chat.attributes
    assert (chat.name, a[names.GEN_AI_REQUEST_MODEL], a[names.GEN_AI_RESPONSE_MODEL]) == ("chat big", "big", "small")
    assert (a[names.FALLBACK_MODEL], a[names.GEN_AI_PROVIDER], chat.error) == ("small", "elsewhere", False)


def test_an_error_of_this_model_alone_is_not_tried_again_but_elsewhere() -> None:
    """Its key, its quota, its name: nothing is waited for."""
    events: list[Event] = []

    played = play(scripted("big", NO_KEY), scripted("small", "done"), on_event=events.append)

    assert played.result.usage.model_requests == 2
    assert [event for event in events if isinstance(event, (AttemptFailed, ModelFellBack))] == [
        ModelFellBack(step=1, model="big", to_model="small", error_type="401", kind=ModelErrorKind.AUTH)
    ]


@pytest.mark.parametrize(
    "kind", [ModelErrorKind.CONTEXT_TOO_LONG, ModelErrorKind.INVALID_REQUEST, ModelErrorKind.CONTENT_FILTERED]
)
def test_what_is_wrong_with_the_request_is_not_taken_elsewhere(kind: ModelErrorKind) -> None:
    """Nor is what a filter refused."""
    played = play(scripted("big", ModelError("no", error_type="400", status=400, kind=kind)), scripted("small", "done"))

    assert (played.result.answer, played.result.usage.model_requests) == (None, 1)


def test_an_error_inside_of_a_success_is_taken_elsewhere_too() -> None:
    """Where the answer says nothing."""
    empty = {"error": {"code": 402, "message": "no credit"}}

    assert play(scripted("big", empty), scripted("small", "done")).result.answer == "done"


def test_a_run_stays_with_the_model_that_it_has_come_to() -> None:
    """It is not kept waiting at each step by one that it knows to be down."""
    small = scripted("small", calls(("look", {})), "done")

    played = play(scripted("big", NO_KEY), small, tools=[look])

    assert (played.result.answer, len(small.requests)) == ("done", 2)
    assert [span.name for span in played.spans.named("chat")] == ["chat big", "chat small"]
    assert played.spans.named("chat")[1].attributes.get(names.FALLBACK_MODEL) is None


def test_who_answered_is_paid_at_its_own_price() -> None:
    """And a limit on cost reserves for the dearest of them."""
    cheap, dear = Price(input=1, output=1), Price(input=10, output=10)

    played = play(scripted("big", NO_KEY, price=cheap), scripted("small", SAID, price=dear), budget=Budget(cost_usd=5))

    assert played.result.cost == Decimal("0.011")
    [first] = [
        s
        for s in played.spans.named("traced_loop.check_budget")
        if s.attributes["traced_loop.budget.phase"] == "request"
    ]
    assert first.attributes[names.BUDGET_RESERVED_MICROUSD] > 160_000


def test_a_model_of_unknown_price_is_refused_under_a_cost_limit_wherever_it_stands() -> None:
    """Before the run: it may come to it."""
    with pytest.raises(UsageError, match="'small'"):
        play(scripted("big", price=Price.free()), scripted("small"), budget=Budget(cost_usd=1))


def test_what_failed_tries_of_another_model_were_billed_is_at_its_price() -> None:
    """Each pays for its own."""
    billed = {"choices": None, "error": {"code": 429}, "usage": {"prompt_tokens": 1_000, "completion_tokens": 0}}

    played = play(
        scripted("big", billed, billed, price=Price(input=1, output=1)),
        scripted("small", SAID, price=Price(input=10, output=10)),
    )

    assert played.result.cost == Decimal("0.013")
    rates = [span.attributes.get(names.COST_RATES) for span in played.spans.named("traced_loop.attempt")]
    assert rates == ["1,1,1", "1,1,1", None]
    assert played.spans.named("chat")[0].attributes[names.COST_RATES] == "10,10,10"


def test_another_providers_fields_stay_where_they_belong() -> None:
    """The fallback gets what every provider knows; the history keeps the message whole."""
    asking = {
        "choices": [
            {
                "finish_reason": "tool_calls",
                "message": {
                    "role": "assistant",
                    "content": None,
                    "reasoning_content": "hm",
                    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
                },
            }
        ]
    }
    small = scripted("small", "done", provider="elsewhere")

    played = play(scripted("big", asking, NO_KEY), small, tools=[look])

    assert "reasoning_content" not in small.requests[0].messages[1]
    assert played.result.messages[1]["reasoning_content"] == "hm"


def test_when_all_have_failed_the_last_ones_error_is_told() -> None:
    """With how many were asked."""
    played = play(scripted("big", NO_KEY), scripted("small", BUSY, BUSY))

    assert (played.result.stop_reason, played.result.usage.model_requests) == (StopReason.MODEL_ERROR, 3)
    assert played.result.stop_detail == "2 models were asked, the last one failed: 503"


def test_a_long_wait_is_not_waited_where_another_model_stands_ready() -> None:
    """One that the policy would not wait of its own."""
    asking = ModelError("busy", error_type="429", retryable=True, status=429, retry_after=60)

    assert play(scripted("big", asking), scripted("small", "done")).result.usage.model_requests == 2


class Silent:
    """A model that takes all of the time that it is given."""

    def __init__(self, clock: CountedClock) -> None:
        self.name, self.provider, self.traits = "big", "scripted", ModelTraits()
        self.seconds: list[float] = []
        self._clock = clock

    async def complete(self, request: ModelRequest) -> ModelAnswer:
        """Nothing comes."""
        self.seconds.append(request.timeout)
        self._clock.advance(request.timeout)
        raise ModelError("no answer in time", error_type="timeout", retryable=True)


def test_each_model_has_the_time_of_a_request_within_the_runs() -> None:
    """One that hangs does not take the time of the one that stands in for it."""
    clock = CountedClock()
    silent, waits = Silent(clock), Silent(clock)
    ids = CountedIds()
    wiring = counted_wiring(Spans(), clock, ids)

    result = Loop(silent, fallback=[waits], budget=Budget(request_seconds=20, seconds=30), wiring=wiring, ids=ids).run(
        "Go."
    )

    assert silent.seconds == [pytest.approx(20, abs=0.1)]
    assert waits.seconds == [pytest.approx(10, abs=0.1)]
    assert result.stop_reason is StopReason.DEADLINE_EXCEEDED


@pytest.mark.parametrize("given", ["gpt-5-nano", ["gpt-5-nano"], scripted("small")], ids=["name", "names", "model"])
def test_a_fallback_that_is_no_list_of_models_is_refused(given: Any) -> None:
    """At once, with what to write."""
    with pytest.raises(UsageError, match="fallback="):
        Loop(scripted("big"), fallback=given)
