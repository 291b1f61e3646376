"""What the options of `run` and `plan` mean: budgets beyond the plain limits, and a policy of the user's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from traced_loop import UsageError
from traced_loop.cli.run_options import added_of
from traced_loop.rules.budget import LIMITS
from traced_loop.tools import DEFAULT_NAMES

from ..command_line import Ended, program, traced_loop
from ..models.chat_server import ANSWER, Reply, chat_server

pytestmark = pytest.mark.usefixtures("home")

TICKET = json.dumps({"title": "Lamp", "body": "It is broken.", "request_id": "REQ-1"})
POLICIES = """
from traced_loop import Approved, Policy, allow_when, confirm_when, deny_when

never = Policy(deny=["create_ticket"])
by_rule = Policy(rules=[deny_when("create_ticket", name="no_tickets")])
free = Policy(rules=[allow_when(effect="write", name="free_writes")])
asks = Policy(rules=[confirm_when("create_ticket", name="ask_first")], confirm=lambda pending: Approved(by="ann"))
misspelt = Policy(deny=["create_tickets"])
word = "deny"
"""


def calling(name: str, arguments: str) -> Reply:
    """An answer with one call."""
    call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return Reply(body={**ANSWER, "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}]})


@pytest.fixture(autouse=True)
def policies(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of policies in the folder that the command runs in."""
    del home
    Path("own_policies.py").write_text(POLICIES)
    monkeypatch.syspath_prepend(str(Path.cwd()))
    monkeypatch.delitem(__import__("sys").modules, "own_policies", raising=False)


def run(*options: str, first: Reply | None = None) -> Ended:
    """A run on a real server that asks for a ticket, then answers."""
    asked = calling("create_ticket", TICKET) if first is None else first
    with chat_server(Reply(body=ANSWER), first=[asked]) as server:
        where = ("--model", "m", "--base-url", server.base_url)
        return traced_loop("run", "Open a ticket.", *where, "--tools", "create_ticket,multiply", *options)


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--policy", "own_policies:never"), 4, "denied by the rule deny_list"),
        (("--policy", "own_policies:by_rule"), 4, "denied by the rule no_tickets"),
        (("--policy", "own_policies:never", "--approve", "create_ticket"), 4, "denied by the rule deny_list"),
        (("--policy", "own_policies:by_rule", "--approve", "create_ticket"), 4, "denied by the rule no_tickets"),
        (("--policy", "own_policies:free"), 0, '"status":"completed"'),
        (("--policy", "own_policies:asks"), 0, '"status":"completed"'),
        (("--approve", "create_ticket"), 0, '"status":"completed"'),
        ((), 4, "waits for a confirmation"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, tuple) else "",
)
def test_a_policy_of_ones_own_decides_before_what_is_approved_by_name(
    options: tuple[str, ...], code: int, said: str
) -> None:
    """What it denies no option allows; where it has no opinion, approved names and then a person decide."""
    ended = run(*options)

    assert (ended.code, said in ended.err) == (code, True), ended.err


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("own_policies:word", "--policy own_policies:word: it is a str, not a Policy("),
        ("own_policies:nobody", "--policy own_policies:nobody: module 'own_policies' has no attribute 'nobody'"),
        ("nowhere:policy", "--policy nowhere:policy: No module named 'nowhere'"),
        ("own_policies", "--policy own_policies: module 'own_policies' has no attribute ''"),
        ("own_policies:misspelt", "--policy own_policies:misspelt: deny names 'create_tickets', which is no tool"),
    ],
)
@pytest.mark.parametrize("command", ["run", "plan"])
def test_what_is_no_policy_is_refused_before_anything_is_asked(command: str, path: str, said: str) -> None:
    """One line, exit code 2: a policy that is not found must not become none."""
    Path("calls.json").write_text(json.dumps([{"name": "multiply", "arguments": {"a": 6, "b": 7}}]))
    server = ("Go.", "--base-url", "http://127.0.0.1:9/v1", "--model", "m")
    ended = traced_loop(command, *(server if command == "run" else ("--calls", "calls.json")), "--policy", path)

    assert (ended.code, ended.out, len(ended.err_lines)) == (2, "", 1)
    assert said in ended.err


def test_a_plan_shows_what_a_policy_of_ones_own_decides() -> None:
    """The same table as its run would have."""
    Path("calls.json").write_text(json.dumps([{"name": "create_ticket", "arguments": TICKET}]))
    tools = ("--tools", "create_ticket")

    def planned(*options: str) -> Any:
        [call] = traced_loop("plan", "--calls", "calls.json", *tools, *options, "--json").json["calls"]
        return call["decision"], call["rule"]

    assert planned() == ("needs_confirmation", "default_write")
    assert planned("--policy", "own_policies:free") == ("allow", "free_writes")
    assert planned("--policy", "own_policies:asks") == ("needs_confirmation", "ask_first")
    assert planned("--policy", "own_policies:by_rule", "--approve", "create_ticket") == ("deny", "no_tickets")


MULTIPLY = calling("multiply", '{"a": 6, "b": 7}')


@pytest.mark.parametrize(
    ("options", "warned"),
    [(("--warn-at", "0.01"), True), (("--warn-at", "0"), False), (("--warn-at", "1"), False), ((), False)],
    ids=lambda given: " ".join(given) if isinstance(given, tuple) else "",
)
def test_a_limit_warns_from_the_part_that_is_asked_for(options: tuple[str, ...], warned: bool) -> None:
    """As it happens, on stderr."""
    ended = run(*options, first=MULTIPLY)

    assert (ended.code, "budget warning: tool_calls 3% used" in ended.err) == (0, warned), ended.err


@pytest.mark.parametrize("given", ["1.5", "-0.1", "nan"])
def test_a_part_that_is_none_is_refused(given: str) -> None:
    """In the option's own words."""
    ended = run("--warn-at", given)

    assert (ended.code, ended.err_lines) == (
        2,
        [f"traced-loop: --warn-at {given}: must be a part of a limit, above 0 and at most 1, or 0 for never"],
    )


@pytest.mark.parametrize("asked", [True, False])
def test_a_last_request_lets_the_model_say_how_far_it_got(asked: bool) -> None:
    """Where it is asked for; the run has stopped all the same, and says that this was said after it."""
    options = ("--max-steps", "1", "--json", *(["--last-request"] if asked else []))
    ended = run(*options, first=MULTIPLY)

    value = ended.json
    assert (ended.code, value["stop_reason"], value["answer"]) == (3, "max_steps_exceeded", None)
    assert (value["last_request"], value["partial"]) == (asked, "hello" if asked else None)


@pytest.mark.parametrize(
    ("options", "given"),
    [
        ((), list(DEFAULT_NAMES)),
        (("--tools", "none"), []),
        (("--tools", ""), []),
        (("--tools", "multiply, calculator"), ["multiply", "calculator"]),
        (("--tools", "multiply calculator"), ["multiply", "calculator"]),
        (("--tools", "multiply", "--tools", "calculator"), ["multiply", "calculator"]),
    ],
    ids=lambda given: " ".join(given) or "none given" if isinstance(given, tuple) else "",
)
def test_a_model_is_given_the_tools_that_were_chosen(options: tuple[str, ...], given: list[str]) -> None:
    """Those that ship where nobody chose, and none where none are wanted."""
    with chat_server(Reply(body=ANSWER)) as server:
        ended = traced_loop("run", "Hi.", "--model", "m", "--base-url", server.base_url, *options)

    assert ended.code == 0, ended.err
    assert [tool["function"]["name"] for tool in server.bodies[0].get("tools") or []] == given


def test_the_help_names_the_tools_that_nobody_chose() -> None:
    """What a model is given is said before it is."""
    ended = program("run", "--help", environment={"COLUMNS": "300"})

    assert f"Not given: {', '.join(DEFAULT_NAMES)}." in " ".join(ended.out.split())


def test_none_stands_alone() -> None:
    """Beside a tool it could mean either."""
    ended = run("--tools", "none")

    assert (ended.code, ended.err_lines) == (
        2,
        ["traced-loop: --tools create_ticket,multiply,none: none means no tools, and stands alone"],
    )


def test_what_is_added_to_limits_is_read() -> None:
    """Counts are whole, the others may be fractions; words may be repeated or separated by commas."""
    assert added_of(["steps=5,tokens=10000", "cost_usd=0.25"]) == {"steps": 5, "tokens": 10_000, "cost_usd": 0.25}
    assert added_of(None) == {}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("steps", "write LIMIT=N, as steps=5; the limits are steps, tool_calls, seconds, tokens, cost_usd"),
        ("stairs=1", "write LIMIT=N, as steps=5; the limits are steps, tool_calls, seconds, tokens, cost_usd"),
        ("steps=x", "steps wants a whole number, as --add steps=5"),
        ("steps=1.5", "steps wants a whole number, as --add steps=5"),
        ("tool_calls=many", "tool_calls wants a whole number, as --add tool_calls=10"),
        ("tokens=nan", "tokens wants a whole number, as --add tokens=20000"),
        ("seconds=inf", "seconds wants a number of seconds, as --add seconds=60"),
        ("cost_usd=much", "cost_usd wants an amount in USD, as --add cost_usd=0.5"),
        ("steps=0", "must be more than 0"),
    ],
)
def test_what_cannot_be_added_to_a_limit_is_refused(given: str, said: str) -> None:
    """With the option's name and what this limit wants."""
    with pytest.raises(UsageError, match=f"--add {given.partition('=')[0]}.*: {said}"):
        added_of([given])


def test_the_example_for_each_limit_can_be_typed() -> None:
    """And the help of `resume` names all of them."""
    for name in LIMITS:
        with pytest.raises(UsageError, match=" as --add ") as refused:
            added_of([f"{name}=x"])
        assert added_of([str(refused.value).rpartition("--add ")[2]])
    ended = program("resume", "--help", environment={"COLUMNS": "300"})
    assert "More of steps, tool_calls, seconds, tokens or cost_usd, as steps=5." in " ".join(ended.out.split())
