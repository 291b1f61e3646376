"""What the names of fields say about their values."""

from typing import Any

import pytest
from hypothesis import given

from traced_loop.redaction import redact

from .weird_values import values

FIELD = "[REDACTED:secret_field]"


@pytest.mark.parametrize(
    ("given_value", "masked"),
    [
        ({"password": "hunter2"}, {"password": FIELD}),
        ({"password": {"value": "hunter2"}}, {"password": {"value": FIELD}}),
        ({"passwords": ["hunter2", "hunter3"]}, {"passwords": [FIELD, FIELD]}),
        ({"name": "API_KEY", "value": "hunter22"}, {"name": "API_KEY", "value": FIELD}),
        (["--password", "hunter2", "-v"], ["--password", FIELD, "-v"]),
        (["x-api-key", "A1b2C3d4E5f6"], ["x-api-key", FIELD]),
        ({"secrets": {"db": "A1b2C3d4E5f6", "mode": "fast"}}, {"secrets": {"db": FIELD, "mode": "fast"}}),
        ({"kty": "RSA", "n": "public1", "d": "private"}, {"kty": "RSA", "n": "public1", "d": FIELD}),
        ({"authorization": "Bearer opaque"}, {"authorization": f"Bearer {FIELD}"}),
        ({"pin": 1234, "pin_count": 1234}, {"pin": FIELD, "pin_count": 1234}),
        ({"card": 4111111111111111}, {"card": FIELD}),
        ({"cookie": "sid=A1b2C3d4; theme=dark"}, {"cookie": "sid=[REDACTED:cookie]; theme=dark"}),
    ],
)
def test_a_field_of_a_secret_is_masked(given_value: Any, masked: Any) -> None:
    """By its own name, by the name around it, by the name beside it."""
    assert redact(given_value) == masked


@pytest.mark.parametrize(
    "value",
    [
        {"total_tokens": 12345, "max_tokens": 4096, "tokens": 900, "prompt_tokens": 12, "refresh_tokens": 500},
        {"password": "", "token": None, "secret": True, "api_key": "<your key>", "passwd": "${PASSWORD}"},
        {"password": {"type": "string", "minLength": 8}, "password_hint": "the dog"},
        {"password": "must be at least 8 characters", "secret_path": "/run/secrets/db"},
        {"order_id": 4111111111111111, "created_ns": "1764475200000000000"},
        {"numbers": [1, 2.5, True, None], "nested": ({"a": (1, "b")},)},
    ],
)
def test_what_is_no_secret_stays(value: Any) -> None:
    """Counts, placeholders, schemas, sentences, paths and ids; kinds stay kinds."""
    assert redact(value) == value


def test_no_field_is_lost_where_two_names_are_masked_to_the_same() -> None:
    """A number keeps them apart."""
    masked = redact({"a@example.com": 1, "b@example.com": 2, "c@example.com": 3})
    assert masked == {"[REDACTED:email]": 1, "[REDACTED:email]#1": 2, "[REDACTED:email]#2": 3}


def test_a_tuple_stays_a_tuple() -> None:
    """Also where something in it is masked."""
    assert redact(("a", {"password": "hunter2"})) == ("a", {"password": FIELD})


def shape(value: Any) -> Any:
    """A value without its texts and numbers, and without the names of its fields."""
    if isinstance(value, dict):
        return [shape(one) for one in value.values()]
    return [type(value), *map(shape, value)] if isinstance(value, list) else None


@given(values)
def test_a_value_keeps_its_shape(value: Any) -> None:
    """Every list keeps its items, every mapping its fields, in their order."""
    if not isinstance(value, str):
        assert shape(redact(value)) == shape(value)


@given(values)
def test_flags_floats_and_nothing_are_never_masked(value: Any) -> None:
    """In a field that is not called a secret they are the same afterwards."""
    masked = redact({"count": [value, True, 1.5, None]})
    assert masked["count"][1:] == [True, 1.5, None]
