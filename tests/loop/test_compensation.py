"""What a batch did is undone when one of its calls fails: in reverse, authorised, recorded, and told."""

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from traced_loop import (
    Budget,
    Cancellation,
    InvalidArguments,
    Loop,
    NotApplied,
    Policy,
    ScriptedModel,
    StopReason,
    ToolError,
    allow_when,
    confirm_when,
    deny_when,
    partial_result,
    raw_tool,
    tool,
)
from traced_loop.diagnose.repetition import repetitions
from traced_loop.events import CallCompensated, Event
from traced_loop.outcomes import Outcome
from traced_loop.rules.pairing import pairing_problems
from traced_loop.testing import CountedClock, Played, Spans, calls, counted_wiring, play
from traced_loop.tool_registry import Tool

from ..diagnose.stored_runs import stored_run

WRITES = Policy(rules=[allow_when(effect="write", name="writes")])
UNDOES, OUTCOME = "traced_loop.compensation.call_id", "traced_loop.compensation.outcome"


class Travel:
    """A trip that is booked in parts, and what was done."""

    def __init__(self, fails: BaseException | None = None, undo_fails: BaseException | None = None) -> None:
        self.log: list[Any] = []
        self.undo_fails: dict[str, BaseException | None] = {"cancel_flight": undo_fails}
        self.keys: list[str] = []

        async def cancel_hotel(city: str, nights: int, result: dict[str, int], *, idempotency_key: str) -> None:
            self.log.append(("cancel_hotel", city, nights, result))
            self.keys.append(idempotency_key)

        def cancel_flight(result: int) -> str:
            self.log.append(("cancel_flight", result))
            if undo_fails is not None:
                raise undo_fails
            return "refunded"

        @tool(effect="write", compensate=cancel_hotel)
        async def hotel(city: str, nights: int = 2) -> dict[str, int]:
            """Book a hotel."""
            self.log.append(("hotel", city, nights))
            return {"room": 7}

        @tool(effect="write", compensate=cancel_flight)
        def flight(to: str) -> int:
            """Book a flight."""
            self.log.append(("flight", to))
            return 42

        @tool(effect="write")
        def letter() -> None:
            """Send a letter: nothing takes that back."""
            self.log.append("letter")

        @tool(effect="write")
        def pay(cents: int) -> None:
            """Pay."""
            self.log.append(("pay", cents))
            raise fails or NotApplied("card declined")

        @tool(effect="read")
        async def weather(city: str) -> str:
            """Look at the weather."""
            self.log.append(("weather", city))
            return "fine"

        self.tools: list[Tool] = [hotel, flight, letter, pay, weather]

    def play(self, *wanted: tuple[str, dict[str, Any]], end: bool = True, **options: Any) -> Played:
        """A run of one batch."""
        given: dict[str, Any] = {"policy": WRITES, "on_tool_error": "compensate", **options}
        return play([calls(*wanted), *(["Sorry."] if end else [])], self.tools, **given)


HOTEL, FLIGHT, LETTER = ("hotel", {"city": "Oslo"}), ("flight", {"to": "OSL"}), ("letter", {})
PAY, WEATHER = ("pay", {"cents": 5}), ("weather", {"city": "Oslo"})


def told(played: Played) -> list[dict[str, Any]]:
    """What the model was told of each call of the first batch."""
    return [json.loads(m["content"]) for m in played.result.messages if m["role"] == "tool"]


def undone(played: Played) -> dict[str, str]:
    """The outcome of each compensation, by the call that it undoes."""
    found = [span.attributes for span in played.spans.ended_spans if UNDOES in span.attributes]
    return {str(a[UNDOES]): str(a[OUTCOME]) for a in found if OUTCOME in a}


def test_what_a_failed_batch_did_is_undone_in_reverse() -> None:
    """An async and a sync write, a write that changed nothing, a read behind it: one tree, one history."""
    travel = Travel()
    played = travel.play(HOTEL, FLIGHT, PAY, WEATHER)

    assert travel.log == [
        ("hotel", "Oslo", 2),
        ("flight", "OSL"),
        ("pay", 5),
        ("cancel_flight", 42),
        ("cancel_hotel", "Oslo", 2, {"room": 7}),
    ]
    assert played.tree()[13:25] == [
        "    execute_tool hotel -> ok",
        "    execute_tool flight -> ok",
        "    execute_tool pay -> error ERROR",
        "    authorize_call weather -> skipped_stop",
        "    authorize_call cancel_flight undoes call_2 -> allow",
        "    execute_tool cancel_flight undoes call_2 -> ok",
        "    authorize_call cancel_hotel undoes call_1 -> allow",
        "    execute_tool cancel_hotel undoes call_1 -> ok",
        "    append_results",
        "    check_budget step -> ok",
        "  check_budget request -> ok",
        "  step -> final",
    ]
    why = "Done, and then undone, because pay (call_3) failed: nothing of it is left."
    assert told(played) == [
        {"status": "completed", "result": {"room": 7}, "undone": True, "message": why},
        {"status": "completed", "result": 42, "undone": True, "message": why},
        {"status": "error", "type": "error", "message": "card declined", "undone": ["call_2", "call_1"]},
        {"status": "error", "type": "skipped_stop", "message": "Not run: pay (call_3) failed before."},
    ]
    assert played.result.answer == "Sorry."


def test_every_call_of_the_model_has_one_outcome_and_one_message_all_the_same() -> None:
    """A compensation is no call of the model's: no message, no outcome of a call, and it counts against no limit."""
    played = Travel().play(HOTEL, FLIGHT, PAY, WEATHER, budget=Budget(tool_calls=4))

    assert played.spans.outcomes() == {
        "call_1": [Outcome.OK],
        "call_2": [Outcome.OK],
        "call_3": [Outcome.ERROR],
        "call_4": [Outcome.SKIPPED_STOP],
    }
    assert pairing_problems(played.result.messages) == []
    assert (played.result.usage.tool_calls, played.result.usage.failed_tool_calls) == (3, 1)


def test_a_compensation_is_recorded_and_linked_to_what_it_undoes() -> None:
    """By the rule that allowed it, with its own execution and key, and with no call id that a reader could count."""
    played = Travel().play(HOTEL, PAY)
    (done, _, undo), decisions = played.spans.named("execute_tool"), played.spans.named("traced_loop.authorize_call")

    assert undo.links == ((done.trace_id, done.span_id),)
    assert undo.attributes["gen_ai.tool.name"] == "cancel_hotel"
    assert undo.attributes["gen_ai.operation.name"] == "execute_tool"
    assert undo.attributes["traced_loop.effect"] == "write"
    assert undo.attributes["traced_loop.schedule.reason"] == "compensation"
    assert not {"gen_ai.tool.call.id", "traced_loop.call.id", "traced_loop.call.outcome"} & set(undo.attributes)
    for key in ("traced_loop.execution.id", "traced_loop.idempotency.key_fingerprint", "traced_loop.args.fingerprint"):
        assert undo.attributes[key] != done.attributes[key]
    rule = [s.attributes.get("traced_loop.policy.rule") for s in decisions if UNDOES in s.attributes]
    assert rule == ["writes"]


def test_without_a_rule_about_it_a_compensation_is_allowed_as_the_call_was() -> None:
    """A person who confirmed the call is not asked again; a list of what the model may call is not about it."""
    asked: list[str] = []
    policy = Policy(allow={"hotel", "pay"}, confirm=lambda pending: asked.append(pending.tool) is None)
    played = Travel().play(HOTEL, PAY, policy=policy)

    found = [s.attributes for s in played.spans.named("traced_loop.authorize_call") if UNDOES in s.attributes]
    assert [a["traced_loop.policy.rule"] for a in found] == ["compensation"]
    assert (asked, undone(played)) == (["hotel", "pay"], {"call_1": "ok"})


def test_the_history_and_the_trace_count_what_a_batch_came_to() -> None:
    """Partly done is told in one place, too."""
    (append,) = Travel().play(LETTER, HOTEL, PAY, WEATHER).spans.named("traced_loop.append_results")

    assert append.attributes["traced_loop.results.outcomes"] == "ok:2,error:1,skipped_stop:1"
    assert append.attributes["traced_loop.results.compensated"] == 1


def test_what_cannot_be_undone_stays_and_is_told() -> None:
    """The others are undone all the same."""
    played = Travel().play(HOTEL, LETTER, PAY)
    hotel, letter, pay = told(played)

    assert (hotel["undone"], letter["undone"]) == (True, False)
    assert letter["message"] == "Stays done: letter has nothing that undoes it."
    assert (pay["undone"], pay["not_undone"]) == (["call_1"], ["call_2"])


def test_siblings_that_run_beside_a_failed_read_survive() -> None:
    """The group ends first; then what came before it is undone."""
    travel = Travel()

    @tool(effect="read")
    def broken() -> None:
        """Fail."""
        raise ToolError("no")

    played = play(
        [calls(HOTEL, ("broken", {}), WEATHER, FLIGHT), "Sorry."],
        [*travel.tools, broken],
        policy=WRITES,
        on_tool_error="compensate",
    )

    assert [str(found[0]) for found in played.spans.outcomes().values()] == ["ok", "error", "ok", "skipped_stop"]
    assert undone(played) == {"call_1": "ok"}
    assert told(played)[2] == {"status": "completed", "result": "fine"}


def test_a_write_that_was_done_once_for_two_calls_is_undone_once_and_told_twice() -> None:
    """The second call got the first one's result, so what became of that is true of it."""
    travel = Travel()
    played = travel.play(HOTEL, HOTEL, PAY)

    assert undone(played) == {"call_1": "ok"}
    assert [each["undone"] for each in told(played)] == [True, True, ["call_1"]]


@pytest.mark.parametrize(
    ("error", "outcome", "stop"),
    [
        pytest.param(OSError("lost"), "unknown", StopReason.OUTCOME_UNKNOWN, id="nobody_knows"),
        pytest.param(NotApplied("too late"), "error", StopReason.FINAL_ANSWER, id="nothing_happened"),
        pytest.param(InvalidArguments("no"), "invalid", StopReason.FINAL_ANSWER, id="refused"),
    ],
)
def test_nothing_more_is_undone_once_something_could_not_be(error: Exception, outcome: str, stop: StopReason) -> None:
    """What was done before it may be what it stands on; where nobody knows what came of it, the run stops."""
    travel = Travel(undo_fails=error)
    played = travel.play(HOTEL, FLIGHT, PAY, end=stop is StopReason.FINAL_ANSWER)
    hotel, flight, pay = told(played)

    assert (played.result.stop_reason, undone(played)) == (stop, {"call_2": outcome})
    assert hotel["message"] == "Stays done: flight could not be undone."
    assert flight["undone"] is (None if outcome == "unknown" else False)
    assert pay["undo_unknown" if outcome == "unknown" else "not_undone"][0] == "call_2"
    assert pay["not_undone"][-1] == "call_1"
    assert travel.keys == []
    decided = [s for s in played.spans.named("execute_tool") if "traced_loop.run.stop_reason" in s.attributes]
    assert [s.name for s in decided] == (["execute_tool cancel_flight"] if outcome == "unknown" else [])


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        pytest.param(None, Outcome.OK, id="undone"),
        pytest.param(NotApplied("too late"), Outcome.REPLAYED, id="still_done"),
        pytest.param(OSError("lost"), Outcome.UNKNOWN, id="nobody_knows"),
    ],
)
def test_a_later_call_of_the_same_key_knows_what_became_of_the_first(error: Exception | None, outcome: Outcome) -> None:
    """What is undone may be done again; what may be is no result to be given again."""
    spans = Spans()

    def undo() -> None:
        if error is not None:
            raise error

    @tool(effect="write", key=lambda: "the room", compensate=undo)
    def book() -> None:
        """Book."""

    @tool(effect="read")
    def fail() -> None:
        """Fail."""
        raise ToolError("no")

    answers = [calls(("book", {}), ("fail", {})), *(["Sorry."] if outcome is not Outcome.UNKNOWN else [])]
    loop = Loop(
        ScriptedModel([*answers, calls(("book", {})), "done"]),
        [book, fail],
        policy=WRITES,
        on_tool_error="compensate",
        wiring=counted_wiring(spans),
    )
    loop.run("Go.")
    before = len(spans.ended_spans)
    loop.run("Again.")

    found = [s.attributes.get("traced_loop.call.outcome") for s in spans.ended_spans[before:]]
    assert [each for each in found if each] == [outcome]


def test_a_compensation_that_does_not_answer_is_unknown_and_shown_when_it_ends() -> None:
    """It is bounded like any tool, and named while it goes on."""
    end, ended, spans = threading.Event(), threading.Event(), Spans()

    def undo() -> None:
        end.wait(20)

    @tool(effect="write", compensate=undo)
    def book() -> None:
        """Book."""

    @tool(effect="read")
    def fail() -> None:
        """Fail."""
        raise ToolError("no")

    before = spans.ended

    def see(span: Any) -> None:
        before(span)
        if span.name == "traced_loop.late_completion":
            ended.set()

    spans.ended = see  # type: ignore[method-assign]
    loop = Loop(
        ScriptedModel([calls(("book", {}), ("fail", {}))]),
        [book, fail],
        policy=WRITES,
        on_tool_error="compensate",
        budget=Budget(tool_seconds=0.05),
        wiring=counted_wiring(spans),
    )
    result = loop.run("Go.")
    end.set()
    assert ended.wait(60)

    assert (result.stop_reason, result.abandoned) == (StopReason.OUTCOME_UNKNOWN, ("undo",))
    (late,) = spans.named("traced_loop.late_completion")
    assert late.attributes[UNDOES] == "call_1"


@pytest.mark.parametrize(
    ("policy", "outcome", "said"),
    [
        pytest.param(
            Policy(rules=[*WRITES.rules], deny={"cancel_hotel"}),
            "denied",
            "Stays done: undoing it is not permitted (on this run's list of what may not run).",
            id="denied_by_name",
        ),
        pytest.param(
            Policy(rules=[deny_when("cancel_hotel", name="never"), *WRITES.rules]),
            "denied",
            "Stays done: undoing it is not permitted (never).",
            id="denied_by_a_rule",
        ),
        pytest.param(
            Policy(rules=[confirm_when("cancel_hotel"), *WRITES.rules], confirm=lambda _: False),
            "confirmation_rejected",
            "Stays done: a person rejected undoing it.",
            id="rejected",
        ),
        pytest.param(
            Policy(rules=[confirm_when("cancel_hotel"), *WRITES.rules]),
            "confirmation_required",
            "Stays done: nobody confirmed undoing it.",
            id="nobody_to_ask",
        ),
    ],
)
def test_a_compensation_that_may_not_run_leaves_the_call_done(policy: Policy, outcome: str, said: str) -> None:
    """It is told to the model, and does not stop the run: what is done is known."""
    travel = Travel()
    played = travel.play(HOTEL, PAY, policy=policy)

    assert (undone(played), travel.keys, played.result.answer) == ({"call_1": outcome}, [], "Sorry.")
    assert (told(played)[0]["undone"], told(played)[0]["message"]) == (False, said)


def test_a_person_can_be_asked_about_a_compensation() -> None:
    """With the arguments of the call; the wait is a wait."""
    clock, asked = CountedClock(), list[Any]()

    def confirm(pending: Any) -> bool:
        asked.append(pending)
        clock.advance(60)
        return True

    policy = Policy(rules=[confirm_when("cancel_hotel"), *WRITES.rules], confirm=confirm)
    played = Travel().play(HOTEL, PAY, policy=policy, clock=clock)

    assert [(pending.tool, pending.arguments) for pending in asked] == [("cancel_hotel", {"city": "Oslo"})]
    assert (undone(played), played.result.usage.waited_seconds) == ({"call_1": "ok"}, 60)


@pytest.mark.parametrize("keyed", [False, True], ids=["without_a_key", "with_a_key"])
def test_what_is_undone_may_be_done_again(*, keyed: bool) -> None:
    """It is no repetition, and nothing answers it with what was undone: not the loop, and no service by its key."""
    seen: list[str] = []
    options: dict[str, Any] = {"key": lambda room: f"book:{room}"} if keyed else {}

    @tool(effect="write", compensate=lambda: None, **options)
    def book(room: int, *, idempotency_key: str) -> int:
        """Book."""
        seen.append(idempotency_key)
        return len(seen)

    @tool(effect="read")
    def fail() -> None:
        """Fail."""
        raise ToolError("no")

    batch = calls(("book", {"room": 7}), ("fail", {}))
    played = play(
        [batch, batch, calls(("book", {"room": 7})), "done"], [book, fail], policy=WRITES, on_tool_error="compensate"
    )

    rules = [s.attributes.get("traced_loop.policy.rule") for s in played.spans.named("traced_loop.authorize_call")]
    assert "repeated_write" not in rules
    ends = ["", ":again:2", ":again:3"] if keyed else ["", ":2", ":3"]
    assert seen == [f"{'book:7' if keyed else seen[0]}{end}" for end in ends]
    assert played.result.stop_reason == "final_answer"
    assert repetitions(stored_run(played.spans)) == played.result.repetitions


def test_each_undoing_has_a_key_of_its_own() -> None:
    """What is done and undone twice is undone twice, also for a service that honours keys."""
    travel = Travel()
    batch = calls(HOTEL, PAY)
    play([batch, batch, "Sorry."], travel.tools, policy=WRITES, on_tool_error="compensate")

    assert len(set(travel.keys)) == 2


def test_an_unknown_outcome_undoes_nothing() -> None:
    """What may have been applied may stand on what was done: that is for a person to decide."""
    travel = Travel(fails=OSError("lost"))
    played = travel.play(HOTEL, PAY, end=False)

    assert (played.result.stop_reason, undone(played)) == (StopReason.OUTCOME_UNKNOWN, {})
    assert "undone" not in told(played)[0]


def test_a_read_that_times_out_has_the_batch_undone_and_stops_the_run() -> None:
    """It has failed, too; the reason is the one that it gives."""
    end, travel = threading.Event(), Travel()

    @tool(effect="read", timeout=0.05)
    def hang() -> None:
        """Hang."""
        end.wait(20)

    played = play(
        [calls(HOTEL, ("hang", {}), WEATHER)], [*travel.tools, hang], policy=WRITES, on_tool_error="compensate"
    )
    end.set()

    assert (played.result.stop_reason, undone(played)) == (StopReason.TOOL_TIMEOUT, {"call_1": "ok"})


@pytest.mark.parametrize(
    "refused",
    [
        ("nothing", {}),
        ("weather", {}),
        ("picky", {}),
        ("letter", {}),
    ],
    ids=["unknown_tool", "invalid", "invalid_by_the_tool", "rejected"],
)
def test_a_refusal_is_no_failure(refused: tuple[str, dict[str, Any]]) -> None:
    """It ends one call, by a verdict on it; its siblings survive, in order."""
    travel = Travel()

    @tool(effect="read")
    def picky() -> None:
        """Refuse."""
        raise InvalidArguments("not today")

    policy = Policy(rules=[confirm_when("letter"), *WRITES.rules], confirm=lambda _: False)
    played = play(
        [calls(HOTEL, refused, WEATHER), "done"], [*travel.tools, picky], policy=policy, on_tool_error="compensate"
    )

    assert (undone(played), played.result.answer, len(travel.log)) == ({}, "done", 2)


@pytest.mark.parametrize("mode", ["report", "stop"])
def test_nothing_is_undone_unless_it_is_asked_for(mode: str) -> None:
    """What was done stays done, and is told as done."""
    played = Travel().play(HOTEL, PAY, on_tool_error=mode, end=mode == "report")

    assert (undone(played), told(played)[0]) == ({}, {"status": "completed", "result": {"room": 7}})


def test_what_cannot_be_undone_in_the_time_left_stays_done() -> None:
    """A compensation that may take longer than the run has left is not started: its outcome could not be known."""
    clock, travel = CountedClock(), Travel()

    @tool(effect="read")
    def slow() -> None:
        """Fail, late."""
        clock.advance(50)
        raise ToolError("no")

    played = play(
        [calls(HOTEL, ("slow", {})), "Sorry."],
        [*travel.tools, slow],
        clock=clock,
        policy=WRITES,
        on_tool_error="compensate",
        budget=Budget(seconds=60, tool_seconds=30),
    )

    assert (undone(played), travel.keys) == ({"call_1": "skipped_budget"}, [])
    assert told(played)[0]["message"] == "Stays done: the run has no time left to undo it."


def test_a_compensation_is_told_while_it_happens() -> None:
    """One event per call that is to be undone, also where nothing can."""
    seen: list[Event] = []
    Travel().play(HOTEL, LETTER, PAY, on_event=seen.append)

    assert [event for event in seen if isinstance(event, CallCompensated)] == [
        CallCompensated(step=1, call_id="call_2", tool="letter", outcome=Outcome.SKIPPED_STOP),
        CallCompensated(step=1, call_id="call_1", tool="cancel_hotel", outcome=Outcome.OK),
    ]


def test_a_callback_that_raises_while_a_batch_is_undone_leaves_no_call_untold() -> None:
    """What was not reached stays done, and says so."""

    def raising(event: Event) -> None:
        if isinstance(event, CallCompensated):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as left:
        Travel().play(HOTEL, FLIGHT, PAY, on_event=raising)

    result = partial_result(left.value)
    assert result is not None
    hotel, flight, pay = (json.loads(m["content"]) for m in result.messages if m["role"] == "tool")
    assert (hotel["message"], flight["undone"]) == ("Stays done: the run was ended.", True)
    assert (pay["undone"], pay["not_undone"]) == (["call_2"], ["call_1"])


def left_by(undo: Callable[[], Any], cancel: bool) -> tuple[BaseException, Spans]:
    """What leaves a run while a call is undone, and its spans."""
    spans, started = Spans(), asyncio.Event()

    async def undoing() -> None:
        started.set()
        await undo()

    @tool(effect="write", compensate=undoing)
    async def book() -> None:
        """Book."""

    @tool(effect="read")
    async def fail() -> None:
        """Fail."""
        raise ToolError("no")

    async def run() -> None:
        loop = Loop(
            ScriptedModel([calls(("book", {}), ("fail", {}))]),
            [book, fail],
            policy=WRITES,
            on_tool_error="compensate",
            wiring=counted_wiring(spans),
        )
        task = asyncio.create_task(loop.arun("Go."))
        if cancel:
            await started.wait()
            task.cancel()
        await task

    with pytest.raises(BaseException) as left:  # noqa: PT011 - any
        asyncio.run(run())
    return left.value, spans


def test_a_run_that_is_cancelled_while_it_undoes_says_that_nobody_knows() -> None:
    """Every call is answered, every span has ended."""
    error, spans = left_by(asyncio.Event().wait, cancel=True)
    result = partial_result(error)

    assert isinstance(error, asyncio.CancelledError)
    assert result is not None
    assert (result.stop_reason, pairing_problems(result.messages), spans.open) == (StopReason.CANCELLED, [], [])
    assert json.loads(result.messages[2]["content"])["undone"] is None
    assert json.loads(result.messages[3]["content"])["undo_unknown"] == ["call_1"]


def test_a_run_that_is_cancelled_before_it_undoes_leaves_the_call_done() -> None:
    """While a person is asked about it, say: nothing has begun."""
    spans, asked = Spans(), asyncio.Event()
    travel = Travel()

    async def confirm(_: Any) -> bool:
        asked.set()
        await asyncio.Event().wait()
        return True

    async def run() -> None:
        loop = Loop(
            ScriptedModel([calls(HOTEL, PAY)]),
            travel.tools,
            policy=Policy(rules=[confirm_when("cancel_hotel"), *WRITES.rules], confirm=confirm),
            on_tool_error="compensate",
            wiring=counted_wiring(spans),
        )
        task = asyncio.create_task(loop.arun("Go."))
        await asked.wait()
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError) as cancelled:
        asyncio.run(run())

    result = partial_result(cancelled.value)
    assert result is not None
    assert json.loads(result.messages[2]["content"])["message"] == "Stays done: the run was ended."
    assert (travel.keys, spans.open, pairing_problems(result.messages)) == ([], [], [])


def test_an_exit_that_a_compensation_raises_leaves_the_run() -> None:
    """Once every call is answered."""

    async def undo() -> None:
        raise SystemExit(3)

    error, spans = left_by(undo, cancel=False)
    result = partial_result(error)

    assert isinstance(error, SystemExit)
    assert result is not None
    assert (result.stop_reason, pairing_problems(result.messages), spans.open) == (StopReason.CANCELLED, [], [])


def test_another_tool_can_be_the_compensation() -> None:
    """With its own declarations; the model may call it, too. A tool given as raw schema has one likewise."""
    log: list[Any] = []

    @tool(effect="write", timeout=5)
    def delete(name: str, told: Cancellation) -> None:
        """Delete a record."""
        log.append(("delete", name, told.is_set))

    create = raw_tool(
        lambda name: log.append(("create", name)),
        name="create",
        schema={"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
        effect="write",
        compensate=delete,
    )

    @tool(effect="read")
    def fail() -> None:
        """Fail."""
        raise ToolError("no")

    played = play(
        [calls(("create", {"name": "a"}), ("fail", {})), "Sorry."],
        [create, delete, fail],
        policy=WRITES,
        on_tool_error="compensate",
    )

    assert log == [("create", "a"), ("delete", "a", False)]
    assert undone(played) == {"call_1": "ok"}
