"""Orders are found by their exact id, or the error says how an id looks."""

import json
import re

import pytest

from traced_loop.errors import InvalidArguments, ToolError
from traced_loop.tool_registry import definition_of
from traced_loop.tools.orders import ORDERS, Order, query_order


def test_order_a100_is_shipped() -> None:
    """The order of all examples."""
    assert query_order("A100") == {
        "order_id": "A100",
        "state": "shipped",
        "items": 2,
        "total_cents": 4980,
        "carrier": "Northpost",
        "due": "2025-03-14",
    }


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order.order_id)
def test_every_order_is_found_and_is_plain_json(order: Order) -> None:
    """Its id has the form that the error names."""
    found = query_order(order.order_id)

    assert json.loads(json.dumps(found)) == found
    assert re.fullmatch("[A-Z][0-9]{3}", order.order_id)


@pytest.mark.parametrize(
    "order_id",
    ["A999", "a100", " A100", "A100\n", "", "A" * 5_000, "\u0041\u0661\u0660\u0660", "\ud83e", "\0"],
    ids=ascii,
)
def test_an_unknown_order_names_the_form_of_an_id(order_id: str) -> None:
    """Nothing is trimmed or guessed, and the id is not echoed."""
    with pytest.raises(ToolError) as refused:
        query_order(order_id)

    assert str(refused.value) == "no such order; an order id is a capital letter and three digits, such as A100"


@pytest.mark.parametrize("order_id", [None, 100, ["A100"], b"A100"])
def test_an_id_that_is_no_text_is_refused(order_id: object) -> None:
    """A direct call with another type gets the tool's own error."""
    with pytest.raises(InvalidArguments):
        query_order(order_id)  # type: ignore[arg-type]


def test_a_result_that_is_changed_changes_no_order() -> None:
    """Each answer is a new dict."""
    query_order("A100")["state"] = "lost"

    assert query_order("A100")["state"] == "shipped"


def test_it_is_a_read_whose_id_may_stand_in_the_trace() -> None:
    """The id is what somebody looks for in a trace."""
    definition = definition_of(query_order)

    assert (definition.name, definition.effect, definition.trace) == ("query_order", "read", {"order_id"})
