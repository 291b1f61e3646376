"""Writes happen at most once: what is reported of agents in the field, played against a store that counts."""

import asyncio
import threading
from typing import Any

import pytest

from traced_loop import Budget, Loop, Policy, ScriptedModel, StopReason, allow_when, tool
from traced_loop.outcomes import Outcome
from traced_loop.rules.pairing import pairing_problems
from traced_loop.testing import Spans, calls, counted_wiring
from traced_loop.tool_registry import Tool

KEY = "traced_loop.idempotency.key_fingerprint"
WRITES = Policy(rules=[allow_when(effect="write")])


class Records:
    """A service that commits at once and answers much later: the answer never comes in time."""

    def __init__(self, kind: str, **options: Any) -> None:
        self.titles: list[str] = []
        self.keys: list[str] = []
        self.end = threading.Event()

        def commit(title: str, key: str) -> None:
            self.titles.append(title)
            self.keys.append(key)

        def blocking(title: str, *, idempotency_key: str) -> str:
            """Create a record."""
            commit(title, idempotency_key)
            self.end.wait(20)
            return "created"

        async def waiting(title: str, *, idempotency_key: str) -> str:
            """Create a record."""
            commit(title, idempotency_key)
            await asyncio.sleep(20)
            return "created"

        made: dict[str, Any] = {"effect": "write", "name": "create", **options}
        self.create: Tool = tool(**made)(blocking if kind == "blocking" else waiting)


BY_TITLE = {"key": lambda title: f"create:{title}"}


@pytest.mark.parametrize("kind", ["blocking", "waiting"])
@pytest.mark.parametrize("options", [{}, BY_TITLE], ids=["without_a_key", "with_a_key"])
def test_a_write_that_committed_before_its_timeout_is_in_the_store_once(kind: str, options: dict[str, Any]) -> None:
    """The loop does not repeat it, and when the model does, in a run that goes on from the history, it is refused."""
    records, spans = Records(kind, **options), Spans()
    wanted = calls(("create", {"title": "A"}))
    loop = Loop(
        ScriptedModel([wanted, wanted, "42"]),
        [records.create],
        policy=WRITES,
        budget=Budget(tool_seconds=0.05),
        wiring=counted_wiring(spans),
    )
    first = loop.run("Create A.")
    again = loop.run("Go on.", messages=first.messages)
    records.end.set()

    assert records.titles == ["A"]
    assert (first.stop_reason, again.stop_reason) == (StopReason.OUTCOME_UNKNOWN, StopReason.OUTCOME_UNKNOWN)
    told = [m["content"] for m in again.messages if m["role"] == "tool"]
    assert all(content.startswith('{"status":"error","type":"unknown"') for content in told)
    assert "it may have been applied. Do not repeat it." in told[0]
    assert all("Do not repeat it." in content for content in told)
    assert pairing_problems(again.messages) == []
    assert len(spans.named("execute_tool")) == 1
    assert all(span.attributes[KEY] for span in spans.named("traced_loop.authorize_call"))
    assert records.keys[0] == "create:A" or records.keys[0].startswith(f"{first.run_id}:create:")


def test_another_loop_that_goes_on_from_the_history_refuses_it_too() -> None:
    """Another process, say: what is known stands in the history."""
    records = Records("waiting")
    wanted = calls(("create", {"title": "A"}))
    options: dict[str, Any] = {"policy": WRITES, "budget": Budget(tool_seconds=0.05), "store": None}
    first = Loop(ScriptedModel([wanted]), [records.create], **options).run("Create A.")
    again = Loop(ScriptedModel([wanted]), [records.create], **options).run("Go on.", messages=first.messages)

    assert (records.titles, again.stop_reason) == (["A"], StopReason.OUTCOME_UNKNOWN)
    assert again.usage.tool_calls == 0


def test_who_knows_what_came_of_it_says_so_in_the_answer() -> None:
    """Then it may run; another record may in any case."""
    records = Records("waiting")
    script: list[Any] = [calls(("create", {"title": "A"}))] * 2
    options: dict[str, Any] = {"policy": WRITES, "budget": Budget(tool_seconds=0.05), "store": None}
    first = Loop(ScriptedModel(script[:1]), [records.create], **options).run("Create A.")
    history = [dict(message) for message in first.messages]
    history[-1]["content"] = "It was not created."
    Loop(ScriptedModel(script[:1]), [records.create], **options).run("Go on.", messages=history)

    assert records.titles == ["A", "A"]


@pytest.mark.parametrize("kind", ["blocking", "waiting"])
def test_a_refused_repeat_has_an_outcome_of_its_own(kind: str) -> None:
    """On its decision, as what stopped the run."""
    records, spans = Records(kind), Spans()
    wanted = calls(("create", {"title": "A"}))
    loop = Loop(
        ScriptedModel([wanted] * 2),
        [records.create],
        policy=WRITES,
        budget=Budget(tool_seconds=0.05),
        wiring=counted_wiring(spans),
    )
    loop.run("Go on.", messages=loop.run("Create A.").messages)
    records.end.set()

    assert [found for outcomes in spans.outcomes().values() for found in outcomes] == [Outcome.UNKNOWN] * 2
    last = spans.named("traced_loop.authorize_call")[-1].attributes
    assert last["traced_loop.run.stop_reason"] == "outcome_unknown"
