"""Secrets that are known for a while: masked, kept out of the store's texts, forgotten."""

import base64
import json

import pytest

from traced_loop.redaction import redact, register_environment, register_secret
from traced_loop.redaction.held_secrets import hold_secret, own_beginning, without_held, without_own
from traced_loop.redaction.own_secrets import own_secrets

OWN = "[REDACTED:own_credential]"
KEY = 'typed"by\\hand-93'


def test_a_held_secret_is_masked_until_it_is_let_go() -> None:
    """After that nothing of this process knows it."""
    let_go = hold_secret(KEY)
    assert redact(f"it is {KEY}.") == f"it is {OWN}."
    let_go()
    assert redact(f"it is {KEY}.") == f"it is {KEY}."
    assert KEY not in own_secrets().values
    assert without_held(KEY) == KEY


def test_it_is_forgotten_with_the_last_who_holds_it() -> None:
    """Two runs with one key; letting go twice is letting go once."""
    first, second = hold_secret(KEY), hold_secret(KEY)
    first()
    first()
    assert redact(KEY) == OWN
    second()
    assert redact(KEY) == KEY


def test_what_was_registered_before_is_still_masked_after() -> None:
    """Whoever registered it wants it masked for good."""
    register_secret("registered-before-1")
    hold_secret("registered-before-1")()
    assert redact("registered-before-1") == OWN


def test_a_credential_of_the_environment_is_masked_when_the_next_run_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the same key was typed before it came to stand there."""
    let_go = hold_secret("zQ4-same-key-typed")
    monkeypatch.setenv("GROQ_API_KEY", "zQ4-same-key-typed")
    register_environment()
    let_go()
    register_environment()
    assert redact("zQ4-same-key-typed") == OWN


@pytest.mark.parametrize("value", [None, "", "seven77"])
def test_what_stands_in_text_by_chance_is_not_held(value: str | None) -> None:
    """Eight characters and more are."""
    before = own_secrets()
    hold_secret(value)()
    assert own_secrets() is before


def test_a_stored_text_has_it_in_no_form() -> None:
    """As it is, escaped in JSON, in base64; what stands around it stays."""
    let_go = hold_secret(KEY)
    told = json.dumps({"content": f"a {KEY} b", "basic": base64.b64encode(KEY.encode()).decode()})
    kept = json.loads(without_held(told))
    assert without_own(told) == without_held(told)
    let_go()
    assert kept["content"] == f"a {OWN} b"
    assert OWN in kept["basic"]
    assert json.loads(told)["content"] == f"a {KEY} b"


@pytest.mark.parametrize(
    ("text", "left"), [("so ty", 2), ('so typed"by\\hand-9', 15), ("so type!", 0), ("", 0), (KEY, 0)]
)
def test_the_beginning_of_one_at_the_end_of_a_text_is_known(text: str, left: int) -> None:
    """A text that is still being written may end in the middle of one; a whole one is found by masking."""
    let_go = hold_secret(KEY)
    found = own_beginning(text)
    let_go()
    assert found == left
    assert own_beginning(text) == 0
