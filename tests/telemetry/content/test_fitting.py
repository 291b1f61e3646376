"""JSON text within a bound, still JSON."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.telemetry.content.capture import MIN_BYTES
from traced_loop.telemetry.content.fitting import Fitted, Piece, fit_list, fit_value, message_piece, value_piece
from traced_loop.telemetry.content.genai_messages import MessageReader, text_message
from traced_loop.telemetry.content.json_pruning import pruned

from .genai_schema import problems

any_text = st.text(st.characters(exclude_categories=()))
any_value = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text | st.text('\x00"\\', max_size=900),
    lambda inner: st.lists(inner) | st.dictionaries(any_text, inner),
)
deep = st.integers(1, 200).map(lambda depth: json.loads("[" * depth + "1" + "]" * depth))
huge = st.builds(lambda unit, times: unit * times, st.text(min_size=1, max_size=3), st.integers(1, 90_000))
odd = any_value | deep | huge
message_like = st.fixed_dictionaries(
    {},
    optional={
        "role": odd | st.sampled_from(["user", "assistant", "tool"]),
        "content": odd | st.lists(st.fixed_dictionaries({"type": odd | st.just("text"), "text": odd}), max_size=40),
        "name": odd,
        "tool_call_id": odd,
        "tool_calls": odd
        | st.lists(
            st.fixed_dictionaries({"id": odd, "function": st.fixed_dictionaries({"name": odd, "arguments": odd})})
        ),
    },
)


def piece(message: dict[str, Any]) -> Piece:
    """A message as the run's content makes one, without masking."""
    plain = pruned(MessageReader().read(message))
    return message_piece(plain.value, plain.removed)


def said(*texts: str) -> list[Piece]:
    """Messages of a user."""
    return [piece({"role": "user", "content": text}) for text in texts]


def contents(fitted: Fitted) -> list[str]:
    """The texts in it, a message each."""
    return [message["parts"][0]["content"] for message in json.loads(fitted.text)]


@given(st.lists(message_like, max_size=6), st.sampled_from([MIN_BYTES, 4_096, 8_192]))
def test_any_list_of_messages_is_valid_json_of_the_schema_within_the_bound(
    messages: list[dict[str, Any]], bound: int
) -> None:
    """Odd shapes, surrogates, deep JSON, huge strings: nothing raises."""
    fitted = fit_list([piece(message) for message in messages], bound)
    assert len(fitted.text.encode()) <= bound
    assert problems(json.loads(fitted.text)) == []
    assert fitted.true_size is None or fitted.true_size > len(fitted.text.encode()) or "truncated" in fitted.text


@given(odd, st.sampled_from([MIN_BYTES, 8_192]))
def test_any_value_is_valid_json_within_the_bound(value: Any, bound: int) -> None:
    """Arguments and results, of whatever shape."""
    plain = pruned(value)
    fitted = fit_value(value_piece(plain.value, plain.removed), bound)
    assert len(fitted.text.encode()) <= bound
    json.loads(fitted.text)
    if fitted.true_size is None:
        assert json.loads(fitted.text) == plain.value


def test_what_fits_is_whole() -> None:
    """Compact, in the order given, and nothing is said of a cut."""
    fitted = fit_list(said("a", "ä"), MIN_BYTES)
    assert json.loads(fitted.text) == [text_message("user", "a"), text_message("user", "ä")]
    assert (fitted.true_size, " " in fitted.text) == (None, False)
    assert fit_list([], MIN_BYTES) == Fitted("[]", None)


def test_long_strings_are_cut_first_and_say_how_long_they_were() -> None:
    """Every message is still there, the short ones whole."""
    fitted = fit_list(said("short", "x" * 20_000, "last"), 8_192)
    first, long, last = contents(fitted)
    assert (first, last) == ("short", "last")
    assert long == "x" * 6_144 + "…[truncated 20000 bytes]"
    assert (
        fitted.true_size
        == 20_000 + len("shortlast") + 3 * len(json.dumps(text_message("user", "")).replace(" ", "")) + 4
    )


def test_a_text_beyond_what_is_searched_says_its_true_length_too() -> None:
    """It was cut twice; the first cut knew."""
    (shown,) = contents(fit_list(said("x" * 200_000), 8_192))
    assert shown.endswith("x…[truncated 200000 bytes]")


def test_then_the_middle_is_left_out_with_a_message_that_says_how_many() -> None:
    """The first one and the newest ones stay."""
    fitted = fit_list(said(*[f"message {n} " + "x" * 100 for n in range(200)]), 4_096)
    texts = contents(fitted)
    assert texts[0].startswith("message 0 ")
    assert texts[-1].startswith("message 199 ")
    assert texts[1] == f"…[{200 - (len(texts) - 1)} messages left out]"
    assert [message["role"] for message in json.loads(fitted.text)[:3]] == ["user", "traced_loop", "user"]
    assert 3_500 < len(fitted.text) <= 4_096


def test_of_many_parts_the_middle_ones_are_left_out() -> None:
    """With a part that says how many."""
    parts = [{"type": "text", "text": f"part {n} " + "x" * 200} for n in range(300)]
    (message,) = json.loads(fit_list([piece({"role": "user", "content": parts})], 8_192).text)
    texts = [part["content"] for part in message["parts"]]
    (marker,) = [text for text in texts if text.endswith("parts left out]")]
    assert marker == f"…[{300 - (len(texts) - 1)} parts left out]"
    assert (texts[0][:7], texts[-1][:9]) == ("part 0 ", "part 299 ")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"path": "a.txt", "text": "x" * 9_000}, {"path": "a.txt", "text": "x" * 768 + "…[truncated 9000 bytes]"}),
        ("x" * 9_000, "x" * 768 + "…[truncated 9000 bytes]"),
    ],
)
def test_a_value_keeps_its_shape_as_long_as_cut_strings_do(value: Any, shown: Any) -> None:
    """Fields stay fields."""
    assert json.loads(fit_value(value_piece(value, 0), MIN_BYTES).text) == shown


def test_a_value_that_is_large_without_long_strings_becomes_the_beginning_of_its_text() -> None:
    """Numbers cannot be cut."""
    value = {str(n): list(range(100)) for n in range(100)}
    shown = json.loads(fit_value(value_piece(value, 0), MIN_BYTES).text)
    assert shown.startswith('{"0":[0,1,2,')
    assert shown.endswith(f"…[truncated {len(json.dumps(value, separators=(',', ':')))} bytes]")


def test_a_piece_is_written_once_for_each_level_however_often_it_is_shown() -> None:
    """A history that is shown whole at every step costs what is new in it."""
    written: list[int] = []

    def shorter(value: Any, level: int) -> Any:
        written.append(level)
        return {**value, "parts": [{"type": "text", "content": "x" * min(level, 9_000)}]}

    long = Piece(text_message("user", "x" * 9_000), 0, shorter)
    for more in range(50):
        fit_list([long, *said(*["y" * 100] * more)], 8_192)
    assert len(written) == len(set(written)) <= 7
