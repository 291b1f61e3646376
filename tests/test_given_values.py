"""A value that makes no sense is refused where it is given, with its name and what to write instead."""

from typing import Any

import pytest

from traced_loop import Identity, Loop, OpenAIModel, Policy, ScriptedModel, UsageError, tool
from traced_loop.given_values import amount, count, words
from traced_loop.tool_registry import raw_tool


def refund(order_id: str) -> str:
    """Refund an order."""
    return order_id


LETTERS = {
    "allow": lambda: Policy(allow="refund_all"),
    "roles": lambda: Identity(id="ada", roles="admin"),  # type: ignore[arg-type]
    "after": lambda: tool(effect="read", after="x")(refund),
    "trace": lambda: tool(effect="read", trace="order_id")(refund),
    "volatile": lambda: tool(effect="read", volatile="order_id")(refund),
    "raw": lambda: raw_tool(refund, name="raw", schema={}, effect="read", after="x"),
    "strip": lambda: OpenAIModel("m", base_url="http://localhost/v1", strip="reasoning_content"),
    "scripted_strip": lambda: ScriptedModel([], strip="reasoning_content"),
    "tolerate": lambda: ScriptedModel([], tolerate="stop_with_tool_calls"),  # type: ignore[arg-type]
    "server_tolerate": lambda: OpenAIModel("m", base_url="http://h/v1", tolerate="x"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("give", LETTERS.values(), ids=LETTERS)
def test_one_text_is_no_collection_of_names(give: Any) -> None:
    """Wherever names are taken: a text would be taken for its letters, or searched for what it contains."""
    with pytest.raises(UsageError, match=r'is one text, no collection of names: write \w+=\["\w+"\]'):
        give()


@pytest.mark.parametrize("given", [7, None, [1], [b"x"]])
def test_what_holds_no_names_is_refused(given: Any) -> None:
    """Not only a text."""
    with pytest.raises(UsageError, match="allow"):
        words("allow", given, of="Policy")


def test_any_collection_of_names_becomes_a_set() -> None:
    """Lists, tuples, sets, the keys of a mapping."""
    assert [words("x", given, of="y") for given in (["a"], ("a",), {"a"}, {"a": 1}, iter("a"))] == [{"a"}] * 5


@tool(effect="read", after={"nope"})
def lonely() -> str:
    """Depend on nothing that there is."""
    return ""


MISSING = {
    "a_dependency": lambda: Loop(ScriptedModel([]), [lonely]),
    "an_allow_list": lambda: Loop(ScriptedModel([]), policy=Policy(allow=["nope"])),
}


@pytest.mark.parametrize("give", MISSING.values(), ids=MISSING)
def test_a_tool_that_is_named_must_be_one_of_the_loop(give: Any) -> None:
    """Else a typing mistake would order nothing, or allow nothing."""
    with pytest.raises(UsageError, match="names 'nope', which is no tool of this loop"):
        give()


@pytest.mark.parametrize("given", [0, -1, 2.5, float("inf"), float("nan"), "8", True, None, [1]])
def test_a_count_is_a_whole_number(given: Any) -> None:
    """Of at least one, where nothing else is said."""
    with pytest.raises(UsageError, match="Budget: steps="):
        count("steps", given, of="Budget")


@pytest.mark.parametrize("given", [0, -1, float("inf"), float("nan"), "8", True, None, [1]])
def test_an_amount_is_a_finite_number(given: Any) -> None:
    """Of more than nothing, where nothing else is said."""
    with pytest.raises(UsageError, match="Budget: seconds="):
        amount("seconds", given, of="Budget")


def test_none_and_zero_are_taken_where_they_mean_something() -> None:
    """No limit, no delay; nowhere else."""
    taken: list[tuple[Any, dict[str, Any], dict[str, Any]]] = [
        (count, {"name": "steps", "given": None}, {"or_none": True}),
        (amount, {"name": "seconds", "given": None}, {"or_none": True}),
        (amount, {"name": "first_delay", "given": 0}, {"zero": True}),
    ]
    for check, given, allowed in taken:
        assert check(**given, of="Budget", **allowed) is None
        with pytest.raises(UsageError, match="Budget"):
            check(**given, of="Budget")
