"""Runs that go on in other processes: after a crash in a write, two at once, and through the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from traced_loop import names
from traced_loop.read.local_store import LocalStore
from traced_loop.read.spending import limits

from .command_line import program
from .models.chat_server import Reply, chat_server
from .python_program import environment, run_python

if TYPE_CHECKING:
    from pathlib import Path

SHOP = """
import json, os, signal, sys, time
from traced_loop import Loop, Policy, ScriptedModel, UsageError, allow_when, tool
from traced_loop.testing import calls

@tool(effect="write")
def create(title: str) -> str:
    "Create."
    with open("created", "a") as file:
        file.write(title + "\\n")
    if title == "B" and "die" in sys.argv[1:] + os.environ.get("WORDS", "").split():
        os._exit(9)
    return f"id of {title}"

@tool(effect="read")
def read(id: str) -> str:
    "Read."
    return f"read {id}"

BATCH = calls(("create", {"title": "A"}), ("create", {"title": "B"}), ("read", {"id": "1"}))

def loop(*script, **options):
    options.setdefault("policy", Policy(rules=[allow_when(["create"])]))
    return Loop(ScriptedModel(list(script), name="old-model"), [create, read], **options)

def told(result):
    contents = [json.loads(m["content"]) for m in result.messages if m["role"] == "tool"]
    return [result.stop_reason] + [content.get("type") or content["result"] for content in contents]
"""


def test_what_a_crash_left_unknown_is_not_run_again(tmp_path: Path) -> None:
    """The saved result is told, the write in flight is unknown, the read may run; resuming twice changes nothing."""
    store = tmp_path / "store"
    died = run_python(SHOP + "loop(BATCH).run('Go.')", store, WORDS="die")
    assert died.code == 9
    again = SHOP + "print(json.dumps(told(loop('done').resume('last'))))"

    first, second = run_python(again, store), run_python(again, store)

    told = json.loads(first.out)
    assert told == ["outcome_unknown", "id of A", "unknown", "skipped_stop"], first.err
    assert json.loads(second.out) == told
    assert (tmp_path / "created").read_text() == "A\nB\n"
    env = environment(store)
    assert program("resolve", "last", "call_2", "--done", "--result", "id of B", environment=env).code == 0
    assert json.loads(run_python(again, store).out) == ["final_answer", "id of A", "id of B", "read 1"]
    assert (tmp_path / "created").read_text() == "A\nB\n"
    checked = program("conform", "last", environment=env)
    assert (checked.code, checked.out) == (0, "0 violations in 0 of 1 run\n"), checked.out


def test_of_two_that_go_on_at_once_one_does(tmp_path: Path) -> None:
    """The others are refused, or given what came of it, and nothing is done twice."""
    store = tmp_path / "store"
    paused = SHOP + "loop(BATCH, policy=Policy()).run('Go.')"
    assert run_python(paused, store).code == 0
    code = (
        SHOP
        + """
reads, writes = os.pipe()
children = []
for n in range(4):
    pid = os.fork()
    if pid == 0:
        os.close(writes)
        os.read(reads, 1)  # until the parent lets all of them go
        try:
            said = loop("done").resume("last", confirm=["call_1"])
            text = said.stop_reason
        except UsageError as error:
            text = "refused"
        with open(f"said-{n}", "w") as file:
            file.write(text)
        os._exit(0)
    children.append(pid)
os.close(writes)
for pid in children:
    os.waitpid(pid, 0)
print(json.dumps(sorted(open(f"said-{n}").read() for n in range(4))))
"""
    )
    ended = run_python(code, store)
    assert ended.code == 0, ended.err
    said = json.loads(ended.out)
    assert set(said) <= {"final_answer", "refused"}, said  # who comes after its end is given its answer
    assert (tmp_path / "created").read_text() == "A\nB\n"
    with LocalStore.open(store) as reader:
        trace = reader.trace(reader.find("last"))
    assert [span.count(names.RUN_RESUMED) for span in trace.spans if span.is_run] == [None, 1]


def answer(*calls: tuple[str, dict[str, Any]], text: str | None = None) -> Reply:
    """What a model server says."""
    entries = [
        {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for n, (name, arguments) in enumerate(calls, 1)
    ]
    message = {"role": "assistant", "content": text, **({"tool_calls": entries} if entries else {})}
    choice = {"index": 0, "finish_reason": "tool_calls" if entries else "stop", "message": message}
    return Reply(body={"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})


def test_the_command_line_pauses_is_told_and_goes_on(tmp_path: Path) -> None:
    """``run`` pauses without a terminal and says how to go on; ``resume`` does, once."""
    (tmp_path / "shop.py").write_text(SHOP)
    env = environment(tmp_path / "store", OPENAI_API_KEY="k", OPENAI_MODEL="m")
    first = [answer(("create", {"title": "A"}))]
    with chat_server(answer(text="Done."), first=first) as server:
        options = ("--base-url", server.base_url, "--tools", "shop:create")
        paused = program("run", "Go.", *options, environment=env, cwd=tmp_path)
        assert (paused.code, paused.out) == (4, ""), paused.err
        [run_id] = [line.split()[1] for line in paused.err_lines if line.startswith("run ")]
        [hint] = [line for line in paused.err_lines if line.startswith("traced-loop resume ")]
        assert hint == f"traced-loop resume {run_id} --base-url {server.base_url} --tools shop:create --confirm c1"

        waits = program("resume", run_id, *options, environment=env, cwd=tmp_path)
        assert (waits.code, waits.out) == (4, "")
        refused = program("resume", run_id, "--confirm", "c9", *options, environment=env, cwd=tmp_path)
        assert (refused.code, len(refused.err_lines)) == (2, 1)
        done = program(*hint.split()[1:], "--by", "ann", environment=env, cwd=tmp_path)
        assert (done.code, done.out) == (0, "Done.\n"), done.err
        again = program("resume", run_id, "--json", *options, environment=env, cwd=tmp_path)
        assert (again.code, again.json["answer"], again.json["run_id"]) == (0, "Done.", run_id)
    assert (tmp_path / "created").read_text() == "A\n"
    shown = program("show", run_id, environment=env)
    assert "approved  by ann" in shown.out
    assert program("conform", run_id, environment=env).code == 0


def test_a_run_whose_own_span_is_lost_goes_on_within_the_limits_that_run_has(tmp_path: Path) -> None:
    """Its own limits are gone with the span; none would be no limit at all."""
    (tmp_path / "shop.py").write_text(SHOP)
    env = environment(tmp_path / "store", OPENAI_API_KEY="k", OPENAI_MODEL="m")
    with chat_server(answer(text="Done."), first=[answer(("create", {"title": "A"}))]) as server:
        options = ("--base-url", server.base_url, "--tools", "shop:create")
        paused = program("run", "Go.", *options, environment=env, cwd=tmp_path)
        assert paused.code == 4, paused.err
        [spans] = (tmp_path / "store" / "spans").glob("*.jsonl")
        kept = [line for line in spans.read_text().splitlines() if '"invoke_agent' not in line]
        spans.write_text("".join(f"{line}\n" for line in kept))
        done = program(
            "resume",
            "last",
            "--approve",
            "create",
            "--add",
            "steps=5",
            "--json",
            *options,
            environment=env,
            cwd=tmp_path,
        )
    assert (done.code, done.json["answer"]) == (0, "Done."), done.err
    with LocalStore.open(tmp_path / "store") as reader:
        found = {limit.name: limit.limit for limit in limits(reader.trace(reader.find("last")))}
    assert found == {
        "steps": 8 + 5,
        "tool_calls": 32,
        "seconds": 300,
        "tokens": 200_000,
        "request_seconds": 120,
        "tool_seconds": 30,
    }
