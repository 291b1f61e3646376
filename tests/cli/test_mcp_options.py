"""``--mcp`` and ``--mcp-url``: servers that live as long as the command."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from traced_loop.cli import app
from traced_loop.errors import UsageError

from ..mcp_tools.servers import ODD, RAW, Log, gone, served


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """What the test's server writes down."""
    return Log(tmp_path)


def test_the_tools_of_a_server_are_listed_as_a_loop_takes_them(log: Log) -> None:
    """With effect and risk, and a name before them where one is given; the server ends with the command."""
    done = CliRunner().invoke(app, ["tools", "--mcp", f"odd={sys.executable} {ODD} {log.path} stdio"])

    assert done.exit_code == 0, done.output
    assert "odd_echo  read  low risk" in done.stdout.splitlines()
    assert "odd_wipe  write  high risk" in done.stdout.splitlines()
    assert "multiply" not in done.stdout
    assert gone(log.entries("start")[0]["pid"])


def test_the_same_of_a_server_at_an_address_as_json(log: Log) -> None:
    """One array."""
    with served(log) as (url, _):
        done = CliRunner().invoke(app, ["tools", "--json", "--mcp-url", url])

    assert "echo" in [each["name"] for each in json.loads(done.stdout)]


def test_what_cannot_be_used_is_left_out_and_said(log: Log) -> None:
    """The command line has no option to leave a tool out."""
    done = CliRunner().invoke(app, ["tools", "--mcp", f"{sys.executable} {RAW} {log.path} schema"])

    assert "look  read  low risk" in done.stdout.splitlines()
    assert "left out: tool 'odd'" in done.stderr


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--mcp", "'"], "--mcp ': No closing quotation"),
        (["--mcp", " "], "write a command"),
        (["--mcp-url", "name=ftp://x"], "write an address"),
        (["--mcp", "no-such-program-4711"], "did not start"),
    ],
)
def test_what_makes_no_sense_is_said_in_the_options_words(options: list[str], says: str) -> None:
    """Before anything else is done."""
    done = CliRunner().invoke(app, ["tools", *options])

    assert isinstance(done.exception, UsageError)
    assert says in str(done.exception)
