"""A child process is started, spoken to, and ended with all that it started; what it says at its end is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from traced_loop import McpServer, UsageError
from traced_loop.mcp_tools.transport import MAX_MESSAGE_BYTES

from ..hangs import HANGS, no_hang
from ..python_program import run_python
from .servers import ODD, RAW, Log, alive, executed, gone, one, raw, run, told


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """What the test's server writes down."""
    return Log(tmp_path)


@pytest.mark.parametrize("fault", ["leaves", "stays"])
def test_its_whole_process_group_ends(log: Log, fault: str) -> None:
    """Also what it left behind when it ended by itself, and also where it does not heed SIGTERM."""
    with raw(log, fault):
        child = next(entry["child"] for entry in log.entries() if "child" in entry)
        assert alive(child)

    assert gone(child)


def test_a_program_that_is_not_there_is_named() -> None:
    """With what the system says."""
    server = McpServer.stdio("no-such-program-4711")

    with pytest.raises(UsageError, match="'no-such-program-4711' did not start: FileNotFoundError"):
        server.open()


def test_a_server_that_ends_at_once_is_quoted_without_its_secrets(log: Log) -> None:
    """The last lines of its stderr, masked, with its status."""
    with pytest.raises(UsageError) as refused:
        raw(log, "early").open()

    assert "status 3" in str(refused.value)
    assert " | cannot find the database" in str(refused.value)
    assert "\n" not in str(refused.value), "it is shown on one line"
    assert "hunter2" not in str(refused.value)


def test_a_server_that_says_nothing_is_given_up_in_time(log: Log) -> None:
    """And the reason is told."""
    with no_hang(), pytest.raises(UsageError, match=r"no answer within 0\.5 s"):
        raw(log, "silent", start_timeout=0.5).open()


def test_what_is_no_message_is_passed_over(log: Log) -> None:
    """Some servers print where they must not."""
    with raw(log, "noise") as server:
        assert told(one(server, "look"))["result"] == "seen"


def test_a_message_without_end_ends_the_session(log: Log) -> None:
    """Not the memory; the next call starts the server anew."""
    with raw(log, "flood") as server:
        played = run(server.tools(), ("look", {}), ("look", {}))

    assert [told(played, at)["status"] for at in range(2)] == ["error", "error"]
    assert executed(played)["traced_loop.error.class"] == "transient"
    assert len(log.entries("tools/call")) == 2
    assert MAX_MESSAGE_BYTES < 100_000_000


def test_a_program_that_forgets_to_close_it_leaves_no_process(tmp_path: Path) -> None:
    """Its end is the server's end."""
    log = Log(tmp_path)
    program = f"""
    import sys
    from traced_loop import McpServer
    server = McpServer.stdio(sys.executable, {ODD!r}, {str(log.path)!r}, "stdio")
    server.open()
    print(len(server.tools()))
    """
    ended = run_python(program, tmp_path / "store")

    assert (ended.code, ended.out) == (0, "19\n"), ended.err
    assert gone(log.wait_for("start")["pid"])


def test_ctrl_c_while_it_starts_leaves_no_process(tmp_path: Path) -> None:
    """The wait ends at once, and so does the child."""
    log = Log(tmp_path)
    program = f"""
    import os, signal, sys, threading, time
    from pathlib import Path
    from traced_loop import McpServer
    log = Path({str(log.path)!r})
    def press():
        while not log.read_text():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=press, daemon=True).start()
    server = McpServer.stdio(sys.executable, {RAW!r}, str(log), "silent", start_timeout={HANGS})
    try:
        server.open()
    except KeyboardInterrupt:
        print("interrupted", [t.name for t in threading.enumerate() if "mcp" in t.name])
    """
    ended = run_python(program, tmp_path / "store")

    assert (ended.code, ended.out) == (0, "interrupted []\n"), ended.err


def test_arguments_stay_out_of_messages() -> None:
    """They may hold a key."""
    server = McpServer.stdio("no-such-program-4711", "--api-key", "sk-secret-of-a-server")

    with pytest.raises(UsageError) as refused:
        server.open()

    assert "sk-secret" not in str(refused.value)
