"""Runs that go on in the server's process."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from traced_loop import StopReason, tool
from traced_loop.errors import UsageError
from traced_loop.events import ModelAnswered, RunStarted, TextDelta
from traced_loop.models.openai_model import OpenAIModel
from traced_loop.models.scripted import ScriptedModel, calls
from traced_loop.public_loop import Loop
from traced_loop.redaction import redact
from traced_loop.redaction.held_secrets import hold_secret
from traced_loop.run_result import RunResult
from traced_loop.web.live_runs import MAX_AT_ONCE, LiveRun, LiveRuns

from ..hangs import HANGS, WITHIN, no_hang
from ..models.chat_server import ANSWER, Reply, chat_server
from ..processor_time import LINEAR, growth

if TYPE_CHECKING:
    from collections.abc import Callable

KEY = "zQ4-typed-for-one-run"
OTHER = "zQ4-typed-for-another"
OWN = "[REDACTED:own_credential]"

pytestmark = pytest.mark.usefixtures("home")


def start(runs: LiveRuns, loop: Loop, **how: Any) -> LiveRun:
    """Begin a run of a loop."""
    return runs.start("title", lambda tell: loop.run("p", on_event=tell), loop.cancel, **how)


def scripted(*script: Any, tools: Any = ()) -> Loop:
    """A loop without a store."""
    return Loop(ScriptedModel(script), tools, store=None)


def ended(run: LiveRun) -> RunResult:
    """Its result."""
    assert run.wait(WITHIN)
    assert run.result is not None, run.error
    return run.result


class Gate:
    """A tool that comes back when it is told to."""

    def __init__(self) -> None:
        self.entered, self.opened = threading.Event(), threading.Event()

        @tool(effect="read", timeout=HANGS)
        def wait() -> str:
            """Wait."""
            self.entered.set()
            assert self.opened.wait(HANGS)
            return "open"

        self.tool = wait


def test_a_run_goes_on_beside_the_caller_and_is_found_by_its_name() -> None:
    """With what it has told so far, its id, and in the end its result."""
    runs, gate = LiveRuns(), Gate()
    run = start(runs, scripted(calls(("wait", {})), "done", tools=[gate.tool]))
    assert gate.entered.wait(WITHIN)
    assert (runs.find(run.name), runs.going_on()) == (run, [run])
    assert (run.is_going_on, run.result, run.title) == (True, None, "title")
    version, seen = run.version, len(run.events)
    gate.opened.set()
    assert ended(run).answer == "done"
    assert run.run_id == ended(run).run_id
    assert (run.is_going_on, runs.going_on()) == (False, [])
    assert run.version > version
    assert len(run.events) > seen


def test_a_stopped_run_ends_as_cancelled_also_while_a_tool_hangs() -> None:
    """The tool is left behind."""
    runs, gate = LiveRuns(), Gate()
    run = start(runs, scripted(calls(("wait", {})), tools=[gate.tool]))
    assert gate.entered.wait(WITHIN)
    run.stop()
    result = ended(run)
    gate.opened.set()
    assert result.stop_reason is StopReason.CANCELLED
    assert result.abandoned == ("wait",)


def test_a_run_that_is_stopped_before_it_begins_ends_when_it_begins() -> None:
    """It has no id to be stopped by until then."""
    runs, may_begin, loop = LiveRuns(), threading.Event(), scripted("never")

    def act(tell: Any) -> RunResult:
        assert may_begin.wait(WITHIN)
        return loop.run("p", on_event=tell)

    run = runs.start("t", act, loop.cancel)
    run.stop()
    assert run.is_stopping
    may_begin.set()
    assert ended(run).stop_reason is StopReason.CANCELLED
    assert not run.is_stopping


def test_one_more_than_may_go_on_is_refused() -> None:
    """Until one has ended."""
    runs, gate = LiveRuns(), Gate()
    loop = scripted(*[calls(("wait", {}))] * MAX_AT_ONCE, *["done"] * (MAX_AT_ONCE + 1), tools=[gate.tool])
    going_on = [start(runs, loop) for _ in range(MAX_AT_ONCE)]
    with pytest.raises(UsageError, match="stop one"):
        start(runs, scripted("done"))
    gate.opened.set()
    assert all(run.wait(WITHIN) for run in going_on)
    assert ended(start(runs, scripted("done"))).answer == "done"


def test_a_form_that_is_sent_twice_begins_one_run() -> None:
    """Also where the first one has ended by then; another form begins another."""
    runs = LiveRuns()
    first = start(runs, scripted("done"), once="form-1")
    ended(first)
    assert start(runs, scripted("done"), once="form-1") is first
    assert start(runs, scripted("done"), once="form-2") is not first


def test_old_ended_runs_are_forgotten_and_those_that_go_on_are_not() -> None:
    """The oldest first."""
    runs, gate = LiveRuns(), Gate()
    lasting = start(runs, scripted(calls(("wait", {})), "done", tools=[gate.tool]))
    first = start(runs, scripted("done"))
    ended(first)
    for _ in range(40):
        last = start(runs, scripted("done"))
        ended(last)
    assert runs.find(first.name) is None
    assert (runs.find(last.name), runs.find(lasting.name)) == (last, lasting)
    gate.opened.set()
    ended(lasting)


def test_the_end_of_the_server_ends_all_within_its_time() -> None:
    """Also where a tool hangs, and where one never begins."""
    runs, gate, may_begin = LiveRuns(), Gate(), threading.Event()
    hanging = start(runs, scripted(calls(("wait", {})), tools=[gate.tool]))
    loop = scripted("never")
    runs.start("t", lambda tell: may_begin.wait(HANGS) and loop.run("p", on_event=tell), loop.cancel)  # type: ignore[arg-type,return-value]
    assert gate.entered.wait(WITHIN)
    with no_hang():
        runs.stop_all(2)
    assert ended(hanging).stop_reason is StopReason.CANCELLED
    gate.opened.set()
    may_begin.set()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (UsageError("no model: name one"), "no model: name one"),
        (ValueError("odd"), "ValueError: odd"),
        (ValueError(), "ValueError"),
    ],
)
def test_a_run_that_cannot_run_says_why(error: Exception, said: str) -> None:
    """In the loop's own words where it has some; no exception is kept."""

    def act(_tell: object) -> RunResult:
        raise error

    run = LiveRuns().start("t", act, lambda _run: True)
    assert run.wait(WITHIN)
    assert (run.error, run.result, run.is_going_on) == (said, None, False)


def test_pieces_of_one_text_are_one_event() -> None:
    """However many; those of another try are another one."""
    run = LiveRun("t", lambda _run: True)
    for attempt in (1, 2):
        for _ in range(3):
            run.told(TextDelta(step=1, text="ab", attempt=attempt))
    assert run.events == (TextDelta(step=1, text="ababab"), TextDelta(step=1, text="ababab", attempt=2))
    run.told(ModelAnswered(step=1, finish_reason="stop", text="ababab", calls=()))
    assert len(run.events) == 3
    assert run.version == 7


def test_a_long_text_costs_no_more_at_its_end_than_at_its_beginning() -> None:
    """A hundred thousand pieces."""

    def prepare(pieces: int) -> Callable[[], None]:
        def act() -> None:
            run = LiveRun("t", lambda _run: True)
            for _ in range(pieces):
                run.told(TextDelta(step=1, text="abcd"))
            [event] = run.events
            assert isinstance(event, TextDelta)
            assert len(event.text) == 4 * pieces

        return act

    assert growth(prepare, 6_250) < LINEAR


def test_a_typed_key_is_masked_while_the_run_goes_on_also_where_a_piece_ends_in_it() -> None:
    """No page shows a part of it."""
    runs, may_go_on, half = LiveRuns(), threading.Event(), threading.Event()

    def act(tell: Any) -> RunResult:
        tell(RunStarted(run_id="r", trace_id="t", model="m"))
        tell(TextDelta(step=1, text=f"it is {KEY[:9]}"))
        half.set()
        assert may_go_on.wait(WITHIN)
        tell(TextDelta(step=1, text=f"{KEY[9:]} there"))
        return RunResult(answer=f"it is {KEY}", stop_reason=StopReason.FINAL_ANSWER, run_id="r", trace_id="t")

    run = runs.start("t", act, lambda _run: True, secret=KEY)
    assert half.wait(WITHIN)
    assert run.events[-1] == TextDelta(step=1, text="it is ")
    may_go_on.set()
    assert ended(run).answer == f"it is {OWN}"
    assert run.events[-1] == TextDelta(step=1, text=f"it is {OWN} there")


def test_a_typed_key_is_in_nothing_that_is_kept(home: Path) -> None:
    """A tool, the answer and an argument hold it: no file, no event, no result does, and nothing knows it after."""

    @tool(effect="read")
    def echo(say: str) -> str:
        """Say it."""
        return f"{say} {KEY}"

    asked = {"id": "call_1", "type": "function", "function": {"name": "echo", "arguments": f'{{"say": "{KEY}"}}'}}
    first = {"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": [asked]}}
    second = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": f"so {KEY}"}}
    replies = [Reply(body={**ANSWER, "choices": [choice]}) for choice in (first, second)]
    with chat_server(first=replies) as server:
        made = hold_secret(KEY)  # as the page does: a model makes its key known for good where it is not
        loop = Loop(OpenAIModel("m", base_url=server.base_url, api_key=KEY), [echo], store=home, content="full")
        run = start(LiveRuns(), loop, secret=KEY)
        made()
        result = ended(run)
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert result.answer == f"so {OWN}"
    assert KEY not in repr([*run.events, result, run.error, vars(run)])
    found = [path for path in home.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert found == []
    assert redact(KEY) == KEY


def test_what_a_run_was_made_of_is_let_go_with_its_end() -> None:
    """Its model among it, which holds the key; also after an exception."""
    runs = LiveRuns()
    with chat_server(Reply(status=401, body={"error": {"message": "no"}})) as server:
        made = OpenAIModel("m", base_url=server.base_url, api_key=OTHER)
        loop = Loop(made, store=None)
        ended(start(runs, loop, secret=OTHER))

        def act(tell: Any, held: Loop = loop) -> RunResult:
            held.run("p", on_event=tell)
            raise ValueError("after")

        assert runs.start("t", act, loop.cancel, secret=OTHER).wait(WITHIN)
        del made, loop, act
    gc.collect()
    assert [each for each in gc.get_objects() if type(each) is OpenAIModel and OTHER in repr(vars(each._clients))] == []
