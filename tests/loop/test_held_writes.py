"""Writes that are not started again while an earlier try of them runs."""

import threading
from typing import Any

import pytest

from traced_loop import Budget, Loop, NotApplied, Policy, ScriptedModel, StopReason, tool
from traced_loop.outcomes import Outcome
from traced_loop.rules.pairing import pairing_problems
from traced_loop.testing import Spans, calls, counted_wiring
from traced_loop.tool_registry import Tool

APPROVED = Policy(confirm=lambda _: True)


class Shop:
    """A tool that hangs at its first call, and what it did."""

    def __init__(self, **options: Any) -> None:
        self.ran: list[str] = []
        self.end = threading.Event()
        self.over = threading.Event()
        self.spans = Spans()

        def pay(order: str, note: str = "") -> str:
            """Pay."""
            self.ran.append(f"{order}{note}")
            if len(self.ran) == 1:
                self.end.wait()
            return "paid"

        wanted: dict[str, Any] = {"effect": "write", "timeout": 0.05, **options}
        handler: Tool = tool(**wanted)(pay)
        self.asked: list[Any] = []

        def confirm(pending: Any) -> bool:
            self.asked.append(pending)
            return True

        self.loop = Loop(
            ScriptedModel([self._line] * 9),
            [handler],
            policy=Policy(confirm=confirm),
            wiring=counted_wiring(self.spans),
        )

    def _line(self, request: Any) -> Any:
        last = request.messages[-1]
        return calls(("pay", self._arguments)) if last["role"] == "user" else "done"

    def pay(self, **arguments: str) -> Any:
        """A run that pays, and what the model was told."""
        self._arguments = arguments
        return self.loop.run("Go.")


KEYED = {"key": lambda order, **_: f"pay:{order}"}


@pytest.mark.parametrize("options", [KEYED, {}], ids=["with_a_key", "without"])
def test_a_write_whose_earlier_try_still_runs_is_not_run_again(options: dict[str, Any]) -> None:
    """Nobody knows what came of it, so that is what the call is told, and the run stops; nobody is asked either."""
    shop = Shop(**options)
    first, second = shop.pay(order="A1"), shop.pay(order="A1")

    assert (first.stop_reason, second.stop_reason) == (StopReason.OUTCOME_UNKNOWN, StopReason.OUTCOME_UNKNOWN)
    assert (shop.ran, len(shop.asked)) == (["A1"], 1)
    assert "still runs" in second.messages[2]["content"]
    assert second.usage.tool_calls == 0
    assert pairing_problems(second.messages) == []
    assert len(shop.spans.named("execute_tool")) == 1
    (refused,) = [
        s for s in shop.spans.named("traced_loop.authorize_call") if s.attributes.get("traced_loop.call.outcome")
    ]
    assert refused.attributes["traced_loop.call.outcome"] == Outcome.UNKNOWN
    assert refused.attributes["traced_loop.run.stop_reason"] == "outcome_unknown"
    shop.end.set()


def test_it_may_run_again_once_the_work_has_ended() -> None:
    """What it held is free when the work ends, not when the wait does."""
    shop = Shop(**KEYED)
    freed = threading.Event()
    before = shop.spans.ended

    def ended(span: Any) -> None:
        before(span)
        if span.name == "traced_loop.late_completion":
            freed.set()

    shop.spans.ended = ended  # type: ignore[method-assign]
    shop.pay(order="A1")
    shop.end.set()
    assert freed.wait(10)

    assert shop.pay(order="A1").answer == "done"
    assert shop.ran == ["A1", "A1"]


def test_the_same_key_with_other_arguments_is_a_conflict() -> None:
    """It is told to the model, and the run goes on."""
    shop = Shop(**KEYED)
    shop.pay(order="A1")
    second = shop.pay(order="A1", note="!")
    shop.end.set()

    assert (second.answer, shop.ran) == ("done", ["A1"])
    assert '"type":"conflict"' in second.messages[2]["content"]


def test_another_write_of_the_same_tool_may_run() -> None:
    """Only the same one is in the way."""
    shop = Shop()
    shop.pay(order="A1")
    second = shop.pay(order="A2")
    shop.end.set()

    assert (second.answer, shop.ran) == ("done", ["A1", "A2"])


@pytest.mark.parametrize(("options", "ran"), [(KEYED, 1), ({}, 2)], ids=["with_a_key", "without"])
def test_of_two_runs_at_the_same_time_only_a_key_makes_their_writes_one(options: dict[str, Any], ran: int) -> None:
    """Two runs that want the same without saying that it is the same may want it twice."""
    shop = Shop(**{**options, "timeout": 60})
    started = threading.Event()

    class Ran(list[str]):
        def append(self, item: str) -> None:
            super().append(item)
            started.set()

    shop.ran = Ran()
    first = threading.Thread(target=lambda: shop.pay(order="A1"))
    first.start()
    assert started.wait(10)
    shop.pay(order="A1")
    shop.end.set()
    first.join(10)

    assert len(shop.ran) == ran


@pytest.mark.parametrize("error", [ValueError("no"), NotApplied("no")])
def test_a_write_that_ended_in_time_holds_nothing(error: Exception) -> None:
    """Whatever it raised; what an unknown outcome means for another step is the ledger's business."""
    ran: list[int] = []

    @tool(effect="write", key=lambda: "the key")
    def pay() -> None:
        """Pay."""
        ran.append(1)
        raise error

    loop = Loop(ScriptedModel([calls(("pay", {}))] * 2), [pay], policy=APPROVED, budget=Budget(steps=1), store=None)
    for _ in range(2):
        loop.run("Go.")

    assert ran == [1, 1]
