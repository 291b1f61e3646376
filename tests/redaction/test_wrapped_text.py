"""Text inside text."""

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.redaction import redact, wrapped_text

FIELD = "[REDACTED:secret_field]"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ('{"password":"hunter2","n":[1, 2]}', '{"password":"' + FIELD + '","n":[1,2]}'),
        ('{"password": "hunter2"}\n', '{"password": "' + FIELD + '"}\n'),
        ('{\n  "password": "hunter2"\n}', '{\n  "password": "' + FIELD + '"\n}'),
        ('{\n\t"password": "hunter2"\n}', '{\n\t"password": "' + FIELD + '"\n}'),
        ('{"password": "hunter2", "x": NaN}', '{"password": "' + FIELD + '", "x": NaN}'),
        ('{"password": "hunter2", "x": "\\u00e9"}', '{"password": "' + FIELD + '", "x": "\\u00e9"}'),
        ('{"password": "hunter2", "x": "é"}', '{"password": "' + FIELD + '", "x": "é"}'),
        (
            '{"password": "hunter2", "x": 1234567890123456789012}',
            '{"password": "' + FIELD + '", "x": 1234567890123456789012}',
        ),
    ],
)
def test_json_is_written_as_it_was(text: str, masked: str) -> None:
    """Its spaces, its indent, its escapes."""
    assert redact(text) == masked


def test_json_in_which_nothing_is_found_is_the_same_text() -> None:
    """Not a sign of it is written anew."""
    text = '{ "a" :1.0, "a": 1e2, "password":"" }'
    assert redact(text) is text


def test_of_fields_with_the_same_name_none_is_overlooked() -> None:
    """A reader takes the last one, but the others are in the text."""
    masked = redact('{"password": "hunter2", "password": ""}')
    assert json.loads(masked) == {"password#": FIELD, "password": ""}


def test_half_a_sign_is_written_as_an_escape() -> None:
    """Alone it cannot be encoded."""
    masked = redact('{"password": "hunter2", "x": "\\ud83d", "y": "é"}')
    assert json.loads(masked) == {"password": FIELD, "x": "\ud83d", "y": "é"}
    assert masked.encode()


@pytest.mark.parametrize("depth", [199, 201, 990, 10_000, 100_000])
def test_deep_json_is_searched_at_any_depth(depth: int) -> None:
    """Deeper than 200 it is read as plain text; nothing breaks."""
    text = "[" * depth + '{"password": "hunter2"}' + "]" * depth
    masked = redact(text)
    assert "hunter2" not in masked
    assert masked.startswith("[" * depth)


def test_json_in_json_in_json_is_opened() -> None:
    """Layer by layer, and closed again."""
    text = json.dumps({"password": "hunter2"})
    for _ in range(3):
        text = json.dumps({"said": text})
    masked = redact(text)
    for _ in range(3):
        masked = json.loads(masked)["said"]
    assert json.loads(masked) == {"password": FIELD}


def test_a_name_that_is_hidden_by_escapes_is_read() -> None:
    """In a text, and in a text in a value, where nothing else looks like a secret."""
    text = '{"p\\u0061ssword": "swordfish"}'
    assert "swordfish" not in redact(text)
    assert "swordfish" not in redact({"said": [text]})["said"][0]
    assert "swordfish" not in redact(json.dumps({"said": text}))


def test_a_json_string_is_opened() -> None:
    """Also where it holds JSON."""
    masked = redact(json.dumps(json.dumps({"password": "hun\\ter2"})))
    assert json.loads(json.loads(masked)) == {"password": FIELD}


def test_base64_of_a_secret_is_masked_whole() -> None:
    """And base64 of anything else stays."""
    secret = base64.b64encode(b"user=me&password=Tr0ub4dor3").decode()
    plain = base64.b64encode(b"the quick brown fox jumps").decode()
    assert redact(f"a {secret} b {plain}") == f"a [REDACTED:encoded] b {plain}"


def test_percent_encoding_is_masked_inside() -> None:
    """What was not found stays encoded as it was."""
    text = "q=" + quote("a b") + "&r=" + quote("password=Tr0ub4dor3&n=1", safe="")
    assert redact(text) == "q=a%20b&r=password%3D[REDACTED:assigned_secret]%26n%3D1"


@given(st.text(), st.text())
def test_percent_encoding_comes_back_as_it_was(text: str, other: str) -> None:
    """Where nothing is masked, not a sign changes."""
    whole = quote(text, errors="replace") + other + quote(other, errors="replace")
    assert wrapped_text.decoded_percent(whole, lambda plain: plain) == whole


@given(st.recursive(st.text() | st.integers(), lambda v: st.lists(v) | st.dictionaries(st.text(), v)))
def test_what_was_parsed_can_be_written(value: object) -> None:
    """Into the same value."""
    text = json.dumps(value)
    parsed = wrapped_text.parsed(text)
    if not isinstance(value, int):
        assert parsed == value
        assert json.loads(wrapped_text.written(parsed, text)) == value
