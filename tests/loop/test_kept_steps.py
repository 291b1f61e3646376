"""What a step gives as text: ASCII JSON that reads back as the same value."""

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any, get_args

from hypothesis import given
from hypothesis import strategies as st

from traced_loop.closed_words import Anomaly, CostSource, UsageSource
from traced_loop.loop.kept_steps import (
    FORM,
    KeptTurn,
    asked_next,
    kept_text,
    response_in,
    response_value,
    turn_in,
    turn_value,
)
from traced_loop.loop.model_client import Response
from traced_loop.messages import TokenUsage, ToolCall
from traced_loop.outcomes import Outcome, StopReason
from traced_loop.rules.answer_verdict import Verdict
from traced_loop.rules.billing import Bill

TEXTS = st.text(st.characters(exclude_categories=()), max_size=8)
COUNTS = st.integers(0, 2**40)
AMOUNTS = st.decimals(0, 1000, places=9)
STOPS = st.sampled_from(list(StopReason))
SPANS = st.none() | st.tuples(st.integers(1, 2**128 - 1), st.integers(1, 2**64 - 1))
ANOMALIES = st.lists(st.sampled_from(list(Anomaly)), max_size=2).map(tuple)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
USAGES = st.builds(
    TokenUsage,
    input=st.none() | COUNTS,
    output=st.none() | COUNTS,
    cached=COUNTS,
    reasoning=COUNTS,
    cache_write=COUNTS,
    input_audio=COUNTS,
    output_audio=COUNTS,
    total=st.none() | COUNTS,
    source=st.sampled_from(get_args(UsageSource)),
    cost_usd=st.none() | AMOUNTS,
)
BILLS = st.builds(
    Bill,
    usage=USAGES,
    cost=st.none() | AMOUNTS,
    charged=AMOUNTS,
    source=st.sampled_from(get_args(CostSource)),
    pricing=st.none(),
    is_upper_bound=st.booleans(),
)
VERDICTS = st.builds(
    Verdict,
    kind=st.sampled_from(["calls", "final", "stop"]),
    text=st.none() | TEXTS,
    stop=st.none() | STOPS,
    detail=TEXTS,
    anomalies=ANOMALIES,
)
CALLS = st.builds(ToolCall, id=TEXTS, index=st.integers(0, 9), name=TEXTS, arguments=TEXTS, anomalies=ANOMALIES)
RESPONSES = st.builds(
    Response,
    verdict=VERDICTS,
    truncated=st.booleans(),
    message=st.none() | st.dictionaries(TEXTS, JSON, max_size=3),
    calls=st.lists(CALLS, max_size=2).map(tuple),
    bill=st.none() | BILLS,
    context_tokens=st.none() | COUNTS,
    requests=COUNTS,
    finish_reason=st.none() | TEXTS,
    error=st.none() | TEXTS,
    model=st.integers(0, 3),
    span=SPANS,
)
TURNS = st.builds(
    KeptTurn,
    outcome=st.sampled_from(list(Outcome)),
    content=TEXTS,
    ran=st.booleans(),
    span=SPANS,
    marks=st.dictionaries(TEXTS, st.integers() | st.booleans() | TEXTS, max_size=3),
    stops=st.lists(st.tuples(STOPS, TEXTS), max_size=2).map(tuple),
    took=st.none() | st.floats(0, 1e6),
    numbers=st.lists(st.floats(allow_nan=False), max_size=3).map(tuple),
)


def read_back(value: dict[str, Any]) -> dict[str, Any]:
    """Through the text that an engine keeps."""
    text = kept_text(value)
    text.encode("ascii")
    found: dict[str, Any] = json.loads(text)
    assert found.pop("form") == FORM
    return found


@given(RESPONSES)
def test_an_answer_is_the_same_when_it_is_read_again(response: Response) -> None:
    """Whatever the provider wrote in it, unpaired surrogates and all."""
    assert response_in(read_back(response_value(response))) == response


@given(TURNS)
def test_what_came_of_a_call_is_the_same_when_it_is_read_again(turn: KeptTurn) -> None:
    """Its marks and stops, too."""
    assert turn_in(read_back(turn_value(turn))) == turn


def test_the_price_list_behind_a_bill_is_not_kept() -> None:
    """What it came to is; another version may have other prices."""
    price: Any = object()
    billed = Bill(usage=TokenUsage(), cost=Decimal("0.1"), charged=Decimal("0.1"), source="declared", pricing=price)
    response = Response(verdict=Verdict(kind="final", text="done"), bill=billed)
    assert response_in(read_back(response_value(response))).bill == replace(billed, pricing=None)


def test_histories_are_told_apart_by_every_message() -> None:
    """In one go or message by message it is the same only for the same pieces, as a run asks."""
    one, two = {"role": "user", "content": "1"}, {"role": "user", "content": "2"}
    found = {asked_next("", history) for history in ([], [one], [two], [one, two], [two, one])}
    assert (len(found), asked_next("", [one])) == (5, asked_next("", [dict(one)]))
    assert asked_next(asked_next("", [one]), [two]) != asked_next(asked_next("", [two]), [two])
