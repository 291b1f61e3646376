"""Pages that keep themselves up to date, in a real browser: what a reader does meanwhile is not disturbed."""

from __future__ import annotations

import shutil
import signal
from typing import TYPE_CHECKING

import pytest

from ..command_line import traced_loop
from .browser import visiting
from .running_page import running_page

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.real

RUNS = "document.querySelectorAll('main a[href^=\"/runs/\"]').length"
UPDATED = "n => document.querySelectorAll('main a[href^=\"/runs/\"]').length >= n"


def test_many_windows_of_one_browser_are_all_kept_up_to_date(home: Path, browser: Browser) -> None:
    """More than a browser has connections for; those that have no stream ask."""
    traced_loop("demo")
    with running_page(home) as server, visiting(browser, server.new_link()) as visit:
        pages = [visit.page, *(visit.tab() for _ in range(6))]
        for page in pages[1:]:
            page.goto(server.address)
        before = visit.page.evaluate(RUNS)
        traced_loop("demo")
        for page in pages:
            page.wait_for_function(UPDATED, arg=before + 4)
        assert [page.evaluate(RUNS) for page in pages] == [before + 4] * 7


def test_two_tabs_and_a_reload_see_the_same(home: Path, browser: Browser) -> None:
    """Each by itself, and again after it was loaded anew."""
    with running_page(home) as server, visiting(browser, server.new_link()) as visit:
        other = visit.tab()
        other.goto(server.address)
        visit.page.reload()
        traced_loop("demo")
        for page in (visit.page, other):
            page.wait_for_function(UPDATED, arg=4)
            page.wait_for_function("() => document.querySelector('#list').innerText.includes('confirmation_required')")
        shown = visit.page.inner_text("#list")
        assert (other.inner_text("#list"), visit.page.evaluate(RUNS)) == (shown, 4)
        visit.page.reload()
        assert visit.page.inner_text("#list") == shown


def test_a_server_that_was_started_anew_is_told_and_recovers_with_its_new_link(home: Path, browser: Browser) -> None:
    """First that it does not answer, then that its link has to be opened; once that is done, the page goes on."""
    with running_page(home) as server:
        port = server.address.rpartition(":")[2]
        with visiting(browser, server.new_link()) as visit:
            state = visit.page.locator("#live-state")
            server.process.send_signal(signal.SIGINT)
            state.filter(has_text="traced-loop web").wait_for()
            with running_page(home, "--port", port) as again:
                state.filter(has_text="Open the link that the terminal shows").wait_for()
                visit.tab().goto(again.new_link())
                traced_loop("demo")
                visit.page.wait_for_function(UPDATED, arg=4)
                assert state.text_content() == ""
            assert all("Failed to load resource" in complaint for complaint in visit.complaints)
            visit.complaints.clear()


def test_a_run_that_is_gone_and_a_store_that_is_new_are_noticed(home: Path, browser: Browser) -> None:
    """The page of the run says that it is gone; the list shows the new store."""
    traced_loop("demo")
    with running_page(home) as server, visiting(browser, server.new_link()) as visit:
        visit.page.locator('main a[href^="/runs/"]').first.click()
        visit.page.wait_for_url("**/runs/*")
        shutil.rmtree(home)
        visit.page.locator("#live-state").filter(has_text="not in the store any more").wait_for()
        visit.page.goto(server.address)
        visit.page.wait_for_selector("main .empty")
        traced_loop("demo")
        visit.page.wait_for_function(UPDATED, arg=4)
        assert visit.page.evaluate(RUNS) == 4
        visit.complaints[:] = [complaint for complaint in visit.complaints if "404" not in complaint]


def seeded(page: Page, inside: str) -> None:
    """Put more into the part that will be replaced, in the page and in what the server will say, by its stamp alone."""
    page.evaluate(
        """inside => {
          const original = window.fetch;
          window.fetch = async (address, ...how) => {
            const answer = await original(address, ...how);
            if (String(address) !== location.href) return answer;
            const text = (await answer.text()).replace('<div id="list"', inside + '<div id="list"');
            return new Response(text, {status: 200});
          };
          const part = document.createElement("template");
          part.innerHTML = inside;
          document.getElementById("list").before(part.content);
          document.getElementById("seeded").dataset.live = "before";
        }""",
        f'<section id="seeded" data-live="after">{inside}</section>',
    )


def replaced(page: Page) -> None:
    """Wait until the seeded part is the new one."""
    page.wait_for_function("() => document.getElementById('seeded').dataset.live === 'after'")


def test_what_a_reader_has_done_stays(home: Path, browser: Browser) -> None:
    """Opened, typed with the cursor in its place, scrolled, focused; a link is known by its address."""
    with running_page(home) as server, visiting(browser, server.new_link()) as visit:
        page = visit.page
        seeded(
            page,
            '<details id="d"><summary>more</summary>text</details><input id="i" aria-label="i" value="server">'
            '<div class="scroll" id="s"><p class="wide">wide</p></div>',
        )
        page.evaluate("document.querySelector('#s').style.width = '100px'")
        page.click("#d summary")
        page.fill("#i", "half typed")
        page.evaluate("document.getElementById('i').setSelectionRange(2, 4)")
        traced_loop("demo")
        replaced(page)
        assert page.evaluate("document.getElementById('d').open")
        assert page.input_value("#i") == "half typed"
        focus = (
            "[document.activeElement.id, document.activeElement.selectionStart, document.activeElement.selectionEnd]"
        )
        assert page.evaluate(focus) == ["i", 2, 4]


def test_text_that_a_reader_has_selected_is_not_taken_away(home: Path, browser: Browser) -> None:
    """The part waits until nothing of it is selected any more."""
    with running_page(home) as server, visiting(browser, server.new_link()) as visit:
        page = visit.page
        seeded(page, '<p id="p">to be copied</p>')
        page.evaluate("getSelection().selectAllChildren(document.getElementById('p'))")
        traced_loop("demo")
        page.wait_for_function(UPDATED, arg=4)
        assert page.evaluate("String(getSelection())") == "to be copied"
        assert page.evaluate("document.getElementById('seeded').dataset.live") == "before"
        page.evaluate("getSelection().removeAllRanges()")
        replaced(page)


def test_what_a_reader_looks_at_stays_in_its_place(home: Path, browser: Browser) -> None:
    """When something above it grows."""
    with running_page(home) as server, visiting(browser, server.new_link()) as visit:
        page = visit.page
        lines = "".join(f'<p id="line{number}">line {number}</p>' for number in range(200))
        seeded(page, lines)
        page.evaluate(
            """() => {
              for (let n = 0; n < 50; n += 1) document.getElementById(`line${n}`).remove();
              document.getElementById("line100").scrollIntoView({block: "start"});
            }"""
        )
        top = "document.getElementById('line100').getBoundingClientRect().top"
        before = page.evaluate(top)
        traced_loop("demo")
        replaced(page)
        assert page.evaluate("document.getElementById('line0') !== null")
        assert abs(page.evaluate(top) - before) < 1


def test_a_page_that_is_come_back_to_is_up_to_date(home: Path, browser: Browser) -> None:
    """By the browser's way back."""
    traced_loop("demo")
    with running_page(home) as server, visiting(browser, server.new_link()) as visit:
        visit.page.locator('main a[href^="/runs/"]').first.click()
        visit.page.wait_for_url("**/runs/*")
        traced_loop("demo")
        visit.page.go_back()
        visit.page.wait_for_function(UPDATED, arg=8)
        traced_loop("demo")
        visit.page.wait_for_function(UPDATED, arg=12)
        assert visit.page.evaluate(RUNS) == 12
