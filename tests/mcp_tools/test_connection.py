"""What a server says of its tools is read, bounded, or refused with a reason; so is what a call gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from traced_loop import StopReason, UsageError

from .servers import Log, executed, one, raw, told


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """What the test's server writes down."""
    return Log(tmp_path)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("endless", "more than 1000 tools on 100 pages"),
        ("no_list", "gave no list of tools: MCPError: no such method"),
        ("bad_list", "gave no list of tools: it is not what the protocol says"),
        ("hung_list", "gave no list of tools within"),
    ],
)
def test_a_list_that_cannot_be_used_is_a_reason_not_to_open(log: Log, fault: str, says: str) -> None:
    """Nothing is registered from a part of a list."""
    with pytest.raises(UsageError, match=says):
        raw(log, fault, start_timeout=5 if fault == "hung_list" else 30).open()


def test_a_tool_with_a_schema_that_cannot_be_judged_is_refused_by_name(log: Log) -> None:
    """All or nothing, unless the application says to skip such tools."""
    with raw(log, "schema") as server, pytest.raises(UsageError, match=r"'odd'.*never fetched.*skip_unusable=True"):
        server.tools()
    with raw(log, "schema", skip_unusable=True) as server:
        assert [each.name for each in server.tools()] == ["look"]
        assert [(each.name, "never fetched" in each.why) for each in server.unusable] == [("odd", True)]


def test_two_tools_that_a_model_could_not_tell_apart_are_refused(log: Log) -> None:
    """Their names differ in what no provider takes."""
    with raw(log, "twins") as server, pytest.raises(UsageError, match=r"'a\.b' and 'a/b' are both called 'a_b'"):
        server.tools()


@pytest.mark.parametrize(("effect", "stop"), [("read", StopReason.FINAL_ANSWER), ("write", StopReason.OUTCOME_UNKNOWN)])
def test_a_result_that_is_none_is_an_error(log: Log, effect: str, stop: StopReason) -> None:
    """A write has run, whatever its answer is worth."""
    with raw(log, "bad_result", effect=effect) as server:
        played = one(server, "look")

    assert played.result.stop_reason is stop
    assert "no valid result" in told(played)["message"]


def test_an_older_server_is_spoken_to_in_its_own_protocol(log: Log) -> None:
    """What both agreed on is on the span; what it was asked in vain comes first."""
    with raw(log, "none") as server:
        played = one(server, "look")

    assert executed(played)["mcp.protocol.version"] == "2025-06-18"
    methods = [entry["method"] for entry in log.entries()]
    assert methods[-4:] == ["initialize", "notifications/initialized", "tools/list", "tools/call"]
