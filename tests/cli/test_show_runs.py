"""``runs`` and ``show`` as programs: what they print, where, and what they exit with."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from traced_loop import names
from traced_loop.cli import app
from traced_loop.records.store import Store
from traced_loop.records.trace_store import TraceStore
from traced_loop.records.transcript import Transcript
from traced_loop.telemetry.spans import Telemetry

from ..listed_keys import LISTED_KEYS

PROGRAM = [sys.executable, "-c", "from traced_loop.cli import main; main()"]
START = {names.GEN_AI_OPERATION: names.INVOKE_AGENT, names.GEN_AI_AGENT_NAME: "support"}
END = {
    names.RUN_STOP_REASON: "final_answer",
    names.RUN_STEPS: 1,
    names.RUN_TOKENS: 1284,
    names.RUN_COST_MICROUSD: 1200,
}
HOSTILE = "hi \x1b[31m\u202e[red]"


def traced_loop(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the program to its end, without a terminal."""
    return subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
        timeout=60,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with one run of one step, and its messages."""
    store = Store.open(tmp_path)
    telemetry = Telemetry(sink=TraceStore(store, {}))
    with telemetry.run(telemetry.scope("run-1"), "invoke_agent support", START) as root:
        with telemetry.span(names.STEP, {names.STEP_INDEX: 1, names.STEP_OUTCOME: "final"}):
            pass
        root.set(END)
    Transcript(store).append("run-1", 0, [{"role": "user", "content": HOSTILE}])
    store.close()
    return tmp_path


def test_runs_prints_a_table(folder: Path) -> None:
    """The answer is on stdout and nothing on stderr."""
    done = traced_loop("runs", "--store", folder)

    assert (done.returncode, done.stderr) == (0, "")
    assert "run-1" in done.stdout.splitlines()[1]
    assert done.stdout.rstrip().endswith("final_answer")


def test_runs_in_json_are_one_object_a_line_with_exactly_these_keys(folder: Path) -> None:
    """Times in UTC with Z, costs as numbers."""
    (line,) = traced_loop("runs", "--json", "--store", folder).stdout.splitlines()

    run: dict[str, Any] = json.loads(line)
    assert list(run) == LISTED_KEYS
    assert run["started_at"].endswith("Z")
    assert isinstance(run["seconds"], float)
    assert run["state"] == "ended"
    assert {key: run[key] for key in ("run_id", "stop_reason", "steps", "tokens", "cost_usd")} == {
        "run_id": "run-1",
        "stop_reason": "final_answer",
        "steps": 1,
        "tokens": 1284,
        "cost_usd": 0.0012,
    }


@pytest.mark.parametrize("more", [[], ["--json"]])
@pytest.mark.parametrize(
    ("runs", "limit", "said"), [(3, 1, "and 2 more: --limit 3 lists all\n"), (3, 3, ""), (2, 9, "")]
)
def test_runs_that_are_not_listed_are_counted(
    tmp_path: Path, runs: int, limit: int, said: str, more: list[str]
) -> None:
    """On stderr, so that a list never looks like all there is."""
    store = Store.open(tmp_path)
    telemetry = Telemetry(sink=TraceStore(store, {}))
    for number in range(runs):
        with telemetry.run(telemetry.scope(f"run-{number}"), "invoke_agent support", START) as root:
            root.set(END)
    store.close()

    done = traced_loop("runs", "--limit", str(limit), *more, "--store", tmp_path)

    assert (done.returncode, done.stderr) == (0, said)
    assert len(done.stdout.splitlines()) == min(runs, limit) + (not more)


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_an_empty_store_says_on_stderr_what_to_run(tmp_path: Path, more: list[str]) -> None:
    """Nothing is made on the disk, and stdout stays empty."""
    done = traced_loop("runs", *more, TRACED_LOOP_HOME=str(tmp_path / "none"))

    assert (done.returncode, done.stdout) == (0, "")
    assert "traced-loop demo" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_show_prints_facts_and_tree(folder: Path) -> None:
    """By a beginning of the id; the store by the environment."""
    done = traced_loop("show", "run", TRACED_LOOP_HOME=str(folder))

    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert "stopped    final_answer" in lines
    assert any(line.endswith("  step 1  final") for line in lines)
    assert "hi" not in done.stdout


def test_show_with_messages_cannot_confuse_a_terminal(folder: Path) -> None:
    """What the trace holds is shown, not obeyed."""
    done = traced_loop("show", "run-1", "--messages", "--full", "--store", folder)

    assert "    hi \\x1b[31m\\u202e[red]" in done.stdout.splitlines()
    assert "\x1b" not in done.stdout


def test_show_in_json_is_one_object(folder: Path) -> None:
    """Messages are in it only when they are asked for; it is plain ASCII."""
    plain = json.loads(traced_loop("show", "run-1", "--json", "--store", folder).stdout)
    text = traced_loop("show", "run-1", "--json", "--messages", "--store", folder).stdout

    assert list(plain) == ["run", "spans", "problems", "settled_writes"]
    assert (plain["run"]["run_id"], plain["run"]["state"], plain["problems"]) == ("run-1", "ended", [])
    assert [span["name"] for span in plain["spans"]] == ["invoke_agent support", names.STEP]
    assert plain["spans"][1]["parent_id"] == plain["spans"][0]["span_id"]
    assert json.loads(text)["messages"] == [{"role": "user", "content": HOSTILE}]
    assert text.isascii()


def test_show_of_a_run_that_is_not_there_is_one_line_and_exit_code_2(folder: Path) -> None:
    """No traceback; the line says what to do."""
    done = traced_loop("show", "gone", "--store", folder)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("traced-loop: there is no run 'gone' in the store")
    assert done.stderr.count("\n") == 1


def test_a_store_that_is_a_file_is_no_empty_store(tmp_path: Path) -> None:
    """A mistyped path is said, not shown as a store without runs."""
    (tmp_path / "notes.txt").write_text("mine")

    done = traced_loop("runs", "--store", tmp_path / "notes.txt")

    assert (done.returncode, done.stdout) == (2, "")
    assert "is no folder" in done.stderr


def test_a_damaged_index_is_said_and_the_run_is_shown(folder: Path) -> None:
    """The span files are read without it; the exit code tells a program that something is wrong."""
    (folder / "store.db").write_bytes(b"this is no database " * 100)

    listed, shown = traced_loop("runs", "--store", folder), traced_loop("show", "run-1", "--store", folder)

    assert (listed.returncode, shown.returncode) == (2, 2)
    assert "index_damaged" in listed.stderr
    assert "final_answer" in listed.stdout
    assert "problem    index_damaged" in shown.stdout
    assert "stopped    final_answer" in shown.stdout


@pytest.mark.parametrize("command", [("runs",), ("show", "run-1")], ids=["runs", "show"])
def test_json_of_a_damaged_store_is_whole_and_ends_with_the_same_code(folder: Path, command: tuple[str, ...]) -> None:
    """A program that reads only JSON learns from the exit code, as a person does, that it is not all."""
    (folder / "store.db").write_bytes(b"this is no database " * 100)

    done = traced_loop(*command, "--json", "--store", folder)

    assert done.returncode == 2
    assert "final_answer" in json.dumps(json.loads(done.stdout))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["runs"], "final_answer"),
        (["runs", "--json", "--limit", "1"], '"stop_reason": "final_answer"'),
        (["show", "run-1"], "invoke_agent support  final_answer"),
        (["show", "run-1", "--messages"], "[1] user"),
        (["show", "run-1", "--json", "--messages"], '"messages": [{"role": "user"'),
    ],
)
def test_the_commands_work_inside_another_program(folder: Path, arguments: list[str], expected: str) -> None:
    """As typer's own runner calls them."""
    done = CliRunner().invoke(app, [*arguments, "--store", str(folder)])

    assert (done.exit_code, done.stderr) == (0, "")
    assert expected in done.stdout


def test_a_colour_terminal_gets_the_same_words(folder: Path) -> None:
    """Colour adds nothing that the words do not say."""
    arguments = ("show", "run-1", "--store", folder)

    coloured = traced_loop(*arguments, FORCE_COLOR="1", COLUMNS="200", TERM="xterm-256color").stdout

    assert "\x1b[" in coloured
    stripped = [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", coloured).splitlines()]
    assert stripped == traced_loop(*arguments, COLUMNS="200").stdout.splitlines()


def test_a_width_that_is_asked_for_is_kept(folder: Path) -> None:
    """COLUMNS counts for a pipe, too."""
    done = traced_loop("show", "run-1", "--store", folder, COLUMNS="60")

    assert max(map(len, done.stdout.splitlines())) <= 60


def test_a_reader_that_goes_away_is_no_error_to_talk_about(folder: Path) -> None:
    """As with ``| head``."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    with subprocess.Popen(
        [*PROGRAM, "show", "run-1", "--store", str(folder)], stdout=write_end, stderr=subprocess.PIPE
    ) as process:
        os.close(write_end)
        _, stderr = process.communicate(timeout=60)

    assert stderr == b""


KILLED = """
import sys
from traced_loop import names
from traced_loop.records.store import Store
from traced_loop.records.trace_store import TraceStore
from traced_loop.telemetry.spans import Telemetry

telemetry = Telemetry(sink=TraceStore(Store.open(sys.argv[1]), {}))
tool = {names.GEN_AI_OPERATION: names.EXECUTE_TOOL, names.GEN_AI_TOOL_CALL_ID: "call_1"}
start = {names.GEN_AI_OPERATION: names.INVOKE_AGENT}
with telemetry.run(telemetry.scope("run-1"), "invoke_agent support", start):
    with telemetry.span("execute_tool slow_tool", tool):
        print("ready", flush=True)
        sys.stdin.read()
"""


@contextmanager
def busy_process(folder: Path) -> Iterator[int]:
    """A process in the middle of a tool; killed at the end of the block."""
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield process.pid
        os.kill(process.pid, signal.SIGKILL)


def test_a_running_run_says_what_it_is_doing(tmp_path: Path) -> None:
    """From another process, while it does it."""
    with busy_process(tmp_path):
        shown = traced_loop("show", "run-1", "--store", tmp_path).stdout

    assert "state      still running" in shown
    assert "is doing   execute_tool slow_tool (call_1)" in shown


def test_a_killed_run_says_what_it_was_doing(tmp_path: Path) -> None:
    """It has no stop reason, and nothing about it is made up."""
    with busy_process(tmp_path):
        pass

    listed = traced_loop("runs", "--store", tmp_path).stdout
    run = json.loads(traced_loop("runs", "--json", "--store", tmp_path).stdout)
    shown = traced_loop("show", "run-1", "--store", tmp_path).stdout

    assert listed.rstrip().endswith("died in execute_tool slow_tool (call_1)")
    assert {key for key, value in run.items() if value is None} == {
        "stop_reason",
        "seconds",
        "cost_usd",
    }
    assert "state      died" in shown
    assert "was doing  execute_tool slow_tool (call_1)" in shown
    assert "execute_tool slow_tool  still open  call_1" in shown


def test_without_a_command_the_help_is_shown() -> None:
    """It is the answer, so it is on stdout."""
    done = traced_loop()

    assert (done.returncode, done.stderr) == (0, "")
    assert all(f"  {command} " in done.stdout for command in ("runs", "show", "tools"))


def test_the_version_is_the_answer() -> None:
    """And nothing else."""
    done = traced_loop("--version")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("traced-loop ")


def test_an_unknown_option_is_exit_code_2() -> None:
    """On stderr, without a traceback."""
    done = traced_loop("runs", "--nonsense")

    assert (done.returncode, done.stdout) == (2, "")
    assert "--nonsense" in done.stderr
    assert "Traceback" not in done.stderr


def test_importing_the_command_line_loads_no_heavy_library() -> None:
    """``--help`` is quick, and reading a trace needs no provider."""
    heavy = ("openai", "opentelemetry.sdk", "genai_prices", "jsonschema")
    code = f"import sys, traced_loop.cli; print([name for name in {heavy!r} if name in sys.modules])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
