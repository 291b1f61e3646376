"""The messages of a run for a page."""

from __future__ import annotations

from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from traced_loop import names
from traced_loop.read.agent_run import StoredCall
from traced_loop.web.joined_messages import (
    FOLDED_CHARACTERS,
    PAGE_MESSAGES,
    SHOWN_CHARACTERS,
    messages_page,
    whole_text,
)

JSON = st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3))


def call(call_id: str, name: str = "search") -> dict[str, Any]:
    """A call in Chat Completions form."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}


def asked(*calls: dict[str, Any]) -> dict[str, Any]:
    """An answer that asks for calls."""
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def told(call_id: str, content: str = "x") -> dict[str, Any]:
    """A result."""
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def traced(index: int, call_id: str, outcome: str, tool: str = "search") -> StoredCall:
    """The call as the trace has it."""
    spans = (("t", f"v{index}"), ("t", f"e{index}"))
    return StoredCall(index=index, call_id=call_id, tool=tool, outcome=outcome, spans=spans)


def test_each_call_has_its_result_its_outcome_and_the_span_that_tells_it() -> None:
    """The last span of a call is the one with its outcome."""
    history = [asked(call("c1"), call("c2", "nope")), told("c1"), told("c2")]
    calls = [traced(0, "c1", "ok"), traced(1, "c2", "unknown_tool", names.UNKNOWN_TOOL)]

    [message] = messages_page(history, calls).messages

    assert [(each.outcome, each.span_id) for each in message.calls] == [("ok", "e0"), ("unknown_tool", "e1")]
    assert [each.results[0].place for each in message.calls] == [2, 3]


def test_an_id_that_comes_again_belongs_to_the_last_calls_of_the_trace() -> None:
    """A transcript can begin with calls of an earlier run, which this trace does not have."""
    history = [asked(call("c1")), told("c1"), asked(call("c1")), told("c1"), asked(call("c1")), told("c1")]
    calls = [traced(0, "c1", "error"), traced(1, "c1", "ok")]

    shown = messages_page(history, calls).messages

    assert [message.calls[0].outcome for message in shown] == ["", "error", "ok"]


def test_a_call_of_another_tool_under_the_same_id_is_another_call() -> None:
    """No outcome is better than a wrong one."""
    [message] = messages_page([asked(call("c1", "search"))], [traced(0, "c1", "ok", "refund")]).messages

    assert message.calls[0].outcome == ""


def test_a_text_is_shown_folded_or_left_out_by_its_length() -> None:
    """What is not in the page can be had by its place and number, whole."""
    short, long, huge = "s" * SHOWN_CHARACTERS, "l" * (SHOWN_CHARACTERS + 1), "h" * (FOLDED_CHARACTERS + 1)
    history = [{"role": "user", "content": [{"text": short}, {"text": long}, {"text": huge}]}]

    [message] = messages_page(history, []).messages

    assert [(text.is_cut, text.whole is not None) for text in message.texts] == [
        (False, False),
        (True, True),
        (True, False),
    ]
    assert all(len(text.begin) <= SHOWN_CHARACTERS for text in message.texts)
    assert whole_text(history, 1, 2) == huge


def test_a_page_holds_so_much_whole_text_and_no_more() -> None:
    """Many long texts do not add up to a page that no browser shows quickly."""
    history = [{"role": "user", "content": "x" * FOLDED_CHARACTERS} for _ in range(PAGE_MESSAGES)]

    whole = [message.texts[0].whole for message in messages_page(history, []).messages]

    assert sum(len(text) for text in whole if text is not None) <= 600_000
    assert None in whole


def test_a_long_transcript_comes_in_parts_that_lead_to_each_other() -> None:
    """A part that is not there is the nearest one that is."""
    history = [{"role": "user", "content": str(n)} for n in range(PAGE_MESSAGES * 2 + 5)]

    first, second, last = (messages_page(history, [], at) for at in (0, PAGE_MESSAGES, PAGE_MESSAGES * 2))

    assert (first.before, first.after) == (None, PAGE_MESSAGES)
    assert (second.before, second.after) == (0, PAGE_MESSAGES * 2)
    assert (last.before, last.after, len(last.messages)) == (PAGE_MESSAGES, None, 5)
    assert messages_page(history, [], 10**9).messages[-1].texts[0].begin == str(len(history) - 1)


@given(
    st.lists(
        st.fixed_dictionaries(
            {"role": st.sampled_from(["user", "assistant", "tool"])},
            optional={
                "content": JSON,
                "tool_calls": st.lists(st.just(call("c1")) | JSON, max_size=2) | JSON,
                "x": JSON,
            },
        )
        | JSON,
        max_size=6,
    )
)
def test_every_text_of_a_page_can_be_had_whole(history: list[Any]) -> None:
    """Whatever the entries are; the numbers are those that lead to it."""
    stored = cast("list[dict[str, Any]]", history)
    for message in messages_page(stored, []).messages:
        results = [text for each in message.calls for result in each.results for text in result.texts]
        others = [text for _, text in message.others]
        for text in [*message.texts, *(each.arguments for each in message.calls), *results, *others]:
            whole = whole_text(stored, text.place, text.number)
            assert whole is not None
            assert (len(whole), whole[: SHOWN_CHARACTERS - 1]) == (text.characters, text.begin[: SHOWN_CHARACTERS - 1])
    assert whole_text(stored, len(stored) + 1, 0) is None
