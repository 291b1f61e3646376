"""A message stays whole; what is repaired in it is marked, and what cannot be repaired runs nothing."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.argument_text import ParsedArguments, UnparsableArguments, parse_arguments
from traced_loop.closed_words import Anomaly
from traced_loop.rules.call_repair import RepairedMessage, repair, with_arguments
from traced_loop.rules.pairing import pairing_problems


def call(identifier: Any, name: Any = "f", arguments: Any = "{}", **more: Any) -> dict[str, Any]:
    """One entry of the calls."""
    return {"id": identifier, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def repaired(*calls: Any, **fields: Any) -> RepairedMessage:
    """A message with these calls, repaired with counted ids."""
    count = iter(range(1, 1000))
    message = {"role": "assistant", "content": None, "tool_calls": list(calls), **fields}
    return repair(message, lambda: f"made{next(count):05d}")


REPAIRS = {
    "no-id": ([call(None)], ["made00001"], [Anomaly.ID_SYNTHESIZED]),
    "empty-id": ([call("")], ["made00001"], [Anomaly.ID_SYNTHESIZED]),
    "id-of-no-text": ([call(7)], ["made00001"], [Anomaly.ID_SYNTHESIZED]),
    "long-id": ([call("a" * 128), call("a" * 129)], ["a" * 128, "made00001"], [Anomaly.ID_SYNTHESIZED]),
    "id-like-a-key": ([call("sk-a1B2c3D4e5F6g7H8i9J0k1L2")], ["made00001"], [Anomaly.ID_SYNTHESIZED]),
    "id-with-a-control": ([call("a\x1b[2J")], ["made00001"], [Anomaly.ID_SYNTHESIZED]),
    "id-with-a-comma": ([call("a,b")], ["made00001"], [Anomaly.ID_SYNTHESIZED]),
    "duplicate": ([call("a", "f"), call("a", "g")], ["a", "made00001"], [Anomaly.ID_DUPLICATE]),
    "echo": ([call("a"), call("a")], ["a"], [Anomaly.CALL_ECHO]),
    "same-call-other-ids": ([call("a"), call("b")], ["a", "b"], []),
    "object": ([call("a", arguments={"x": 1})], ["a"], [Anomaly.ARGUMENTS_NOT_TEXT]),
    "null": ([call("a", arguments=None)], ["a"], [Anomaly.ARGUMENTS_NOT_TEXT]),
}


@pytest.mark.parametrize(("calls", "ids", "anomalies"), REPAIRS.values(), ids=REPAIRS)
def test_a_repair_is_made_and_marked(calls: list[Any], ids: list[str], anomalies: list[Anomaly]) -> None:
    """In the calls and in the message alike."""
    found = repaired(*calls)
    assert [c.id for c in found.calls] == [entry["id"] for entry in found.message["tool_calls"]] == ids
    assert list(found.anomalies) == anomalies
    assert not found.malformed


def test_arguments_of_another_type_become_their_text() -> None:
    """History stores text, as every provider asks for; null becomes blank, never the word None."""
    found = repaired(call("a", arguments={"x": "ä"}), call("b", arguments=None))
    assert [c.arguments for c in found.calls] == ['{"x":"ä"}', ""]
    assert [e["function"]["arguments"] for e in found.message["tool_calls"]] == ['{"x":"ä"}', ""]


def test_unknown_fields_go_back_unchanged() -> None:
    """Of the message, of a call, and of a function."""
    entry = call("a", extra_content={"google": {"thought_signature": "x"}})
    entry["function"]["vendor"] = 1
    found = repaired(entry, reasoning_content="hm", audio=None)
    assert found.message["reasoning_content"] == "hm"
    assert found.message["audio"] is None
    assert found.message["tool_calls"] == [entry]


@pytest.mark.parametrize(
    "calls",
    [
        [None],
        ["f"],
        [{}],
        [{"id": "a", "function": None}],
        [call("a", name=None)],
        [call("a", name="")],
        [call("a"), 7],
    ],
)
def test_an_entry_that_is_no_call_makes_the_message_malformed(calls: list[Any]) -> None:
    """None of its calls is left to run, or to be answered."""
    found = repaired(*calls)
    assert (found.malformed, found.calls) == (True, ())
    assert "tool_calls" not in found.message
    assert Anomaly.MALFORMED_CALL in found.anomalies


def test_an_empty_list_of_calls_is_left_out() -> None:
    """Strict providers refuse it."""
    assert "tool_calls" not in repaired().message
    assert repaired(tool_calls=None).malformed is False


def test_text_that_is_no_unicode_is_replaced_everywhere() -> None:
    """The next request can be encoded."""
    found = repaired(call("a", name="look\ud83e", arguments='{"q\ud83e": 1}'), content="bad \ud83e", **{"k\ud83e": 1})
    json.dumps(found.message, ensure_ascii=False).encode()
    assert found.calls[0].name == "look\ufffd"
    assert found.anomalies == (Anomaly.TEXT_NOT_UNICODE, Anomaly.NAME_NOT_VALID)


@pytest.mark.parametrize("sent", ['{"a":"\ud83e"}', '{"a":"x\udc00"}', {"a": "\ud83e"}, '{"a\ud83e":1}'], ids=ascii)
def test_arguments_with_half_a_character_are_refused(sent: Any) -> None:
    """As they are where the half comes as an escape; a sign in its place would be another value."""
    found = repaired(call("a", arguments=sent))
    json.dumps(found.message, ensure_ascii=False).encode()
    assert isinstance(parse_arguments(found.calls[0].arguments), UnparsableArguments)


def test_two_halves_in_arguments_are_one_character() -> None:
    """As in any JSON."""
    parsed = parse_arguments(repaired(call("a", arguments='{"a":"\ud83e\udd8a"}')).calls[0].arguments)
    assert isinstance(parsed, ParsedArguments)
    assert parsed.value == {"a": "\U0001f98a"}


@pytest.mark.parametrize(
    ("sent", "text"),
    [(float("nan"), "NaN"), (float("-inf"), "-Infinity"), ({"x": float("nan")}, '{"x":NaN}'), ([1, None], "[1,null]")],
)
def test_arguments_with_a_number_that_is_no_json_stay_what_they_are(sent: Any, text: str) -> None:
    """The validator refuses them: null would be no arguments at all, or another value than the one asked for."""
    found = repaired(call("a", arguments=sent), vendor=float("nan"))
    assert [one.arguments for one in found.calls] == [text]
    assert found.message["tool_calls"][0]["function"]["arguments"] == text
    assert found.message["vendor"] is None


def test_numbers_that_are_no_json_are_null() -> None:
    """Whatever a lenient parser lets in goes back as what every server can read."""
    found = repaired(call("a", vendor=[float("nan")]), score=float("inf"), ratio=0.5)

    assert (found.message["score"], found.message["ratio"]) == (None, 0.5)
    assert found.message["tool_calls"][0]["vendor"] == [None]
    assert Anomaly.NUMBER_NOT_JSON in found.anomalies
    json.dumps(found.message, allow_nan=False)


def test_the_providers_message_is_not_changed() -> None:
    """Repairs are made on a copy."""
    message = {"role": "assistant", "tool_calls": [call(None, arguments={"a": 1})]}
    before = json.dumps(message)
    repair(message, lambda: "made00001")
    assert json.dumps(message) == before


def test_arguments_are_replaced_only_where_they_differ() -> None:
    """The same message comes back when nothing does."""
    message = repaired(call("a", arguments="{}"), call("b", arguments="x")).message
    assert with_arguments(message, ["{}", "x"]) is message
    changed = with_arguments(message, ["{}", "{}"])
    assert [e["function"]["arguments"] for e in changed["tool_calls"]] == ["{}", "{}"]
    assert message["tool_calls"][1]["function"]["arguments"] == "x"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=()), max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)
entries = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from(["a", "b", ""]) | json_values,
        "function": st.fixed_dictionaries({}, optional={"name": st.text() | json_values, "arguments": json_values}),
    },
)


@given(st.lists(entries | json_values) | json_values)
def test_any_message_can_be_answered_after_the_repair(calls: Any) -> None:
    """Answering its calls in order gives a history that a strict provider takes."""
    found = repair({"role": "assistant", "tool_calls": calls}, iter(f"made{n:05d}" for n in range(10**5)).__next__)
    answers = [{"role": "tool", "tool_call_id": c.id, "content": "{}"} for c in found.calls]
    assert pairing_problems([found.message, *answers]) == []
    json.dumps(found.message, ensure_ascii=False).encode()
