"""``traced-loop replay`` as a program: it prints and exits as ``run`` does, and says where it differed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from ..command_line import traced_loop
from ..models.chat_server import Reply, chat_server

if TYPE_CHECKING:
    from pathlib import Path

TOOLS = '''
from traced_loop import tool


@tool(effect="read")
def multiply(a: int, b: int) -> int:
    """Multiply two integers."""
    return a * b


@tool(effect="read", name="multiply")
def multiply_wrongly(a: int, b: int) -> int:
    """Multiply two integers."""
    return a * b + 1
'''


def body(message: dict[str, object], reason: str) -> Reply:
    """A response of a server."""
    choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", **message}}
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    return Reply(body={"id": "chatcmpl-7", "model": "m", "choices": [choice], "usage": usage})


@pytest.fixture
def recorded(home: Path) -> Path:
    """A run of the command line on a real server, recorded; its tools stand in the working folder."""
    (home.parent / "my_tools.py").write_text(TOOLS)
    path = home.parent / "a.jsonl"
    call = {"id": "call_1", "type": "function", "function": {"name": "multiply", "arguments": '{"a": 6, "b": 7}'}}
    replies = [body({"content": None, "tool_calls": [call]}, "tool_calls"), body({"content": "It is 42."}, "stop")]
    with chat_server(replies[1], first=replies[:1]) as server:
        ended = traced_loop(
            "run",
            "6 * 7? I am jane.doe@mail.example.org",
            *("--model", "m", "--base-url", server.base_url, "--tools", "my_tools:multiply", "--price", "1,4"),
            *("--record", str(path)),
        )
    assert (ended.code, ended.out) == (0, "It is 42.\n")
    assert f"recorded in {path}, 1 value masked: traced-loop replay {path} --tools my_tools:multiply\n" in ended.err
    return path


def test_the_command_that_is_shown_names_what_else_gave_tools(home: Path) -> None:
    """The tools of servers and the policy are said by their options, whose values may be long or secret."""
    path = home.parent / "a b.jsonl"
    with chat_server(body({"content": "Hello."}, "stop")) as server:
        asked = ("run", "Hi.", "--model", "m", "--base-url", server.base_url, "--record", str(path))
        ended = traced_loop(*asked, "--tools", "multiply", "--tools", "create_ticket", "--approve", "create_ticket")
    assert f"traced-loop replay '{path}' --tools multiply,create_ticket with the same --approve\n" in ended.err


@pytest.mark.parametrize("source", ["last", "file"])
def test_the_same_tools_give_the_same_answer(recorded: Path, source: str) -> None:
    """Out of the store or out of a file, at the same cost."""
    given = str(recorded) if source == "file" else source

    ended = traced_loop("replay", given, "--tools", "my_tools:multiply", "--json")

    told = json.loads(ended.out)
    assert (ended.code, told["answer"], told["stop_reason"]) == (0, "It is 42.", "final_answer")
    assert (told["cost_usd"], told["tokens"], "diverged" in ended.err) == (0.00028, 220, False)


@pytest.mark.parametrize("source", ["last", "file"])
def test_a_changed_tool_is_refused_or_accepted(recorded: Path, source: str) -> None:
    """With the place, and how to go on; accepted, the difference is told beside the answer."""
    given = str(recorded) if source == "file" else source

    refused = traced_loop("replay", given, "--tools", "my_tools:multiply_wrongly")
    accepted = traced_loop("replay", given, "--tools", "my_tools:multiply_wrongly", "--accept", "results")

    place = "request 2 differs from the recording at message 3 (tool result of call_1, multiply)"
    assert (refused.code, refused.out) == (6, "")
    assert f"stopped: model_error - {place}" in refused.err
    assert f"{place}: recorded 42, now 43; ignore={{'results'}} (--accept results) accepts it" in refused.err
    assert (accepted.code, accepted.out) == (0, "It is 42.\n")
    assert f"diverged: {place}: recorded 42, now 43" in accepted.err


def test_another_limit_stops_the_same_run(recorded: Path) -> None:
    """With its own exit code; what was not reached is said."""
    ended = traced_loop("replay", "last", "--tools", "my_tools:multiply", "--max-steps", "1")

    assert ended.code == 3
    assert "not reached: 1 request of the run " in ended.err
    assert str(recorded.name) not in ended.err


def test_follow_goes_on_whatever_differs(recorded: Path) -> None:
    """And tells it."""
    ended = traced_loop("replay", str(recorded), "--tools", "none", "--follow", "--price", "0,0")

    assert "diverged: request 1 differs from the recording (the tool multiply)" in ended.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nothing",), "there is no run 'nothing'"),
        (("./no.jsonl",), "no.jsonl cannot be read: No such file or directory"),
        (("my_tools.py",), "my_tools.py is no recording"),
        (("last", "--accept", "messages"), "--accept messages: known are results, tools"),
    ],
)
def test_what_cannot_be_replayed_is_said(recorded: Path, words: tuple[str, ...], said: str) -> None:
    """Exit code 2, one line."""
    ended = traced_loop("replay", *words)

    assert (ended.code, said in ended.err, len(ended.err.splitlines())) == (2, True, 1)
    assert recorded.exists()


def test_a_recording_is_never_written_over(recorded: Path) -> None:
    """Said before anything is sent."""
    ended = traced_loop("run", "hi", "--model", "m", "--base-url", "http://127.0.0.1:9", "--record", str(recorded))

    assert (ended.code, "a.jsonl exists already" in ended.err) == (2, True)
