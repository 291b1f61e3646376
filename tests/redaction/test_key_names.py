"""What a key's name says about its value."""

import pytest

from traced_loop.redaction.key_names import is_identifier, may_hold_personal_key, strength_of


@pytest.mark.parametrize(
    "key",
    [
        *("password", "DB_PASSWORD", "dbPassword", "db.password", "user[password]", "PGPASSWORD", "passwords"),
        *("apiKey", "X-Api-Key", "client_secret", "aws_secret_access_key", "accessToken", "password_2", "secret_raw"),
        *("密码", "用户密码", "пароль", "パスワード", "Kennwort", "senha", "mot de passe", "Set-Cookie"),
    ],
)
def test_names_of_secrets_mask_whatever_is_behind_them(key: str) -> None:
    """In any case, with any separator, in several languages."""
    assert strength_of(key) == "any"


@pytest.mark.parametrize("key", ["auth", "token", "tokens", "sessionid", "signature"])
def test_names_that_mostly_hold_secrets_mask_what_looks_random(key: str) -> None:
    """``token`` can be a word, too."""
    assert strength_of(key) in ("opaque", "any")


@pytest.mark.parametrize(
    "key",
    [
        *("password_hint", "token_count", "max_tokens", "prompt_tokens", "secret_name", "key_id", "auth_type"),
        *("page_token", "next_token", "primary_key", "public_key", "cache_key", "author", "monkey", "keyboard", ""),
        *("total_tokens", "password_length", "tokenLimit2", "session_timeout", "public access key"),
    ],
)
def test_names_about_secrets_mask_nothing(key: str) -> None:
    """Counts, limits, names, cursors, and words that only sound like it."""
    assert strength_of(key) == "none"


@pytest.mark.parametrize("key", ["ssn", "phoneNumber", "passport_no", "dob", "iban", "card-number", "手机号"])
def test_names_of_personal_numbers_mask_digits(key: str) -> None:
    """Three digits and more."""
    assert strength_of(key) == "digits"


def test_an_identifier_is_no_persons_number() -> None:
    """Ids, times, sizes and orders; a secret's name is none of them."""
    assert is_identifier("order_id")
    assert is_identifier("createdTimestamp")
    assert not is_identifier("card")
    assert not is_identifier("")


def test_a_text_without_any_stem_has_no_personal_key() -> None:
    """Asked once for a whole value, in lower case."""
    assert may_hold_personal_key('{"phonenumber": 1}')
    assert not may_hold_personal_key('{"colour": 1}')
