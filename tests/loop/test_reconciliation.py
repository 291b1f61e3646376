"""A write of which nobody knows is asked about before it is given up: at its end, and when it is wanted again."""

import asyncio
import threading
from dataclasses import dataclass, field
from typing import Any

import pytest

from traced_loop import Budget, Loop, NotApplied, Policy, ScriptedModel, StopReason, UsageError, allow_when, tool
from traced_loop.outcomes import Outcome
from traced_loop.testing import Played, Spans, calls, counted_wiring, play
from traced_loop.tool_registry import Tool

WRITES = Policy(rules=[allow_when(effect="write")])
ANSWER, CAUSE = "traced_loop.reconciliation.answer", "traced_loop.reconciliation.cause"
PAY = ("pay", {"order": "A", "cents": 5})


@dataclass
class Bank:
    """A service whose answers get lost, and which can be asked afterwards."""

    answer: Any
    how: str = "raises"
    asked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    paid: list[str] = field(default_factory=list[str])
    hangs: threading.Event = field(default_factory=threading.Event)

    def tool(self, **options: Any) -> Tool:
        """The tool, with what asks the service."""

        async def ask(arguments: dict[str, Any], order: str, *, idempotency_key: str) -> Any:
            self.asked.append({"arguments": arguments, "order": order, "key": idempotency_key})
            if isinstance(self.answer, BaseException):
                raise self.answer
            if self.answer == "hang":
                await asyncio.sleep(20)
            return self.answer

        @tool(effect="write", key=lambda order, **_: f"pay:{order}", reconcile=ask, **options)
        def pay(order: str, cents: int) -> str:
            """Pay."""
            self.paid.append(order)
            if self.how == "hangs":
                self.hangs.wait(20)
            if self.how == "raises":
                raise ConnectionResetError
            return "paid"

        return pay

    def play(self, *script: Any, **options: Any) -> Played:
        """A run of it."""
        played = play(script, [self.tool()], policy=WRITES, **options)
        self.hangs.set()
        return played


def told(played: Played) -> list[str]:
    """The answers of its tools."""
    return [message["content"] for message in played.result.messages if message["role"] == "tool"]


def test_what_was_done_after_all_is_a_success_with_the_result_that_was_found() -> None:
    """The run goes on; the question is a span below the execution."""
    bank = Bank(("done", {"id": 7}))
    played = bank.play(calls(PAY), "paid")

    assert played.tree()[7:10] == [
        "    execute_tool pay -> ok",
        "      reconcile pay -> done",
        "    append_results",
    ]
    assert told(played) == ['{"status":"completed","result":{"id":7}}']
    (span,) = played.spans.named("traced_loop.reconcile")
    (executed,) = played.spans.named("execute_tool")
    same = "traced_loop.idempotency.key_fingerprint"
    assert (span.attributes[CAUSE], span.attributes[same]) == ("error", executed.attributes[same])
    assert bank.asked == [{"arguments": {"order": "A", "cents": 5}, "order": "A", "key": "pay:A"}]


def test_without_a_result_the_model_is_told_that_it_was_done() -> None:
    """And a repeat is answered with the same."""
    played = Bank("done").play(calls(PAY, PAY), "paid")

    why = "It was done, as the tool found out; what it gave is not known."
    said = f'{{"status":"completed","result":null,"message":"{why}"}}'
    assert told(played) == [said, said]
    assert played.spans.outcomes() == {"call_1": [Outcome.OK], "call_2": [Outcome.REPLAYED]}


def test_what_was_not_done_is_an_error_and_may_be_tried_again() -> None:
    """The model decides; its key is free."""
    bank = Bank("not_done")
    played = bank.play(calls(PAY), calls(PAY), "not paid")

    assert (bank.paid, played.result.answer) == (["A", "A"], "not paid")
    assert [each[0] for each in played.spans.outcomes().values()] == [Outcome.ERROR, Outcome.ERROR]
    assert "It was not done, as the tool found out." in told(played)[0]


@pytest.mark.parametrize(
    ("answer", "word", "error"),
    [
        ("unknown", "unknown", None),
        (ConnectionResetError(), "failed", "ConnectionResetError"),
        ("perhaps", "failed", "tool_error"),
        (None, "failed", "tool_error"),
        (["done"], "failed", "tool_error"),
        ("hang", "failed", "timeout"),
    ],
    ids=repr,
)
def test_whatever_else_it_says_the_write_stays_unknown(answer: Any, word: str, error: str | None) -> None:
    """And stops the run, as without the question."""
    bank = Bank(answer)
    played = bank.play(calls(PAY), budget=Budget(tool_seconds=0.5))

    assert (bank.paid, played.result.stop_reason) == (["A"], StopReason.OUTCOME_UNKNOWN)
    (span,) = played.spans.named("traced_loop.reconcile")
    assert (span.attributes[ANSWER], span.attributes.get("error.type")) == (word, error)
    assert played.spans.outcomes() == {"call_1": [Outcome.UNKNOWN]}


def test_what_still_runs_is_not_taken_for_not_done() -> None:
    """It may yet do it."""
    bank = Bank("not_done", how="hangs")
    played = bank.play(calls(PAY), budget=Budget(tool_seconds=0.5))

    assert played.result.stop_reason is StopReason.OUTCOME_UNKNOWN
    (span,) = played.spans.named("traced_loop.reconcile")
    assert (span.attributes[ANSWER], span.attributes[CAUSE]) == ("not_done", "timeout")


def test_what_still_runs_may_be_found_done() -> None:
    """Its answer is lost, and nobody waits for it."""
    played = Bank(("done", 7), how="hangs").play(calls(PAY), "paid", budget=Budget(tool_seconds=0.5))
    assert played.spans.outcomes() == {"call_1": [Outcome.OK]}


def test_what_says_that_nothing_happened_is_not_asked_about() -> None:
    """``NotApplied`` is an answer, and so is a result."""
    bank = Bank("done", how="answers")
    bank.play(calls(PAY), "paid")
    assert bank.asked == []


@pytest.mark.parametrize(
    ("answers", "paid", "stops", "asked"),
    [
        (("done", 7), ["A"], StopReason.FINAL_ANSWER, 2),
        ("not_done", ["A", "A"], StopReason.FINAL_ANSWER, 2),
        ("unknown", ["A"], StopReason.OUTCOME_UNKNOWN, 2),
    ],
)
def test_an_earlier_call_is_asked_about_before_it_is_in_the_way(
    answers: Any, paid: list[str], stops: StopReason, asked: int
) -> None:
    """Done, it is answered with its result; not done, it may run; else it is refused as before."""
    bank = Bank("unknown")
    model = ScriptedModel([calls(PAY), calls(PAY), "end"])
    loop = Loop(model, [bank.tool()], policy=WRITES, wiring=counted_wiring(Spans()))
    assert loop.run("Go.").stop_reason is StopReason.OUTCOME_UNKNOWN
    bank.answer, bank.how = answers, "answers"
    again = loop.run("Go.")

    assert (bank.paid, again.stop_reason, len(bank.asked)) == (paid, stops, asked)
    if answers == ("done", 7):
        assert again.messages[2]["content"] == '{"status":"completed","result":7}'


def test_a_late_refusal_does_not_free_what_was_found_done() -> None:
    """The service has said so; what the handler raises when nobody waits is no better knowledge."""
    ended = threading.Event()
    hangs = threading.Event()

    @tool(effect="write", key=lambda: "k", reconcile=lambda: "done")
    def pay() -> None:
        """Pay."""
        hangs.wait(20)
        ended.set()
        raise NotApplied("no")

    model, budget = ScriptedModel([calls(("pay", {})), "end"] * 2), Budget(tool_seconds=0.5)
    loop = Loop(model, [pay], policy=WRITES, budget=budget, wiring=counted_wiring(Spans()))
    loop.run("Go.")
    hangs.set()
    assert ended.wait(20)
    assert loop.run("Go.").messages[2]["content"].startswith('{"status":"completed","result":null')


def optional(order: str, note: str | None = None) -> None:
    """Pay."""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"effect": "read", "reconcile": lambda: "done"}, 'reconcile= is for effect="write"'),
        ({"effect": "write", "reconcile": "done"}, "give a plain function"),
        ({"effect": "write", "reconcile": lambda other: other}, "wants 'other', which is no parameter of the tool"),
        ({"effect": "write", "version": 2}, "version must be a text"),
        ({"effect": "read", "version": "2"}, 'version= is for effect="write"'),
    ],
)
def test_what_cannot_work_is_said_when_the_tool_is_declared(options: Any, said: str) -> None:
    """Not when a write is in doubt."""
    with pytest.raises(UsageError, match=said):
        tool(**options)(optional)
