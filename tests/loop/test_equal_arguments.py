"""Two writes are one where their handler cannot tell their arguments apart."""

import json
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from pydantic import BaseModel, Field, SecretStr

from traced_loop import Pending, Policy, allow_when, raw_tool, tool
from traced_loop.canonical_json import canonical
from traced_loop.loop.equal_arguments import equal_form
from traced_loop.outcomes import Outcome
from traced_loop.testing import calls, play
from traced_loop.tool_registry import Tool, definition_of


class Colour(Enum):
    """A colour."""

    RED = "red"
    BLUE = "blue"


class Line(BaseModel):
    """A line of an order, one field of which no dump shows."""

    sku: str
    count: int = 1
    note: str = Field(default="", exclude=True)


@dataclass
class Size:
    """A size."""

    width: float


class Odd:
    """Of a type that tells nothing of itself."""


@tool(effect="write")
def order(
    cents: float = 5,
    price: Decimal = Decimal("1.50"),
    at: datetime | None = None,
    day: date = date(2026, 1, 1),
    colour: Colour = Colour.RED,
    lines: list[Line] | None = None,
    size: Size | None = None,
    tags: frozenset[str] = frozenset(),
    by_number: dict[int, str] | None = None,
    secret: SecretStr | None = None,
    any_value: Any = None,
    *,
    idempotency_key: str = "",
) -> str:
    """Order."""
    return idempotency_key


def form(text: str, given: Tool = order) -> str:
    """The form of the arguments that a model wrote so, as text: ``1 == True`` holds in Python only."""
    definition, value = definition_of(given), json.loads(text)
    checked = definition.schema.check(value, text)
    assert not isinstance(checked, tuple), checked
    return canonical(equal_form(definition, checked, value))


EQUAL = [
    ('{"cents":5}', '{"cents":5.0}'),
    ('{"cents":5e0}', "{}"),
    ('{"cents":0.0}', '{"cents":-0.0}'),
    ('{"price":"1.5"}', '{"price":1.50}'),
    ('{"price":"2"}', '{"price":"2.000"}'),
    ('{"at":"2026-01-01T10:00:00Z"}', '{"at":"2026-01-01T11:00:00+01:00"}'),
    ('{"day":"2026-01-01"}', '{"colour":"red","at":null}'),
    ('{"lines":[{"sku":"a"}]}', '{"lines":[{"count":1,"sku":"a"}]}'),
    ('{"size":{"width":1}}', '{"size":{"width":1.0}}'),
    ('{"tags":["a","b","c"]}', '{"tags":["c","b","a","a"]}'),
    ('{"by_number":{"1":"a","2":"b"}}', '{"by_number":{"2":"b","1":"a"}}'),
    ('{"any_value":[1,{"x":2.0}]}', '{"any_value":[1.0,{"x":2}]}'),
]
OTHER = [
    ('{"cents":5}', '{"cents":5.5}'),
    ('{"price":"1e99999"}', '{"price":"1e99998"}'),
    ('{"at":"2026-01-01T10:00:00"}', '{"at":"2026-01-01T10:00:00Z"}'),
    ('{"colour":"red"}', '{"colour":"blue"}'),
    ('{"lines":[{"sku":"a"}]}', '{"lines":[{"sku":"a","note":"x"}]}'),
    ('{"secret":"a"}', '{"secret":"b"}'),
    ('{"any_value":1}', '{"any_value":true}'),
    ('{"any_value":1}', '{"any_value":"1"}'),
    ('{"any_value":[]}', '{"any_value":null}'),
]


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_what_a_handler_cannot_tell_apart_is_equal(one: str, other: str) -> None:
    """Numbers by value, moments by when they are, defaults whether they are spelled out or not."""
    assert form(one) == form(other)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_what_a_handler_can_tell_apart_is_not(one: str, other: str) -> None:
    """Also where a dump would show the two alike: a write of which nothing comes is as bad as one too many."""
    assert form(one) != form(other)


def test_what_tells_nothing_of_itself_counts_as_the_model_wrote_it() -> None:
    """A default of such a type cannot be spelled out."""
    odd = Odd()

    @tool(effect="write")
    def note(text: str, mark: Any = odd) -> str:
        """Note."""
        return f"{text}{mark}"

    definition = definition_of(note)
    made = equal_form(definition, {"text": Odd()}, {"text": 1.0})
    assert made == {"text": 1, "mark": {"default": True}}


def test_a_raw_tools_defaults_are_its_handlers_or_its_schemas() -> None:
    """Tools of servers say in the schema what stands for what is left out."""

    def pay(cents: float, currency: str = "EUR", **_: Any) -> str:
        return f"{cents} {currency}"

    number, text = {"type": "number"}, {"type": "string"}
    properties = {"cents": number, "currency": text, "urgent": {"type": "boolean", "default": False}}
    raw = raw_tool(pay, name="pay", schema={"properties": properties}, effect="write")

    assert form('{"cents":5}', raw) == form('{"cents":5.0,"currency":"EUR","urgent":false}', raw)
    assert form('{"cents":5}', raw) != form('{"cents":5,"currency":"USD"}', raw)


@pytest.mark.parametrize("keyed", [False, True], ids=["derived", "declared"])
def test_a_write_that_is_spelled_otherwise_is_the_same_write(*, keyed: bool) -> None:
    """It runs once in a step; later it is asked about, or answered under its key, and conflicts with nothing."""
    done, asked = list[float](), list[str]()

    def by_order(**_: Any) -> str:
        return "order-1"

    @tool(effect="write", key=by_order if keyed else None)
    def pay(cents: float, currency: str = "EUR") -> str:
        """Pay."""
        done.append(cents)
        return f"paid {currency}"

    def nobody_twice(waiting: Pending) -> bool:
        asked.append(waiting.rule)
        return False

    first = calls(("pay", {"cents": 5}), ("pay", {"cents": 5.0}))
    policy = Policy(rules=[allow_when("pay")], confirm=nobody_twice, on_deny="report")
    played = play([first, calls(("pay", {"cents": 5, "currency": "EUR"})), "fin"], [pay], policy=policy)

    last = Outcome.REPLAYED if keyed else Outcome.CONFIRMATION_REJECTED
    assert (done, asked) == ([5], [] if keyed else ["repeated_write"])
    assert list(played.spans.outcomes().values()) == [[Outcome.OK], [Outcome.REPLAYED], [last]]
