"""A live run in a real browser, at servers over real HTTP: whole and streamed, slow, stopped, in two tabs."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from traced_loop import Loop, ModelError, Policy, ScriptedModel, tool
from traced_loop.closed_words import ModelErrorKind
from traced_loop.errors import UsageError
from traced_loop.events import ModelAnswered, TextDelta
from traced_loop.messages import ToolCall
from traced_loop.read.local_store import LocalStore
from traced_loop.testing import calls
from traced_loop.web.live_run_view import MOST_CHARACTERS

from ..command_line import WITHIN
from ..models.chat_server import ANSWER, Reply, chat_server, counted, delta, silent_server, streamed
from ..real.aimock import AimockMissingError, asks_for, in_order, running_aimock, says, tool_call
from .accessibility import assert_accessible
from .bare_pages import bare_pages, site_of
from .browser import visiting
from .live_asking import ask, start, stop_reason
from .running_page import running_page

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Browser

    from traced_loop import RunResult

pytestmark = pytest.mark.real

WITH_TOOLS = (sys.executable, Path(__file__).with_name("page_with_tools.py"))


def calling(name: str, arguments: str) -> Reply:
    """An answer with one call."""
    call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return Reply(body={**ANSWER, "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}]})


def fragment(**function: str) -> dict[str, Any]:
    """A piece of a streamed call."""
    more = {"id": "call_1", "type": "function"} if "name" in function else {}
    return delta(tool_calls=[{"index": 0, **more, "function": function}])


def test_a_long_text_is_shown_in_part_and_says_so(home: Path) -> None:
    """Of one that is being written the end, of a whole one the beginning; so do arguments and results."""
    pages, begun, go_on = bare_pages(home), Event(), Event()
    text = "first " + "x" * MOST_CHARACTERS + " last"
    call = ToolCall(id="c1", index=0, name="look", arguments=text)

    def act(tell: Callable[[object], None]) -> RunResult:
        tell(TextDelta(step=1, text=text))
        begun.set()
        assert go_on.wait(WITHIN)
        tell(ModelAnswered(step=1, finish_reason="tool_calls", text=text, calls=(call,)))
        raise UsageError("over")

    run = site_of(pages).live.start("t", act, lambda _run_id: True)
    assert begun.wait(WITHIN)
    written = pages.get(f"/lab/live/{run.name}").text
    go_on.set()
    assert run.wait(WITHIN)
    whole = pages.get(f"/lab/live/{run.name}").text

    assert (" last" in written, ">first " in written) == (True, False)
    assert written.count(f"The last part of {len(text):,} characters so far") == 1
    assert (" last" in whole, whole.count(">first ")) == (False, 2)
    assert whole.count(f"The beginning of {len(text):,} characters") == 2


def test_of_a_pause_after_a_write_it_says_only_that_the_call_that_waits_has_not_run(home: Path) -> None:
    """The first write was approved and is done, so nothing on the page says that there was none."""
    answers: dict[str, bool | None] = {"a": True, "b": None}

    @tool(effect="write")
    async def create(name: str) -> str:
        """Makes one."""
        return f"made {name}"

    loop = Loop(
        ScriptedModel([calls(("create", {"name": "a"})), calls(("create", {"name": "b"}))]),
        [create],
        policy=Policy(confirm=lambda asked: answers[asked.arguments["name"]]),
    )
    pages = bare_pages(home)
    run = site_of(pages).live.start("t", lambda tell: loop.run("go", on_event=tell), loop.cancel)
    assert run.wait(WITHIN)
    shown = pages.get(f"/lab/live/{run.name}").text

    assert "made a" in shown
    assert "The call that waits has not run." in shown
    assert "Nothing was written" not in shown


@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        ("rate_limited", "wait a little"),
        ("auth", "does not take the key"),
        ("not_found", "knows no such model"),
        ("connection", "see whether the server runs"),
        ("other", "What the server said stands above"),
    ],
)
def test_what_to_do_after_a_failed_request_depends_on_why_it_failed(home: Path, kind: str, advice: str) -> None:
    """Nobody looks for a server that is down when it asked to wait."""
    failed = ModelError("no", error_type="x", retryable=False, kind=ModelErrorKind(kind))
    loop = Loop(ScriptedModel([failed]), [])
    pages = bare_pages(home)
    run = site_of(pages).live.start("t", lambda tell: loop.run("go", on_event=tell), loop.cancel)
    assert run.wait(WITHIN)
    shown = pages.get(f"/lab/live/{run.name}").text

    assert advice in shown.partition('id="live-help"')[2].partition("</p>")[0]


def test_a_run_that_the_button_stopped_says_so_and_counts_the_step_that_was_begun(home: Path) -> None:
    """While the first answer is awaited one step is begun; who pressed the button reads no name of a function."""
    begun, go_on = Event(), Event()

    def answer(_: object) -> str:
        begun.set()
        assert go_on.wait(WITHIN)
        return "late"

    loop, pages = Loop(ScriptedModel([answer]), []), bare_pages(home)
    run = site_of(pages).live.start("t", lambda tell: loop.run("go", on_event=tell), loop.cancel)
    assert begun.wait(WITHIN)
    waiting = pages.get(f"/lab/live/{run.name}").text
    run.stop()
    go_on.set()
    assert run.wait(WITHIN)
    over = pages.get(f"/lab/live/{run.name}").text

    assert '<dd id="live-begun">1</dd>' in waiting
    assert "You stopped it." in over
    assert "Loop.cancel" not in over


def test_a_foreign_server_s_run_is_shown_with_its_calls_and_results(
    home: Path, browser: Browser, tmp_path: Path
) -> None:
    """Rounds, arguments, results, what is spent, the answer, and the way to the run's page; aimock answers."""
    lines = in_order(
        asks_for(tool_call("call_a", "calculator", {"expression": "18 * (4 + 2)"}), tool_call("call_b", "nothing", {})),
        says("It is 108."),
    )
    try:
        with running_aimock(lines, tmp_path) as provider:
            environment = {"OPENAI_BASE_URL": provider.base_url}
            with running_page(home, environment=environment) as server, visiting(browser, server.new_link()) as visit:
                page = visit.page
                ask(page, server.address, prompt="What is 18 * (4 + 2)?", key="zQ4-any-key")
                assert stop_reason(page) == "final_answer"
                page.wait_for_selector("#live-answer")
                first = page.inner_text("#live-step-1")
                assert all(word in first for word in ("calculator", "call_a", "18 * (4 + 2)", ":108}", "unknown_tool"))
                assert page.inner_text("#live-answer") == "It is 108."
                assert "Steps" in page.inner_text(".limits")
                assert_accessible(page)
                page.click("text=The page of this run")
                page.wait_for_selector("text=execute_tool calculator")
            assert [entry["stream"] for entry in provider.requests() if entry.get("stream")] == []
    except AimockMissingError as missing:
        pytest.skip(str(missing))


def test_a_streamed_run_shows_text_as_it_comes_and_calls_as_they_end(home: Path, browser: Browser) -> None:
    """The answer stands on the page before it is whole; stopping keeps what came."""
    asked = streamed(
        delta(role="assistant", content="Let me see."),
        fragment(name="multiply", arguments='{"a": 6,'),
        fragment(arguments=' "b": 7}'),
        delta("tool_calls"),
        counted(10, 5),
    )
    half = streamed(delta(role="assistant", content="It is "), delta(content="forty-"), done=False, end="open")
    with chat_server(half, first=[asked]) as provider:
        environment = {"OPENAI_BASE_URL": provider.base_url}
        with running_page(home, environment=environment) as server, visiting(browser, server.new_link()) as visit:
            page = visit.page
            ask(page, server.address, stream=True)
            page.wait_for_selector("#live-step-2 >> text=It is forty-")
            assert "The answer is being written" in page.inner_text("#live-says")
            assert all(word in page.inner_text("#live-step-1") for word in ("Let me see.", "multiply", ":42}"))
            assert_accessible(page)
            page.click("#live-stop")
            assert stop_reason(page) == "cancelled"
            page.wait_for_selector("#live-end >> text=It is forty-")
            assert page.locator("#live-stop").count() == 0
        assert provider.left.wait(20)


def test_a_silent_server_s_run_is_stopped_from_another_tab_and_both_tell(home: Path, browser: Browser) -> None:
    """Also the tab that was reloaded meanwhile; the page never waits for the run."""
    with silent_server() as address:
        environment = {"OPENAI_BASE_URL": address}
        with running_page(home, environment=environment) as server, visiting(browser, server.new_link()) as visit:
            where = ask(visit.page, server.address)
            visit.page.wait_for_selector("text=Waiting for the model")
            other = visit.tab()
            other.goto(f"{server.address}/lab")
            other.click("#going-on ~ ul a")
            assert other.url == where
            visit.page.reload()
            visit.page.wait_for_selector("text=Waiting for the model")
            other.bring_to_front()
            other.click("#live-stop")
            assert stop_reason(other) == "cancelled"
            visit.page.bring_to_front()
            assert stop_reason(visit.page) == "cancelled"
            assert visit.page.inner_text("#live-told") in {"", "It has ended."}
            visit.page.reload()
            assert stop_reason(visit.page) == "cancelled"


def test_a_wait_that_the_server_asks_for_is_shown(home: Path, browser: Browser) -> None:
    """How long until the next try, in the reader's language; then it goes on by itself."""
    busy = Reply(status=429, body={"error": {"message": "slow down"}}, headers={"retry-after": "3"})
    with chat_server(first=[busy]) as provider:
        environment = {"OPENAI_BASE_URL": provider.base_url}
        with (
            running_page(home, environment=environment) as server,
            visiting(browser, server.new_link(), locale="zh-CN") as visit,
        ):
            ask(visit.page, server.address)
            visit.page.wait_for_selector("text=/3 s 后重试/")
            assert stop_reason(visit.page) == "final_answer"
            visit.page.wait_for_selector("#live-step-1 >> text=rate_limited")
            assert_accessible(visit.page)
        assert len(provider.bodies) == 2


def test_a_hung_tool_holds_neither_the_page_nor_the_end_of_the_server(home: Path, browser: Browser) -> None:
    """Ctrl-C ends the program in a moment; the run is recorded as cancelled."""
    with chat_server(calling("hang", "{}")) as provider:
        environment = {"OPENAI_BASE_URL": provider.base_url}
        with running_page(home, environment=environment, program=WITH_TOOLS) as server:
            with visiting(browser, server.new_link()) as visit:
                ask(visit.page, server.address)
                visit.page.wait_for_selector("text=Waiting for hang")
                visit.page.reload()
                visit.page.wait_for_selector("text=Waiting for hang")
            server.process.send_signal(signal.SIGINT)
            server.process.wait(WITHIN)
    with LocalStore.open(home) as store:
        assert [run.stop_reason for run in store.runs()] == ["cancelled"]


def test_a_write_waits_for_a_person(home: Path, browser: Browser) -> None:
    """It is not done, and the page says where to confirm it."""
    with chat_server(calling("open_door", '{"door": "front"}')) as provider:
        environment = {"OPENAI_BASE_URL": provider.base_url}
        with (
            running_page(home, environment=environment, program=WITH_TOOLS) as server,
            visiting(browser, server.new_link()) as visit,
        ):
            visit.page.goto(f"{server.address}/lab/live")
            visit.page.fill("#prompt", "Open the front door")
            visit.page.click("button[value='check']")
            assert "writes" in visit.page.inner_text("main")
            start(visit.page)
            assert stop_reason(visit.page) == "confirmation_required"
            visit.page.wait_for_selector("#live-end a[href^='/confirmations#waits-']")
            assert "front is open" not in visit.page.inner_text("main")


def test_a_run_that_is_not_known_any_more_is_told_as_such(home: Path, browser: Browser) -> None:
    """After the server was started anew, for example."""
    with running_page(home) as server, visiting(browser, server.new_link()) as visit:
        answer = visit.page.request.get(f"{server.address}/lab/live/gone")
        assert answer.status == 404
        assert "started anew" in answer.text()
