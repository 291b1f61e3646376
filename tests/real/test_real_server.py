"""Runs against a server that others wrote, over real HTTP: through the command line and through `Loop`."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from traced_loop import Loop, OpenAIModel, StopReason
from traced_loop.rules.pairing import pairing_problems
from traced_loop.tools import multiply

from ..command_line import program, traced_loop
from ..listed_keys import LISTED_KEYS
from .aimock import asks_for, in_order, says, tool_call

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .aimock import Aimock

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("home")]

PROMPT = "Use the tool: what is 62 times 60?"
USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
ASKS = asks_for(tool_call("call_1", "multiply", {"a": 62, "b": 60}), usage=USAGE)
MULTIPLY = in_order(ASKS, says("62 times 60 is 3720.", usage=USAGE))
LIVE = [
    "step 1: finish_reason=tool_calls",
    'step 1: multiply call_id=call_1 result={"status":"completed","result":3720}',
    "step 2: finish_reason=stop",
]


def to(server: Aimock, tools: str = "multiply") -> list[str]:
    """The options that name the server, the model and the tools."""
    return ["--base-url", server.base_url, "--model", "gpt-test", "--tools", tools]


def test_the_program_prints_the_answer_and_tells_the_rest_on_stderr(start_aimock: Callable[..., Aimock]) -> None:
    """Stdout is the answer; stderr is one line per answer and call, then usage, run, trace, and where to look."""
    server = start_aimock(MULTIPLY)
    ended = program("run", PROMPT, *to(server))
    assert (ended.code, ended.out) == (0, "62 times 60 is 3720.\n")
    assert ended.err_lines[:3] == LIVE
    used, ids, look = ended.err_lines[3:]
    assert used.startswith("used 2 steps, 1 tool call, 240 tokens, cost unknown, ")
    found = re.fullmatch(r"run (\S+)  trace ([0-9a-f]{32})", ids)
    assert found is not None
    assert look == f"traced-loop show {found[1]}"


def test_loop_gives_the_same_run_as_a_value(start_aimock: Callable[..., Aimock], home: Path) -> None:
    """The library's result holds the answer, the usage, and a history that a strict provider takes."""
    server = start_aimock(MULTIPLY)
    result = Loop(OpenAIModel("gpt-test", base_url=server.base_url), [multiply], store=home).run(PROMPT)
    assert (result.answer, result.stop_reason) == ("62 times 60 is 3720.", StopReason.FINAL_ANSWER)
    assert (result.usage.steps, result.usage.tool_calls, result.usage.tokens) == (2, 1, 240)
    assert pairing_problems(result.messages) == []
    assert [message["role"] for message in result.messages] == ["user", "assistant", "tool", "assistant"]


def test_two_runs_of_one_loop_share_nothing(start_aimock: Callable[..., Aimock], home: Path) -> None:
    """A loop runs again: another run id, another history, the same server."""
    server = start_aimock(in_order(says("one"), says("two")))
    loop = Loop(OpenAIModel("gpt-test", base_url=server.base_url), store=home)
    first, second = loop.run("1"), loop.run("2")
    assert (first.answer, second.answer) == ("one", "two")
    assert first.run_id != second.run_id
    assert [m["content"] for m in server.requests()[1]["messages"]] == ["2"]


def test_json_is_one_object_with_the_documented_keys(start_aimock: Callable[..., Aimock]) -> None:
    """With `--json` stdout is one JSON object, and nothing else changes."""
    ended = traced_loop("run", PROMPT, *to(start_aimock(MULTIPLY)), "--json")
    assert ended.err_lines[:3] == LIVE
    assert list(ended.json) == [
        *("run_id", "trace_id", "stop_reason", "stop_detail", "answer", "partial", "error", "steps", "tool_calls"),
        *(
            "tokens",
            "input_tokens",
            "output_tokens",
            "seconds",
            "cost_usd",
            "cost_is_upper_bound",
            "headroom",
            "next_limit",
            "last_request",
            "pending",
            "repetitions",
        ),
    ]
    assert (ended.json["answer"], ended.json["stop_reason"]) == ("62 times 60 is 3720.", "final_answer")
    assert (ended.json["steps"], ended.json["tokens"], ended.json["cost_usd"]) == (2, 240, None)
    assert ended.json["headroom"]["steps"] == 6


def test_the_run_is_in_the_store_with_all_its_spans(start_aimock: Callable[..., Aimock]) -> None:
    """`runs --json` lists it with exactly its keys, and `show --json` has every span, ended, under one root."""
    ran = traced_loop("run", PROMPT, *to(start_aimock(MULTIPLY)), "--json").json
    [listed] = [json.loads(line) for line in traced_loop("runs", "--json").out.splitlines()]
    assert list(listed) == LISTED_KEYS
    assert (listed["run_id"], listed["stop_reason"], listed["steps"], listed["tokens"]) == (
        ran["run_id"],
        "final_answer",
        2,
        240,
    )
    shown = traced_loop("show", ran["run_id"], "--json").json
    assert {span["trace_id"] for span in shown["spans"]} == {ran["trace_id"]}
    assert [span["name"] for span in shown["spans"] if span["parent_id"] is None] == ["invoke_agent agent"]
    assert not any(span["open"] or span["error"] for span in shown["spans"])
    assert [s["name"] for s in shown["spans"]].count("chat gpt-test") == 2
    assert shown["problems"] == []


def test_many_rounds_end_in_one_clean_history(start_aimock: Callable[..., Aimock]) -> None:
    """Five rounds of calls: the server sees every result under its call's id, in order, and nothing unpaired."""
    rounds = [asks_for(tool_call(f"call_{n}", "multiply", {"a": n, "b": n})) for n in range(5)]
    server = start_aimock(in_order(*rounds, says("done")))
    ended = traced_loop("run", PROMPT, *to(server))
    assert (ended.code, ended.out) == (0, "done\n")
    messages = server.requests()[-1]["messages"]
    assert pairing_problems(messages) == []
    results = [message for message in messages if message["role"] == "tool"]
    assert [json.loads(message["content"])["result"] for message in results] == [0, 1, 4, 9, 16]
    assert [message["tool_call_id"] for message in results] == [f"call_{n}" for n in range(5)]


def test_parallel_calls_of_one_answer_are_all_answered(start_aimock: Callable[..., Aimock]) -> None:
    """Three calls, one of an unknown tool and one with wrong arguments: each id gets its own result."""
    calls = (
        tool_call("a", "multiply", {"a": 2, "b": 3}),
        tool_call("b", "divide", {"a": 1}),
        tool_call("c", "multiply", {"a": "2", "b": 3}),
    )
    server = start_aimock(in_order(asks_for(*calls), says("6")))
    ended = traced_loop("run", PROMPT, *to(server))
    assert ended.code == 0
    messages = server.requests()[-1]["messages"]
    assert pairing_problems(messages) == []
    told = {m["tool_call_id"]: json.loads(m["content"]) for m in messages if m["role"] == "tool"}
    assert (told["a"]["result"], told["b"]["type"], told["c"]["type"]) == (6, "unknown_tool", "invalid")


def test_the_same_call_id_in_every_round_stays_paired(start_aimock: Callable[..., Aimock]) -> None:
    """Servers exist that count call ids from one again in each answer."""
    again = [asks_for(tool_call("call_1", "multiply", {"a": n, "b": 1})) for n in range(3)]
    server = start_aimock(in_order(*again, says("done")))
    assert traced_loop("run", PROMPT, *to(server)).code == 0
    assert pairing_problems(server.requests()[-1]["messages"]) == []


def test_what_is_sent_is_what_the_options_say(start_aimock: Callable[..., Aimock]) -> None:
    """Model, instructions, prompt and the tools' strict schemas reach the server; no key of ours is among them."""
    server = start_aimock(in_order(says("ok")))
    traced_loop("run", "Grüße 🎉", *to(server, "multiply,query_order"), "--system", "Be short.")
    [body] = server.requests()
    assert body["messages"] == [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": "Grüße 🎉"},
    ]
    assert body["model"] == "gpt-test"
    assert [tool["function"]["name"] for tool in body["tools"]] == ["multiply", "query_order"]
    assert set(body) == {"model", "messages", "tools"}


def test_a_declared_price_is_shown_and_held(start_aimock: Callable[..., Aimock]) -> None:
    """200 tokens in at 0.25 and 40 out at 2 USD per million make 130 millionths of a USD, everywhere."""
    ran = traced_loop(
        *("run", PROMPT, *to(start_aimock(MULTIPLY)), "--price", "0.25,2", "--max-cost", "0.5", "--json"),
    )
    assert ran.code == 0
    assert ran.json["cost_usd"] == pytest.approx(0.00013)
    assert ran.json["headroom"]["cost_usd"] == pytest.approx(0.49987)
    assert "240 tokens, cost $0.0001, " in ran.err
    assert "cost       $0.0001  (declared)" in traced_loop("show", ran.json["run_id"]).out


@pytest.mark.parametrize(
    "prompt", ["wörd " * 2_000, "nul \0 and \x1b[2J", "Grüße 🎉\n\n"], ids=["long", "controls", "lines"]
)
def test_a_prompt_arrives_as_it_was_given(start_aimock: Callable[..., Aimock], prompt: str) -> None:
    """What is long or odd is sent and stored whole, and shown without effect."""
    server = start_aimock(in_order(says("read")))
    ran = traced_loop("run", prompt, *to(server), "--json").json
    stored: Any = traced_loop("show", ran["run_id"], "--messages", "--json").json["messages"]
    assert server.requests()[0]["messages"][0]["content"] == stored[0]["content"] == prompt
    shown = traced_loop("show", ran["run_id"], "--messages").out
    assert not {"\0", "\x1b"} & set(shown)


def test_the_servers_text_cannot_move_the_terminals_cursor(start_aimock: Callable[..., Aimock]) -> None:
    """Tool names and call ids of the server reach stderr with their control characters made visible."""
    server = start_aimock(in_order(asks_for(tool_call("id\x1b[2J", "no\ntool", {})), says("ok")))
    ended = traced_loop("run", PROMPT, *to(server))
    assert "step 1: no\\ntool call_id=" in ended.err
    assert "\x1b" not in ended.err


OWN_TOOLS = """
import sys
from traced_loop import tool

@tool(effect="read")
def chatty(a: int) -> int:
    "Print while it works."
    print("TOOL PRINTS")
    return a

@tool(effect="read")
def leaving(a: int) -> int:
    "End the process."
    sys.exit(3)
"""


def test_what_a_tool_prints_is_not_in_the_answer(start_aimock: Callable[..., Aimock], tmp_path: Path) -> None:
    """Stdout is the answer's alone."""
    (tmp_path / "own_tools.py").write_text(OWN_TOOLS)
    server = start_aimock(in_order(asks_for(tool_call("c1", "chatty", {"a": 1})), says("done")))
    ended = program("run", PROMPT, *to(server, "own_tools:chatty"), cwd=tmp_path)
    assert (ended.code, ended.out) == (0, "done\n")
    assert "TOOL PRINTS" in ended.err


def test_a_tool_that_exits_does_not_take_the_report_with_it(
    start_aimock: Callable[..., Aimock], tmp_path: Path
) -> None:
    """The run is cancelled, and said so, with its id; the tool's exit code is not the run's."""
    (tmp_path / "own_tools.py").write_text(OWN_TOOLS)
    server = start_aimock(in_order(asks_for(tool_call("c1", "leaving", {"a": 1}))))
    ended = program("run", PROMPT, *to(server, "own_tools:leaving"), cwd=tmp_path)
    assert (ended.code, ended.out) == (130, "")
    assert "stopped: cancelled" in ended.err
    assert "traced-loop show " in ended.err
