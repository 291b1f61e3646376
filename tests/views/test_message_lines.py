"""What the model saw and said."""

from typing import Any

from traced_loop.messages import RESPONSE_FIELD
from traced_loop.views.message_lines import message_lines


def call(call_id: str, name: str = "query_order", arguments: Any = '{"order_id":"A100"}') -> dict[str, Any]:
    """A tool call in Chat Completions form."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def plain(messages: Any, **options: Any) -> list[str]:
    """The lines without colour."""
    return [line.plain for line in message_lines(messages, **options)]


def test_each_call_stands_beside_its_result() -> None:
    """The result's own place in the history is told."""
    history = [
        {"role": "user", "content": "Where is it?"},
        {"role": "assistant", "content": None, "tool_calls": [call("c1"), call("c2")]},
        {"role": "tool", "tool_call_id": "c1", "content": "shipped"},
        {"role": "assistant", "content": "It was shipped."},
    ]

    assert plain(history) == [
        "[1] user",
        "    Where is it?",
        "[2] assistant",
        '    calls query_order  c1  {"order_id":"A100"}',
        "      [3] result  shipped",
        '    calls query_order  c2  {"order_id":"A100"}',
        "      no result",
        "[4] assistant",
        "    It was shipped.",
    ]


def test_an_id_that_comes_again_is_paired_within_its_step() -> None:
    """Servers use ids again in later answers."""
    history = [
        {"role": "assistant", "tool_calls": [call("c1")]},
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "assistant", "tool_calls": [call("c1")]},
        {"role": "tool", "tool_call_id": "c1", "content": "two"},
        {"role": "tool", "tool_call_id": "c1", "content": "three"},
    ]

    assert [line.strip() for line in plain(history) if "result" in line] == [
        "[2] result  one",
        "[4] result  two",
        "[5] result  three",
        "2 results for one call",
    ]


def test_a_result_that_nothing_asked_for_says_so() -> None:
    """It is shown at its place."""
    assert plain([{"role": "tool", "tool_call_id": "zz", "content": "x"}]) == [
        "[1] tool, answers zz, which nothing before it asked for",
        "    x",
    ]


def test_content_cannot_confuse_a_terminal() -> None:
    """Lines are kept as lines; everything else unsafe is an escape."""
    assert plain([{"role": "user", "content": "a\nb\x1b[31m\u202e[red]"}]) == [
        "[1] user",
        "    a",
        "    b\\x1b[31m\\u202e[red]",
    ]


def test_long_content_is_cut_unless_the_whole_is_asked_for() -> None:
    """The true size is told."""
    history = [{"role": "user", "content": "x" * 5000}]

    assert plain(history)[-1] == "    (5,000 characters in all; --full shows them)"
    assert plain(history, full=True) == ["[1] user", "    " + "x" * 5000]
    assert max(map(len, plain(history, width=80))) <= 80


def test_parts_and_fields_of_a_provider_are_shown() -> None:
    """Text parts as text, the rest as JSON, under the name that the provider gave it."""
    content = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "u"}}]

    assert plain([{"role": "assistant", "content": content, "reasoning_content": "hm", "refusal": None}]) == [
        "[1] assistant",
        "    see",
        '    {"type":"image_url","image_url":{"url":"u"}}',
        "    reasoning_content:  hm",
    ]


def test_items_of_the_responses_api_are_told_by_their_kinds() -> None:
    """Their text and calls stand in the message; reasoning is shown where it is in words."""
    reasoning = {"type": "reasoning", "summary": [{"text": "I look."}], "encrypted_content": "b2Jqb3Rh"}
    items = [reasoning, {"type": "web_search_call"}, {"type": "message", "content": [{"text": "hi"}]}]

    assert plain([{"role": "assistant", "content": "hi", RESPONSE_FIELD: {"output": items}}]) == [
        "[1] assistant",
        "    hi",
        "    reasoning:  I look.",
        "    items:  reasoning, web_search_call, message",
    ]


def test_history_of_any_shape_is_shown() -> None:
    """Stored text can be damaged."""
    odd: list[Any] = [*({RESPONSE_FIELD: held} for held in ("x", {"output": [7, {"type": []}]}))]
    odd = ["text", *odd, {}, {"role": 3, "tool_calls": [7, {"function": {"name": 1, "arguments": {"a": 1}}}]}]

    assert plain(odd)[0] == "[1] not a message"
    assert plain([]) == ["no messages are stored for this run"]
