"""One model request."""

from decimal import Decimal
from typing import Any

import pytest

from traced_loop import Budget, Loop, ModelError, Price, RetryPolicy, ScriptedModel, StopReason, tool
from traced_loop.messages import ModelRequest
from traced_loop.models.traits import OUTPUT_CEILING, ModelTraits
from traced_loop.rules.pairing import pairing_problems
from traced_loop.rules.price_table import TablePrice
from traced_loop.rules.token_estimate import estimated_tokens
from traced_loop.telemetry.spans import SpanRecord
from traced_loop.testing import CountedClock, Played, calls, play
from traced_loop.tool_registry import definition_of

QUICK = RetryPolicy(attempts=3, first_delay=0.001)
BUSY = ModelError("busy", error_type="429", retryable=True, status=429)


@tool(effect="read")
def multiply(a: int, b: int) -> int:
    """Multiply two integers."""
    return a * b


def entry(identifier: str | None, a: int, b: int) -> dict[str, Any]:
    """A call of ``multiply`` with an id, an empty one or none."""
    found = {"type": "function", "function": {"name": "multiply", "arguments": f'{{"a":{a},"b":{b}}}'}}
    return found if identifier is None else {"id": identifier, **found}


def body(*entries: Any, finish: str | None = "tool_calls", **fields: Any) -> dict[str, Any]:
    """A raw response with calls."""
    message = {"role": "assistant", "content": None, "tool_calls": list(entries)}
    return {"choices": [{"message": message, "finish_reason": finish}], **fields}


def chat(played: Played) -> SpanRecord:
    """The span of the first answer."""
    return played.spans.named("chat")[0]


@pytest.mark.parametrize("given", ["", None], ids=["empty", "absent"])
def test_a_missing_id_is_made_before_the_message_is_stored(given: str | None) -> None:
    """Call and result share an id that every provider takes, and the repair is on the span."""
    played = play([body(entry(given, 6, 7)), "42"], [multiply])

    made = played.result.messages[1]["tool_calls"][0]["id"]
    assert (len(made), made.isalnum(), played.result.messages[2]["tool_call_id"]) == (9, True, made)
    assert chat(played).attributes["traced_loop.anomalies"] == "usage_missing,id_synthesized"


def test_two_calls_that_share_an_id_both_run() -> None:
    """The second gets an id of its own; the provider's is not rewritten."""
    played = play([body(entry("x", 6, 7), entry("x", 2, 3)), "done"], [multiply])

    results = [(m["tool_call_id"], m["content"][-3:-1]) for m in played.result.messages[2:4]]
    assert (results[0], results[1][1]) == (("x", "42"), ":6")
    assert results[1][0] != "x"
    assert pairing_problems(played.result.messages) == []


def test_an_echo_of_a_call_runs_once() -> None:
    """Same id, name and arguments: one call, kept once."""
    played = play([body(entry("x", 6, 7), entry("x", 6, 7)), "done"], [multiply])

    assert played.result.usage.tool_calls == 1
    assert len(played.result.messages[1]["tool_calls"]) == 1
    assert "call_echo" in chat(played).attributes["traced_loop.anomalies"]


def test_ids_may_be_used_again_in_a_later_step() -> None:
    """Real servers count from the same number in each answer."""
    result = play([body(entry("c0", 6, 7)), body(entry("c0", 2, 3)), "done"], [multiply]).result

    assert (result.answer, pairing_problems(result.messages)) == ("done", [])


def test_stop_beside_calls_can_be_tolerated() -> None:
    """The option that the stop detail names accepts it, and marks it."""
    strict = play([body(entry("c1", 6, 7), finish="stop")], [multiply])
    model = ScriptedModel([body(entry("c1", 6, 7), finish="stop"), "42"], tolerate={"stop_with_tool_calls"})
    tolerant = play([], [multiply], model=model)

    assert 'tolerate={"stop_with_tool_calls"}' in strict.result.stop_detail
    assert (strict.result.stop_reason, strict.result.usage.tool_calls) == (StopReason.INCONSISTENT_RESPONSE, 0)
    assert (tolerant.result.answer, tolerant.result.usage.tool_calls) == ("42", 1)
    assert chat(tolerant).attributes["gen_ai.response.finish_reasons"] == ("stop",)
    assert chat(tolerant).attributes["traced_loop.anomalies"] == "usage_missing,stop_with_tool_calls"


def test_calls_announced_and_missing_keep_the_text() -> None:
    """One request, the text as partial, and no empty list of calls in the history."""
    message = {"content": "It is 42.", "tool_calls": None}
    result = play([{"choices": [{"message": message, "finish_reason": "tool_calls"}]}]).result

    assert (result.partial, result.answer) == ("It is 42.", None)
    assert "tool_calls" not in result.messages[-1]


@pytest.mark.parametrize(
    ("answer", "detail", "partial"),
    [
        pytest.param({"id": "x", "object": "chat.completion"}, "invalid_response", None, id="no_choices"),
        pytest.param({"choices": []}, "invalid_response", None, id="empty_choices"),
        pytest.param({"choices": [None]}, "invalid_response", None, id="a_null_choice"),
        pytest.param({"choices": None, "error": {"code": 400, "message": "no"}}, "400", None, id="an_error_object"),
        pytest.param({"error": "overloaded"}, "_OTHER", None, id="an_error_text"),
        pytest.param(
            {
                "choices": [{"message": {"content": "Partial ans"}, "finish_reason": "error"}],
                "error": {"code": 502, "message": "upstream lost"},
            },
            "502",
            "Partial ans",
            id="half_an_answer",
        ),
        pytest.param(
            {
                "choices": [{"message": {"content": [{"type": "text", "text": "Partial"}]}, "finish_reason": "error"}],
                "error": {"code": 502, "message": "upstream lost"},
            },
            "502",
            "Partial",
            id="half_an_answer_in_parts",
        ),
    ],
)
def test_an_error_inside_a_successful_response_is_a_model_error(
    answer: dict[str, Any], detail: str, partial: str | None
) -> None:
    """Whatever its shape: typed, with the half text as partial, and never taken as the answer."""
    played = play([answer])

    assert (played.result.stop_reason, played.result.partial) == (StopReason.MODEL_ERROR, partial)
    assert detail in played.result.stop_detail
    assert (chat(played).error, chat(played).attributes["error.type"]) == (True, detail)


def test_what_an_unusable_answer_used_still_counts() -> None:
    """It was billed."""
    result = play([{"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 20}}]).result

    assert (result.usage.tokens, result.usage.estimated) == (120, False)


def test_the_input_is_counted_on_one_clock() -> None:
    """A deadline that passes in between attempts ends the attempts."""
    clock = CountedClock()

    def fail(_: ModelRequest) -> ModelError:
        clock.advance(70)
        return BUSY

    played = play([fail], clock=clock, retry=QUICK, budget=Budget(seconds=60))

    assert played.result.usage.model_requests == 1


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        pytest.param(
            {"prompt_tokens": 10_000, "completion_tokens": 500, "prompt_tokens_details": {"cached_tokens": 8_000}},
            "0.0048",
            id="cached_is_part_of_the_input",
        ),
        pytest.param(
            {"prompt_tokens": 0, "completion_tokens": 900, "completion_tokens_details": {"reasoning_tokens": 700}},
            "0.0036",
            id="reasoning_is_part_of_the_output",
        ),
        pytest.param(
            {"prompt_tokens": 100, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 150}},
            "0.00001",
            id="more_cached_than_sent",
        ),
        pytest.param(
            {"prompt_tokens": 10_000, "completion_tokens": 500, "prompt_tokens_details": None}, "0.012", id="no_details"
        ),
    ],
)
def test_nothing_is_billed_twice(usage: dict[str, Any], cost: str) -> None:
    """Cached and reasoning tokens are inside of the counts that they are part of."""
    answer = {"choices": [{"message": {"content": "42"}, "finish_reason": "stop"}], "usage": usage}
    model = ScriptedModel([answer], price=Price(input=1, output=4, cached_input="0.1"))

    result = play([], model=model).result

    assert result.cost == Decimal(cost)
    assert result.usage.tokens == usage["prompt_tokens"] + usage["completion_tokens"]


@pytest.mark.parametrize(
    ("usage", "tokens", "split"),
    [
        pytest.param({"total_tokens": 12}, 12, (None, None), id="only_a_total"),
        pytest.param({"prompt_tokens": "12", "completion_tokens": None}, None, (12, None), id="odd_types"),
        pytest.param({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, None, (None, None), id="zeros"),
        pytest.param(None, None, (None, None), id="null"),
    ],
)
def test_counts_that_nobody_gave_are_unknown(usage: Any, tokens: int | None, split: tuple[Any, Any]) -> None:
    """They are estimated for the limits, marked, and absent on the span."""
    answer = {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}], "usage": usage}

    played = play([answer])

    used = played.result.usage
    assert (used.input_tokens, used.output_tokens, used.estimated) == (*split, tokens is None)
    assert used.tokens == tokens or used.tokens > 1
    assert chat(played).attributes.get("gen_ai.usage.output_tokens") is None


def test_a_server_that_never_counts_cannot_outrun_the_token_limit() -> None:
    """Estimates stop the run by its tokens, not by its steps."""
    answer = body(entry("c1", 6, 7))
    model = ScriptedModel([answer] * 50)

    result = Loop(model, [multiply], budget=Budget(steps=50, tokens=1_000), store=None).run("Go." * 100)

    assert result.stop_reason is StopReason.TOKEN_BUDGET_EXCEEDED
    assert len(model.requests) < 20


def test_what_nobody_counts_is_estimated_from_what_was_admitted() -> None:
    """Tool definitions included: a step takes what was reserved for it and its answer, and no history is read again."""
    uncounted = body(entry("c1", 6, 7))
    played = play([uncounted, {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}], [multiply])

    reserved = [
        check.attributes["traced_loop.budget.reserved_tokens"]
        for check in played.spans.named("traced_loop.check_budget")
        if check.attributes["traced_loop.budget.phase"] == "request"
    ]
    inputs = [tokens - OUTPUT_CEILING for tokens in reserved]
    assert inputs[0] > estimated_tokens([definition_of(multiply).wire()])
    assert inputs[1] > inputs[0]
    answers = estimated_tokens([m for m in played.result.messages if m["role"] == "assistant"])
    assert played.result.usage.tokens == sum(inputs) + answers


def test_another_model_in_the_answer_has_no_guessed_price() -> None:
    """The answer is priced by the model that gave it, or not at all; both names are on the span."""
    answer = {"model": "other", "choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}], "usage": None}

    class Priced(ScriptedModel):
        def __init__(self) -> None:
            super().__init__([answer])
            self.traits = ModelTraits(pricing=lambda name: Price(input=1, output=1) if name == "scripted" else None)

    played = play([], model=Priced())

    span = chat(played).attributes
    assert (span["gen_ai.request.model"], span["gen_ai.response.model"]) == ("scripted", "other")
    assert (played.result.cost, span["traced_loop.cost.source"]) == (None, "unknown")
    assert played.result.usage.charged_usd > 0


def test_half_characters_never_leave() -> None:
    """A name, arguments and a text that are no Unicode are repaired before anything is stored or sent."""
    function = {"name": "look\ud83e", "arguments": "{}"}
    first = {"message": {"content": "on it \ud83e", "tool_calls": [{"id": "c1", "function": function}]}}
    last = {"message": {"content": "done \ud83e"}, "finish_reason": "stop"}

    played = play([{"choices": [{**first, "finish_reason": "tool_calls"}]}, {"choices": [last]}], [multiply])

    assert played.result.answer == "done \ufffd"
    assert str(played.result.messages).encode()
    assert "text_not_unicode" in chat(played).attributes["traced_loop.anomalies"]


def test_named_fields_can_be_kept_from_going_back() -> None:
    """For providers that refuse their own reasoning; the history keeps it."""
    message = {"content": None, "tool_calls": [entry("c1", 6, 7)], "reasoning_content": "need a product"}
    model = ScriptedModel(
        [{"choices": [{"message": message, "finish_reason": "tool_calls"}]}, "42"], strip={"reasoning_content"}
    )

    result = play([], [multiply], model=model).result

    assert "reasoning_content" not in model.requests[1].messages[1]
    assert result.messages[1]["reasoning_content"] == "need a product"


def test_request_parameters_reach_model_and_span() -> None:
    """Set at the start of the span, so that a request that fails shows them too."""
    played = play(["42"], request={"temperature": 0, "stop": "END", "max_tokens": 7})

    span = chat(played).attributes
    assert played.model.requests[0].parameters == {"temperature": 0, "stop": "END", "max_tokens": 7}
    assert (span["gen_ai.request.temperature"], span["gen_ai.request.max_tokens"]) == (0, 7)
    assert span["gen_ai.request.stop_sequences"] == ("END",)


def test_calls_are_listed_up_to_a_bound() -> None:
    """A hundred calls do not make an attribute of a hundred ids."""
    played = play([calls(*[("multiply", {"a": n, "b": 1}) for n in range(100)])], [multiply])

    assert len(chat(played).attributes["traced_loop.call.ids"].split(",")) == 32


def test_text_in_the_place_of_a_word_stays_off_the_span() -> None:
    """Finish reason, id and model are words; a sentence in their place is content."""
    answer = {
        "id": "the user's name is Ann",
        "model": "I said: 42",
        "choices": [{"message": {"role": "assistant", "content": "42"}, "finish_reason": "stopped because Ann asked"}],
    }

    span = chat(play([answer])).attributes

    assert span["gen_ai.response.finish_reasons"] == ("_other",)
    assert (span["gen_ai.response.id"], span["gen_ai.response.model"]) == ("_other", "_other")
    assert "Ann" not in str(span)


def test_the_rates_behind_a_cost_stand_beside_it() -> None:
    """A declared price is in no table; what a table says has its name; an unknown cost has neither."""
    declared = play([], model=ScriptedModel(["42"], price=Price(input="0.25", output=2, cached_input="0.025")))
    table: Any = TablePrice(price=Price(input=1, output=4), table="genai-prices 1.2")
    listed = play([], model=ScriptedModel(["42"], price=table))

    rates = [chat(played).attributes.get("traced_loop.cost.rates") for played in (declared, listed, play(["42"]))]
    tables = [chat(played).attributes.get("traced_loop.cost.table") for played in (declared, listed, play(["42"]))]
    assert rates == ["0.25,0.025,2", "1,1,4", None]
    assert tables == [None, "genai-prices 1.2", None]
