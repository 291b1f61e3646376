"""The page of one run: what it answers, and in a real browser what a person does with it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import expect

from traced_loop import names, tool
from traced_loop.closed_words import CostSource, UsageSource
from traced_loop.diagnose.finding import FindingKind, Severity
from traced_loop.diagnose.time_books import TimeKind
from traced_loop.diagnose.token_books import PartKind
from traced_loop.outcomes import Outcome, StopReason
from traced_loop.read.agent_run import Gap
from traced_loop.read.otlp_json import read_lines
from traced_loop.read.run_entry import RunState
from traced_loop.read.settled_write import Settled
from traced_loop.rules.budget import EACH, LIMITS
from traced_loop.testing import calls
from traced_loop.web.page_words import LANGUAGES, page_words
from traced_loop.web.run_delivery import State
from traced_loop.web.run_view import MANY_SPANS

from ..command_line import traced_loop
from .accessibility import assert_accessible
from .bare_pages import bare_pages
from .browser import visiting
from .running_page import RunningPage, running_page
from .sample_runs import HOSTILE, LARGE, doubtful_run, hostile_run, large_run, plain_run, repeating_run, stored
from .written_runs import SECOND, root, span, write_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from traced_loop import RunResult

WAITS = """
import pathlib, sys, time
from traced_loop import Loop, ScriptedModel, tool
from traced_loop.testing import calls

@tool(effect="read")
def wait_for(name: str) -> str:
    "Wait until somebody says so."
    while not pathlib.Path(name).exists():
        time.sleep(0.01)
    return "it came"

script = [calls(("wait_for", {"name": "first"})), calls(("wait_for", {"name": "second"})), "over"]
print("begun", flush=True)
Loop(ScriptedModel(script), tools=[wait_for], store=sys.argv[1], name="waits").run("Wait")
"""


def html(home: Path, run: RunResult | str, **how: Any) -> str:
    """The page as it is answered."""
    run_id = run if isinstance(run, str) else run.run_id
    answer = bare_pages(home, **how).get(f"/runs/{run_id}")
    assert answer.status_code == 200
    return answer.text


def test_every_page_of_a_run_has_a_title_of_its_own_and_the_programs(home: Path) -> None:
    """As tabs of a browser show them."""
    run = plain_run(home)
    pages = bare_pages(home)
    parts = ("", "/findings", "/messages", "/messages/1/0")
    texts = [pages.get(f"/runs/{run.run_id}{part}").text for part in parts]
    titles = [text.partition("<title>")[2].partition("</title>")[0] for text in texts]
    assert len(set(titles)) == len(parts)
    assert all(title.endswith(f"Run {run.run_id} · traced_loop") for title in titles)


def test_a_column_of_one_request_is_named_by_its_step(home: Path) -> None:
    """Not as steps from itself to itself."""
    text = bare_pages(home).get(f"/runs/{plain_run(home).run_id}").text
    assert "<title>step 2: " in text
    assert "steps 2 to 2" not in text


def test_a_stopped_run_says_why_and_what_to_do(home: Path) -> None:
    """In words, beside the closed word; the loop's own sentence is marked as English."""
    page = html(home, repeating_run(home), language="zh")

    assert '<span class="tag bad"><span aria-hidden="true">✕</span> repetition_detected</span>' in page
    assert "反复做同样的事" in page
    assert '<p class="theirs" lang="en">' in page


def test_a_healthy_run_says_that_nothing_was_found(home: Path) -> None:
    """And what it has not written, and where a link to Jaeger would stand."""
    run = stored(home, ["done"])

    page = html(home, run)
    linked = html(home, run, environment={"TRACED_LOOP_JAEGER_UI": "http://127.0.0.1:16686/"})

    assert "Nothing found" in page
    assert "has written nothing" in page
    assert "With TRACED_LOOP_JAEGER_UI set" in page
    assert f'href="http://127.0.0.1:16686/trace/{run.trace_id}"' in linked


def test_a_run_that_goes_on_is_not_called_healthy(home: Path) -> None:
    """Its page says that it still runs, as of when its findings are; its time counts on."""
    begun = threading.Event()
    may_end = threading.Event()

    @tool(effect="read")
    def slow() -> str:
        """Waits until it may end."""
        begun.set()
        assert may_end.wait(60)
        return "done"

    thread = threading.Thread(target=stored, args=(home, [calls(("slow", {})), "done"]), kwargs={"more": [slow]})
    thread.start()
    assert begun.wait(60)
    try:
        pages = bare_pages(home)
        text = pages.get(pages.get("/runs/last").headers["location"]).text
    finally:
        may_end.set()
        thread.join(60)
    findings = text.partition('id="findings-body"')[2].partition("</section>")[0]
    limits = text.partition('id="limits"')[2].partition("</section>")[0]
    assert "healthy" not in findings
    assert "is not known yet" in findings
    assert findings.count("As of") == 2
    assert "why the run ended" not in findings
    assert re.search(r'data-begun="\d+" data-limit="300000"', limits)


def test_the_record_of_a_resumed_run_is_told_part_by_part(home: Path) -> None:
    """The spans add up to those of the waterfall; each part has the counts of its own receipt."""
    attributes = {names.GEN_AI_OPERATION: names.INVOKE_AGENT, names.RUN_ID: "again", names.RUN_STOP_REASON: "refused"}
    first = root(SECOND, attributes={**attributes, names.RECEIPT_STARTED: 2})
    last = replace(root(SECOND, attributes={**attributes, names.RECEIPT_STARTED: 1}), trace_id="b" * 32)
    spans = [first, span(2, 1, 0, SECOND, "work"), replace(last, span_id="9" * 16, start_ns=first.end_ns + 1)]
    write_run(home, "again", [replace(each, end_ns=each.start_ns + SECOND) for each in spans])

    record = html(home, "again").partition('id="record"')[2].partition("</dl>")[0]

    assert "3 here, in 2 parts" in record
    assert "Part 1: 2 started, 2 here<br>Part 2: 1 started, 1 here" in record


def test_commands_of_findings_name_the_run(home: Path) -> None:
    """So that they can be copied as they are."""
    run = repeating_run(home)
    page = html(home, run)

    assert f"traced-loop show {run.run_id} --messages" in page
    assert "show RUN" not in page


def test_a_limit_that_no_call_was_under_says_so(home: Path) -> None:
    """The calls of a tool with a timeout of its own have taken no time of it, and were not the longest one of 0 s."""

    @tool(effect="read", timeout=2)
    def quick() -> str:
        """Has a timeout of its own."""
        return "done"

    page = html(home, stored(home, [calls(("quick", {})), "done"], more=[quick]))

    assert "at most 30 s; no call was under it" in page


def test_the_findings_of_a_large_run_come_after_its_page(home: Path) -> None:
    """The page has a link to them, which needs no script; they are the same there."""
    run = large_run(home, MANY_SPANS // 15 + 10)
    pages = bare_pages(home)

    page, findings = pages.get(f"/runs/{run.run_id}").text, pages.get(f"/runs/{run.run_id}/findings").text

    assert f'data-load="/runs/{run.run_id}/findings"' in page
    assert f'<a href="/runs/{run.run_id}/findings">' in page
    assert "finding waste" not in page
    assert "finding waste" in findings


def test_a_run_of_which_only_its_files_are_left_is_shown(home: Path) -> None:
    """Problems are said; so are those of a trace that is not whole."""
    run = plain_run(home)
    for path in home.glob("store.db*"):
        path.unlink()
    path = home / "spans" / f"{run.run_id}.otlp.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0][:40], b"\n", *lines[3:], lines[-1][:60]]))

    page = html(home, run)

    assert "unreadable_line" in page
    assert "torn_line" in page
    assert "missing" in page


def test_an_index_that_is_damaged_is_said(home: Path) -> None:
    """What the span files hold is shown all the same."""
    run = plain_run(home)
    for path in home.glob("store.db*"):
        path.unlink()
    (home / "store.db").write_bytes(b"not a database" * 100)

    page = html(home, run)

    assert "index_damaged" in page
    assert "final_answer" in page


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_a_person_said_of_a_write_takes_the_place_of_the_doubt(home: Path, language: str) -> None:
    """Also in a diagnosis that the page has made before; what is to be done now is to go on."""
    words = page_words(language).texts
    came, doubt = words["run.resolved"], words["run.doubtful"]
    run = doubtful_run(home)
    pages = bare_pages(home, language=language)
    before = pages.get(f"/runs/{run.run_id}").text
    assert doubt in before
    assert "nobody knows whether it was applied" in before
    resolved = traced_loop("resolve", run.run_id, "call_2", "--done", "--by", "<ann>", "--note", "no. 7")
    assert resolved.code == 0

    after = pages.get(f"/runs/{run.run_id}").text

    assert came in after
    assert doubt not in after
    assert after.count('<span class="theirs">&lt;ann&gt;</span>') == 1
    assert '<span class="theirs">no. 7</span>' in after
    assert "was applied, said by &lt;ann&gt; on 20" in after
    assert "nobody knows whether" not in after
    assert words["run.settled.done"] in after
    assert f"traced-loop resolve {run.run_id}" not in after
    assert f"traced-loop resume {run.run_id}" in after
    assert "was applied, said by &lt;ann&gt; on 20" in pages.get(f"/runs/{run.run_id}/findings").text


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("verdicts.stop", StopReason),
        ("verdicts.outcome", Outcome),
        ("verdicts.state", get_args(RunState)),
        ("run.finding", FindingKind),
        ("finding", FindingKind),
        ("run.severity", Severity),
        ("run.time", TimeKind),
        ("run.paid", PartKind),
        ("run.gap", Gap),
        ("run.limit", [*LIMITS, *EACH]),
        ("run.delivered", get_args(State)),
        ("run.settled", get_args(Settled)),
        ("run.usage_source", get_args(UsageSource)),
        ("run.cost_source", get_args(CostSource)),
    ],
)
def test_every_word_of_a_closed_list_is_explained(language: str, table: str, words: Iterable[str]) -> None:
    """In each language, and none that the list does not have."""
    known = {key for key in page_words(language).texts if key.startswith(f"{table}.")}
    assert known == {f"{table}.{word}" for word in words}


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, list[bytes]]:
    """A store with one run whose lines may be written anew."""
    store = tmp_path_factory.mktemp("damaged")
    run = doubtful_run(store)
    lines = (store / "spans" / f"{run.run_id}.otlp.jsonl").read_bytes().splitlines(keepends=True)
    return store, run.run_id, lines


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_no_damage_of_the_trace_is_an_error_of_the_page(
    damaged: tuple[Path, str, list[bytes]], data: st.DataObject
) -> None:
    """Lines that are lost, doubled, out of order, cut, or hold other values than they should."""
    store, run_id, lines = damaged
    values = ['"intValue":"-1"', '"intValue":"9223372036854775807"', '"doubleValue":1e308', '"stringValue":"<b>"']
    chosen = data.draw(st.lists(st.sampled_from(lines), max_size=2 * len(lines)))
    kept: list[bytes] = []
    for line in chosen:
        change = data.draw(st.sampled_from(["none", "none", "cut", "value", "time", "name"]))
        if change == "cut":
            line = line[: data.draw(st.integers(0, len(line)))]
        elif change == "value":
            line = re.sub(rb'"(int|double)Value":"?[-0-9.e]+"?', data.draw(st.sampled_from(values)).encode(), line)
        elif change == "time":
            line = re.sub(rb'UnixNano":"\d+"', b'UnixNano":"%d"' % data.draw(st.integers(-1, 2**64)), line)
        elif change == "name":
            line = line.replace(b'"name":"', b'"name":"\\u202e<script>')
        kept.append(line)
    path = store / "spans" / f"{run_id}.otlp.jsonl"
    path.write_bytes(b"".join(kept))
    pages = bare_pages(store)

    for below in ("", "/findings", "/messages", ".json", ".otlp.jsonl"):
        answer = pages.get(f"/runs/{run_id}{below}")
        assert answer.status_code == 200
        assert below or "<script>" not in re.sub(r'<script type="module" src="[^"]*"></script>', "", answer.text)


# In a real browser.


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store for all tests that only look."""
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def server(store: Path) -> Iterator[RunningPage]:
    """The page of that store."""
    with running_page(store) as running:
        yield running


@pytest.fixture(scope="module")
def doubtful(store: Path) -> RunResult:
    """A run with findings, writes, and one of which nobody knows."""
    return doubtful_run(store)


@contextmanager
def looking(browser: Browser, server: RunningPage, run_id: str, **how: Any) -> Iterator[Page]:
    """A new reader at the page of a run."""
    with visiting(browser, server.new_link(), **how) as visit:
        visit.page.goto(f"{server.address}/runs/{run_id}")
        yield visit.page


def width_is_kept(page: Page) -> bool:
    """Whether the page itself does not scroll sideways."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))


@pytest.mark.real
@pytest.mark.parametrize(("scheme", "locale", "width"), [("light", "en-GB", 1400), ("dark", "zh-CN", 400)])
def test_every_part_is_there_for_everybody(
    browser: Browser, server: RunningPage, doubtful: RunResult, scheme: str, locale: str, width: int
) -> None:
    """In both themes and languages, wide and narrow: axe finds nothing grave, and nothing sticks out."""
    how = {"color_scheme": scheme, "locale": locale, "viewport": {"width": width, "height": 900}}
    with looking(browser, server, doubtful.run_id, **how) as page:
        for part in ("head", "limits", "findings", "spending", "waterfall", "ledger", "record", "take"):
            assert page.locator(f"#{part}").inner_text().strip()
        page.locator("#messages-open > summary").click()
        page.wait_for_selector("#messages-body .message")
        assert_accessible(page)
        assert width_is_kept(page)


@pytest.mark.real
def test_evidence_and_calls_lead_to_their_spans_without_leaving_the_page(
    browser: Browser, server: RunningPage, doubtful: RunResult
) -> None:
    """The same jump a second time is one, too: whoever shows spans hears of it."""
    with looking(browser, server, doubtful.run_id) as page:
        page.evaluate(
            "window.stayed = true; addEventListener('hashchange', () => { window.jumps = (window.jumps || 0) + 1; })"
        )
        link = page.locator(".finding a.jump").first
        target = str(link.get_attribute("href")).partition("#")[2]
        link.click()
        assert page.evaluate("location.hash.slice(1)") == target
        link.click()
        page.wait_for_function("() => window.jumps === 2")
        page.locator("#messages-open > summary").click()
        page.locator("#messages-body a.jump").first.click()
        assert re.fullmatch(r"#span-[0-9a-f]{16}", page.evaluate("location.hash"))
        assert page.evaluate("window.stayed")


@pytest.mark.real
def test_the_run_can_be_copied_and_downloaded(browser: Browser, server: RunningPage, doubtful: RunResult) -> None:
    """The id, the JSON and the lines; what is downloaded is what is copied."""
    with visiting(browser, server.new_link()) as visit:
        visit.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=server.address)
        page = visit.page
        page.goto(f"{server.address}/runs/{doubtful.run_id}")
        page.locator(".headline button.copy").click()
        expect(page.locator("#copied")).to_have_text("Copied")
        expect(page.locator("#copy-id")).to_have_text("Copy the id")
        assert page.evaluate("navigator.clipboard.readText()") == doubtful.run_id
        page.locator("#copy-json").click()
        page.wait_for_function("async () => (await navigator.clipboard.readText()).startsWith('{')")
        copied = json.loads(page.evaluate("navigator.clipboard.readText()"))
        with page.expect_download() as waiting:
            page.locator("#take a[href$='.json']").click()
        assert waiting.value.suggested_filename == f"{doubtful.run_id}.json"
        assert json.loads(waiting.value.path().read_text()) == copied
        with page.expect_download() as waiting:
            page.locator("#take a[href$='.otlp.jsonl']").click()
        spans = list(read_lines(waiting.value.path().read_bytes().splitlines(keepends=True), []))
        assert {span.span_id for span in spans} == {span["span_id"] for span in copied["spans"]}


@pytest.mark.real
def test_hostile_content_is_inert_and_readable(browser: Browser, server: RunningPage, store: Path) -> None:
    """Nothing of it runs; five megabytes are a link; at 400 pixels nothing sticks out."""
    run = hostile_run(store)
    with looking(browser, server, run.run_id, viewport={"width": 400, "height": 800}) as page:
        page.on("dialog", lambda dialog: pytest.fail(f"it has spoken: {dialog.message}"))
        page.locator("#messages-open > summary").click()
        page.wait_for_selector("#messages-body .message")
        text = page.locator("#messages-body").inner_text()
        assert HOSTILE.partition("\x1b")[0] in text
        assert "\\x1b[31mred\\u202egnp.exe\\u2066 {{7*7}}" in text
        assert page.locator("main script, main img").count() == 0
        assert width_is_kept(page)
        link = page.locator("#messages-body a[href$='/messages/4/0']")
        assert "5,0" in link.inner_text()
        link.click()
        page.wait_for_load_state("load")
        page.wait_for_function(f"() => document.getElementById('whole')?.textContent.length >= {LARGE}")
        assert page.title() != "taken"


@pytest.mark.real
def test_everything_can_be_reached_with_the_keyboard(
    browser: Browser, server: RunningPage, doubtful: RunResult
) -> None:
    """The messages are opened, a jump is taken, and what is focused can be seen."""
    with looking(browser, server, doubtful.run_id) as page:
        press_until(page, "document.activeElement.matches('#findings a.jump')")
        page.keyboard.press("Enter")
        assert page.evaluate("location.hash").startswith("#span-")
        page.locator("#messages-open > summary").focus()
        page.keyboard.press("Enter")
        page.wait_for_selector("#messages-body .message")
        press_until(page, "document.activeElement.matches('#messages-body a.jump')")
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        press_until(page, "document.activeElement.matches('#take a')")


def press_until(page: Page, reached: str) -> None:
    """Press the tabulator until a place is reached."""
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate(reached):
            return
    pytest.fail(f"not reached: {reached}")


@pytest.mark.real
def test_without_scripts_everything_is_behind_a_link(
    browser: Browser, server: RunningPage, doubtful: RunResult
) -> None:
    """The messages have a page of their own; there is no button that does nothing."""
    with looking(browser, server, doubtful.run_id, java_script_enabled=False) as page:
        assert page.locator("button.copy:visible").count() == 0
        page.locator("#messages-open > summary").click()
        page.locator("#messages-body a").click()
        assert page.locator(".message").count() == 2
        page.locator("a.jump").first.click()
        assert re.search(rf"/runs/{doubtful.run_id}\?span=([0-9a-f]{{16}})#span-\1$", page.url)


@pytest.mark.real
def test_a_run_that_ends_while_its_page_is_open_is_followed_to_its_end(home: Path, browser: Browser) -> None:
    """What the reader has opened stays open, and what comes is there without a reload."""
    home.mkdir()
    program = subprocess.Popen(
        [sys.executable, "-c", WAITS, str(home)], cwd=home, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    )
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == "begun\n"
        with running_page(home) as server, visiting(browser, server.new_link()) as visit:
            page = visit.page
            page.wait_for_selector("#running th a")
            page.goto(f"{server.address}/runs/last")
            page.wait_for_selector("#head a.jump:has-text('wait_for (call_1)')")
            expect(page.locator("#head")).to_contain_text("It still runs.")
            page.locator("#messages-open > summary").click()
            page.wait_for_selector("#messages-body .message")
            assert page.locator("#messages-body .result").count() == 0
            page.locator("#doing-1").focus()
            (home / "first").touch()
            page.wait_for_selector("#head a.jump:has-text('wait_for (call_2)')")
            expect(page.locator("#messages-body .result")).to_have_count(1)
            assert page.evaluate("document.activeElement.id") == "doing-1"
            (home / "second").touch()
            expect(page.locator("#head .tag").first).to_have_text("✓ final_answer")
            expect(page.locator("#messages-body .message").last).to_contain_text("over")
            assert page.evaluate("document.getElementById('messages-open').open")
            expect(page.locator("#limits .limit").first).to_contain_text("3 of 8")
            assert program.wait(20) == 0
    finally:
        if program.poll() is None:
            program.send_signal(signal.SIGKILL)
        program.communicate()


@pytest.mark.real
def test_the_findings_of_a_large_run_come_by_themselves(browser: Browser, server: RunningPage, store: Path) -> None:
    """After the first view, which does not wait for them; the place that they take is kept for them."""
    run = large_run(store, MANY_SPANS // 15 + 10)
    with looking(browser, server, run.run_id) as page:
        page.wait_for_selector("#findings .finding")
        painted = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        came = page.evaluate(
            "performance.getEntriesByType('resource').find((e) => e.name.endsWith('/findings')).responseEnd"
        )
        assert painted < came
        page.locator("#findings a.jump").first.click()
        assert page.evaluate("location.hash").startswith("#span-")
