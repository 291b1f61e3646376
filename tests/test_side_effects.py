"""Writes happen at most once: what is reported of agents in the field, played against a store that counts."""

import asyncio
import json
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traced_loop import Budget, Loop, NotApplied, Policy, ScriptedModel, StopReason, allow_when, tool
from traced_loop.outcomes import Outcome
from traced_loop.rules.pairing import pairing_problems
from traced_loop.testing import Spans, calls, counted_wiring
from traced_loop.tool_registry import Tool

UNDOES = "traced_loop.compensation.call_id"
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
    options: dict[str, Any] = {"policy": WRITES, "budget": Budget(tool_seconds=0.05), "store": None, "ledger": "memory"}
    first = Loop(ScriptedModel([wanted]), [records.create], **options).run("Create A.")
    again = Loop(ScriptedModel([wanted]), [records.create], **options).run("Go on.", messages=first.messages)

    assert (records.titles, again.stop_reason) == (["A"], StopReason.OUTCOME_UNKNOWN)
    assert again.usage.tool_calls == 0


def test_who_knows_what_came_of_it_says_so_in_the_answer() -> None:
    """Then it may run; another record may in any case."""
    records = Records("waiting")
    script: list[Any] = [calls(("create", {"title": "A"}))] * 2
    options: dict[str, Any] = {"policy": WRITES, "budget": Budget(tool_seconds=0.05), "store": None, "ledger": "memory"}
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


WANTED = st.sampled_from(
    [
        ("plain", {"a": 1}),
        ("plain", {"a": 2}),
        ("keyed", {"a": 1}),
        ("keyed", {"a": 1, "note": "x"}),
        ("keyed", {"a": 2}),
        ("build", {"a": 1}),
        ("refuses", {}),
        ("refuses", {}),
        ("lost", {}),
        ("look", {}),
        ("look", {"a": 1}),
        ("nothing", {}),
    ]
)


@dataclass
class World:
    """Writes that are counted by their keys, and undone."""

    undo_raises: BaseException | None
    done: list[tuple[str, int, str]] = field(default_factory=list[tuple[str, int, str]])
    undone: list[tuple[str, int, str]] = field(default_factory=list[tuple[str, int, str]])

    def tools(self) -> list[Tool]:
        """One with a derived key, one with its own, a repeatable one, and some that fail."""
        return [
            self.write("plain"),
            self.write("keyed", key=lambda a, **_: f"key {a}"),
            self.write("build", repeatable=True),
            self.fails("refuses", NotApplied("no")),
            self.fails("lost", OSError("no")),
            self.look(),
        ]

    def write(self, name: str, **options: Any) -> Tool:
        """A write that can be undone."""

        def undo(a: int, result: str) -> None:
            self.undone.append((name, a, result))
            if self.undo_raises is not None and a == 2:
                raise self.undo_raises

        undo.__name__ = f"undo_{name}"

        @tool(effect="write", name=name, compensate=undo, **options)
        async def write(a: int, note: str = "", *, idempotency_key: str) -> str:
            """Write."""
            self.done.append((name, a, idempotency_key))
            return idempotency_key

        return write

    def fails(self, name: str, error: Exception) -> Tool:
        """A write that raises."""

        @tool(effect="write", name=name)
        def fail() -> None:
            """Fail."""
            raise error

        return fail

    def look(self) -> Tool:
        """A read."""

        @tool(effect="read")
        def look() -> int:
            """Look."""
            return len(self.done)

        return look


@settings(max_examples=150)
@given(
    batches=st.lists(st.lists(WANTED, min_size=1, max_size=5), min_size=1, max_size=3),
    mode=st.sampled_from(["report", "stop", "compensate", "compensate"]),
    undo_raises=st.sampled_from([None, None, NotApplied("no"), OSError("no")]),
)
def test_whatever_a_model_wants_nothing_is_done_twice(
    batches: list[list[tuple[str, dict[str, Any]]]], mode: Any, undo_raises: BaseException | None
) -> None:
    """Each key is used once, unless what it did is undone; what is told is what happened; everything is answered."""
    world, spans = World(undo_raises), Spans()
    script: list[Any] = [calls(*batch) for batch in batches]
    loop = Loop(
        ScriptedModel([*script, "done"]),
        world.tools(),
        policy=Policy(confirm=lambda _: True),
        on_tool_error=mode,
        wiring=counted_wiring(spans),
    )
    result = loop.run("Go.")

    assert (pairing_problems(result.messages), spans.open) == ([], [])
    assert all(len(found) == 1 for found in spans.outcomes().values())
    assert result.usage.tool_calls == sum(UNDOES not in s.attributes for s in spans.named("execute_tool"))
    told = [json.loads(m["content"]) for m in result.messages if m["role"] == "tool"]
    once = Counter(key for _, _, key in world.done)
    really_undone = Counter(key for _, a, key in world.undone if undo_raises is None or a != 2)
    assert all(times <= 1 + really_undone[key] for key, times in once.items())
    assert all(once[key] for _, _, key in world.undone)
    claimed = Counter(t["result"] for t in told if t.get("undone") is True)
    assert set(claimed) == set(really_undone)
    assert (StopReason.OUTCOME_UNKNOWN is result.stop_reason) == any(is_unknown(t) for t in told)
    if mode != "compensate":
        assert world.undone == []


def is_unknown(told: dict[str, Any]) -> bool:
    """Whether a call, or its undoing, ended so that nobody knows."""
    return told.get("type") == "unknown" or (told["status"] == "completed" and told.get("undone", False) is None)
