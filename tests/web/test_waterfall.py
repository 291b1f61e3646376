"""The waterfall of a run, as a person uses it in a real browser; and what its rows say, without one."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from traced_loop import Loop, ScriptedModel, names, tool
from traced_loop.read.span_tree import build
from traced_loop.read.trace import SpanEvent, SpanLink
from traced_loop.testing import calls
from traced_loop.web.waterfall import SpanRow, waterfall_of

from .accessibility import assert_accessible
from .browser import visiting
from .running_page import running_page
from .written_runs import BEGUN, MS, SECOND, TRACE, deep_run, root, span, stepped_run, wide_run, write_run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from traced_loop.read.trace import StoredSpan

    from .running_page import RunningPage

HOSTILE = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\x1b[31m\u202eevil"
PAGE_BYTES = 1_000_000


def call(number: int, parent: int, start: int, took: int | None, **more: Any) -> StoredSpan:
    """A span of a call of ``look``."""
    attributes = {
        names.GEN_AI_OPERATION: names.EXECUTE_TOOL,
        names.GEN_AI_TOOL_CALL_ID: f"call_{number}",
        names.CALL_OUTCOME: "ok",
        **more.pop("attributes", {}),
    }
    return span(number, parent, start, took, "execute_tool look", attributes=attributes, **more)


def repeating_run() -> list[StoredSpan]:
    """Two steps; the call of the second is the one of the first again."""
    again = {names.REPETITION_KIND: "identical_call", names.REPETITION_COUNT: 2}
    first = SpanLink(trace_id=TRACE, span_id=f"{4:016x}")
    return [
        root(4 * SECOND),
        span(2, 1, 0, 2 * SECOND, names.STEP, attributes={names.STEP_INDEX: 1, names.STEP_OUTCOME: "calls_handled"}),
        span(3, 2, 0, SECOND, "chat m", attributes={names.GEN_AI_OPERATION: names.CHAT}),
        call(4, 2, SECOND, SECOND),
        span(5, 1, 2 * SECOND, 2 * SECOND, names.STEP, attributes={names.STEP_INDEX: 2}),
        call(6, 5, 3 * SECOND, SECOND, attributes=again, links=(first,)),
    ]


@dataclass(frozen=True)
class Served:
    """One server for the file: runs have names of their own.

    Attributes:
        store: its folder.
        server: it.
        browser: readers' program.
    """

    store: Path
    server: RunningPage
    browser: Browser

    @contextmanager
    def seen(self, run_id: str, spans: list[StoredSpan], at: str = "", **how: Any) -> Iterator[Page]:
        """The page of a written run, in the browser of a new reader."""
        write_run(self.store, run_id, spans)
        with visiting(self.browser, self.server.new_link(), **how) as visit:
            visit.page.goto(f"{self.server.address}/runs/{run_id}{at}")
            visit.page.wait_for_selector("#wf tr.wf-row")
            if how.get("java_script_enabled", True):
                visit.page.wait_for_selector("#wf .wf-tools:not([hidden])")
            yield visit.page


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Served]:
    """The page over a store in which each test writes its run."""
    store = tmp_path_factory.mktemp("served") / "store"
    with running_page(store) as server:
        yield Served(store, server, browser)


def focused(page: Page) -> str:
    """The id of what has the focus."""
    return str(page.evaluate("document.activeElement.id"))


def row_id(number: int) -> str:
    """Of the row of a written span."""
    return f"span-{number:016x}"


def shown_rows(page: Page) -> list[str]:
    """The titles of the rows that can be seen."""
    return [text.strip() for text in page.locator("tr.wf-row:visible a.wf-title").all_inner_texts()]


def test_a_row_says_what_it_shows_without_its_colours() -> None:
    """Name, length, start, outcome, critical path and gap are in the words of the row."""
    spans = [
        root(10 * SECOND),
        span(2, 1, SECOND, 2 * SECOND, names.AUTHORIZE_CALL, attributes={names.CONFIRMATION_STATE: "approved",
             names.CONFIRMATION_WAIT_MS: 1900, names.CALL_TOOL: "refund"}),
        call(3, 1, 3 * SECOND, 2 * SECOND, is_error=True, status_message="too slow"),
    ]  # fmt: skip
    rows = [row for row in waterfall_of(build(spans), run_id="run").rows if isinstance(row, SpanRow)]

    assert [row.title for row in rows] == ["invoke_agent written", "authorize_call refund", "execute_tool look"]
    assert [row.gap_ns for row in rows] == [6 * SECOND, 0, 0]
    assert rows[1].wait_ns == 1900 * MS
    assert [word.text for word in rows[2].words][:2] == ["ok", "ERROR: too slow"]
    assert all(row.is_on_path for row in rows)


def test_a_span_before_its_parent_is_said_to_be_early() -> None:
    """Clocks of two machines differ; the axis begins with the earliest."""
    rows = waterfall_of(build([root(SECOND), span(2, 1, -SECOND, SECOND, "early")]), run_id="run").rows

    assert [row.early_ns for row in rows if isinstance(row, SpanRow)] == [0, SECOND]
    assert [row.start_ns for row in rows if isinstance(row, SpanRow)] == [SECOND, 0]


def test_the_pause_before_a_resumed_run_is_drawn_short() -> None:
    """Four hours between two parts of seconds take little of the width, and are said."""
    parts = [
        root(10 * SECOND),
        replace(span(2, None, 14_400 * SECOND, 10 * SECOND, "invoke_agent written"), trace_id="b" * 32),
    ]
    waterfall = waterfall_of(build(parts), run_id="run")

    (pause,) = waterfall.pauses
    assert pause.length_ns == 14_390 * SECOND
    assert float(pause.width.rstrip("%")) == pytest.approx(5)
    assert waterfall.axis.length_ns == 20 * SECOND


@pytest.mark.real
def test_the_tree_is_walked_with_the_keyboard_alone(served: Served) -> None:
    """Down, up, left to close and to the parent, right to open, Home and End, Enter for the details, Escape back."""
    with served.seen("keys", repeating_run()) as page:
        page.locator("#wf-find").focus()
        page.keyboard.press("Tab")
        assert focused(page) == row_id(1)
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowLeft")
        assert page.get_attribute(f"#{row_id(2)}", "aria-expanded") == "false"
        page.keyboard.press("ArrowDown")
        assert focused(page) == row_id(5)
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        assert focused(page) == row_id(3)
        page.keyboard.press("ArrowLeft")
        assert focused(page) == row_id(2)
        page.keyboard.press("End")
        assert focused(page) == row_id(6)
        page.keyboard.press("Enter")
        page.wait_for_selector(".wf-panel dl")
        assert "call_6" in page.inner_text(".wf-panel")
        assert page.url.endswith("/runs/keys")
        page.keyboard.press("Escape")
        assert focused(page) == row_id(6)
        assert page.locator(".wf-panel").count() == 0
        page.keyboard.press("Home")
        assert focused(page) == row_id(1)
        label = page.get_attribute(f"#{row_id(6)}", "aria-label") or ""
        assert label.startswith("execute_tool look, 1 s, starts after 3 s, ok")


@pytest.mark.real
def test_a_repetition_leads_to_its_first_occurrence(served: Served) -> None:
    """By key, also where that is hidden in a closed step; an arc is drawn between the two."""
    with served.seen("again", repeating_run()) as page:
        arc = page.locator("#wf-arcs path.repeats")
        assert arc.get_attribute("data-to") == f"{4:016x}"
        page.click(f"#{row_id(2)} .wf-toggle")
        assert page.locator(f"#{row_id(4)}").is_hidden()
        page.wait_for_selector("#wf-arcs path.repeats.away", state="attached")
        page.locator(f"#{row_id(6)}").focus()
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "↰ repeats"
        page.keyboard.press("Enter")
        page.wait_for_function(f"() => document.activeElement.id === '{row_id(4)}'")
        assert page.locator(f"#{row_id(4)}").is_visible()
        page.locator(f"#{row_id(6)}").focus()
        page.keyboard.press("l")
        assert focused(page) == row_id(4)


@pytest.mark.real
def test_times_are_zoomed_by_key_button_and_mouse_and_the_ruler_follows(served: Served) -> None:
    """Bars grow, the ruler shows the part that is seen, and 0 shows the whole run again."""
    with served.seen("zoom", repeating_run()) as page:
        bar, window = page.locator(f"#{row_id(4)} rect.wf-bar"), page.locator("#wf-window")
        whole = bar.bounding_box()
        page.locator(f"#{row_id(1)}").focus()
        page.keyboard.press("+")
        zoomed = bar.bounding_box()
        assert whole is not None
        assert zoomed is not None
        assert zoomed["width"] == pytest.approx(2 * whole["width"], abs=3)
        assert window.inner_text() == "1 s \u2013 3 s"
        page.keyboard.press("Shift+ArrowRight")
        assert window.inner_text() == "1.5 s \u2013 3.5 s"
        assert page.locator("#wf-ruler text").all_text_contents() == ["1.5 s", "2 s", "2.5 s", "3 s"]
        page.keyboard.press("0")
        assert window.inner_text() == ""
        page.click("#wf-in")
        page.click("#wf-reset")
        clip = page.locator(f"#{row_id(3)} .wf-clip").bounding_box()
        assert clip is not None
        middle = clip["y"] + clip["height"] / 2
        page.mouse.move(clip["x"] + clip["width"] / 4, middle)
        page.mouse.down()
        page.mouse.move(clip["x"] + clip["width"] / 2, middle, steps=4)
        page.mouse.up()
        assert float(page.get_attribute("#wf", "data-from") or 0) == pytest.approx(0.25, abs=0.01)
        assert float(page.get_attribute("#wf", "data-to") or 0) == pytest.approx(0.5, abs=0.01)
        page.keyboard.down("Control")
        page.mouse.wheel(0, 100)
        page.keyboard.up("Control")
        page.wait_for_function("() => document.getElementById('wf').dataset.to > 0.51")


@pytest.mark.real
@pytest.mark.parametrize(("width", "touch"), [(1400, False), (400, True)])
def test_a_bar_opens_the_details_and_its_row_stays_in_sight(served: Served, width: int, touch: bool) -> None:
    """As the name does; where there is room the row stays in its very place, though the page gets narrower."""
    viewport = {"width": width, "height": 700}
    with served.seen("bars", stepped_run(4), viewport=viewport, has_touch=touch) as page:
        bar = page.locator(f"#{row_id(25)} .wf-time")
        bar.scroll_into_view_if_needed()
        before = bar.bounding_box()
        if touch:
            bar.tap()
        else:
            bar.click()
        page.wait_for_selector(".wf-panel dl")
        after, panel = bar.bounding_box(), page.locator(".wf-panel").bounding_box()
        assert before is not None
        assert after is not None
        assert panel is not None
        assert page.locator(f"#{row_id(25)}.chosen").count() == 1
        if touch:
            assert 0 <= after["y"] <= panel["y"] - after["height"] + 1
        else:
            assert after["y"] == pytest.approx(before["y"], abs=1)
        page.keyboard.press("Escape")
        assert focused(page) == row_id(25)
        closed = bar.bounding_box()
        assert closed is not None
        assert 0 <= closed["y"] < 700


@pytest.mark.real
def test_a_part_of_the_time_that_is_drawn_out_opens_no_details(served: Served) -> None:
    """Its end is a click, too."""
    with served.seen("drawn", repeating_run()) as page:
        page.locator(f"#{row_id(3)}").scroll_into_view_if_needed()
        clip = page.locator(f"#{row_id(3)} .wf-clip").bounding_box()
        assert clip is not None
        page.evaluate("addEventListener('click', () => { window.clicks = (window.clicks || 0) + 1; })")
        page.mouse.move(clip["x"] + clip["width"] / 4, clip["y"] + 9)
        page.mouse.down()
        page.mouse.move(clip["x"] + clip["width"] / 2, clip["y"] + 9, steps=4)
        page.mouse.up()
        page.wait_for_function("() => window.clicks === 1 && document.getElementById('wf').dataset.from > 0")
        assert page.locator(".wf-panel, .chosen").count() == 0
        page.locator(f"#{row_id(3)} .wf-clip").click()
        page.wait_for_selector(".wf-panel dl")


@pytest.mark.real
def test_what_is_shown_of_the_tree_can_be_changed_at_once(served: Served) -> None:
    """All, down to steps, nothing, the critical path, and what matches a text."""
    beside = call(7, 2, SECOND, SECOND // 2)
    with served.seen("tools", [*repeating_run(), beside]) as page:
        assert len(shown_rows(page)) == 7
        page.click("#wf-steps")
        assert shown_rows(page) == ["invoke_agent written", "step 1", "step 2"]
        page.click("#wf-collapse")
        assert shown_rows(page) == ["invoke_agent written"]
        page.click("#wf-expand")
        page.wait_for_function("() => document.querySelectorAll('tr.wf-row:not([hidden])').length === 7")
        page.click("#wf-only-path")
        assert len(shown_rows(page)) == 6
        assert page.locator(f"#{row_id(7)}").is_hidden()
        page.click("#wf-only-path")
        page.fill("#wf-find", "look")
        assert page.inner_text("#wf-window") == "3 rows match"
        page.press("#wf-find", "Enter")
        assert page.locator(f"#{row_id(4)}.chosen").count() == 1


@pytest.mark.real
def test_a_run_of_5000_spans_comes_in_parts(served: Served) -> None:
    """The first view is a small page; steps open when asked for, the next ones come, and a jump goes anywhere."""
    with served.seen("large", stepped_run(500)) as page:
        assert page.locator("tr.wf-row").count() == 101
        assert len(page.content().encode()) < PAGE_BYTES
        page.locator(f"#{row_id(2)}").focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(f"#{row_id(3)}")
        assert page.locator("tr.wf-row").count() == 110
        assert page.inner_text("tr.wf-more") == "400 more spans here: show the next ones"
        page.click("tr.wf-more a")
        page.wait_for_selector(f"#{row_id(2 + 10 * 80)}")
        assert page.inner_text("tr.wf-more") == "300 more spans here: show the next ones"
        page.evaluate(f"location.hash = '{row_id(2 + 10 * 300 + 4)}'")
        page.wait_for_selector(f"#{row_id(2 + 10 * 300 + 4)}:focus")
        assert page.locator(f"#{row_id(2 + 10 * 300)}").get_attribute("aria-posinset") == "301"
        assert page.locator(f"#{row_id(3)}").is_visible()


@pytest.mark.real
def test_rows_that_do_not_come_are_told_of(served: Served) -> None:
    """As when the server has been started anew since."""
    refuses = """() => {
      const plain = window.fetch;
      const refused = () => Promise.resolve(new Response("", { status: 401 }));
      window.fetch = (address, ...how) => (String(address).includes("/rows?") ? refused() : plain(address, ...how));
    }"""
    with served.seen("refused", wide_run(300)) as page:
        page.evaluate(refuses)
        page.click("tr.wf-more a")
        page.wait_for_selector("#wf-window:has-text('could not be loaded')")
        assert page.locator("tr.wf-more a").count() == 1  # to be tried again


@pytest.mark.real
def test_a_span_can_be_jumped_to_wherever_it_lies(served: Served) -> None:
    """By the address of a new page; one among 5,000 siblings, and one that lies too deep has its details shown."""
    with served.seen("wide", wide_run(5_000), f"#{row_id(2_500)}") as page:
        page.wait_for_selector(f"#{row_id(2_500)}:focus")
        assert page.locator("tr.wf-more").count() == 2
        write_run(served.store, "deep", deep_run(2_000))
        page.goto(f"{served.server.address}/runs/deep#{row_id(400)}")
        page.wait_for_selector(f"#{row_id(400)}:focus")
        page.evaluate(f"location.hash = '{row_id(1_900)}'")
        page.wait_for_selector(".wf-panel dl")
        assert "level 1898" in page.inner_text(".wf-panel")


@pytest.mark.real
def test_text_of_the_trace_is_shown_and_does_nothing(served: Served) -> None:
    """Names, attributes, events, status texts and ids, in the rows and in the details."""
    event = SpanEvent(time_ns=BEGUN, name=HOSTILE, attributes={HOSTILE: HOSTILE})
    bad = span(2, 1, 0, SECOND, HOSTILE, attributes={HOSTILE: HOSTILE, "big": "x" * 500_000}, events=(event,))
    odd = replace(span(3, 1, 0, SECOND, HOSTILE), span_id='"><script>alert(1)</script>')
    with served.seen("hostile", [root(SECOND), replace(bad, is_error=True, status_message=HOSTILE), odd]) as page:
        assert "<script>document.title='owned'</script>" in page.inner_text(f"#{row_id(2)}")
        assert "\\x1b[31m\\u202eevil" in (page.get_attribute(f"#{row_id(2)}", "aria-label") or "")
        page.click(f"#{row_id(2)} a.wf-title")
        page.wait_for_selector(".wf-panel dl")
        said = page.inner_text(".wf-panel")
        assert said.count("\\u202eevil") >= 5
        assert "496000 more characters" in said
        assert page.locator("main script, main img").count() == 0
        assert "owned" not in page.title()
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


@pytest.mark.real
def test_a_run_that_goes_on_grows_and_what_the_reader_has_done_stays(served: Served) -> None:
    """New rows come, the closed step stays closed, zoom and focus stay, and rows that were asked for are kept."""
    spans = stepped_run(150)
    going_on = [replace(spans[0], is_open=True, end_ns=0), *spans[1:]]
    with served.seen("live", going_on) as page:
        page.click("#wf-in")
        page.locator(f"#{row_id(2)}").focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(f"#{row_id(3)}")
        page.click("tr.wf-more a")
        page.wait_for_selector(f"#{row_id(2 + 10 * 110)}")
        page.locator(f"#{row_id(2 + 10 * 110)}").focus()
        before = page.get_attribute("#wf", "data-from")
        more = span(9_000, 1, 150 * SECOND, None, names.STEP, attributes={names.STEP_INDEX: 151})
        write_run(served.store, "live", [*going_on, more])
        page.wait_for_selector(f"#{row_id(9_000)}")
        assert page.locator(f"#{row_id(3)}").is_visible()
        assert page.locator(f"#{row_id(2 + 10 * 110)}").is_visible()
        assert focused(page) == row_id(2 + 10 * 110)
        assert page.get_attribute("#wf", "data-from") == before
        assert page.locator("tr.wf-more").count() == 0
        places = page.locator("tr.wf-row[aria-level='2']").evaluate_all("rows => rows.map(row => row.dataset.place)")
        assert places == [str(n) for n in range(151)]


@pytest.mark.real
def test_a_run_of_this_moment_is_seen_to_grow(home: Path, browser: Browser) -> None:
    """While a tool runs, its bar is open and its length counts on; when it ends, that is shown."""
    begun, may_end = threading.Event(), threading.Event()

    @tool(effect="read")
    def slow() -> str:
        """Waits until it may end."""
        begun.set()
        assert may_end.wait(60)
        return "done"

    loop = Loop(ScriptedModel([calls(("slow", {})), "done"]), [slow])
    thread = threading.Thread(target=loop.run, args=("Go.",), daemon=True)
    thread.start()
    assert begun.wait(60)
    with running_page(home) as server, visiting(browser, server.new_link()) as visit:
        page = visit.page
        page.click("a[href^='/runs/']")
        page.wait_for_selector("tr.wf-row.tool.open [data-since]")
        page.wait_for_function("() => Number(document.getElementById('wf').style.getPropertyValue('--grown')) < 1")
        page.fill("#wf-find", "slow")
        found = page.inner_text("#wf-window")
        expect(page.locator("#wf")).not_to_have_attribute("style", page.get_attribute("#wf", "style") or "")
        assert (page.inner_text("#wf-window"), "match" in found) == (found, True)
        may_end.set()
        page.wait_for_selector("tr.wf-row.tool:not(.open)")
        thread.join(60)
        page.wait_for_selector("tr.wf-row.run:not(.open)")
    assert not thread.is_alive()


@pytest.mark.real
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_people_with_other_eyes_and_small_screens_can_use_it(served: Served, theme: Any) -> None:
    """No serious finding in either theme, with the details open too; nothing scrolls sideways at 400 pixels."""
    spans = [*repeating_run(), call(7, 2, SECOND, None), call(8, 2, SECOND, 0, is_error=True, status_message="x" * 300)]
    with served.seen("eyes", spans, color_scheme=theme, viewport={"width": 400, "height": 800}) as page:
        page.click("#wf-legend summary")
        page.click("#wf-steps")
        assert shown_rows(page) == ["invoke_agent written", "step 1", "step 2"]
        page.click("#wf-expand")
        page.wait_for_selector(f"#{row_id(8)}:visible")
        assert_accessible(page)
        page.click(f"#{row_id(4)} a.wf-title")
        page.wait_for_selector(".wf-panel dl")
        assert_accessible(page)
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


@pytest.mark.real
def test_without_script_the_rows_and_every_span_can_be_read(served: Served) -> None:
    """Names are links to pages of their own; more of many siblings are a page further."""
    with served.seen("plain", wide_run(300), java_script_enabled=False) as page:
        assert page.locator("tr.wf-row").count() == 101
        page.click("tr.wf-more a")
        assert "81 to 180 of 300" in page.inner_text("main")
        page.click("text=work 100")
        assert "work 100" in page.inner_text("h1")
        page.click("text=Back to the run")
        assert page.locator(f"#{row_id(102)}").is_visible()
