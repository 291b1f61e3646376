"""A streamed answer says what the whole one would have said, however it is split, and never more."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.closed_words import Anomaly
from traced_loop.messages import ModelAnswer
from traced_loop.models.chat_completion import MAX_DEPTH, read_body
from traced_loop.models.chat_stream import ChatStream
from traced_loop.rules.call_repair import RepairedMessage, repair

from .chat_server import counted, delta
from .streamed_bodies import events_of
from .test_chat_completion import FIELDS, json_values

texts = st.text(st.characters(exclude_categories=()), max_size=12)
names_of_fields = texts.filter(lambda name: name not in {"tool_calls", "content", "role", "refusal"})
calls = st.fixed_dictionaries(
    {"function": st.fixed_dictionaries({"name": texts.filter(bool), "arguments": texts | st.just('{"a":1}')})},
    optional={"id": texts, "type": st.just("function"), "extra": json_values},
)
messages = st.builds(
    lambda known, unknown: {**unknown, **known},
    st.fixed_dictionaries(
        {"content": st.none() | texts},
        optional={
            "role": st.just("assistant"),
            "refusal": st.none() | texts,
            "reasoning_content": texts,
            "tool_calls": st.lists(calls, max_size=3),
            "reasoning_details": st.lists(st.fixed_dictionaries({"type": texts, "text": texts}), max_size=2),
        },
    ),
    st.dictionaries(names_of_fields, texts | st.integers() | st.booleans() | st.none(), max_size=2),
)
bodies = st.fixed_dictionaries(
    {
        "id": texts.filter(bool),
        "model": texts.filter(bool),
        "choices": st.lists(
            st.fixed_dictionaries({"message": messages, "finish_reason": st.sampled_from(["stop", "tool_calls"])}),
            min_size=1,
            max_size=2,
        ),
    },
    optional={
        "usage": st.fixed_dictionaries({"prompt_tokens": st.integers(0, 9), "completion_tokens": st.integers(0, 9)}),
        "error": st.fixed_dictionaries({"code": st.integers(400, 599), "message": texts}),
    },
)


def read(*events: object) -> ModelAnswer:
    """The answer out of these events."""
    reader = ChatStream()
    for event in events:
        reader.take(event)
    return reader.answer()


def judged(answer: ModelAnswer) -> tuple[ModelAnswer, RepairedMessage | None]:
    """An answer as the loop takes it: an empty id is none, an empty list of calls neither."""
    counting = count(1)
    message = None if answer.message is None else repair(answer.message, lambda: f"made{next(counting):05}")
    return replace(answer, message=None), message


def called(*answers: object) -> list[tuple[str | None, str, Any]]:
    """Id, name and arguments of each call of an answer."""
    message = read(*answers).message
    assert message is not None
    entries = message["tool_calls"]
    return [(e.get("id"), e["function"].get("name"), e["function"].get("arguments")) for e in entries]


def piece(name: str | None = None, arguments: Any = None, **entry: Any) -> dict[str, Any]:
    """An event with one piece of a call."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return delta(tool_calls=[{**entry, "function": function}])


@given(bodies, st.data())
def test_any_way_to_split_an_answer_says_the_same(body: Any, data: st.DataObject) -> None:
    """Message, finish reason, counts, ids and errors: all of them equal, and nothing is odd about it."""
    body = json.loads(json.dumps(body))
    events = events_of(body, lambda least, most: data.draw(st.integers(least, most)))

    assert judged(read(*events)) == judged(read_body(body))


JUNK = st.recursive(
    json_values | st.sampled_from([0, 1, "stop", "x", "{}", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*FIELDS, "delta", "index", "function", "name", "arguments", "refusal", "text"]), inner
        )
    ),
    max_leaves=25,
)
entries = st.fixed_dictionaries(
    {},
    optional={
        "index": st.sampled_from([0, 1, 7, -1, None, "0", True, 0.0]),
        "id": st.sampled_from(["a", "b", "", None, 3]),
        "type": st.sampled_from(["function", "custom", None]),
        "function": st.none()
        | st.text(max_size=1)
        | st.fixed_dictionaries(
            {},
            optional={
                "name": st.sampled_from(["f", "g", "", None, 1]),
                "arguments": st.sampled_from(["", " ", "{}", '{"a":', "1}", '"', "\\", None, {}, {"a": 1}, [], 1]),
            },
        ),
    },
)
near = st.fixed_dictionaries(
    {"choices": st.lists(
        st.fixed_dictionaries(
            {"delta": JUNK | st.fixed_dictionaries({"tool_calls": st.lists(entries | JUNK, max_size=3)})},
            optional={"index": JUNK, "finish_reason": JUNK, "error": JUNK, "message": JUNK, "usage": JUNK},
        ), max_size=2)},
    optional={"usage": JUNK, "error": JUNK, "id": JUNK},
)  # fmt: skip


@given(st.lists(JUNK | near, max_size=6))
def test_any_events_are_an_answer(events: list[Any]) -> None:
    """Never a crash, whatever comes, and asked for twice it is the same."""
    reader = ChatStream()
    for event in events:
        chunk = reader.take(event)
        assert chunk.characters >= 0
    answer = reader.answer()
    assert answer == reader.answer()
    assert answer.message is not None or answer.error
    assert reader.finished or Anomaly.STREAM_UNFINISHED in answer.anomalies


def test_calls_are_told_apart_by_their_index() -> None:
    """In whatever order their pieces come; a hole in the numbers is noted and takes nothing away."""
    events = [
        piece("g", '{"b":', index=2, id="y"),
        piece("f", '{"a"', index=0, id="x"),
        piece(None, "2}", index=2),
        piece(None, ":1}", index=0),
        delta("tool_calls"),
    ]

    assert called(*events) == [("x", "f", '{"a":1}'), ("y", "g", '{"b":2}')]
    assert read(*events).anomalies == (Anomaly.USAGE_MISSING, Anomaly.STREAM_INDEX_GAP)


def test_a_new_id_at_a_used_index_begins_a_call() -> None:
    """Some servers give every call the index 0."""
    events = [piece("f", '{"a":1}', index=0, id="x"), piece("f", '{"a":2}', index=0, id="y"), delta("tool_calls")]

    assert called(*events) == [("x", "f", '{"a":1}'), ("y", "f", '{"a":2}')]
    assert Anomaly.STREAM_INDEX_REUSED in read(*events).anomalies


def test_a_name_after_complete_arguments_begins_a_call() -> None:
    """Others give the index 0 and no id; the same tool may be called twice."""
    events = [piece(name, '{"a":"}\\""}', index=0, id="") for name in ("f", "f", "g")]

    assert called(*events) == [(None, name, '{"a":"}\\""}') for name in ("f", "f", "g")]


@pytest.mark.parametrize("rest", [" I will save this now.", "}", '"'])
def test_prose_behind_complete_arguments_begins_no_call(rest: str) -> None:
    """Also where the name comes with every piece: the call stays as suspect as if it had come whole."""
    events = [piece("f", '{"a":1}', index=0, id="x"), piece("f", rest, index=0), delta("tool_calls")]

    assert called(*events) == [("x", "f", '{"a":1}' + rest)]


def test_without_an_index_the_id_or_the_order_tells() -> None:
    """A piece with neither continues the last call."""
    events = [
        piece("f", '{"a":', id="x"),
        piece(None, "1}"),
        piece("g", '{"b":', id="y"),
        piece(None, "2}"),
        delta("tool_calls"),
    ]

    assert called(*events) == [("x", "f", '{"a":1}'), ("y", "g", '{"b":2}')]
    assert Anomaly.STREAM_INDEX_MISSING in read(*events).anomalies


def test_pieces_that_come_back_to_an_earlier_id_are_its() -> None:
    """Where there is no index, the id is the place."""
    events = [piece("f", "{", id="x"), piece("g", "{", id="y"), piece(None, "}", id="x"), piece(None, "}", id="y")]

    assert called(*events) == [("x", "f", "{}"), ("y", "g", "{}")]


def test_whole_calls_in_one_delta_are_calls_of_their_own() -> None:
    """Without index and id, too."""
    both = [{"function": {"name": name, "arguments": "{}"}} for name in ("f", "f")]

    assert called(delta("tool_calls", tool_calls=both)) == [(None, "f", "{}")] * 2


def test_an_id_may_come_late_and_again() -> None:
    """The first one counts."""
    events = [piece("f", "{", index=0), piece(None, "", index=0, id="x"), piece(None, "}", index=0, id="x")]

    assert called(*events) == [("x", "f", "{}")]


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([piece("mul", index=0), piece("tiply", index=0), piece(None, "{}", index=0)], id="in_pieces"),
        pytest.param([piece("multiply", "{", index=0), piece("multiply", "}", index=0)], id="whole_each_time"),
        pytest.param([piece("multiply", "", index=0), piece("multiply", "{}", index=0)], id="whole_before_arguments"),
        pytest.param([piece(None, "{}", index=0), piece("multiply", index=0)], id="after_the_arguments"),
    ],
)
def test_a_name_comes_in_pieces_or_whole_each_time(events: list[Any]) -> None:
    """Both are the one name."""
    assert called(*events) == [(None, "multiply", "{}")]


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([piece("go", index=0), piece("go", index=0), piece(None, "{}", index=0)], id="a_name_twice"),
        pytest.param([piece("f", '{"a"', index=0), piece("g", ":1}", index=0)], id="another_name_inside_arguments"),
        pytest.param([piece("f"), piece("g")], id="two_names_in_a_row"),
        pytest.param([piece("f", {"a": 1}, index=0), piece(None, "{}", index=0)], id="text_after_an_object"),
        pytest.param([piece("f", "{", index=0), piece(None, {"a": 1}, index=0)], id="an_object_inside_text"),
        pytest.param([delta(tool_calls=["f"])], id="no_object"),
        pytest.param([delta(tool_calls={"name": "f"})], id="no_list"),
        pytest.param([delta(tool_calls=[{"index": 0, "function": "f"}])], id="no_function"),
    ],
)
def test_what_can_be_read_in_two_ways_is_not_read(events: list[Any]) -> None:
    """An entry that is no call says so to whoever judges: nothing runs."""
    answer = read(*events, delta("tool_calls"))

    assert answer.message is not None
    assert answer.message["tool_calls"][-1] is None
    assert Anomaly.STREAM_CALL_UNCLEAR in answer.anomalies


def test_arguments_may_come_as_an_object() -> None:
    """Once, or the same again."""
    assert called(piece("f", {"a": 1}, index=0), piece("f", {"a": 1}, index=0)) == [(None, "f", {"a": 1})]


def test_fields_that_nobody_knows_are_kept() -> None:
    """Text grows, lists go on or fill up by index, objects merge, the last of anything else counts."""
    answer = read(
        delta(reasoning_content="Let ", seen=1, parts=[{"index": 0, "type": "t", "text": "a"}], audio={"id": "x"}),
        delta(reasoning_content="me.", seen=2, parts=[{"index": 0, "type": "t", "text": "b"}, 5], audio={"data": "d"}),
        delta("stop", reasoning_content=None, content="ok"),
    )

    assert answer.message == {
        "role": "assistant",
        "content": "ok",
        "reasoning_content": "Let me.",
        "seen": 2,
        "parts": [{"index": 0, "type": "t", "text": "ab"}, 5],
        "audio": {"id": "x", "data": "d"},
    }


def test_text_and_parts_of_content_are_one_content() -> None:
    """Some servers send what the model thinks as parts, and what it says as text."""
    thinking = {"type": "thinking", "thinking": "hm"}
    answer = read(delta(content="a"), delta(content=[thinking]), delta(content="b"), delta("stop", content="c"))

    assert answer.message is not None
    assert answer.message["content"] == [{"type": "text", "text": "a"}, thinking, {"type": "text", "text": "bc"}]


def test_a_later_count_replaces_an_earlier_one() -> None:
    """Some servers count in every event; nothing is added up, also where the count has no choice beside it."""
    first = {**delta(content="a"), "usage": {"prompt_tokens": 5, "completion_tokens": 1}}
    answer = read(first, counted(5, 2), delta("stop"), counted(5, 3), {"choices": [], "usage": None})

    assert (answer.usage.input, answer.usage.output, answer.usage.total) == (5, 3, 8)


def test_counts_of_groq_are_read_where_it_puts_them() -> None:
    """In the last event, under ``x_groq``, as they are read out of a whole answer."""
    counts = {"prompt_tokens": 9, "completion_tokens": 1}
    answer = read(delta(content="a"), {**delta("stop"), "x_groq": {"usage": counts}})

    assert (answer.usage.input, answer.usage.output, answer.usage.source) == (9, 1, "provider")


def test_each_event_says_what_came_with_it() -> None:
    """The text for the reader; the size of all that was written; the counts so far."""
    reader = ChatStream()
    chunks = [
        reader.take(each)
        for each in (delta(content="hi", reasoning="hmm"), piece("f", "{}", index=0, id="x"), counted(5, 2), {})
    ]

    assert [(chunk.text, chunk.characters) for chunk in chunks] == [("hi", 5), ("", 3), ("", 0), ("", 0)]
    assert [chunk.usage.total if chunk.usage else None for chunk in chunks] == [None, None, 7, None]


def test_half_a_character_waits_for_the_other_half() -> None:
    """The reader never sees one."""
    reader = ChatStream()
    shown = [reader.take(delta(content=text)).text for text in ("a\ud83d", "\ude00b", "c")]

    assert shown == ["a", "\U0001f600b", "c"]
    answer = reader.answer()
    assert answer.message is not None
    assert answer.message["content"] == "a\U0001f600bc"


@pytest.mark.parametrize(
    ("reasons", "kept"),
    [(["tool_calls", "stop"], "stop"), (["stop", "length"], "length"), (["length", "stop"], "length")],
)
def test_of_two_finish_reasons_the_one_that_permits_less_counts(reasons: list[str], kept: str) -> None:
    """And it is noted; the same word again is not."""
    answer = read(delta(content="a"), *[delta(reason) for reason in reasons])

    assert answer.finish_reason == kept
    assert Anomaly.STREAM_FINISH_CHANGED in answer.anomalies
    assert Anomaly.STREAM_FINISH_CHANGED not in read(delta("stop"), delta("STOP")).anomalies


def test_a_stream_without_a_terminal_reason_says_so() -> None:
    """No reader takes it for finished, and its answer has no finish reason."""
    answer = read(piece("f", "{}", index=0, id="x"))

    assert answer.finish_reason is None
    assert Anomaly.STREAM_UNFINISHED in answer.anomalies


def test_what_comes_after_the_finish_reason_counts_and_is_noted() -> None:
    """Nothing is thrown away."""
    answer = read(delta("stop", content="a"), delta(content="b"))

    assert answer.message is not None
    assert answer.message["content"] == "ab"
    assert Anomaly.STREAM_AFTER_FINISH in answer.anomalies


def test_an_error_inside_the_stream_is_the_answers_error() -> None:
    """What was said before it is kept; without anything said there is no message."""
    broken = {"error": {"code": 503, "message": "overloaded"}}
    late, early = read(delta(content="Par"), broken), read(delta(role="assistant"), broken)

    assert (late.error, late.error_code, late.message) == (
        "overloaded", "503", {"role": "assistant", "content": "Par"}
    )  # fmt: skip
    assert (early.error_code, early.message) == ("503", {"role": "assistant", "content": None})


def test_only_the_first_of_several_choices_is_read() -> None:
    """In whatever order they come."""
    second = {"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": "length"}]}
    for events in ([second, delta("stop", content="yes")], [delta("stop", content="yes"), second]):
        answer = read(*events)
        assert answer.message is not None
        assert (answer.message["content"], answer.finish_reason) == ("yes", "stop")
        assert Anomaly.SEVERAL_CHOICES in answer.anomalies


def test_a_message_instead_of_deltas_is_read() -> None:
    """A server that only looks as if it streamed."""
    answer = read({"choices": [{"index": 0, "message": {"content": "ok"}, "finish_reason": "stop"}]})

    assert answer.message == {"role": "assistant", "content": "ok"}


def test_an_answer_that_nests_too_deep_is_none() -> None:
    """As where it comes whole."""
    deep: Any = 1
    for _ in range(MAX_DEPTH + 1):
        deep = [deep]

    assert read(delta("stop", content="a", x=deep)).message is None


def test_a_long_answer_costs_its_length() -> None:
    """100,000 pieces of text and of arguments: joined once, not each time."""
    reader = ChatStream()
    for _ in range(100_000):
        reader.take(delta(content="word "))
        reader.take(piece("f", "x", index=0, id="a"))
    answer = reader.answer()

    assert answer.message is not None
    assert len(answer.message["content"]) == 500_000
    assert len(answer.message["tool_calls"][0]["function"]["arguments"]) == 100_000


def test_a_split_is_a_split() -> None:
    """The property above would hold for a splitter that splits nothing."""
    body = {"choices": [{"message": {"content": "a long text"}, "finish_reason": "stop"}]}
    found = [len(events_of(body, random.Random(seed).randint)) for seed in range(20)]

    assert max(found) > 4
