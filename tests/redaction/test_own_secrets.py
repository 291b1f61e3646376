"""The credentials of this process, masked by value."""

import base64
import html
import json
import os
import re
import threading
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.redaction import Redactor, redact, register_credentials, register_environment, register_secret
from traced_loop.redaction.own_secrets import OwnSecrets, own_secrets

OWN = "[REDACTED:own_credential]"


def test_a_registered_value_is_masked_wherever_it_stands() -> None:
    """Whatever its shape, in words, in keys, in values; also where it was seen unmasked before."""
    assert redact("say abracadabra twice") == "say abracadabra twice"
    assert redact({"say": ["abracadabra"]}) == {"say": ["abracadabra"]}
    register_secret("abracadabra")
    assert redact("say abracadabra twice") == f"say {OWN} twice"
    assert redact({"say": ["abracadabra"]}) == {"say": [OWN]}
    assert redact({"abracadabra": 1}) == {OWN: 1}


def test_a_short_value_is_not_registered() -> None:
    """Eight characters and more are."""
    register_secret("sesame7")
    register_secret("")
    register_secret(None)
    assert own_secrets() == OwnSecrets()
    register_secret("sesame78")
    assert redact("sesame78") == OWN


@pytest.mark.parametrize(
    "form",
    [
        lambda secret: json.dumps(secret)[1:-1],
        lambda secret: json.dumps(secret, ensure_ascii=False)[1:-1],
        lambda secret: json.dumps(secret)[1:-1].replace("/", "\\/"),
        lambda secret: json.dumps(json.dumps(secret)[1:-1])[1:-1],
        lambda secret: quote(secret, safe=""),
        lambda secret: quote(secret),
        lambda secret: re.sub("%..", lambda code: code[0].lower(), quote(secret, safe="")),
        html.escape,
        lambda secret: html.escape(secret, quote=False),
        lambda secret: html.escape(secret).replace("&quot;", "&#34;").replace("&#x27;", "&#39;"),
        lambda secret: base64.b64encode(secret.encode()).decode(),
        lambda secret: base64.b64encode(f"a:{secret}".encode()).decode(),
        lambda secret: base64.urlsafe_b64encode(f"ab:{secret}:c".encode()).decode(),
    ],
)
def test_an_encoded_value_is_masked_too(form: object) -> None:
    """In JSON and in JSON within it, percent-encoded, in HTML, in base64 at each of the places where it can begin."""
    secret = "né\"\\x/?>&'~ b"
    register_secret(secret)
    assert callable(form)
    text = f"got <{form(secret)}> there"
    assert OWN in redact(text)
    assert form(secret) not in redact(text)


def test_a_value_with_quotes_is_found_inside_json() -> None:
    """In text and in values, where it is written with escapes."""
    register_secret('quo"ted\nvalue')
    assert redact(json.dumps({"a": 'x quo"ted\nvalue'})) == json.dumps({"a": f"x {OWN}"})
    assert redact({"a": 'x quo"ted\nvalue'}) == {"a": f"x {OWN}"}


def test_overlapping_values_are_masked_together() -> None:
    """Of no value a part is left, whichever was registered first."""
    register_secret("abcdefgh")
    register_secret("efghijkl")
    register_secret("abcdefgh-longer")
    assert redact("1 abcdefghijkl 2 abcdefgh-longer 3") == f"1 {OWN} 2 {OWN} 3"


def test_own_values_go_before_all_rules_and_markers() -> None:
    """A value over the edge of a marker takes it along; a value that is a word of a marker does not break it."""
    register_secret("credential")
    assert redact("a credential [REDACTED:own_credential]") == f"a {OWN} {OWN}"
    register_secret("me [REDACTED:email]")
    assert redact("to me [REDACTED:email].") == f"to {OWN}."
    register_secret("x@example")
    assert redact("write to x@example.com") == f"write to {OWN}.com"


@pytest.mark.parametrize(
    ("name", "value", "masked"),
    [
        ("DB_PASSWORD", "Tr0ub4dor-3", True),
        ("DB_PASSWORD", "correct-horse-battery-staple", True),
        ("OPENAI_API_KEY", "A1b2C3d4E5f6", True),
        ("SESSION_TOKEN", "A1b2C3d4E5f6", True),
        ("DB_PASSWORD", "postgres", False),  # a word: every text about the database would be wrecked
        ("DB_PASSWORD", "aaaaaaaaaa", False),
        ("DB_PASSWORD", "changeme", False),
        ("DB_PASSWORD", "short1", False),
        ("TOKEN_FILE", "/run/secrets/token1", False),
        ("API_KEY", "https://example.com/key1", False),
        ("SESSION", "plasma-wayland", False),
        ("HOME_TOWN", "A1b2C3d4E5f6", False),
        ("BIRTH_DATE", "1984-02-29", False),
    ],
)
def test_the_environment_gives_its_credentials(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, masked: bool
) -> None:
    """Values whose variable is named like one, and that are no words, paths or placeholders."""
    for other in list(os.environ):
        monkeypatch.delenv(other)
    monkeypatch.setenv(name, value)
    register_environment()
    assert (value in own_secrets().values) == masked


def test_what_left_the_environment_is_still_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    """It can be in texts that come later."""
    monkeypatch.setenv("DB_PASSWORD", "Tr0ub4dor-3")
    register_environment()
    monkeypatch.delenv("DB_PASSWORD")
    register_environment()
    assert redact("with Tr0ub4dor-3") == f"with {OWN}"


def test_the_rule_can_be_left_out() -> None:
    """Like any other."""
    register_secret("abracadabra")
    assert Redactor(without=["own_credential"]).text("say abracadabra") == "say abracadabra"


def test_values_are_registered_from_many_threads() -> None:
    """None is lost."""
    threads = [threading.Thread(target=register_secret, args=(f"abracadabra-{n}",)) for n in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(own_secrets().values) == 32


@given(st.text(min_size=8, max_size=40), st.text(), st.text())
def test_any_registered_value_goes_from_any_text(secret: str, before: str, behind: str) -> None:
    """Nothing of it can be read afterwards, and the rest is not lost to an error."""
    register_secret(secret)
    masked = redact(before + secret + behind)
    assert secret not in masked or secret in OWN


def test_the_credentials_among_given_variables_are_masked_and_nothing_else() -> None:
    """A path beside them stays readable."""
    register_credentials({"SERVER_TOKEN": "tk-9f8e7d6c5b4a3210", "SERVER_HOME": "/srv/elsewhere"})

    assert redact("tk-9f8e7d6c5b4a3210 in /srv/elsewhere").endswith(" in /srv/elsewhere")
    assert "9f8e7d6c" not in redact("tk-9f8e7d6c5b4a3210 in /srv/elsewhere")
