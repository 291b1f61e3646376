"""The program as a whole: help, version, mistakes, exit codes, readers that go away."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from traced_loop import Budget, Loop, ScriptedModel
from traced_loop.cli import COMMANDS, app
from traced_loop.testing import calls
from traced_loop.tools import multiply
from traced_loop.version import __version__

from ..command_line import PROGRAM, WITHIN, only_path, program, traced_loop

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("home")

NAMES = sorted(command.name or "" for command in app.registered_commands)
MISTAKES = [
    pytest.param(("bogus",), "No such command 'bogus'", id="unknown command"),
    pytest.param(("--bogus",), "No such option: --bogus", id="unknown option"),
    pytest.param(("run",), "Missing argument 'prompt'", id="no prompt"),
    pytest.param(("run", "Go.", "--bogus"), "No such option: --bogus", id="unknown option of run"),
    pytest.param(("run", "Go.", "--max-steps", "many"), "--max-steps", id="no number"),
    pytest.param(("sandbox", "--mode", "other"), "--mode", id="unknown mode"),
    pytest.param(("runs", "--limit", "0"), "--limit", id="no runs to list"),
    pytest.param(("show",), "Missing argument 'RUN'", id="no run to show"),
    pytest.param(("demo", "extra"), "extra", id="an argument too many"),
]


def test_the_version_is_one_line() -> None:
    """On stdout, exit code 0."""
    ended = traced_loop("--version")
    assert (ended.code, ended.out, ended.err) == (0, f"traced-loop {__version__}\n", "")


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)], ids=["nothing", "--help", "-h"])
def test_the_help_names_every_command(arguments: tuple[str, ...]) -> None:
    """With nothing to do, too."""
    ended = traced_loop(*arguments)
    assert (ended.code, ended.err) == (0, "")
    assert all(f"  {name} " in ended.out for name in NAMES)
    assert not [line for line in ended.out.splitlines()[1:] if line.endswith("...")], "a sentence is cut"


def test_every_command_module_adds_a_command() -> None:
    """No module is listed for nothing, no command comes from elsewhere."""
    assert {"demo", "run", "runs", "show", "sandbox", "self-check", "tools"} <= set(NAMES)
    assert {module.__name__ for module in COMMANDS} == {
        command.callback and command.callback.__module__ for command in app.registered_commands
    }


@pytest.mark.parametrize("name", NAMES)
def test_every_command_explains_itself(name: str) -> None:
    """`--help` of each works and says at least one sentence."""
    ended = traced_loop(name, "--help")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"Usage: traced-loop {name}")


@pytest.mark.parametrize(("arguments", "said"), MISTAKES)
def test_a_mistake_is_named_on_stderr(arguments: tuple[str, ...], said: str) -> None:
    """Exit code 2, one line that begins with Error, nothing on stdout."""
    ended = traced_loop(*arguments)
    assert (ended.code, ended.out) == (2, "")
    [line] = [line for line in ended.err_lines if line.startswith("Error: ")]
    assert said in line


@pytest.mark.parametrize("run", ["nope", "", "20"])
def test_a_run_that_is_not_there_is_one_line(run: str) -> None:
    """The same error for any text that fits no run."""
    ended = traced_loop("show", run)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"traced-loop: there is no run {run!r} in the store ")
    assert len(ended.err_lines) == 1


def test_the_beginning_of_several_runs_names_them() -> None:
    """An ambiguous id lists what it fits, newest last."""
    for _ in range(2):
        traced_loop("sandbox")
    ids = [line.split()[0] for line in traced_loop("runs").out.splitlines()[1:]]
    ended = traced_loop("show", "2")
    assert ended.code == 2
    assert all(run_id in ended.err for run_id in ids)


def test_starting_loads_none_of_what_commands_need() -> None:
    """The help must not wait for the model client, the SDK of OpenTelemetry or a price table."""
    code = (
        "import sys, traced_loop.cli\n"
        "print(sorted({'openai', 'opentelemetry.sdk', 'rich.live', 'genai_prices', 'grpc'} & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


@pytest.mark.parametrize("command", ["demo", "runs", "tools", "--help"])
def test_a_reader_that_goes_away_is_no_error_to_talk_about(tmp_path: Path, command: str) -> None:
    """`| head -1`: nothing on stderr but what the command says, and no traceback."""
    shell = f"{PROGRAM} {command} | head -1"
    ended = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False, timeout=WITHIN)
    assert "Error" not in ended.stderr, ended.stderr
    assert "Traceback" not in ended.stderr
    assert "Broken pipe" not in ended.stderr


def test_a_closed_stdout_fails_without_a_traceback() -> None:
    """`>&-`: what was asked for could not be said, so the exit code is not 0."""
    shell = f"{PROGRAM} tools >&-"
    ended = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False, timeout=WITHIN)
    assert ended.returncode != 0
    assert "Traceback" not in ended.stderr


def test_a_full_device_is_said() -> None:
    """Output that cannot be written is an error with one line."""
    with open(os.devnull.replace("null", "full"), "w") as full:  # noqa: PTH123 - a device, not a path of ours
        ended = subprocess.run([PROGRAM, "tools"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode != 0
    assert "Traceback" not in ended.stderr
    assert "No space left on device" in ended.stderr


@pytest.mark.parametrize("arguments", [("demo",), ("self-check",), ("sandbox",)], ids=lambda a: a[0])
def test_a_bare_environment_and_an_empty_home_are_enough(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """`env -i` with PATH and HOME: no key, no settings, and the store is made below the home."""
    empty = tmp_path / "empty"
    empty.mkdir()
    ended = program(*arguments, environment=only_path(empty))
    assert ended.code == 0, ended.err
    made = [path for path in empty.rglob("*") if path.name == "store.db"]
    assert len(made) == (0 if arguments == ("self-check",) else 1)


def test_a_terminal_of_ascii_gets_escapes_instead_of_a_crash(tmp_path: Path) -> None:
    """PYTHONIOENCODING=ascii: what cannot be shown is shown by number."""
    environment = {**only_path(tmp_path), "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    ended = program("demo", environment=environment)
    assert ended.code == 0
    assert "Traceback" not in ended.err
    assert ended.out.isascii()


HELD = ("--model", "m", "--base-url", "http://127.0.0.1:9/v1")
FOR_PEOPLE = [
    pytest.param(("run", "Go.", *HELD, "--store", "/proc/x"), "cannot write the store", id="store"),
    pytest.param(("run", "Go.", *HELD, "--max-cost", "1"), "say it with --price", id="price"),
    pytest.param(("run", "Go.", *HELD, "--tools", "multiply,multiply"), "leave one of them out", id="tools"),
    pytest.param(("run", "Go.", *HELD, "--tolerate", "it"), "--tolerate it: no known quirk", id="quirk"),
    pytest.param(("run", "Go.", *HELD, "--max-seconds", "5e9"), "seconds 5000000000.0: must be", id="seconds"),
    pytest.param(("run", "Go.", *HELD, "--max-cost", "1e-30", "--price", "1,1"), "cost_usd", id="cost"),
    pytest.param(("run", "Go.", *HELD, "--mcp-url", "nowhere"), "--mcp-url", id="mcp"),
    pytest.param(("run", "Go.", *HELD, "--mcp-url", "ftp://x"), "--mcp-url ftp://x: write an address", id="mcp url"),
    pytest.param(
        ("run", "Go.", *HELD, "--tools", "read_text_file", "--root", "/nowhere"), "--root does not", id="root"
    ),
    pytest.param(("run", "Go."), "name one, as --model gpt-5-mini", id="model"),
    pytest.param(("run", "Go.", "--model", "m"), "your own server with --base-url", id="key"),
    pytest.param(("replay", "last", "--accept", "all"), "--follow goes on all the same", id="accept"),
    pytest.param(("resume", "last", *HELD), "(1 used): add to it, for example --add steps=5", id="limit"),
    pytest.param(("resume", "last", *HELD, "--add", "cost_usd=1"), "has no limit cost_usd", id="no limit"),
    pytest.param(("resume", "last", *HELD, "--add", "seconds=5e9"), "seconds 5000000000.0: must be", id="added"),
]
PYTHON = re.compile(r"\b[a-z_]+=(None|True|False|\.\.\.|[\[{\"']|[A-Z]\w*\()|\b[A-Za-z]+\.?\w*\(|[\[{]['\"]")
"""What only somebody who writes a program can read."""


@pytest.mark.parametrize(("arguments", "said"), FOR_PEOPLE)
def test_what_is_wrong_is_said_in_words_that_can_be_typed(arguments: tuple[str, ...], said: str) -> None:
    """The error that a program gets from the same mistake names arguments and values of Python; this one does not."""
    if arguments[0] in {"replay", "resume"}:
        asks = calls(("multiply", {"a": 6, "b": 7}))
        Loop(ScriptedModel([asks]), [multiply], budget=Budget(steps=1)).run("Go.")
    ended = traced_loop(*arguments)
    assert ended.code == 2, ended.err
    assert said in ended.err
    assert not PYTHON.search(ended.err), ended.err
