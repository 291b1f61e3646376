"""What is known of a write decides whether it runs: replayed, refused, asked about again, or free."""

import threading
from typing import Any

import pytest

from traced_loop import (
    Approved,
    Budget,
    Cancellation,
    InvalidArguments,
    Loop,
    NotApplied,
    Policy,
    ScriptedModel,
    StopReason,
    allow_when,
    tool,
)
from traced_loop.outcomes import Outcome
from traced_loop.rules.pairing import pairing_problems
from traced_loop.testing import CountedClock, Played, Spans, calls, counted_wiring, play
from traced_loop.tool_registry import Tool

APPROVED = Policy(confirm=lambda _: True)
AUTHORIZE, REPLAY = "traced_loop.authorize_call", "traced_loop.replay"
BY_TITLE: dict[str, Any] = {"key": lambda title, **_: f"create:{title}"}


class Store:
    """A tool that creates records, and what it did."""

    def __init__(self, *ends: Any, **options: Any) -> None:
        self.records: list[str] = []
        self.ends = list(ends)

        async def create(title: str, note: str = "") -> dict[str, int]:
            """Create a record."""
            self.records.append(title)
            end = self.ends.pop(0) if self.ends else None
            if isinstance(end, BaseException):
                raise end
            return {"id": len(self.records)}

        wanted: dict[str, Any] = {"effect": "write", **options}
        self.create: Tool = tool(**wanted)(create)

    def play(
        self, *batches: list[dict[str, str]], policy: Policy = APPROVED, end: bool = True, **options: Any
    ) -> Played:
        """A run in which each step wants these records."""
        script = [calls(*[("create", arguments) for arguments in batch]) for batch in batches]
        return play([*script, *(["done"] if end else [])], [self.create], policy=policy, **options)


A, B = {"title": "A"}, {"title": "B"}
A_WITH_NOTE = {"title": "A", "note": "x"}


def contents(played: Played) -> list[str]:
    """What the model was told of each call."""
    return [m["content"] for m in played.result.messages if m["role"] == "tool"]


def rules(played: Played) -> list[str]:
    """The rule on each decision."""
    return [str(span.attributes.get("traced_loop.policy.rule")) for span in played.spans.named(AUTHORIZE)]


def test_a_key_that_was_done_is_answered_with_its_result() -> None:
    """In a later step, to the letter, and without an execution, a question or a call that counts."""
    store, asked = Store(**BY_TITLE), list[str]()
    policy = Policy(confirm=lambda pending: asked.append(pending.call.id) is None)
    played = store.play([A], [A], policy=policy)

    assert (store.records, asked, played.result.answer) == (["A"], ["call_1"], "done")
    assert contents(played) == ['{"status":"completed","result":{"id":1}}'] * 2
    assert played.spans.outcomes() == {"call_1": [Outcome.OK], "call_2": [Outcome.REPLAYED]}
    assert (played.result.usage.tool_calls, played.result.usage.failed_tool_calls) == (1, 0)
    assert len(played.spans.named("execute_tool")) == 1


def test_a_replay_has_a_span_with_its_age_and_a_link_to_the_execution() -> None:
    """So that a trace says where the result is from, and how old it is."""
    clock = CountedClock()
    store = Store(**BY_TITLE)

    @tool(effect="read")
    def wait() -> None:
        """Wait."""
        clock.advance(60)

    batch = calls(("create", A), ("wait", {}), ("create", A))
    played = play([batch, "done"], [store.create, wait], policy=APPROVED, clock=clock)

    (replay,), executed = played.spans.named(REPLAY), played.spans.named("execute_tool create")
    assert replay.links == ((executed[0].trace_id, executed[0].span_id),)
    assert replay.attributes["traced_loop.call.id"] == "call_3"
    assert replay.attributes["traced_loop.call.tool"] == "create"
    assert 60 <= replay.attributes["traced_loop.replay.age_s"] < 60.1
    assert replay.attributes["traced_loop.schedule.group"] == 3
    same = "traced_loop.idempotency.key_fingerprint"
    assert replay.attributes[same] == executed[0].attributes[same]
    assert not any(key.startswith("gen_ai.") for key in replay.attributes)


def test_a_declared_key_is_known_in_all_runs_of_a_loop() -> None:
    """It names the thing in the application's own words, whichever run wants it."""
    store, spans = Store(**BY_TITLE), Spans()
    loop = Loop(
        ScriptedModel([calls(("create", A)), "done"] * 2), [store.create], policy=APPROVED, wiring=counted_wiring(spans)
    )
    first, second = loop.run("Go."), loop.run("Go.")

    assert (store.records, second.messages[2]["content"]) == (["A"], first.messages[2]["content"])
    (replay,), (root, _) = spans.named(REPLAY), spans.named("invoke_agent")
    assert replay.links[0][0] == root.trace_id


def test_without_a_key_two_runs_may_want_the_same() -> None:
    """They have not said that it is the same."""
    store = Store()
    loop = Loop(
        ScriptedModel([calls(("create", A)), "done"] * 2), [store.create], policy=APPROVED, store=None, ledger="memory"
    )
    loop.run("Go.")
    loop.run("Go.")

    assert store.records == ["A", "A"]


@pytest.mark.parametrize("batches", [([A, A_WITH_NOTE],), ([A], [A_WITH_NOTE])], ids=["at_once", "later"])
def test_a_key_with_other_arguments_is_a_conflict(batches: tuple[list[dict[str, str]], ...]) -> None:
    """Nothing runs, nobody is asked, and the run goes on."""
    store = Store(**BY_TITLE)
    played = store.play(*batches)

    assert (store.records, played.result.answer) == (["A"], "done")
    assert played.spans.outcomes()["call_2"] == [Outcome.CONFLICT]
    assert contents(played)[1].startswith('{"status":"error","type":"conflict"')


def test_volatile_arguments_make_no_conflict() -> None:
    """They do not make a call a different one."""
    store = Store(**BY_TITLE, volatile=["note"])
    assert store.play([A, A_WITH_NOTE]).spans.outcomes()["call_2"] == [Outcome.REPLAYED]


def test_an_identical_write_of_one_message_is_done_once() -> None:
    """The second id gets the first one's result; another write of the message is its own."""
    store = Store()
    played = store.play([A, B, A])

    assert store.records == ["A", "B"]
    assert played.spans.outcomes() == {"call_1": [Outcome.OK], "call_2": [Outcome.OK], "call_3": [Outcome.REPLAYED]}
    assert contents(played)[0] == contents(played)[2]
    assert pairing_problems(played.result.messages) == []


def test_an_identical_write_of_a_later_step_asks() -> None:
    """Whatever would allow it: by a rule of its own, which says how to declare that it may be repeated."""
    store, asked = Store(), list[Any]()

    def confirm(pending: Any) -> Approved:
        asked.append(pending)
        return Approved(by="ann")

    played = store.play([A], [A], policy=Policy(rules=[allow_when("create", name="ours")], confirm=confirm))

    assert (store.records, [pending.rule for pending in asked]) == (["A", "A"], ["repeated_write"])
    assert rules(played) == ["ours", "repeated_write", "repeated_write"]
    assert "repeatable=True" in asked[0].reason


def test_without_an_approver_a_repeated_write_pauses_the_run() -> None:
    """The detail says why it is asked about."""
    store = Store()
    played = store.play([A], [A], policy=Policy(rules=[allow_when("create")]), end=False)

    assert (played.result.stop_reason, store.records) == (StopReason.CONFIRMATION_REQUIRED, ["A"])
    assert "repeatable=True" in played.result.stop_detail


def test_a_denied_write_is_not_asked_about_for_being_repeated() -> None:
    """A no stays a no."""
    store = Store()
    seen: list[int] = []

    def once(_: Any) -> str:
        seen.append(1)
        return "allow" if len(seen) == 1 else "deny"

    played = store.play([A], [A], policy=Policy(rules=[once], on_deny="report"))  # type: ignore[list-item]

    assert (store.records, rules(played)) == (["A"], ["once", "once"])


def test_a_repeatable_write_is_its_own_each_time() -> None:
    """A build, a test run: at once and later, without a question for being repeated."""
    store = Store(repeatable=True)
    played = store.play([A, A], [A], policy=Policy(rules=[allow_when("create", name="ours")]))

    assert (store.records, rules(played)) == (["A", "A", "A"], ["ours"] * 3)


@pytest.mark.parametrize("options", [BY_TITLE, {}], ids=["with_a_key", "without"])
@pytest.mark.parametrize("error", [NotApplied("closed"), InvalidArguments("too long")])
def test_what_changed_nothing_frees_its_key(options: dict[str, Any], error: Exception) -> None:
    """The next one runs, in the same message or a later one, and is no repetition."""
    for batches in (([A, A],), ([A], [A])):
        store = Store(error, **options)
        played = store.play(*batches)
        assert (store.records, played.spans.outcomes()["call_2"]) == (["A", "A"], [Outcome.OK])
        assert "repeated_write" not in rules(played)


def test_an_unknown_outcome_keeps_its_key_in_later_runs() -> None:
    """Told so, refused, nobody is asked, and the run stops; another key runs."""
    store, asked = Store(ConnectionError("lost"), **BY_TITLE), list[Any]()
    policy = Policy(confirm=lambda pending: asked.append(pending) is None)
    script = [calls(("create", A)), calls(("create", A)), calls(("create", B)), "done"]
    loop = Loop(ScriptedModel(script), [store.create], policy=policy, store=None, ledger="memory")
    first, second, other = loop.run("Go."), loop.run("Again."), loop.run("Another.")

    assert [first.stop_reason, second.stop_reason] == [StopReason.OUTCOME_UNKNOWN] * 2
    assert (store.records, len(asked), other.answer) == (["A", "B"], 2, "done")
    assert "Do not repeat it." in second.messages[2]["content"]
    assert second.usage.tool_calls == 0


class Shop:
    """A tool that hangs at its first call, and what it did."""

    def __init__(self, ends_with: BaseException | None = None, **options: Any) -> None:
        self.ran: list[str] = []
        self.end = threading.Event()
        self.spans = Spans()
        self.late = threading.Event()
        self.ends_with = ends_with

        def pay(order: str, note: str = "") -> str:
            """Pay."""
            self.ran.append(f"{order}{note}")
            if len(self.ran) == 1:
                self.end.wait()
                if self.ends_with is not None:
                    raise self.ends_with
            return "paid"

        wanted: dict[str, Any] = {"effect": "write", "timeout": 0.05, **options}
        handler: Tool = tool(**wanted)(pay)
        self.asked: list[Any] = []

        def confirm(pending: Any) -> bool:
            self.asked.append(pending)
            return True

        before = self.spans.ended

        def ended(span: Any) -> None:
            before(span)
            if span.name == "traced_loop.late_completion":
                self.late.set()

        self.spans.ended = ended  # type: ignore[method-assign]
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

    def let_end(self) -> None:
        """The first call ends, late, and its end is known."""
        self.end.set()
        assert self.late.wait(60)


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


def test_a_late_result_is_known_from_then_on() -> None:
    """What was unknown has turned out to be done: the next call of its key gets that result."""
    shop = Shop(**KEYED)
    shop.pay(order="A1")
    shop.let_end()
    again = shop.pay(order="A1")

    assert (again.answer, shop.ran) == ("done", ["A1"])
    assert again.messages[2]["content"] == '{"status":"completed","result":"paid"}'


@pytest.mark.parametrize(
    ("error", "ran", "stop"),
    [
        pytest.param(NotApplied("no"), ["A1", "A1"], StopReason.FINAL_ANSWER, id="nothing_happened"),
        pytest.param(OSError("no"), ["A1"], StopReason.OUTCOME_UNKNOWN, id="nobody_knows"),
    ],
)
def test_a_late_error_frees_the_key_where_it_says_that_nothing_happened(
    error: Exception, ran: list[str], stop: StopReason
) -> None:
    """Any other one leaves it as unknown as it was."""
    shop = Shop(error, **KEYED)
    shop.pay(order="A1")
    shop.let_end()

    assert (shop.pay(order="A1").stop_reason, shop.ran) == (stop, ran)


def test_without_a_key_a_late_end_is_out_of_the_way_of_other_runs() -> None:
    """What it held is free when the work ends, not when the wait does."""
    shop = Shop()
    shop.pay(order="A1")
    shop.let_end()

    assert (shop.pay(order="A1").answer, shop.ran) == ("done", ["A1", "A1"])


def test_a_write_that_ends_when_it_is_told_to_is_unknown_all_the_same() -> None:
    """It gave nothing that says whether it was applied."""
    ran: list[str] = []

    @tool(effect="write", timeout=0.05, key=lambda: "the key")
    def pay(told: Cancellation) -> None:
        """Pay."""
        ran.append("pay")
        told.wait()
        raise OSError("stopped half-way")

    loop = Loop(ScriptedModel([calls(("pay", {}))] * 2), [pay], policy=APPROVED, store=None, ledger="memory")

    assert [loop.run("Go.").stop_reason for _ in range(2)] == [StopReason.OUTCOME_UNKNOWN] * 2
    assert ran == ["pay"]


def test_while_it_runs_other_arguments_of_its_key_are_a_conflict() -> None:
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
    assert started.wait(60)
    shop.pay(order="A1")
    shop.end.set()
    first.join(60)

    assert len(shop.ran) == ran


@pytest.mark.parametrize(("error", "ran"), [(ValueError("no"), 1), (NotApplied("no"), 2)])
def test_a_key_is_free_after_an_error_only_where_nothing_happened(error: Exception, ran: int) -> None:
    """In another run, too."""
    made: list[int] = []

    @tool(effect="write", key=lambda: "the key")
    def pay() -> None:
        """Pay."""
        made.append(1)
        raise error

    loop = Loop(
        ScriptedModel([calls(("pay", {}))] * 2),
        [pay],
        policy=APPROVED,
        budget=Budget(steps=1),
        store=None,
        ledger="memory",
    )
    for _ in range(2):
        loop.run("Go.")

    assert len(made) == ran


def test_another_run_is_told_of_no_write_that_may_yet_be_undone() -> None:
    """Until the batch is over it counts as running: what was told as done would be undone behind its back."""
    seats, booked, looked = set[int](), threading.Event(), threading.Event()

    @tool(effect="write", compensate=lambda seat: seats.discard(seat), key=lambda seat: f"seat:{seat}")
    def book(seat: int) -> str:
        """Book."""
        seats.add(seat)
        return "booked"

    @tool(effect="read")
    def fail() -> None:
        """Fail once the other run has asked."""
        booked.set()
        looked.wait(60)
        raise ValueError("no")

    wanted = ("book", {"seat": 5})
    script = [calls(wanted, ("fail", {})), calls(wanted), "undone", calls(wanted), "done"]
    loop = Loop(
        ScriptedModel(script), [book, fail], policy=APPROVED, on_tool_error="compensate", store=None, ledger="memory"
    )
    first = threading.Thread(target=lambda: loop.run("A"))
    first.start()
    assert booked.wait(60)
    second = loop.run("B")
    looked.set()
    first.join(60)

    assert (second.stop_reason, seats) == (StopReason.OUTCOME_UNKNOWN, set())
    assert (loop.run("C").answer, seats) == ("done", {5})
