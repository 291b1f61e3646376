"""Credentials are masked wherever they stand, and nothing else is; in time proportional to the text."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.telemetry.redaction import redact_text, register_secret

LONG = "a" * 5_000

LEAKS = {
    "url": ("https://user:pw123@api.test/x?page=2", ["pw123"], ["api.test/x?page=2"]),
    "url-without-user": ("redis://:hunter2@cache/0", ["hunter2"], ["cache/0"]),
    "query": ("https://api.test/x?api_key=K3Y-abcdef&page=2", ["K3Y"], ["&page=2"]),
    "bearer": ('{"Authorization":"Bearer abc.def.ghi","X-Page":"2"}', ["abc.def"], ['"X-Page":"2"']),
    "basic": ("Authorization: Basic dXNlcjpwdw==", ["dXNl"], ["Authorization: Basic"]),
    "json": ('{"password":"hunter2","note":"hi"}', ["hunter2"], ['"note":"hi"']),
    "json-in-json": ('{"body":"{\\"password\\":\\"hunter2\\",\\"note\\":\\"hi\\"}"}', ["hunter2"], ["note", "hi"]),
    "json-thrice": ('"{\\"b\\":\\"{\\\\\\"secret\\\\\\":\\\\\\"hunter2\\\\\\"}\\"}"', ["hunter2"], ['"b']),
    "short-in-quotes": ("password='a b'", ["a b"], []),
    "phrase": ('passphrase: "correct horse battery" end', ["horse"], ["end"]),
    "python": ("{'client_secret': 'a-b-c', 'n': 1}", ["a-b-c"], ["'n': 1"]),
    "prefixed-name": ("OPENAI_API_KEY=abcdef123 MODEL=m", ["abcdef"], ["MODEL=m"]),
    "suffixed-name": ("secret_key = abcdef123", ["abcdef"], []),
    "aws-secret": ("aws_secret_access_key=wJalrXUtnFEMI/K7MDENG", ["wJalr"], ["aws_secret"]),
    "header": ("x-api-key: abcdef123", ["abcdef"], ["x-api-key"]),
    "openai": ("it is sk-test-0123456789abcdef0123.", ["0123456789"], ["it is ", "."]),
    "long-openai": (f"sk-{LONG}", ["aaaa"], []),
    "long-password": (f"password={LONG}", ["aaaa"], ["password="]),
    "github": ("ghp_0123456789abcdefghij0123456789abcdef", ["012345"], []),
    "github-fine": ("github_pat_11ABCDEFG0abcdefghijkl_mnop", ["ABCDEF"], []),
    "aws": ("key AKIAIOSFODNN7EXAMPLE here", ["IOSFOD"], ["here"]),
    "slack": ("xoxb-123456789012-abcdefghij", ["123456"], []),
    "google": ("AIza" + "b" * 35, ["bbbb"], []),
    "jwt": ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", ["eyJ", "c2ln"], []),
    "pem": ("a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb", ["MIIE"], ["a\n", "\nb"]),
    "pem-cut": ("-----BEGIN PRIVATE KEY-----\nMIIE", ["MIIE"], []),
}


@pytest.mark.parametrize(("text", "gone", "kept"), LEAKS.values(), ids=LEAKS)
def test_a_credential_is_masked_and_the_rest_stays(text: str, gone: list[str], kept: list[str]) -> None:
    """Only the found part is replaced."""
    masked = redact_text(text)
    assert [part for part in gone if part in masked] == []
    assert [part for part in kept if part not in masked] == []
    assert "[REDACTED:" in masked


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens=4096 gen_ai.usage.input_tokens: 123456",
        "tokenizer: cl100k_base",
        "the token is passed on: nothing else",
        "finish_reason: tool_calls",
        "monkey: capuchin",
        "https://api.test/a:b@c",
        "risk-assessment-2026-annual-report",
        "ask-0123456789abcdef0123",
        "order_id=A17 notify=true",
        "",
    ],
)
def test_what_is_no_credential_is_left_alone(text: str) -> None:
    """Numbers of tokens and ordinary words survive."""
    assert redact_text(text) == text


@pytest.mark.parametrize("text", [case[0] for case in LEAKS.values()], ids=LEAKS)
def test_masking_twice_changes_nothing_more(text: str) -> None:
    """What was masked once is safe to pass again."""
    assert redact_text(redact_text(text)) == redact_text(text)


pieces = st.sampled_from(
    [
        "password",
        "token",
        "api_key",
        "=",
        ": ",
        '"',
        "'",
        "\\",
        "sk-",
        "eyJ",
        ".",
        "://",
        "@",
        "bearer ",
        "abcdefgh",
        " ",
    ]
)


@given(st.lists(pieces | st.text(st.characters(exclude_categories=()), max_size=5)).map("".join))
def test_masking_never_raises_and_is_stable(text: str) -> None:
    """Any mixture of the pieces that the rules look for."""
    assert redact_text(redact_text(text)) == redact_text(text)


def test_the_processs_own_credential_is_masked_wherever_it_stands() -> None:
    """A key of no known shape is masked too; the longer of two first."""
    register_secret("plain words of a key")
    register_secret("plain words of a key, and more")
    assert redact_text("x plain words of a key, and more y") == "x [REDACTED:own] y"


def test_a_short_own_credential_is_not_searched_for() -> None:
    """``no-key`` would be found everywhere."""
    register_secret("no-key")
    register_secret(None)
    assert redact_text("there is no-key here") == "there is no-key here"


HOSTILE = {
    "jwt-starts": "-eyJ",
    "jwt-halves": "eyJaaaaaaaa.",
    "pem-starts": "-----BEGIN PRIVATE KEY",
    "url-starts": "://a:",
    "url-long": "://" + "a" * 190 + ":",
    "names": "api_key",
    "names-assigned": "api_key=",
    "open-quotes": 'password="',
    "backslashes": 'password\\\\\\":',
    "mixed-quotes": "token='x\"",
    "prefixes": "aaaaaaa-token-",
    "underscores": "a_",
    "bearer": "bearer ",
    "authorization": "authorization: ",
    "spaces": "token    ",
}


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_text_takes_time_in_proportion(unit: str) -> None:
    """400 KB take at most a few times what 100 KB take: nothing is quadratic."""
    text = unit * (100_000 // len(unit))
    redact_text(text)
    began = time.perf_counter()
    redact_text(text)
    small = time.perf_counter() - began
    redact_text(text * 4)
    large = time.perf_counter() - began - small
    assert large < max(10 * small, 1.0)
