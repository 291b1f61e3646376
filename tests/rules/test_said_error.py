"""Which results tell of an error, and which only speak of one."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traced_loop.rules.said_error import emptiness, said_error

from ..nightly import examples

FINAL = [
    "Error: user not found",
    "error: pathspec 'x' did not match",
    "[ERROR] no such column",
    "Error executing query: Unknown column 'id' in 'field list'",
    "ValidationError: amount must be a number (trace 8f3a1c02)",
    "sqlalchemy.exc.OperationalError: (sqlite3.OperationalError) no such table",
    "Traceback (most recent call last):\n  File x\nKeyError: 'a'",
    "/bin/bash: line 1: sudo: command not found",
    "cat: source.py: No such file or directory",
    "ls: cannot open directory '/root': Permission denied",
    "Failed to parse arguments",
    "Invalid Action. Valid Actions are Lookup and Search.",
    "Malformed command",
    "Unknown tool 'hex'",
    "<returncode>1</returncode>\n<output>\nKeyError: 'a'\n</output>",
    "Exit code: 2\ngrep: invalid option",
    {"error": "no such order"},
    {"error": {"code": 404, "message": "no such order"}},
    {"status": "error", "message": "no"},
    {"success": False, "reason": "closed"},
    {"exit_code": 1, "stderr": "no rule to make target"},
    {"error": "quota", "retryable": False, "message": "try again later"},
]
PASSING = [
    "Error: 503 Service Unavailable",
    "503 Service Unavailable",
    "429 Too Many Requests",
    "Error: rate limit exceeded, retry after 20s",
    "Request timed out",
    "TimeoutError: timed out after 30 s",
    "ConnectionError: connection refused",
    "Error: the server is temporarily unavailable, try again later",
    {"error": "busy", "status_code": 503},
    {"error": {"code": 429}},
    {"error": "please wait", "retryable": True},
    {"exit_code": 28, "stderr": "curl: (28) Operation timed out"},
]
NONE = [
    "",
    "ok",
    "42 errors found in 12 files",
    "No errors.",
    "The last error was fixed in 2019.",
    "<returncode>0</returncode>\n<output>\nError: this is what the log says\n</output>",
    "<returncode>1</returncode>\n<output>\n</output>",
    "exit code: 0\nerror: 0, warning: 3",
    "Error handling in Python\n" + "Exceptions are raised and caught. " * 20,
    "Found 429 rows",
    "Permission",
    "Could not find [The Guest]. Similar: ['The Guest (2014 film)']",
    {"error": None, "rows": []},
    {"error": "", "rows": [1]},
    {"errors": 0},
    {"status": "failed", "job": "j1"},
    {"exit_code": 0, "stderr": "warning: error in comment"},
    ["Error: x"],
    7,
    None,
]


def text(value: Any) -> list[str]:
    """A result as it is recorded, and a text as it is told."""
    return [json.dumps(value), *([value] if isinstance(value, str) else [])]


@pytest.mark.parametrize("value", FINAL, ids=str)
def test_an_error_that_is_told_counts_as_one(value: Any) -> None:
    """As text or as JSON."""
    assert {said_error(each) for each in text(value)} == {"deterministic"}


@pytest.mark.parametrize("value", PASSING, ids=str)
def test_one_that_may_pass_is_known(value: Any) -> None:
    """By a flag, a status, or its words."""
    assert {said_error(each) for each in text(value)} == {"transient"}


@pytest.mark.parametrize("value", NONE, ids=lambda value: str(value)[:30])
def test_what_only_speaks_of_errors_is_an_answer(value: Any) -> None:
    """An exit code of 0 decides before any word."""
    assert {said_error(each) for each in text(value)} == {None}


@settings(max_examples=examples(300))
@given(st.text(max_size=300) | st.recursive(st.none() | st.text() | st.integers(), st.lists).map(json.dumps))
def test_any_text_has_an_answer(given_text: str) -> None:
    """Nothing raises."""
    assert said_error(given_text) in {None, "deterministic", "transient"}


@pytest.mark.parametrize("seed", ["a.", "Error", "/a: ", "exit code ", "sh: ", "x" * 70 + "Error", "temporar"])
def test_a_long_text_takes_no_longer_than_a_short_one(seed: str) -> None:
    """Only its head and its tail are looked at: a megabyte comes back at once."""
    assert said_error(seed * (1_000_000 // len(seed))) in {None, "deterministic", "transient"}


@pytest.mark.parametrize(
    ("result", "expected"),
    [("", "silent"), ('""', "silent"), ("null", "silent"), ("[]", "nothing"), ("{}", "nothing"), ("[0]", None)],
)
def test_two_ways_to_say_nothing(result: str, expected: str | None) -> None:
    """Done, and found nothing."""
    assert emptiness(result) == expected
