"""A decorated function stays the function that it was; what cannot be offered to a model is refused at once."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest

from traced_loop import Cancellation, UsageError, raw_tool, tool
from traced_loop.tool_registry import MAX_RESULT_BYTES, ToolRegistry, definition_of


@tool(effect="read", trace=["order_id"], volatile={"nonce"}, timeout=3, serial_group="db", after={"other"})
def query_order(order_id: str, nonce: int = 0) -> dict[str, str]:
    """Return the state of one order.

    A second paragraph
    of the description.

    Args:
        order_id: which order,
            as the customer wrote it.
        nonce (int): anything.

    Returns:
        not for the model.
    """
    return {"id": order_id}


@tool(effect="write", risk="high", key=lambda order_id, **_: f"refund:{order_id}", name="give-back", description="Own.")
async def refund(order_id: str, *, idempotency_key: str) -> str:
    """Refund."""
    return f"{order_id} {idempotency_key}"


def test_a_decorated_function_is_still_itself() -> None:
    """It can be called and tested as before."""
    assert query_order("A1") == {"id": "A1"}
    assert query_order.__name__ == "query_order"


def test_what_the_model_sees_comes_from_signature_and_docstring() -> None:
    """Descriptions of parameters, the required ones, and nothing of the return value."""
    [wire] = ToolRegistry([query_order]).wire
    function = wire["function"]
    assert (wire["type"], function["name"]) == ("function", "query_order")
    assert function["description"] == "Return the state of one order.\n\nA second paragraph\nof the description."
    properties = function["parameters"]["properties"]
    assert properties["order_id"]["description"] == "which order, as the customer wrote it."
    assert properties["nonce"]["description"] == "anything."
    assert function["parameters"]["required"] == ["order_id"]
    json.dumps(wire)


def test_what_the_loop_needs_hangs_on_the_function() -> None:
    """As it was declared."""
    found = definition_of(query_order)
    assert (found.effect, found.risk, found.timeout, found.max_result_bytes) == ("read", "low", 3, MAX_RESULT_BYTES)
    assert (found.trace, found.volatile, found.after) == ({"order_id"}, {"nonce"}, {"other"})
    assert (found.serial_group, found.takes_key, found.handler) == ("db", False, query_order)


def test_the_key_of_a_write_is_hidden_from_the_model() -> None:
    """The loop fills it in."""
    found = definition_of(refund)
    assert (found.name, found.description, found.takes_key, found.risk) == ("give-back", "Own.", True, "high")
    assert set(found.schema.definition["properties"]) == {"order_id"}
    assert found.key is not None
    assert found.key(order_id="A1") == "refund:A1"


def test_the_registry_is_a_mapping_in_the_order_given() -> None:
    """By name."""
    registry = ToolRegistry([refund, query_order])
    assert list(registry) == ["give-back", "query_order"]
    assert (len(registry), "query_order" in registry, registry.get("nothing")) == (2, True, None)


def test_a_docstring_without_sections_is_the_description() -> None:
    """And a function without one has an empty one."""

    @tool(effect="read")
    def bare(a: int) -> int:
        return a

    assert definition_of(bare).description == ""


def a(x: int) -> int:
    """Return it."""
    return x


async def later(x: int) -> str:
    """Come too late to be a key."""
    return str(x)


MISTAKES: dict[str, tuple[Any, str]] = {
    "no-call": (lambda: tool(a), r"'a' declares no effect: write @tool\(effect=\"read\"\)"),
    "no-effect": (lambda: tool()(a), "declares no effect"),
    "other-effect": (lambda: tool(effect="delete")(a), "declares the effect 'delete'"),  # type: ignore[arg-type]
    "other-risk": (lambda: tool(effect="read", risk="some")(a), "risk must be"),  # type: ignore[arg-type]
    "name-with-space": (lambda: tool(effect="read", name="a b")(a), "cannot be offered to a model"),
    "name-with-newline": (lambda: tool(effect="read", name="a\n")(a), "cannot be offered to a model"),
    "long-name": (lambda: tool(effect="read", name="a" * 65)(a), "cannot be offered to a model"),
    "name-of-other-letters": (lambda: tool(effect="read", name="ä")(a), "cannot be offered to a model"),
    "no-time": (lambda: tool(effect="read", timeout=0)(a), "timeout=0 must be a finite number"),
    "nan-time": (lambda: tool(effect="read", timeout=float("nan"))(a), "timeout=nan must be a finite number"),
    "endless-time": (lambda: tool(effect="read", timeout=float("inf"))(a), "timeout=inf must be a finite number"),
    "text-for-time": (lambda: tool(effect="read", timeout="9")(a), "timeout='9' must be"),  # type: ignore[arg-type]
    "no-room": (lambda: tool(effect="read", max_result_bytes=10)(a), "must be a whole number of at least 256"),
    "opens-nothing": (lambda: tool(effect="read", trace=["y"])(a), "no parameter 'y'"),
    "ignores-nothing": (lambda: tool(effect="read", volatile=["y"])(a), "no parameter 'y'"),
    "key-is-text": (lambda: tool(effect="write", key="x")(a), "key must be a plain function"),  # type: ignore[arg-type]
    "key-is-async": (lambda: tool(effect="write", key=later)(a), "key must be a plain function"),  # type: ignore[arg-type]
    "word-for-content": (lambda: tool(effect="read", content="none")(a), "must be True or False"),  # type: ignore[arg-type]
    "class": (lambda: tool(effect="read")(int), "not a plain function"),
    "raw-without-effect": (lambda: raw_tool(a, name="a", schema={}), "declares no effect"),
    "raw-array": (lambda: raw_tool(a, name="a", schema={"type": "array"}, effect="read"), "must describe an object"),
    "raw-opens-nothing": (
        lambda: raw_tool(a, name="a", schema={"type": "object"}, effect="read", trace=["y"]),
        "no parameter 'y'",
    ),
    "same-name-twice": (lambda: ToolRegistry([query_order, query_order]), "two tools are called 'query_order'"),
    "no-tool": (lambda: ToolRegistry([a]), "a is not a tool: decorate it"),
    "nothing-like-a-tool": (lambda: ToolRegistry([7]), "7 is not a tool"),  # type: ignore[list-item]
}


@pytest.mark.parametrize(("declare", "said"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_when_it_is_made(declare: Any, said: str) -> None:
    """With what to write instead."""
    with pytest.raises(UsageError, match=said):
        declare()


def test_a_raw_tool_is_a_definition_with_all_options() -> None:
    """Sets may be given as any collection."""
    found = raw_tool(
        a,
        name="raw",
        schema={"type": "object", "properties": {"x": {"type": "integer"}}},
        effect="write",
        description="Raw.",
        trace=["x"],
        after=["query_order"],
        volatile=("x",),
        risk="high",
    )
    assert (found.trace, found.after, found.volatile, found.risk) == ({"x"}, {"query_order"}, {"x"}, "high")
    assert found.wire()["function"]["parameters"]["additionalProperties"] is False
    assert ToolRegistry([found])["raw"] is found


def test_tools_that_keep_their_content_home_are_known_by_name() -> None:
    """Decorated or raw."""
    decorated = tool(effect="read", name="closed", content=False)(a)
    raw = raw_tool(a, name="raw", schema={"type": "object"}, effect="read", content=False)
    assert ToolRegistry([decorated, raw, query_order]).kept_home == {"closed", "raw"}


def test_listed_values_are_told_to_the_model() -> None:
    """A literal becomes an enum."""

    @tool(effect="read")
    def sort(order: Literal["up", "down"]) -> str:
        """Sort."""
        return order

    assert definition_of(sort).schema.definition["properties"]["order"]["enum"] == ["up", "down"]


@pytest.mark.parametrize("retries", [-1, 1.5, True, "2"])
def test_retries_are_a_whole_number(retries: Any) -> None:
    """0 is none."""

    def look() -> None:
        """Look."""

    with pytest.raises(UsageError, match="retries="):
        tool(effect="read", retries=retries)(look)


def test_a_write_declares_no_retries() -> None:
    """Nobody knows whether a try that failed was applied; the message says so at the decoration."""

    def pay() -> None:
        """Pay."""

    with pytest.raises(UsageError, match="a write is never run again by itself"):
        tool(effect="write", retries=1)(pay)


def test_a_cancellation_and_a_process_of_its_own_exclude_one_another() -> None:
    """The signal does not go into another process; that one is killed."""
    with pytest.raises(UsageError, match="does not go into another process"):
        tool(effect="read", isolate="process")(heeding)


def heeding(cancellation: Cancellation) -> None:
    """Heed."""
