"""Arguments are one JSON object or a reason why not; nothing is guessed, whatever a model writes."""

import json
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.argument_text import (
    MAX_ARGUMENT_BYTES,
    MAX_DEPTH,
    ParsedArguments,
    UnparsableArguments,
    is_unterminated,
    parse_arguments,
    sendable_text,
)
from traced_loop.json_shapes import deeper_than

from .processor_time import LINEAR, growth

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=())), inner),
)
pieces = st.sampled_from(
    [*'{}[]":,\\', "a", "1", "e9", "-", " ", "\n", "null", "NaN", "```", "json", "\\ud83e", "\ud83e"]
)
texts = (
    st.text(st.characters(exclude_categories=()))
    | st.lists(pieces).map("".join)
    | json_values.map(json.dumps)
    | json_values.map(lambda value: json.dumps(json.dumps(value)))
    | json_values.map(lambda value: f"```json\n{json.dumps(value)}\n```")
)


def no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, unless a field is there twice."""
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


def refuse(word: str) -> Any:
    """What is not JSON though Python reads it."""
    raise AssertionError(word)


@given(texts, st.booleans())
def test_any_text_is_an_object_or_a_reason(text: str, blank_is_empty: bool) -> None:
    """What is accepted is JSON for everybody: no NaN, no field twice, no huge integer, no surrogate, no depth."""
    parsed = parse_arguments(text, blank_is_empty=blank_is_empty)
    if isinstance(parsed, UnparsableArguments):
        assert parsed.said
        return
    assert isinstance(parsed.value, dict)
    assert json.loads(parsed.text, object_pairs_hook=no_duplicates, parse_constant=refuse) == parsed.value
    again = json.dumps(parsed.value, allow_nan=False, ensure_ascii=False)
    again.encode()
    assert json.loads(again) == parsed.value
    assert not deeper_than(parsed.value, MAX_DEPTH)
    assert all(-(2**63) <= n < 2**63 for n in integers(parsed.value))


def integers(value: Any) -> list[int]:
    """Every integer in a value."""
    if isinstance(value, dict):
        return [n for item in value.values() for n in integers(item)]
    if isinstance(value, list):
        return [n for item in value for n in integers(item)]
    return [value] if isinstance(value, int) and not isinstance(value, bool) else []


@given(texts)
def test_what_goes_back_is_always_one_object(text: str) -> None:
    """Also for calls that never ran."""
    assert isinstance(json.loads(sendable_text(text)), dict)


@given(texts)
def test_any_text_breaks_off_or_does_not(text: str) -> None:
    """Never a crash; whole JSON does not break off."""
    broken = is_unterminated(text)
    assert not (broken and isinstance(parse_arguments(text), ParsedArguments) and not text.lstrip().startswith("`"))


GOOD = {
    "plain": ('{"a":1}', {"a": 1}, '{"a":1}', ()),
    "spaces": (' {"a" : 1}\n', {"a": 1}, ' {"a" : 1}\n', ()),
    "double": ('"{\\"a\\":1}"', {"a": 1}, '{"a":1}', ("arguments_double_encoded",)),
    "fence": ('```json\n{"a":"x ```b``` y"}\n```', {"a": "x ```b``` y"}, '{"a":"x ```b``` y"}', ("arguments_fenced",)),
    "fence-without-a-word": ('```\n{"a":1}\n```\n', {"a": 1}, '{"a":1}', ("arguments_fenced",)),
    "text-that-is-json": ('{"text":"{\\"a\\":1}"}', {"text": '{"a":1}'}, '{"text":"{\\"a\\":1}"}', ()),
    "surrogate-pair": ('{"a":"\\ud83d\\ude00"}', {"a": "\U0001f600"}, '{"a":"\\ud83d\\ude00"}', ()),
    "largest-integer": (f'{{"a":{2**63 - 1}}}', {"a": 2**63 - 1}, f'{{"a":{2**63 - 1}}}', ()),
    "empty-object": ("{}", {}, "{}", ()),
}


@pytest.mark.parametrize(("text", "value", "back", "anomalies"), GOOD.values(), ids=GOOD)
def test_an_object_is_read_and_its_text_goes_back(
    text: str, value: dict[str, Any], back: str, anomalies: tuple[str, ...]
) -> None:
    """Repairs are marked."""
    assert parse_arguments(text) == ParsedArguments(value=value, text=back, anomalies=anomalies)


BAD = {
    "prose-after": ('{"a":1} I will save this now.', "not_json"),
    "single-quotes": ("{'a':1}", "not_json"),
    "trailing-comma": ('{"a":1,}', "not_json"),
    "cut": ('{"a":"b', "not_json"),
    "blank": ("  ", "not_json"),
    "two-objects": ('{"a":1}{"b":2}', "not_json"),
    "null": ("null", "not_object"),
    "list": ("[1]", "not_object"),
    "number": ("7", "not_object"),
    "text": ('"hello"', "not_object"),
    "twice-double": (json.dumps(json.dumps('{"a":1}')), "not_object"),
    "list-in-text": ('"[1]"', "not_object"),
    "fenced-list": ("```\n[1]\n```", "not_json"),
    "nan": ('{"a":NaN}', "not_json"),
    "infinity": ('{"a":-Infinity}', "not_json"),
    "duplicate": ('{"a":1,"a":2}', "not_json"),
    "duplicate-below": ('{"x":[{"a":1,"a":2}]}', "not_json"),
    "huge-integer": ('{"a":9223372036854775808}', "out_of_range"),
    "integer-of-many-digits": ('{"a":' + "9" * 10_000 + "}", "out_of_range"),
    "huge-float": ('{"a":1e999}', "out_of_range"),
    "lone-surrogate": ('{"a":"\\ud83e"}', "not_json"),
    "lone-surrogate-key": ('{"\\ud83e":1}', "not_json"),
    "raw-surrogate": ('{"a":"\ud83e"}', "not_json"),
    "deep": ('{"a":' * 65 + "1" + "}" * 65, "too_large"),
    "very-deep": ('{"a":' * 100_000, "too_large"),
    "big": ('{"a":"' + "x" * MAX_ARGUMENT_BYTES + '"}', "too_large"),
    "big-in-bytes": ('{"a":"' + "ä" * (MAX_ARGUMENT_BYTES // 2) + '"}', "too_large"),
    "control-character": ('{"a":"\n"}', "not_json"),
    "byte-order-mark": ('\ufeff{"a":1}', "not_json"),
}


@pytest.mark.parametrize(("text", "code"), BAD.values(), ids=BAD)
def test_everything_else_is_refused_with_a_code(text: str, code: str) -> None:
    """And a short reason that holds no value."""
    parsed = parse_arguments(text)
    assert isinstance(parsed, UnparsableArguments)
    assert parsed.code == code
    assert len(parsed.said) < 200


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_blank_is_empty_only_where_nothing_is_required(text: str) -> None:
    """Marked where it is taken."""
    assert parse_arguments(text, blank_is_empty=True) == ParsedArguments(
        value={}, text="{}", anomalies=("arguments_empty",)
    )
    assert isinstance(parse_arguments(text), UnparsableArguments)


@pytest.mark.parametrize("text", ['{"a": "b', '{"a": [1, 2', '{"a"', '{"a": tr', '{"a": 1.', '{"a": "\\u12', "{", ""])
def test_a_text_that_breaks_off_is_known(text: str) -> None:
    """What a cut answer looks like."""
    assert is_unterminated(text)


@pytest.mark.parametrize("text", ["{}", '{"a":1}', "{'a'", '{"a":1} and', '{"a":1}}', "nonsense here"])
def test_a_text_that_is_whole_or_plainly_wrong_does_not_break_off(text: str) -> None:
    """More tokens would not have helped."""
    assert not is_unterminated(text)


@pytest.mark.parametrize("unit", ["\n```", "```\n", "\n    ", "```json\n{", " ", '"', "\\"], ids=ascii)
def test_a_hostile_text_takes_time_in_proportion(unit: str) -> None:
    """Looking for a fence is not quadratic."""
    assert growth(lambda size: partial(parse_arguments, "```\n" + unit * (size // len(unit)) + "x"), 15_000) < LINEAR
