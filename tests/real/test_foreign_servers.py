"""Servers that others wrote, by both APIs, whole and streamed: an answer, and a loop with parallel calls.

What a server cannot do stands in ``LACKS`` with the reason, so that each case is either played or explained.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, get_args

import pytest

from traced_loop import StopReason, names

from .foreign_servers import Api, Call
from .real_runs import model_of, run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .foreign_servers import ForeignServer

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("home")]

SERVERS = ("aimock", "llmock", "mock_llm", "fakellm", "litellm_proxy")
APIS: Sequence[Api] = get_args(Api)
ABILITIES = ("answer", "calls")
Case = tuple[str, Api, bool, str]

NO_RESPONSES = "serves Chat Completions only"
LACKS: dict[Case, str] = {
    **{
        ("fakellm", "responses", streamed, ability): NO_RESPONSES for streamed in (False, True) for ability in ABILITIES
    },
    **{
        ("mock_llm", "responses", True, ability): "streams chunks of Chat Completions on every path"
        for ability in ABILITIES
    },
    ("mock_llm", "chat", True, "calls"): "streams the text of a message and leaves out its calls",
}
UNCOUNTED = {
    ("mock_llm", "chat", False),
    ("mock_llm", "chat", True),
    ("fakellm", "chat", True),
    ("aimock", "responses", False),
    ("aimock", "responses", True),
}
"""Servers that send no usage there, or zeros."""


def cases(ability: str) -> list[Any]:
    """Every server, API and way that is not explained away."""
    every = product(SERVERS, APIS, (False, True))
    return [
        pytest.param(server, api, streamed, id=f"{server}-{api}-{'streamed' if streamed else 'whole'}")
        for server, api, streamed in every
        if (server, api, streamed, ability) not in LACKS
    ]


def told(body: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The ids of the calls in a request's history, and of the results, whichever API's words it is in."""
    parts = body.get("messages") or body["input"]
    asked = [call["id"] for part in parts for call in part.get("tool_calls") or ()]
    asked += [part["call_id"] for part in parts if part.get("type") == "function_call"]
    answered = [part["tool_call_id"] for part in parts if part.get("role") == "tool"]
    return asked, answered + [part["call_id"] for part in parts if part.get("type") == "function_call_output"]


@pytest.mark.parametrize(("server", "api", "streamed"), cases("answer"))
def test_a_text_is_the_answer(foreign: ForeignServer, server: str, api: Api, streamed: bool) -> None:
    """One request, one final answer, usage from the provider or marked as estimated."""
    foreign.answer("The answer is 42.")
    ran = run(model_of(foreign, api, streamed=streamed))
    assert (ran.result.answer, ran.result.stop_reason) == ("The answer is 42.", StopReason.FINAL_ANSWER)
    assert ran.tree() == [
        "invoke_agent agent -> final_answer",
        "  check_budget request -> ok",
        "  step -> final",
        f"    chat {foreign.model}",
        "    check_budget step -> ok",
    ]
    [chat] = ran.attributes("chat")
    counted = "estimated" if (server, api, streamed) in UNCOUNTED else "provider"
    finish = "stop" if api == "chat" else "completed"
    assert (chat[names.USAGE_SOURCE], chat[names.GEN_AI_FINISH_REASONS]) == (counted, (finish,))
    assert ran.result.usage.tokens > 0
    assert names.ANOMALIES not in chat or chat[names.ANOMALIES] == "usage_missing"


@pytest.mark.parametrize(("server", "api", "streamed"), cases("calls"))
def test_parallel_calls_run_and_are_told_back(foreign: ForeignServer, server: str, api: Api, streamed: bool) -> None:
    """Two reads and a write of one answer run once each; the server gets their results by id, and answers."""
    asked = (Call("later", {"a": 1}), Call("later", {"a": 2}), Call("save", {"a": 3}))
    foreign.answer(asked, "Done.")
    ran = run(model_of(foreign, api, streamed=streamed))
    assert (ran.result.answer, ran.result.stop_reason) == ("Done.", StopReason.FINAL_ANSWER)
    assert sorted(ran.called) == [("later", 1), ("later", 2), ("save", 3)]
    assert list(ran.spans.outcomes().values()) == [["ok"]] * 3
    assert [line.strip() for line in ran.tree() if "execute_tool" in line] == [
        "execute_tool later -> ok",
        "execute_tool later -> ok",
        "execute_tool save -> ok",
    ]
    ids = [call["id"] for call in ran.result.messages[1]["tool_calls"]]
    assert len({*ids}) == 3
    assert [m["tool_call_id"] for m in ran.result.messages if m["role"] == "tool"] == ids
    received = foreign.received()
    if received is not None:
        assert [told(body) for body in received] == [([], []), (ids, ids)]


def test_what_a_server_lacks_is_explained() -> None:
    """Every case of the table is one of the servers', and has a reason."""
    every = {*product(SERVERS, APIS, (False, True), ABILITIES)}
    assert {*LACKS} < every
    assert all(LACKS.values())
