"""`plan`: the decision table of a file of calls and of a stored step, on stdout."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from traced_loop import Loop, ScriptedModel
from traced_loop.records.trace_store import ENDED_SUFFIX
from traced_loop.testing import calls

from ..command_line import traced_loop

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("home")

TICKET = {"title": "Lamp", "body": "It is broken.", "request_id": "REQ-1"}
CALLS = [
    {"name": "multiply", "arguments": {"a": 6, "b": 7}},
    {"id": "mine", "name": "query_order", "arguments": '{"order_id": "A100"}'},
    {"name": "create_ticket", "arguments": TICKET},
    {"name": "multiply", "arguments": {"a": "6", "b": 7}},
    {"name": "nope\u202e", "arguments": {}},
]
TOOLS = ("--tools", "multiply,query_order,create_ticket")


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """Writes a value, or a text, into a file of calls; gives its path."""

    def written(value: Any) -> str:
        path = tmp_path / "calls.json"
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return str(path)

    return written


def test_a_file_of_calls_is_a_table(write: Any, home: Path) -> None:
    """A line per call, and nothing is stored."""
    ended = traced_loop("plan", "--calls", write(CALLS), *TOOLS)
    lines = [line.split() for line in ended.out.splitlines()]
    assert (ended.code, ended.err) == (0, "")
    assert lines[0][:4] == ["#", "CALL", "TOOL", "EFFECT"]
    assert " ".join(lines[1]) == "1 call_1 multiply read valid allow (default_read) 1 parallel reads_together - -"
    assert lines[2][1:3] == ["mine", "query_order"]
    assert " ".join(lines[3][5:]) == (
        "needs_confirmation (default_write: writes are confirmed) 2 barrier write call_1, mine, a person -"
    )
    assert " ".join(lines[4][4:]) == "rejected wrong_type: a - - - - - invalid"
    assert " ".join(lines[5][2:]) == "nope\\u202e - rejected unknown_tool - - - - - unknown_tool"
    assert not home.exists()


def test_a_narrow_terminal_gets_lines_that_fit(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same words, below one another."""
    monkeypatch.setenv("COLUMNS", "60")
    ended = traced_loop("plan", "--calls", write(CALLS), *TOOLS)
    assert all(len(line) <= 60 for line in ended.out.splitlines())
    assert "waits for call_1, mine, a person" in " ".join(ended.out.split())


def test_an_assistant_message_is_taken_as_it_came(write: Any) -> None:
    """With its ids, and what is repaired of it is told."""
    function = {"name": "multiply", "arguments": '"{\\"a\\":1,\\"b\\":2}"'}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c9", "type": "function", "function": function}],
    }
    [call] = traced_loop("plan", "--calls", write(message), "--json").json["calls"]
    assert (call["call_id"], call["validation"], call["turn"]) == ("c9", "repaired", 1)


def test_programs_get_json(write: Any) -> None:
    """One object; what is not decided is null."""
    value = traced_loop("plan", "--calls", write(CALLS), *TOOLS, "--approve", "create_ticket", "--json").json
    assert value["stop"] is None
    ticket = value["calls"][2]
    assert (ticket["rule"], ticket["asks_a_person"], ticket["waits_for"]) == (
        "approved_on_command_line",
        False,
        ["call_1", "mine"],
    )
    assert value["calls"][3]["decision"] is None


def test_a_batch_over_the_limit_says_so(write: Any) -> None:
    """None of it would run."""
    ended = traced_loop("plan", "--calls", write(CALLS[:2]), "--max-tool-calls", "1")
    assert ended.out.splitlines()[-1] == ("stops the run  tool_budget_exceeded: the limit tool_calls allows no more")


def test_a_stored_step_is_a_table_too() -> None:
    """From its spans alone: no tool is named on the command line."""
    traced_loop("sandbox")
    run_id = json.loads(traced_loop("runs", "--json").out)["run_id"]
    value = traced_loop("plan", run_id, "--step", "1", "--json").json
    assert (value["run_id"], value["step"]) == (run_id, 1)
    assert {(c["decision"], c["mode"], c["outcome"]) for c in value["calls"]} == {("allow", "serial", "ok")}
    assert traced_loop("plan", run_id).out.splitlines()[0].startswith("#  CALL")


def test_a_step_without_calls_names_those_that_have_some() -> None:
    """The answer has none."""
    traced_loop("sandbox")
    run_id = json.loads(traced_loop("runs", "--json").out)["run_id"]
    ended = traced_loop("plan", run_id, "--step", "9")
    assert (ended.code, ended.err) == (2, "traced-loop: step 9 has no calls here; steps with calls: 1\n")


@pytest.mark.parametrize("step", [(), ("--step", "1")], ids=["last", "named"])
def test_a_run_without_calls_is_said_to_have_none(step: tuple[str, ...]) -> None:
    """No step is named that is not there."""
    Loop(ScriptedModel(["done"])).run("Go.")
    ended = traced_loop("plan", "last", *step)
    assert (ended.code, ended.err) == (2, "traced-loop: the run has no calls, so there was nothing to decide\n")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[", "Expecting value"),
        ("{}", 'write [{"name": ..., "arguments": {...}}]'),
        ("[]", 'write [{"name"'),
        ("7", 'write [{"name"'),
        ("[7]", 'write [{"name"'),
        ('[{"arguments": {}}]', 'write [{"name"'),
        ("[" * 100_000, "recursion"),
    ],
    ids=["no_json", "no_calls", "an_empty_list", "a_number", "no_call", "no_name", "deep"],
)
def test_a_file_that_holds_no_calls_is_refused(write: Any, content: str, said: str) -> None:
    """One line, exit code 2."""
    ended = traced_loop("plan", "--calls", write(content))
    assert (ended.code, ended.out, len(ended.err_lines)) == (2, "", 1)
    assert said in ended.err


@pytest.mark.parametrize("arguments", [(), ("RUN", "--calls", "x.json")], ids=["neither", "both"])
def test_it_wants_a_file_or_a_run(arguments: tuple[str, ...]) -> None:
    """One of them."""
    ended = traced_loop("plan", *arguments)
    assert (ended.code, "say which calls" in ended.err) == (2, True)


def test_a_file_that_is_not_there_is_said() -> None:
    """In the system's words."""
    assert "--calls none.json: No such file or directory" in traced_loop("plan", "--calls", "none.json").err


@pytest.mark.parametrize(("name", "shown"), [("search", "search"), ("x\x1b[2J" * 9, "x\\x1b[2Jx\\x1b[2J")])
def test_a_tool_that_is_none_has_the_name_that_the_model_wrote(home: Path, name: str, shown: str) -> None:
    """Its spans keep none; the transcript does, and is shown to whoever may read the store."""
    loop = Loop(ScriptedModel([calls((name, {})), "done"]), store=home)
    run_id = loop.run("Go.").run_id

    [_, line] = traced_loop("plan", run_id).out.splitlines()

    assert line.split()[2].startswith(shown)
    assert name not in (home / "spans" / f"{run_id}{ENDED_SUFFIX}").read_text()


def test_whose_tools_were_asked_is_said_where_nobody_named_any(write: Any) -> None:
    """On stderr; they are what a run without ``--tools`` has."""
    said = "decided for the tools that ship (multiply, calculator, search_docs, query_order): --tools names others\n"

    assert traced_loop("plan", "--calls", write(CALLS)).err == said
    assert traced_loop("plan", "--calls", write(CALLS), "--json").err == said
    assert traced_loop("plan", "--calls", write(CALLS), "--tools", "none").err == ""
