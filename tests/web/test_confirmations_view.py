"""Calls that wait are answered in a real browser, and the paused run goes on against a real model server, once."""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from traced_loop import Identity, Loop, Policy, ScriptedModel
from traced_loop.read.local_store import LocalStore
from traced_loop.records.store import Store
from traced_loop.testing import calls

from ..command_line import WITHIN
from ..command_line import program as program_of
from ..models.chat_server import ChatServer, chat_server
from ..python_program import environment
from ..test_resumed_processes import SHOP, answer
from .browser import Visit, visiting
from .running_page import RunningPage, running_page
from .sent_forms import form_of, sent_together

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from traced_loop.run_result import RunResult

pytestmark = pytest.mark.real
KEY = "zQ4-typed-by-hand-7731"
SECRET = "sk-proj-" + "abcdefghijklmnopqrstuvwxyz0123456789ABCD"
TWO = calls(("create", {"title": "A"}), ("create", {"title": "C"}))


@dataclass
class Shop:
    """A tool that writes into a file, runs of it that pause, and a page that can go on with them."""

    folder: Path
    store: Path

    def __post_init__(self) -> None:
        (self.folder / "shop.py").write_text(SHOP)
        self.code: dict[str, Any] = {}
        exec(compile(SHOP, "shop.py", "exec"), self.code)  # the same tools as the page imports

    def paused(self, *script: Any, **how: Any) -> RunResult:
        """A run of another process, as far as the page can tell, that waits for a person."""
        result = self.code["loop"](*script, policy=Policy()).run("Go.", **how)
        assert result.stop_reason == "confirmation_required"
        return result

    @property
    def created(self) -> list[str]:
        """What was really written."""
        path = self.folder / "created"
        return path.read_text().splitlines() if path.exists() else []

    @contextmanager
    def page(
        self, *options: str, model: ChatServer | None = None, key: str = "k", **variables: str
    ) -> Iterator[RunningPage]:
        """The page, with the shop's tools and a model where there is one."""
        known = () if model is None else ("--base-url", model.base_url, "--model", "m")
        env = {**environment(self.store), "OPENAI_API_KEY": key if model else "", **variables}
        chosen = options or ("--tools", "shop:create,shop:read")
        with running_page(self.store, *known, *chosen, environment=env, cwd=self.folder) as server:
            yield server

    def run(self, *arguments: str) -> Any:
        """A command of the user's beside the page."""
        return program_of(*arguments, environment=environment(self.store, OPENAI_API_KEY="k"), cwd=self.folder)

    def ended(self, run_id: str) -> str | None:
        """Why a run has ended, by the store."""
        with LocalStore.open(self.store) as reader:
            entry = reader.entry(run_id)
        return entry.stop_reason if entry is not None else None


@pytest.fixture
def shop(home: Path, tmp_path: Path) -> Shop:
    """An empty store."""
    return Shop(tmp_path, home)


def confirmations(visit: Visit) -> Page:
    """The page of what waits, by its link."""
    visit.page.click("nav >> text=Confirmations")
    visit.page.wait_for_url("**/confirmations")
    return visit.page


def until_said(page: Page, selector: str, text: str) -> None:
    """Until a part of the page says exactly this; ``""`` for nothing."""
    expect(page.locator(selector)).to_have_text(text, timeout=WITHIN * 1000)


def until_over(page: Page, reason: str = "final_answer") -> None:
    """Until the page on which a run goes on says that it has ended so."""
    page.wait_for_url("**/lab/live/*")
    expect(page.locator("#live-what .tag")).to_contain_text(reason, timeout=WITHIN * 1000)


def until_waits(page: Page) -> None:
    """Until it has paused again; then the page of what waits, by the link that is there."""
    until_over(page, "confirmation_required")
    page.click("text=Confirm or reject what waits")
    page.wait_for_url("**/confirmations#waits-*")


def test_a_yes_lets_the_run_go_on_once_with_the_name_of_who_said_it(shop: Shop, browser: Browser) -> None:
    """From ``run`` on the command line to its answer, by the buttons of the page; then nothing waits any more."""
    first = [answer(("create", {"title": "A"}))]
    with chat_server(answer(text="Done."), first=first) as model:
        ran = shop.run("run", "Go.", "--base-url", model.base_url, "--model", "m", "--tools", "shop:create")
        assert ran.code == 4, ran.err
        with (
            shop.page("--tools", "shop:create", model=model) as server,
            visiting(browser, server.new_link()) as visit,
        ):
            assert "1 waiting" in visit.page.inner_text("nav")
            page = confirmations(visit)
            assert "create" in page.inner_text("fieldset legend")
            page.fill("input[name=by]", "Ann")
            page.click("text=Approve: run it")
            until_over(page)
            until_said(page, "#waiting-count", "")
            assert shop.created == ["A"]
            page.click("text=The page of this run")
            page.wait_for_url("**/runs/*")
            run_id = page.url.rpartition("/")[2]
            until_said(page, "#run-waits", "")
    shown = shop.run("show", run_id).out
    assert "final_answer" in shown
    assert "approved  by Ann" in shown
    assert (shop.run("conform", run_id).code, len(model.bodies)) == (0, 2)


def test_a_typed_key_goes_to_the_server_that_wants_it_and_is_nowhere_afterwards(shop: Shop, browser: Browser) -> None:
    """Where the environment has none. Of the run that went on neither files nor pages nor the program hold it."""
    paused, addresses = shop.paused(calls(("create", {"title": "A"}))), list[str]()
    said = answer(text=f"Done with {KEY}.")  # the provider gives it back
    with (
        chat_server(said, first=[answer(("create", {"title": "C"}))], key=KEY) as model,
        shop.page(model=model, key="") as server,
        visiting(browser, server.new_link()) as visit,
    ):
        page = confirmations(visit)
        page.on("request", lambda request: addresses.extend([request.url, request.headers.get("referer", "")]))
        assert (
            page.inner_text(".goes-on") == f"It goes on with the model m at {model.base_url} (it began with old-model)"
        )
        assert page.get_attribute("input[name=key]", "type") == "password"
        assert page.get_attribute("input[name=key]", "autocomplete") == "off"
        page.fill("input[name=key]", KEY)
        page.click("text=Approve: run it")
        until_over(page, "confirmation_required")
        pages = [page.content()]
        until_waits(page)  # and the key is asked for again
        pages.append(page.content())
        assert page.input_value("input[name=key]") == ""
        page.fill("input[name=key]", KEY)
        page.click("text=Reject: tell the model no")
        page.wait_for_selector("#live-answer")
        assert page.inner_text("#live-answer") == "Done with [REDACTED:own_credential]."
        pages.append(page.content())
        for path in ("/", "/confirmations", f"/runs/{paused.run_id}", f"/runs/{paused.run_id}/messages"):
            page.goto(server.address + path)
            pages.append(page.content())
        told = [*server.told]
    assert (shop.created, shop.ended(paused.run_id)) == (["A"], "final_answer")
    assert [headers["authorization"] for headers in model.headers] == [f"Bearer {KEY}"] * 2
    assert not any(KEY in each for each in [*pages, *addresses, *told])
    files = [path for path in shop.store.rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []


def test_a_key_in_the_place_of_a_name_is_not_stored(shop: Shop, browser: Browser) -> None:
    """The name of who answers goes into the trace and the ledger; nothing is done, and it can be said again."""
    paused = shop.paused(calls(("create", {"title": "A"})))
    with (
        chat_server(answer(text="Done."), key=KEY) as model,
        shop.page(model=model, key="") as server,
        visiting(browser, server.new_link()) as visit,
    ):
        form = form_of(confirmations(visit))
        status, body = form.send(act="approve", by=f"ann {KEY}", key=KEY)
        assert (status, "stands in your name" in body, KEY in body) == (409, True, False)
        assert (model.headers, shop.created) == ([], [])
        assert form.send(act="approve", by="ann", key=KEY)[0] == 303
        visit.page.wait_for_selector("text=No call waits")
    assert (shop.created, shop.ended(paused.run_id)) == (["A"], "final_answer")


def test_a_server_that_cannot_be_asked_without_a_key_wants_one_on_the_page(shop: Shop, browser: Browser) -> None:
    """It says which server that is, and what would hold the key; without it the form is not sent."""
    shop.paused(calls(("create", {"title": "A"})))
    options = ("--model", "gpt-5-mini", "--tools", "shop:create,shop:read")
    with (
        shop.page(*options) as server,
        visiting(browser, server.new_link()) as visit,
    ):
        page = confirmations(visit)
        assert "at https://api.openai.com/v1" in page.inner_text(".goes-on")
        assert "OPENAI_API_KEY is not set" in page.inner_text("form[data-digest]")
        assert page.get_attribute("input[name=key]", "required") is not None
        status, body = form_of(page).send(act="approve")
        assert (status, "no API key: set OPENAI_API_KEY" in body) == (409, True)
    assert shop.created == []


def test_a_no_is_told_to_the_model_and_nothing_is_written(shop: Shop, browser: Browser) -> None:
    """The run has its answer all the same."""
    paused = shop.paused(calls(("create", {"title": "A"})))
    with (
        chat_server(answer(text="As you wish.")) as model,
        shop.page(model=model) as server,
        visiting(browser, server.new_link()) as visit,
    ):
        confirmations(visit).click("text=Reject: tell the model no")
        until_over(visit.page)
    assert (shop.ended(paused.run_id), shop.created) == ("final_answer", [])
    [told] = [message for message in model.bodies[0]["messages"] if message["role"] == "tool"]
    assert json.loads(told["content"])["type"] == "confirmation_rejected"


def test_calls_of_one_answer_are_answered_together_each_as_it_was_said(shop: Shop, browser: Browser) -> None:
    """Of three: the first and the last run, the one between does not; the next pause of the run is answered anew."""
    three = calls(*(("create", {"title": title}) for title in "ACE"))
    shop.paused(three)
    with (
        chat_server(answer(text="Done."), first=[answer(("create", {"title": "G"}), ("create", {"title": "H"}))]) as m,
        shop.page(model=m) as server,
        visiting(browser, server.new_link()) as visit,
    ):
        page = confirmations(visit)
        page.check("#answer-1-0-approve")
        page.check("#answer-1-1-reject")
        page.check("#answer-1-2-approve")
        page.click("text=Go on with these answers")
        until_waits(page)
        assert shop.created == ["A", "E"]

        assert "Said earlier in this run: 3 answers" in page.inner_text("main")
        page.click("text=Approve all 2")
        until_over(page)
        until_said(page, "#waiting-count", "")
    assert shop.created == ["A", "E", "G", "H"]


def test_a_call_that_is_left_does_nothing_and_of_several_one_can_be_answered(shop: Shop, browser: Browser) -> None:
    """All left is no answer at all; then the first alone runs, and the one behind it waits in its place."""
    paused = shop.paused(TWO)
    with (
        chat_server(answer(text="Done.")) as model,
        shop.page(model=model) as server,
        visiting(browser, server.new_link()) as visit,
    ):
        page = confirmations(visit)
        page.click("text=Go on with these answers")
        page.wait_for_selector("#answer-1-0-approve")
        assert (shop.created, shop.ended(paused.run_id)) == ([], "confirmation_required")
        page.check("#answer-1-0-approve")
        page.click("text=Go on with these answers")
        until_waits(page)
        confirmations(visit)
        assert page.inner_text("#waiting-count") == "1 waiting"
        assert '"C"' in page.inner_text("fieldset")
        assert page.locator("fieldset").count() == 1
    assert (shop.created, model.bodies) == (["A"], [])


def test_a_form_about_what_is_not_so_any_more_is_refused_and_does_nothing(shop: Shop, browser: Browser) -> None:
    """Other arguments, a run that waits again, one that has gone on: each is said, with a way to what waits now."""
    paused = shop.paused(calls(("create", {"title": "A"})))
    again = calls(("create", {"title": "M"}))
    with (
        chat_server() as model,
        shop.page(model=model) as server,
        visiting(browser, server.new_link()) as visit,
    ):
        form = form_of(confirmations(visit))
        Store.open(shop.store).write(
            "UPDATE messages SET body = replace(body, ?, ?) WHERE run_id = ?",
            [('\\"A\\"', '\\"Z\\"', paused.run_id)],
        )
        status, said = form.send(act="approve")
        assert (status, "What waits is not what you were shown" in said) == (409, True), said
        Store.open(shop.store).write(
            "UPDATE messages SET body = replace(body, ?, ?) WHERE run_id = ?",
            [('\\"Z\\"', '\\"A\\"', paused.run_id)],
        )
        shop.code["loop"](again, policy=Policy()).resume(paused.run_id, confirm=["call_1"])
        status, said = form.send(act="approve")
        assert (status, "What waits is not what you were shown" in said) == (409, True)
        shop.code["loop"]("done", policy=Policy()).resume(paused.run_id, confirm=["call_1"])
        status, said = form.send(act="approve")
        assert (status, "does not wait for it any more" in said) == (409, True)
        visit.page.set_content(said)
        assert visit.page.get_attribute("main a >> nth=1", "href") == "/confirmations"
        visit.complaints.clear()  # the refused page was put in by hand
    assert shop.created == ["A", "M"]
    assert model.bodies == []


@pytest.mark.parametrize("tabs", ["one form", "two browsers"])
def test_of_answers_at_the_same_moment_one_is_taken(shop: Shop, browser: Browser, tabs: str) -> None:
    """A form that is sent four times, or two readers and a program that resumes: the write is done once."""
    shop.paused(calls(("create", {"title": "A"})))
    with (
        chat_server(answer(text="Done.")) as model,
        shop.page(model=model) as server,
        visiting(browser, server.new_link()) as ann,
        visiting(browser, server.new_link()) as bob,
    ):
        forms = [form_of(confirmations(ann))] * 4 if tabs == "one form" else [form_of(confirmations(ann))]
        if tabs == "two browsers":
            forms += [form_of(confirmations(bob)), form_of(confirmations(bob))]
        answers = sent_together(forms, act="approve")
        statuses = sorted(status for status, _ in answers)
        assert statuses == [303] + [409] * (len(forms) - 1), answers
        assert any(status == 303 and where.startswith("/lab/live/") for status, where in answers)
        assert any("Nothing was done" in said for status, said in answers if status == 409)
        until_said(ann.page, "#waiting-count", "")
    assert shop.created == ["A"]
    assert len(model.bodies) == 1


def test_a_form_that_this_page_did_not_make_is_refused(shop: Shop, browser: Browser) -> None:
    """Neither without the token of the session nor with a digest of somebody's own; told in the terminal."""
    shop.paused(calls(("create", {"title": "A"})))
    with (
        chat_server() as model,
        shop.page(model=model) as server,
        visiting(browser, server.new_link()) as visit,
    ):
        form = form_of(confirmations(visit))
        assert form.send(act="approve", form_token="0" * 64)[0] == 403
        assert form.send(act="approve", digest="0" * 64)[0] == 409
        assert form.send(act="approve", run="20000101-none")[0] == 404
        assert form.send(act="something", digest=form.fields["digest"]) == (303, "/confirmations")
        assert server.has_told("forged_form")
    assert (shop.created, model.bodies) == ([], [])


def test_hostile_and_secret_arguments_are_shown_inert_and_masked(shop: Shop, browser: Browser) -> None:
    """Markup is text, controls are visible, a key is masked, a long value is cut with its size."""
    hostile = f"<script>document.title='x'</script>\n<img src=x onerror=alert(1)> \x1b[31m \u202e {SECRET}"
    shop.paused(calls(("create", {"title": hostile}), ("create", {"title": "y" * 50_000})))
    with (
        chat_server() as model,
        shop.page(model=model) as server,
        visiting(browser, server.new_link()) as visit,
    ):
        page = confirmations(visit)
        text = page.inner_text("main")
        assert "<script>document.title='x'</script>" in text
        assert "\\x1b[31m \\u202e" in text
        assert "1 value is masked" in text
        assert "50,002 characters in all" in text
        assert SECRET not in page.content()
        assert page.title().startswith("Confirmations")
        assert page.locator("main script, main img").count() == 0


def test_where_nothing_can_go_on_the_page_says_which_command_does_it(shop: Shop, browser: Browser) -> None:
    """Without a model, and without the tool: no button that would do nothing, and a line to copy."""
    paused = shop.paused(calls(("create", {"title": "A"})))
    with shop.page() as server, visiting(browser, server.new_link()) as visit:
        assert server.has_told("without --model nothing that waits can go on")
        page = confirmations(visit)
        assert page.locator("form[data-digest]").count() == 0
        assert "started without a model" in page.inner_text("main")
        line = page.inner_text("[id^=command-1-resume]")
        assert line.startswith(f"traced-loop resume {paused.run_id} --confirm call_1 --model ")
        visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.click("#copy-1-resume")
        until_said(page, "#copy-1-resume", "Copied")
        assert page.evaluate("navigator.clipboard.readText()") == line
        assert_no_barrier(page)
    with (
        chat_server() as model,
        shop.page("--tools", "none", model=model) as server,
        visiting(browser, server.new_link()) as visit,
    ):
        page = confirmations(visit)
        assert "does not have the tool that waits: create" in page.inner_text("main")
        assert page.locator("form[data-digest]").count() == 0


def test_a_run_of_other_tools_is_asked_about_anew_before_a_yes_counts(shop: Shop, browser: Browser) -> None:
    """What was shown with other tools is not approved; asked again with those of the page, it is."""
    paused = shop.paused(calls(("create", {"title": "A"})), identity=Identity(id="customer-17"))
    with (
        chat_server(answer(text="Done.")) as model,
        shop.page("--tools", "shop:create", model=model) as server,
        visiting(browser, server.new_link()) as visit,
    ):
        page = confirmations(visit)
        assert "acts on behalf of customer-17" in page.inner_text("main")
        page.click("text=Ask again with the tools of this page")
        until_waits(page)
        assert shop.created == []
        page.click("text=Approve: run it")
        until_over(page)
        until_said(page, "#waiting-count", "")
    assert (shop.created, shop.ended(paused.run_id)) == (["A"], "final_answer")


def test_a_run_that_a_script_played_says_why_it_is_not_counted(shop: Shop, browser: Browser) -> None:
    """It can be answered all the same."""
    played = Loop(ScriptedModel([calls(("create", {"title": "A"}))]), [shop.code["create"]], store=shop.store).run(
        "Go."
    )
    assert played.stop_reason == "confirmation_required"
    with chat_server() as model, shop.page(model=model) as server, visiting(browser, server.new_link()) as visit:
        page = confirmations(visit)
        assert page.locator("form[data-digest]").count() == 1
        assert "A script played the model of this run" in page.inner_text("main")
        assert page.locator("#waiting-count").inner_text() == ""


def test_what_pauses_elsewhere_appears_and_what_goes_on_elsewhere_goes(shop: Shop, browser: Browser) -> None:
    """Without a reload; what was typed in a form that stays is still there."""
    with (
        chat_server() as model,
        shop.page(model=model) as server,
        visiting(browser, server.new_link()) as visit,
    ):
        page = confirmations(visit)
        assert "No call waits" in page.inner_text("main")
        first = shop.paused(calls(("create", {"title": "A"})))
        page.wait_for_selector("input[name=by]")
        page.fill("input[name=by]", "Ann of accounts")
        second = shop.paused(calls(("create", {"title": "C"})))
        page.wait_for_selector(f"#waits-{second.run_id}")
        assert page.input_value(f"#waits-{first.run_id} input[name=by]") == "Ann of accounts"
        assert page.inner_text("#waiting-count") == "2 waiting"
        shop.code["loop"]("done").resume(second.run_id, confirm=["call_1"])
        page.wait_for_selector(f"#waits-{second.run_id}", state="detached")
        assert page.inner_text("#waiting-count") == "1 waiting"


def test_a_server_that_dies_in_the_write_leaves_a_run_that_can_be_resolved(shop: Shop, browser: Browser) -> None:
    """What came of the call is unknown, it is not run again, and ``recover``, ``resolve`` and ``resume`` go on."""
    paused = shop.paused(calls(("create", {"title": "B"})))
    with chat_server(answer(text="Done.")) as model:
        with (
            shop.page(model=model, WORDS="die") as server,
            visiting(browser, server.new_link()) as visit,
        ):
            form = form_of(confirmations(visit))
            with suppress(ConnectionError):  # it dies before it answers, or after
                form.send(act="approve")
            assert server.process.wait(WITHIN) == 9
            server.expected_codes = {9}
            visit.complaints.clear()  # the stream of events is gone, too
        assert shop.created == ["B"]
        assert shop.run("recover").code == 0
        options = ("--base-url", model.base_url, "--model", "m", "--tools", "shop:create,shop:read")
        assert shop.run("resume", paused.run_id, *options).code == 8
        assert shop.run("resolve", paused.run_id, "call_1", "--done", "--result", "id of B").code == 0
        done = shop.run("resume", paused.run_id, *options)
        assert (done.code, done.out) == (0, "Done.\n"), done.err
    assert shop.created == ["B"]


def test_a_run_is_answered_by_the_keyboard_alone(shop: Shop, browser: Browser) -> None:
    """From the top of the page by Tab, arrows and Enter."""
    paused = shop.paused(TWO)
    with (
        chat_server(answer(text="Done.")) as model,
        shop.page(model=model) as server,
        visiting(browser, server.new_link()) as visit,
    ):
        page = visit.page
        _tab_to(page, "e => e.getAttribute('href') === '/confirmations'")
        page.keyboard.press("Enter")
        page.wait_for_url("**/confirmations")
        _tab_to(page, "e => e.id === 'answer-1-0-leave'")
        page.keyboard.press("ArrowRight")
        _tab_to(page, "e => e.name === 'act'")
        page.keyboard.press("Enter")
        until_waits(page)
    assert (shop.created, shop.ended(paused.run_id)) == (["A"], "confirmation_required")


def assert_no_barrier(page: Page) -> None:
    """Nothing that axe calls serious or critical."""
    found = [each for each in Axe().run(page).response["violations"] if each["impact"] in {"serious", "critical"}]
    assert found == [], json.dumps(found)[:2000]


def _tab_to(page: Page, condition: str) -> None:
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate(f"({condition})(document.activeElement)"):
            return
    raise AssertionError(condition)


def test_the_page_has_no_barrier(shop: Shop, browser: Browser) -> None:
    """Empty, with a form in both themes, and when an answer was refused; in Chinese, too."""
    with (
        chat_server() as model,
        shop.page(model=model) as server,
        visiting(browser, server.new_link(), locale="zh-CN") as visit,
    ):
        page = visit.page
        page.goto(f"{server.address}/confirmations")
        assert "没有调用在等待确认" in page.inner_text("main")
        assert_no_barrier(page)
        shop.paused(TWO)
        page.wait_for_selector("form[data-digest]")
        assert_no_barrier(page)
        page.emulate_media(color_scheme="dark")
        assert_no_barrier(page)
        assert page.evaluate("document.documentElement.scrollWidth === document.documentElement.clientWidth")
        page.evaluate("document.querySelector('input[name=digest]').value = '0'")
        page.click("text=全部同意")
        assert "答复未被采纳" in page.inner_text("h1")
        assert_no_barrier(page)
        visit.complaints.clear()  # the browser notes that the answer was a 409
