"""A ledger that fails, at whatever point: no write runs unclaimed, none runs twice, and the run says why it stopped."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from traced_loop import Budget, Loop, NotApplied, Policy, RunResult, ScriptedModel, StopReason, allow_when, tool
from traced_loop.call_ledger import CallLedger, Claim, Resolution, Standing, Verdict, Write, WriteEnd
from traced_loop.loop.guarded_ledger import GuardedLedger, LedgerFailed
from traced_loop.loop.memory_ledger import MemoryLedger
from traced_loop.outcomes import Outcome
from traced_loop.rules.pairing import pairing_problems
from traced_loop.telemetry.ids import Ids
from traced_loop.testing import CountedIds, Spans, calls, counted_wiring
from traced_loop.tool_registry import Tool

from .ledger_contract import LedgerContract

WRITES = Policy(rules=[allow_when(effect="write")])


@dataclass
class FailingLedger:
    """Raises from the given use on of one of its calls, as a disk that is full; what it had by then it keeps."""

    point: str = ""
    after: int = 0
    kept: CallLedger = field(default_factory=MemoryLedger)
    uses: list[str] = field(default_factory=list[str])

    def _use(self, point: str) -> None:
        self.uses.append(point)
        if point == self.point and self.uses.count(point) > self.after:
            raise OSError(28, "No space left on device")

    def standing(self, write: Write) -> Standing:
        self._use("standing")
        return self.kept.standing(write)

    def begin(self, write: Write) -> Standing:
        self._use("begin")
        return self.kept.begin(write)

    def decided(self, write: Write, verdict: Verdict, by: str) -> None:
        self._use("decided")
        self.kept.decided(write, verdict, by)

    def doubt(self, write: Write) -> None:
        self._use("doubt")
        self.kept.doubt(write)

    def resolve(self, write: Write, number: int, resolution: Resolution) -> bool:
        self._use("resolve")
        return self.kept.resolve(write, number, resolution)

    def leave(self, claim: Claim) -> None:
        self._use("leave")
        self.kept.leave(claim)

    def settle(self, claim: Claim, end: WriteEnd) -> None:
        self._use("settle")
        self.kept.settle(claim, end)

    def end_run(self, run_id: str) -> None:
        self._use("end_run")
        self.kept.end_run(run_id)


@dataclass
class Shop:
    """Tools that count what they did, on a ledger."""

    ledger: FailingLedger
    done: list[str] = field(default_factory=list[str])
    undone: list[str] = field(default_factory=list[str])
    error: BaseException | None = None
    spans: Spans = field(default_factory=Spans)
    ids: Ids = field(default_factory=CountedIds)

    def tools(self) -> list[Tool]:
        def take_back(item: str) -> None:
            self.undone.append(item)

        @tool(effect="write", key=lambda item: f"order:{item}", compensate=take_back)
        async def order(item: str) -> str:
            """Order it."""
            self.done.append(item)
            if self.error is not None:
                raise self.error
            return item

        @tool(effect="write")
        def send(item: str) -> None:
            """Send it."""
            self.done.append(item)

        @tool(effect="write")
        def refuse() -> None:
            """Do nothing."""
            raise NotApplied("no")

        @tool(effect="read")
        def look() -> str:
            """Look."""
            return "seen"

        return [order, send, refuse, look]

    def run(self, *script: Any, messages: Any = None, **options: Any) -> RunResult:
        wiring = replace(counted_wiring(self.spans, ids=CountedIds()), ledger=self.ledger)
        loop = Loop(ScriptedModel([*script]), self.tools(), policy=WRITES, wiring=wiring, ids=self.ids, **options)
        return loop.run("Go.", messages=messages)


ORDER, LOOK, REFUSE = ("order", {"item": "A"}), ("look", {}), ("refuse", {})


def outcomes(shop: Shop) -> dict[str, list[Outcome]]:
    """Of each call, from its spans."""
    return {call: [Outcome(word) for word in words] for call, words in shop.spans.outcomes().items()}


@pytest.mark.parametrize(
    ("name", "point", "after", "looked"),
    [
        ("order", "standing", 0, Outcome.SKIPPED_STOP),
        ("order", "standing", 1, Outcome.OK),
        ("order", "begin", 0, Outcome.OK),
        ("send", "standing", 0, Outcome.SKIPPED_STOP),
        ("send", "standing", 1, Outcome.OK),
        ("send", "begin", 0, Outcome.OK),
    ],
    ids=[
        "before it is authorised",
        "at its turn",
        "claimed",
        "before its key",
        "at its turn, without a key",
        "claimed without a key",
    ],
)
def test_a_write_that_cannot_be_claimed_does_not_run(name: str, point: str, after: int, looked: Outcome) -> None:
    """What ran before it keeps its result, what comes after it is skipped, and the reason names the ledger."""
    shop = Shop(FailingLedger(point, after))
    result = shop.run(calls(LOOK, (name, {"item": "A"}), LOOK))

    assert shop.done == []
    assert result.stop_reason is StopReason.HARNESS_ERROR
    assert result.stop_detail == f"the ledger of writes failed (OSError) before {name} was run"
    assert outcomes(shop) == {"call_1": [looked], **{f"call_{n}": [Outcome.SKIPPED_STOP] for n in (2, 3)}}
    assert "cannot be told or kept" in result.messages[-2]["content"]
    assert pairing_problems(result.messages) == []


@pytest.mark.parametrize("error", [None, NotApplied("no"), OSError("lost")], ids=["done", "not applied", "lost"])
def test_a_write_whose_end_cannot_be_kept_is_unknown(error: BaseException | None) -> None:
    """Whatever the tool said: nothing may rest on it. No result is told, and what comes after it does not run."""
    shop = Shop(FailingLedger("settle"), error=error)
    result = shop.run(calls(ORDER, LOOK))

    assert result.stop_reason is StopReason.OUTCOME_UNKNOWN
    assert result.stop_detail == "the ledger of writes failed (OSError) after order had run"
    assert outcomes(shop) == {"call_1": [Outcome.UNKNOWN], "call_2": [Outcome.SKIPPED_STOP]}
    assert '"type":"unknown"' in result.messages[-2]["content"]
    (executed,) = shop.spans.named("execute_tool order")
    assert (executed.attributes["traced_loop.run.stop_reason"], bool(executed.error)) == ("outcome_unknown", True)


def test_what_could_not_be_kept_is_not_run_again() -> None:
    """By a later run on the same ledger, which works again: the claim stands there as running."""
    ledger = FailingLedger("settle")
    shop = Shop(ledger)
    shop.run(calls(ORDER))
    ledger.point = ""
    again = shop.run(calls(ORDER))

    assert (shop.done, again.stop_reason) == (["A"], StopReason.OUTCOME_UNKNOWN)


def test_a_run_that_goes_on_does_not_begin_where_its_unknown_writes_cannot_be_kept() -> None:
    """Its history says that one may have been applied: without the ledger it could be run again."""
    broken = Shop(FailingLedger("settle"))
    history = broken.run(calls(ORDER)).messages
    shop = Shop(FailingLedger("doubt"))
    result = shop.run(messages=history)

    assert (shop.done, result.stop_reason, result.usage.model_requests) == ([], StopReason.HARNESS_ERROR, 0)
    assert "the history has writes of which nobody knows" in result.stop_detail


@pytest.mark.parametrize("point", ["leave", "settle", "end_run"])
def test_nobody_is_told_where_nothing_depends_on_it(point: str) -> None:
    """A write that timed out is unknown in any case, its late end is only known worse; a run ends as it would."""
    end, ended = threading.Event(), threading.Event()

    @tool(effect="write", timeout=0.05)
    def slow() -> None:
        """Hang."""
        end.wait(20)
        ended.set()

    shop, ledger = Shop(FailingLedger()), FailingLedger(point)
    wiring = replace(counted_wiring(shop.spans), ledger=ledger)
    result = Loop(ScriptedModel([calls(("slow", {}))]), [slow], policy=WRITES, wiring=wiring).run("Go.")
    assert result.abandoned == ("slow",)
    end.set()

    assert ended.wait(20)
    assert (result.stop_reason, result.stop_detail) == (
        StopReason.OUTCOME_UNKNOWN,
        "slow did not answer within 0.05 s, and may have been applied",
    )


@pytest.mark.parametrize(
    ("point", "after", "undone", "stop"),
    [
        ("settle", 2, [], StopReason.HARNESS_ERROR),
        ("begin", 2, [], StopReason.HARNESS_ERROR),
        ("settle", 3, ["A"], StopReason.OUTCOME_UNKNOWN),
        ("settle", 4, ["A"], StopReason.OUTCOME_UNKNOWN),
    ],
    ids=["not yet unknown", "not claimed", "its end", "the end of what it undid"],
)
def test_an_undoing_is_held_to_the_same(point: str, after: int, undone: list[str], stop: StopReason) -> None:
    """Not claimed, it does not run, and the call stays done; run and not kept, nobody knows of either."""
    shop = Shop(FailingLedger(point, after))
    result = shop.run(calls(ORDER, REFUSE), on_tool_error="compensate")

    assert (shop.done, shop.undone, result.stop_reason) == (["A"], undone, stop)
    assert outcomes(shop)["call_1"] == [Outcome.OK]
    word = '"undone":false' if not undone else '"undone":null'
    assert word in result.messages[-2]["content"]
    again = shop.run(calls(ORDER), budget=Budget(steps=1))
    assert shop.done == ["A"]
    assert again.stop_reason is not StopReason.FINAL_ANSWER


@pytest.mark.parametrize("point", ["standing", "begin", "settle"])
def test_what_is_raised_is_one_exception_that_names_the_other(point: str) -> None:
    """Its text may hold a path or a key; its type says enough."""
    wanted = Write(tool="t", key="k", fingerprint="a", declared=True, run_id="r")
    given: list[Any] = [Claim(write=wanted, number=1), WriteEnd(state="free")] if point == "settle" else [wanted]
    with pytest.raises(LedgerFailed, match=r"^OSError$"):
        getattr(GuardedLedger(FailingLedger(point)), point)(*given)


class FailingContract(LedgerContract):
    """The contract of a ledger that fails from time to time."""

    def __init__(self) -> None:
        super().__init__()
        self.failed = FailingLedger()
        self.ledger = self.failed

    @contextmanager
    def failing(self) -> Iterator[type[Exception] | None]:
        self.failed.point = "settle"
        yield OSError
        self.failed.point = ""


TestFailingContract = FailingContract.TestCase
