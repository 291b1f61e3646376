"""A transcript put together for whoever shows it."""

from __future__ import annotations

from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from traced_loop.messages import RESPONSE_FIELD
from traced_loop.read.joined_history import JoinedResult, joined_history

JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3))
IDS = st.sampled_from(["c1", "c2", "", None, 3])
CALLS = st.lists(st.fixed_dictionaries({"id": IDS, "function": st.none() | st.just({"name": "f"})}) | JSON, max_size=3)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "tool", None, 1])},
        optional={"content": JSON, "tool_calls": CALLS | JSON, "tool_call_id": IDS, RESPONSE_FIELD: JSON, "odd": JSON},
    )
    | JSON,
    max_size=8,
)


def call(call_id: str, arguments: Any = "{}") -> dict[str, Any]:
    """A call in Chat Completions form."""
    return {"id": call_id, "type": "function", "function": {"name": "search", "arguments": arguments}}


def test_an_id_that_comes_again_is_joined_within_its_step() -> None:
    """Each result stands at the call of the answer before it, with its own place in the transcript."""
    history = [
        {"role": "assistant", "tool_calls": [call("c1")]},
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "assistant", "tool_calls": [call("c1", {"q": 1}), call("c2")]},
        {"role": "tool", "tool_call_id": "c1", "content": None},
        {"role": "tool", "tool_call_id": "zz", "content": "stray"},
    ]

    first, second, stray = joined_history(history)

    assert first.calls[0].results == (JoinedResult(place=2, texts=("one",)),)
    assert [(each.arguments, each.results) for each in second.calls] == [
        ('{"q":1}', (JoinedResult(place=4, texts=("",)),)),
        ("{}", ()),
    ]
    assert (stray.place, stray.answers, stray.texts) == (5, "zz", ("stray",))


def test_what_else_a_message_holds_is_told_by_its_name() -> None:
    """Fields of vendors are kept; empty ones say nothing."""
    message = {"role": "assistant", "content": "hi", "reasoning_content": "because", "refusal": None, "odd": {"a": 1}}

    [joined] = joined_history([message])

    assert joined.others == (("reasoning_content", "because"), ("odd", '{"a":1}'))


@given(MESSAGES)
def test_every_entry_is_shown_once_whatever_its_form(history: list[Any]) -> None:
    """As a message of its own, or beside the call that it answers."""
    shown = list(joined_history(cast("list[dict[str, Any]]", history)))

    results = [result.place for message in shown for joined in message.calls for result in joined.results]
    places = sorted([*(message.place for message in shown), *set(results)])
    assert places == list(range(1, len(history) + 1))
