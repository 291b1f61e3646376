"""Secrets in tables."""

import pytest

from traced_loop.redaction import redact

MASK = "[REDACTED:assigned_secret]"


@pytest.mark.parametrize(
    "text",
    [
        "user,password,age\nann,@,41\nbob,@,42\n",
        "user;api_key\nann;@\n",
        "user\tpassword\nann\t@\n",
        "| user | password |\n|---|---|\n| ann | @ |\n",
        " user | password\n------+---------\n ann  | @\n",
        "INSERT INTO users (name, password) VALUES ('ann', '@'), ('bob', '@');",
    ],
)
def test_a_column_of_secrets_is_masked(text: str) -> None:
    """By its title; the other columns stay."""
    assert redact(text.replace("@", "swordfish")) == text.replace("@", MASK)


@pytest.mark.parametrize(
    "text",
    [
        "user,password_hint\nann,swordfish\n",
        "user,password\nno comma here at all\n",
        "user,password\nann,<none>\n",
        "INSERT INTO users (name, password) VALUES ('ann');",
    ],
)
def test_other_lines_stay(text: str) -> None:
    """Another title, another number of columns, a placeholder."""
    assert redact(text) == text
