"""Authorised calls carried out."""

import asyncio
import json
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import httpx2
import openai
import pytest

from traced_loop import (
    Budget,
    InvalidArguments,
    Loop,
    NotApplied,
    Policy,
    ScriptedModel,
    StopReason,
    ToolError,
    names,
    partial_result,
    raw_tool,
    tool,
)
from traced_loop.outcomes import Outcome
from traced_loop.telemetry.spans import SpanRecord
from traced_loop.testing import CountedClock, Played, Spans, calls, counted_wiring, play
from traced_loop.tool_registry import Tool

from ..hangs import WITHIN, no_hang

APPROVED = Policy(confirm=lambda pending: True)


def one(handler: Tool, **options: Any) -> Played:
    """A run in which the model calls one tool without arguments; a second answer ends it where it goes on."""
    name = handler.name if not callable(handler) else handler.__name__
    model = ScriptedModel([calls((name, {})), "done"])
    spans = Spans()
    loop = Loop(model, [handler], policy=APPROVED, wiring=counted_wiring(spans), **options)
    return Played(result=loop.run("Go."), spans=spans, model=model)


def told(played: Played) -> dict[str, Any]:
    """What the model was told."""
    said: dict[str, Any] = json.loads(played.result.messages[2]["content"])
    return said


def executed(played: Played) -> SpanRecord:
    """The span of the call."""
    return played.spans.named("execute_tool")[0]


def raising(error: BaseException, effect: Any, *, sync: bool = True) -> Tool:
    """A tool that raises."""

    def act() -> None:
        """Act."""
        raise error

    async def act_later() -> None:
        """Act."""
        raise error

    return tool(effect=effect, name="act")(act) if sync else tool(effect=effect, name="act_later")(act_later)


class Hostile(Exception):
    """An error that cannot even be printed."""

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
@pytest.mark.parametrize(
    ("error", "effect", "outcome", "stop"),
    [
        pytest.param(ValueError("no"), "read", Outcome.ERROR, StopReason.FINAL_ANSWER, id="read"),
        pytest.param(RuntimeError(""), "read", Outcome.ERROR, StopReason.FINAL_ANSWER, id="read_without_a_word"),
        pytest.param(Hostile(), "read", Outcome.ERROR, StopReason.FINAL_ANSWER, id="read_that_cannot_be_printed"),
        pytest.param(ToolError("try b"), "read", Outcome.ERROR, StopReason.FINAL_ANSWER, id="read_that_says_why"),
        pytest.param(InvalidArguments("a > 9"), "read", Outcome.INVALID, StopReason.FINAL_ANSWER, id="own_limits"),
        pytest.param(NotApplied("closed"), "write", Outcome.ERROR, StopReason.FINAL_ANSWER, id="write_not_applied"),
        pytest.param(ValueError("no"), "write", Outcome.UNKNOWN, StopReason.OUTCOME_UNKNOWN, id="write"),
        pytest.param(ToolError("no"), "write", Outcome.UNKNOWN, StopReason.OUTCOME_UNKNOWN, id="write_with_a_word"),
        pytest.param(TimeoutError(), "write", Outcome.UNKNOWN, StopReason.OUTCOME_UNKNOWN, id="write_lost"),
        pytest.param(asyncio.CancelledError(), "read", Outcome.ERROR, StopReason.FINAL_ANSWER, id="cancels_itself"),
    ],
)
def test_what_a_tool_raises_becomes_an_outcome(
    error: BaseException, effect: str, outcome: Outcome, stop: StopReason, sync: bool
) -> None:
    """A failed read is told to the model; a write that does not say otherwise may have happened."""
    played = one(raising(error, effect, sync=sync))

    assert (told(played)["type"], played.result.stop_reason) == (outcome, stop)
    assert executed(played).error is (outcome is not Outcome.INVALID)
    assert told(played)["message"]


def test_an_error_is_told_with_its_type() -> None:
    """The model gets the words of a ``ToolError`` as they are, and the type of everything else."""
    assert told(one(raising(ToolError("Ask for less."), "read")))["message"] == "Ask for less."
    assert told(one(raising(ValueError("bad"), "read")))["message"] == "ValueError: bad"


def test_a_long_error_does_not_hide_that_a_write_may_have_happened() -> None:
    """The error is cut, the warning is not."""
    message = told(one(raising(ValueError("x" * 100_000), "write")))["message"]

    assert "may have been applied" in message
    assert len(message) < 3_000


def test_the_text_of_an_error_is_content() -> None:
    """The trace holds type, class and a fingerprint."""
    span = executed(one(raising(ConnectionError("to secret.example"), "read")))

    assert span.attributes["error.type"] == "ConnectionError"
    assert span.attributes["traced_loop.error.class"] == "transient"
    assert "secret" not in str(span)


REQUEST = httpx2.Request("GET", "http://h")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (httpx2.ConnectError("lost"), "transient"),
        (httpx2.ReadTimeout("slow"), "transient"),
        (openai.APITimeoutError(request=REQUEST), "transient"),
        (openai.RateLimitError("busy", response=httpx2.Response(429, request=REQUEST), body=None), "transient"),
        (openai.BadRequestError("no", response=httpx2.Response(400, request=REQUEST), body=None), "deterministic"),
        (httpx2.InvalidURL("no"), "deterministic"),
        (InterruptedError(), "transient"),
    ],
)
def test_the_errors_of_common_clients_say_whether_to_try_again(error: Exception, kind: str) -> None:
    """A lost connection is one, whichever client a tool uses."""
    assert executed(one(raising(error, "read"))).attributes["traced_loop.error.class"] == kind


def test_a_hung_read_is_left_behind_and_its_late_value_goes_nowhere() -> None:
    """The run answers in bounded time; what the thread still does reaches neither history nor usage."""
    end, late = threading.Event(), threading.Event()

    @tool(effect="read", timeout=0.1)
    def hang() -> str:
        """Hang."""
        end.wait()
        late.set()
        return "too late"

    with no_hang():
        played = one(hang)
    end.set()

    assert late.wait(WITHIN)
    assert (told(played)["type"], played.result.stop_reason) == ("timed_out", StopReason.TOOL_TIMEOUT)
    assert (executed(played).error, executed(played).attributes["error.type"]) == (True, "timeout")
    assert "too late" not in str(played.result.messages)
    assert played.result.abandoned == ("hang",)


def test_an_async_tool_that_does_not_heed_its_cancellation_is_left_behind_too() -> None:
    """A coroutine that swallows its cancellation cannot outlive its timeout either."""
    end = threading.Event()

    @tool(effect="read", timeout=0.05)
    async def cling() -> None:
        """Hold on."""
        while not end.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue

    played = one(cling)
    end.set()

    assert (played.result.stop_reason, played.result.abandoned) == (StopReason.TOOL_TIMEOUT, ("cling",))


def test_a_tool_that_turns_its_cancellation_into_an_error_has_timed_out() -> None:
    """What a library makes of being cancelled does not hide that the time was over."""

    @tool(effect="read", timeout=0.05)
    async def fetch() -> None:
        """Fetch."""
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ConnectionError("aborted") from None

    assert told(one(fetch))["type"] == "timed_out"


def test_a_tool_that_cancels_its_own_task_has_failed() -> None:
    """Only a cancellation from outside ends the run as cancelled."""

    @tool(effect="read")
    async def give_up() -> None:
        """Give up."""
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    played = one(give_up)

    assert (told(played)["type"], played.result.stop_reason) == ("error", StopReason.FINAL_ANSWER)


def test_a_timeout_can_be_reported_instead() -> None:
    """With ``on_timeout="report"`` the model is told and the run goes on."""
    end = threading.Event()

    @tool(effect="read", timeout=0.05)
    def hang() -> None:
        """Hang."""
        end.wait()

    played = one(hang, on_timeout="report")
    end.set()

    assert (played.result.stop_reason, played.result.answer) == (StopReason.FINAL_ANSWER, "done")


def test_a_write_that_times_out_is_never_run_again() -> None:
    """It committed before it hung: the outcome is unknown, the run ends, and the record exists once."""
    end, records = threading.Event(), list[str]()

    @tool(effect="write", timeout=0.05)
    def create(*, idempotency_key: str) -> None:
        """Create a record."""
        records.append(idempotency_key)
        end.wait()

    played = one(create, on_timeout="report")
    end.set()

    assert len(records) == 1
    assert (told(played)["type"], played.result.stop_reason) == ("unknown", StopReason.OUTCOME_UNKNOWN)
    assert "may have been applied" in told(played)["message"]
    assert len(played.model.requests) == 1
    assert "traced_loop.idempotency.key_fingerprint" in executed(played).attributes


def test_a_read_that_takes_all_the_time_left_is_the_runs_deadline() -> None:
    """The tool's own timeout was not what ended it."""
    end = threading.Event()

    @tool(effect="read")
    def hang() -> None:
        """Hang."""
        end.wait()

    played = one(hang, budget=Budget(seconds=0.2))
    end.set()

    assert played.result.stop_reason is StopReason.DEADLINE_EXCEEDED
    assert executed(played).attributes["traced_loop.run.stop_reason"] == "deadline_exceeded"


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()], ids=["exit", "interrupt"])
@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
@pytest.mark.parametrize(("effect", "outcome"), [("read", Outcome.ERROR), ("write", Outcome.UNKNOWN)])
def test_an_exit_in_a_tool_leaves_the_run_once_everything_is_answered(
    error: BaseException, sync: bool, effect: str, outcome: Outcome
) -> None:
    """The exception goes on unchanged, with what the run had reached; the event loop lives on."""
    handler, spans = raising(error, effect, sync=sync), Spans()
    loop = Loop(
        ScriptedModel([calls((handler.__name__, {}))]), [handler], policy=APPROVED, wiring=counted_wiring(spans)
    )

    with pytest.raises(type(error)) as raised:
        loop.run("Go.")

    reached = partial_result(raised.value)
    assert raised.value is error
    assert reached is not None
    assert (reached.stop_reason, spans.open) == (StopReason.CANCELLED, [])
    assert spans.outcomes() == {"call_1": [outcome]}
    assert [s.attributes["error.type"] for s in spans.ended_spans if s.error] == [type(error).__name__] * 3


def test_a_handler_that_does_not_take_its_arguments_is_an_error_of_the_tool() -> None:
    """A definition that does not fit its function fails as a tool, sync or async, and nothing was applied."""

    async def later() -> None:
        pass

    schema = {"properties": {"a": {"type": "integer"}}}
    for handler in (lambda: None, later):
        broken = raw_tool(handler, name="broken", schema=schema, effect="read")
        played = play([calls(("broken", {"a": 1})), "done"], [broken])

        assert played.spans.outcomes() == {"call_1": [Outcome.ERROR]}


def test_a_plain_function_may_return_a_coroutine() -> None:
    """What it returns is awaited in the run's event loop."""

    async def work() -> int:
        return 42

    played = one(raw_tool(lambda: work(), name="work", schema={}, effect="read"))

    assert told(played) == {"status": "completed", "result": 42}


class Unprintable:
    """A value that no encoder can read."""

    def __iter__(self) -> Any:
        raise RuntimeError

    __str__ = __repr__ = __iter__


@pytest.mark.parametrize(
    ("value", "result"),
    [
        pytest.param(lambda: None, None, id="nothing"),
        pytest.param(lambda: {"b": {2, 1}}, {"b": [1, 2]}, id="a_set"),
        pytest.param(lambda: "bad \ud83e", "bad �", id="half_a_character"),
        pytest.param(lambda: float("nan"), "nan", id="nan"),
        pytest.param(Unprintable, "<Unprintable>", id="an_object"),
    ],
)
def test_any_value_can_be_told(value: Callable[[], Any], result: Any) -> None:
    """A result always becomes JSON that a strict provider takes."""
    assert told(one(raw_tool(value, name="give", schema={}, effect="read")))["result"] == result


class Shapeless(dict[str, int]):
    """A mapping that cannot be counted."""

    def values(self) -> Any:
        """Fail."""
        raise RuntimeError


class Unclassed:
    """A value that does not say what it is."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise self.raises

    raises: BaseException = RuntimeError()


class UnclassedExit(Unclassed):
    """A value that ends the process when it is asked what it is."""

    raises = SystemExit(3)


class ExitingList(Sequence[int]):
    """A value that ends the process when it is read."""

    def __len__(self) -> int:
        raise SystemExit(3)

    def __getitem__(self, index: Any) -> Any:
        raise SystemExit(3)


class OddText(str):
    """A text that cannot be encoded."""

    def encode(self, *_: Any, **__: Any) -> Any:
        """Fail."""
        raise SystemExit(3)


class OddlySaid(Exception):
    """An error whose words are no plain text."""

    def __str__(self) -> str:
        return OddText("odd")


class HostileType(type):
    """A type that does not tell its name."""

    def __getattribute__(cls, name: str) -> Any:
        raise SystemExit(3)


def nameless() -> BaseException:
    """An error of a type that does not tell its name."""

    class Nameless(Exception, metaclass=HostileType):
        pass

    return Nameless("no")


class UnsaidExit(Exception):
    """An error that ends the process when it is asked what it is."""

    def __str__(self) -> str:
        raise SystemExit(3)


def give_or_raise(thing: Any) -> Any:
    """What a tool does with a thing."""
    if issubclass(type(thing), BaseException):
        raise thing
    return thing


@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
@pytest.mark.parametrize(
    ("thing", "outcome", "leaves"),
    [
        pytest.param(lambda: Shapeless(a=1), Outcome.OK, False, id="a_value_without_a_shape"),
        pytest.param(Unclassed, Outcome.ERROR, False, id="a_value_without_a_class"),
        pytest.param(UnclassedExit, Outcome.ERROR, True, id="a_value_whose_class_exits"),
        pytest.param(ExitingList, Outcome.ERROR, True, id="a_value_that_exits"),
        pytest.param(OddlySaid, Outcome.ERROR, False, id="odd_words"),
        pytest.param(nameless, Outcome.ERROR, False, id="an_error_of_a_hostile_type"),
        pytest.param(UnsaidExit, Outcome.ERROR, True, id="words_that_exit"),
    ],
)
def test_whatever_a_tool_gives_or_raises_its_call_has_one_outcome(
    sync: bool, thing: Callable[[], Any], outcome: Outcome, leaves: bool
) -> None:
    """A value or an error with hostile special methods is the tool's failure; an exit in one leaves the run."""

    async def later() -> Any:
        return give_or_raise(thing())

    handler = (lambda: give_or_raise(thing())) if sync else later
    spans = Spans()
    model = ScriptedModel([calls(("act", {})), "done"])
    loop = Loop(model, [raw_tool(handler, name="act", schema={}, effect="read")], wiring=counted_wiring(spans))

    try:
        reached: Any = loop.run("Go.")
    except SystemExit as left:
        reached = partial_result(left)

    stop = StopReason.CANCELLED if leaves else StopReason.FINAL_ANSWER
    assert (spans.outcomes(), reached.stop_reason, spans.open) == ({"call_1": [outcome]}, stop, [])


def test_a_key_that_exits_leaves_the_run_with_nothing_applied() -> None:
    """As an exit of the tool itself does, but nothing had started."""
    spans, started = Spans(), list[int]()

    @tool(effect="write", key=lambda **_: sys.exit(3))
    def pay() -> None:
        """Pay."""
        started.append(1)

    loop = Loop(ScriptedModel([calls(("pay", {}))]), [pay], policy=APPROVED, wiring=counted_wiring(spans))
    with pytest.raises(SystemExit) as left:
        loop.run("Go.")

    reached = partial_result(left.value)
    assert (reached and reached.stop_reason, started) == (StopReason.CANCELLED, [])
    assert spans.outcomes() == {"call_1": [Outcome.ERROR]}


@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
def test_a_generator_that_blocks_is_read_in_a_thread_within_the_tools_time(sync: bool) -> None:
    """No other run of the event loop waits for it, and it times out as the tool itself would."""
    end = threading.Event()

    def lines() -> Iterator[int]:
        yield 1
        end.wait(60)

    async def later() -> Iterator[int]:
        return lines()

    played = one(raw_tool(lines if sync else later, name="read", schema={}, effect="read", timeout=0.1))
    end.set()

    assert played.spans.outcomes() == {"call_1": [Outcome.TIMED_OUT]}


def test_a_long_result_is_cut_with_its_true_size() -> None:
    """The model is told a part and that it is one; the trace knows the size."""

    @tool(effect="read", max_result_bytes=1_000)
    def read() -> str:
        """Read."""
        return "é" * 10_000

    played = one(read)

    span = executed(played).attributes
    assert (span["traced_loop.result.bytes"], span["traced_loop.result.truncated"]) == (20_002, True)
    assert "of 20002 bytes" in told(played)["result"]
    assert len(played.result.messages[2]["content"].encode()) < 1_200


def test_a_broken_key_means_that_nothing_was_started() -> None:
    """A write whose key cannot be made did not happen: an error, not an unknown outcome."""
    started: list[int] = []

    @tool(effect="write", key=lambda **_: str(1 // 0))
    def pay() -> None:
        """Pay."""
        started.append(1)

    played = one(pay)

    assert (told(played)["type"], started) == ("error", [])
    assert played.result.stop_reason is StopReason.FINAL_ANSWER


@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
def test_the_key_is_filled_in_and_hidden_from_the_model(sync: bool) -> None:
    """A declared key is the business's; the schema that the model sees has no such parameter."""
    seen: list[str] = []

    def pay(order: str, *, idempotency_key: str) -> None:
        """Pay."""
        seen.append(f"{order} {idempotency_key}")

    async def pay_later(order: str, *, idempotency_key: str) -> None:
        """Pay."""
        seen.append(f"{order} {idempotency_key}")

    options: dict[str, Any] = {"effect": "write", "name": "pay", "key": lambda order: f"pay:{order}"}
    handler: Tool = tool(**options)(pay) if sync else tool(**options)(pay_later)
    played = play([calls(("pay", {"order": "A1"})), "done"], [handler], policy=APPROVED)

    assert seen == ["A1 pay:A1"]
    assert list(played.model.requests[0].tools[0]["function"]["parameters"]["properties"]) == ["order"]


def test_a_call_equal_to_one_of_the_previous_step_is_flagged() -> None:
    """Spelling and ids do not matter; the flag counts, links to the first, and stops nothing."""

    @tool(effect="read")
    def look(name: str, deep: bool = False) -> str:
        """Look."""
        raise ToolError("too large")

    texts = ['{"name":"a","deep":true}', '{ "deep": true, "name": "a" }', '{"name":"b"}', '{"name":"a","deep":true}']
    played = play([*(calls(("look", text)) for text in texts), "done"], [look], repetition="observe")

    spans = played.spans.named("execute_tool")
    assert [s.attributes.get("traced_loop.repetition.count") for s in spans] == [None, 2, None, None]
    assert spans[1].attributes["traced_loop.repetition.kind"] == "identical_call"
    assert spans[1].links == ((spans[0].trace_id, spans[0].span_id),)
    assert played.result.stop_reason is StopReason.FINAL_ANSWER


def test_what_a_tool_declares_volatile_makes_no_other_call() -> None:
    """A nonce does not hide a repetition."""

    @tool(effect="read", volatile=["nonce"])
    def look(name: str, nonce: int) -> str:
        """Look."""
        return name

    played = play([*(calls(("look", {"name": "a", "nonce": n})) for n in range(3)), "done"], [look])

    counts = [s.attributes.get("traced_loop.repetition.count") for s in played.spans.named("execute_tool")]
    assert counts == [None, 2, 3]


@pytest.mark.parametrize("key", [None, "", " ", 7, b"x"])
def test_a_key_that_is_no_text_is_no_key(key: Any) -> None:
    """Nothing runs: calls that have nothing in common would share the text of nothing as their key."""
    ran: list[str] = []

    @tool(effect="write", key=lambda: key)
    def pay(*, idempotency_key: str) -> str:
        """Pay."""
        ran.append(idempotency_key)
        return "paid"

    played = one(pay)

    assert (ran, told(played)["type"], played.result.answer) == ([], Outcome.ERROR, "done")
    assert "key" in told(played)["message"]
    assert "traced_loop.idempotency.key_fingerprint" not in executed(played).attributes


def reasons(spans: Spans) -> dict[str, Any]:
    """The stop reason on each span that has one, by name."""
    key = "traced_loop.run.stop_reason"
    return {span.name: span.attributes[key] for span in spans.ended_spans if key in span.attributes}


def test_of_two_reads_that_end_a_run_only_the_one_whose_reason_it_is_says_so() -> None:
    """What a timeout would have been the reason for is overtaken by a tool that leaves the run."""
    over = asyncio.Event()

    @tool(effect="read", timeout=0.02)
    async def hang() -> str:
        """Hang."""
        try:
            await asyncio.Event().wait()
        finally:
            over.set()
        return ""

    @tool(effect="read")
    async def leave() -> str:
        """Leave."""
        await over.wait()
        raise SystemExit(3)

    spans = Spans()
    loop = Loop(ScriptedModel([calls(("hang", {}), ("leave", {}))]), [hang, leave], wiring=counted_wiring(spans))
    with pytest.raises(SystemExit):
        loop.run("Go.")

    assert reasons(spans) == {"execute_tool leave": "cancelled", "invoke_agent agent": "cancelled"}
    assert spans.outcomes() == {"call_1": ["timed_out"], "call_2": ["error"]}


def test_a_timeout_that_a_limit_overtakes_is_not_the_reason() -> None:
    """The check after the step finds the time of the whole run over, which ranks above one tool's."""
    clock = CountedClock()

    @tool(effect="read", timeout=0.02)
    async def hang() -> str:
        """Hang."""
        clock.advance(100)
        await asyncio.Event().wait()
        return ""

    played = play([calls(("hang", {}))], [hang], clock=clock, budget=Budget(seconds=60))

    assert reasons(played.spans) == {
        "traced_loop.check_budget": "deadline_exceeded",
        "invoke_agent agent": "deadline_exceeded",
    }
    span = executed(played)
    assert (span.error, span.attributes["traced_loop.call.outcome"]) == (True, "timed_out")
    assert span.end_ns <= played.spans.named("traced_loop.append_results")[0].start_ns


def test_a_key_function_cannot_change_what_was_authorised() -> None:
    """It is given a copy, nested values included."""
    paid: list[Any] = []

    def greedy(to: list[str]) -> str:
        to[:] = ["somebody else"]
        return "payment-1"

    @tool(effect="write", key=greedy)
    def pay(to: list[str]) -> str:
        """Pay somebody."""
        paid.append(to)
        return "paid"

    play([calls(("pay", {"to": ["ann"]})), "done"], [pay], policy=APPROVED)

    assert paid == [["ann"]]


def test_the_size_of_what_the_model_is_told_stands_on_the_call() -> None:
    """UTF-8 bytes of the whole message, result or error, after any cut."""

    @tool(effect="read", max_result_bytes=256)
    def say(text: str) -> str:
        """Say it; nothing is an error."""
        if not text:
            raise ToolError("nothing to say")
        return text * 500

    played = play([calls(("say", {"text": "é"}), ("say", {"text": ""})), "done"], [say])

    told = [len(message["content"].encode()) for message in played.result.messages[2:4]]
    assert [span.attributes["traced_loop.result.told_bytes"] for span in played.spans.named("execute_tool")] == told
    assert 256 < told[0] < 500


def test_the_marks_of_a_tool_are_on_its_span_as_they_are_when_it_ends() -> None:
    """Those of a tool that is carried out elsewhere, which knows more of it then."""
    marks: dict[str, str | int] = {names.MCP_METHOD: "tools/call", names.MCP_SESSION_ID: "old"}

    def act() -> str:
        marks[names.MCP_SESSION_ID] = "new"
        return "done"

    schema = {"type": "object", "properties": {}}
    span = executed(one(raw_tool(act, name="act", schema=schema, effect="read", marks=lambda: marks)))

    assert (span.attributes["mcp.method.name"], span.attributes["mcp.session.id"]) == ("tools/call", "new")


def test_marks_that_raise_or_are_the_loops_own_change_nothing() -> None:
    """The tool has run by then, and its span says so."""
    asked: list[int] = []

    def marks() -> dict[str, str | int]:
        asked.append(1)
        if len(asked) > 1:
            raise ZeroDivisionError
        return {names.EFFECT: "write", names.GEN_AI_TOOL_NAME: "another"}

    schema = {"type": "object", "properties": {}}
    span = executed(one(raw_tool(lambda: "done", name="act", schema=schema, effect="read", marks=marks)))

    found = span.attributes
    assert (len(asked), found[names.CALL_OUTCOME], found[names.EFFECT]) == (2, "ok", "read")
    assert found[names.GEN_AI_TOOL_NAME] == "act"
