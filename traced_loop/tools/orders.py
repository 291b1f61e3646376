"""A small fixed set of orders, for runs that ask where something is."""

from dataclasses import asdict

from traced_loop.errors import InvalidArguments, ToolError
from traced_loop.frozen_value import frozen_value
from traced_loop.tool_registry import tool


@frozen_value
class Order:
    """One order.

    Attributes:
        order_id: a capital letter and three digits.
        state: ``paid``, ``packed``, ``shipped``, ``delivered``, ``returned`` or ``cancelled``.
        items: how many pieces, at least 1.
        total_cents: price of all pieces, in cents of a euro.
        carrier: who has the parcel, or None before it is shipped and after a cancellation.
        due: day of delivery, expected or actual, as ``YYYY-MM-DD``; None where there is none.
    """

    order_id: str
    state: str
    items: int
    total_cents: int
    carrier: str | None
    due: str | None


ORDERS: tuple[Order, ...] = (
    Order(order_id="A100", state="shipped", items=2, total_cents=4_980, carrier="Northpost", due="2025-03-14"),
    Order(order_id="A101", state="packed", items=1, total_cents=1_250, carrier=None, due="2025-03-17"),
    Order(order_id="A102", state="delivered", items=5, total_cents=12_400, carrier="Northpost", due="2025-03-06"),
    Order(order_id="B200", state="cancelled", items=1, total_cents=7_900, carrier=None, due=None),
    Order(order_id="B201", state="returned", items=3, total_cents=6_150, carrier="Velo Line", due="2025-02-27"),
    Order(order_id="C300", state="paid", items=12, total_cents=31_080, carrier=None, due="2025-03-21"),
)
"""All orders there are; invented, and the same in every process."""

_BY_ID = {order.order_id: order for order in ORDERS}


@tool(effect="read", timeout=2.0, trace=["order_id"])
def query_order(order_id: str) -> dict[str, str | int | None]:
    """Look up the state of one order: items, price, carrier and day of delivery.

    Args:
        order_id: A capital letter and three digits, such as A100.

    Returns:
        The fields of ``Order``.

    Raises:
        InvalidArguments: ``order_id`` is not a text.
        ToolError: there is no such order, whether or not the id has the form of one.
    """
    if type(order_id) is not str:
        raise InvalidArguments("order_id must be a text such as A100")
    order = _BY_ID.get(order_id)
    if order is None:
        raise ToolError("no such order; an order id is a capital letter and three digits, such as A100")
    return asdict(order)
