"""``redact``: the masking of spans as a filter."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from traced_loop.cli import app
from traced_loop.errors import UsageError
from traced_loop.redaction import rule_names


def run(*arguments: str, given: bytes = b"") -> bytes:
    """What the filter writes."""
    done = CliRunner().invoke(app, ["redact", *arguments], input=given)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.stdout_bytes


def test_a_text_comes_out_with_its_secrets_masked_and_all_else_as_it_was() -> None:
    """Line ends, blanks and a missing last newline included."""
    assert run(given=b"a  b\r\n\tDB_PASSWORD=hunter2-x9\r\nend") == (
        b"a  b\r\n\tDB_PASSWORD=[REDACTED:assigned_secret]\r\nend"
    )


def test_json_stays_json() -> None:
    """Spaced as it was."""
    shown = run(given=b'{"password": "hunter2", "n": [1, 2]}')

    assert shown == b'{"password": "[REDACTED:secret_field]", "n": [1, 2]}'


def test_bytes_that_are_no_text_pass_unchanged() -> None:
    """Nothing is lost of a file that is no UTF-8."""
    assert run(given=b"\xff\xfe \x80 token=") == b"\xff\xfe \x80 token="


def test_a_file_is_read_where_one_is_named(tmp_path: Path) -> None:
    """Instead of standard input."""
    log = tmp_path / "app.log"
    log.write_text("mail bob@acme.io now\n")

    assert run(str(log)) == b"mail [REDACTED:email] now\n"


def test_lines_come_out_as_they_come_in() -> None:
    """With ``--lines`` the first is there before the second was written."""
    program = [sys.executable, "-c", "from traced_loop.cli import main; main()", "redact", "--lines"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as filtering:
        assert filtering.stdin is not None
        assert filtering.stdout is not None
        filtering.stdin.write(b"mail bob@acme.io\n")
        filtering.stdin.flush()

        first = filtering.stdout.readline()

        filtering.stdin.close()
        assert first == b"mail [REDACTED:email]\n"


def test_rules_are_listed() -> None:
    """One a line."""
    assert run("--rules").decode().split() == list(rule_names())


def test_rules_are_left_out_and_added() -> None:
    """For this call."""
    shown = run("--without", "email", "--rule", "employee=EMP-[0-9]{6}", given=b"bob@acme.io is EMP-123456")

    assert shown == b"bob@acme.io is [REDACTED:employee]"


def test_names_of_fields_are_added_and_opened() -> None:
    """Whatever their values are."""
    given = json.dumps({"badge": "blue", "token": "a1B2c3D4e5F6"}).encode()

    shown = json.loads(run("--secret-key", "badge", "--open-key", "token", given=given))

    assert shown == {"badge": "[REDACTED:secret_field]", "token": "a1B2c3D4e5F6"}


def test_a_report_counts_by_rule() -> None:
    """On stderr: stdout is the text."""
    done = CliRunner().invoke(app, ["redact", "--report"], input="a@acme.io b@acme.io")

    assert done.stderr == "masked: email 2\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--without", "nonsense"], "no redaction rule is called nonsense"),
        (["--rule", "employee"], "--rule wants NAME=PATTERN"),
        (["--rule", "employee=["], "its pattern is no regular expression"),
        (["--rule", "Employee=x"], "a rule's name is lower-case"),
        (["--rule", "employee=x*"], "matches the empty text"),
        (["no-such-file"], "cannot read no-such-file"),
    ],
)
def test_bad_options_say_what_to_write(arguments: list[str], says: str) -> None:
    """A usage error, before anything is read."""
    with pytest.raises(UsageError, match=says):
        run(*arguments)
