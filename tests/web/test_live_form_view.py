"""The way to a live run in a real browser: what is said before, what is asked again, and the key."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from ..models.chat_server import ANSWER, Reply, chat_server, delta, streamed
from .accessibility import assert_accessible
from .browser import visiting
from .live_asking import ask, start, stop_reason
from .running_page import running_page

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

pytestmark = pytest.mark.real

KEY = "zQ4-typed-by-hand-7731"
CHOICE = ANSWER["choices"][0]  # type: ignore[index]


def test_it_is_said_before_where_it_goes_and_what_it_may_cost(home: Path, browser: Browser) -> None:
    """And nothing is sent until the last button; what was written comes back as it was."""
    environment = {"OPENAI_API_KEY": "zQ4-of-the-environment"}
    with chat_server() as provider:
        environment["OPENAI_BASE_URL"] = provider.base_url
        with running_page(home, environment=environment) as server, visiting(browser, server.new_link()) as visit:
            page = visit.page
            page.goto(f"{server.address}/lab/live")
            assert_accessible(page)
            page.fill("#prompt", "First line\nsecond line <b>")
            page.fill("#model", "gpt-5-mini")
            page.fill("#steps", "many")
            page.click("button[value='check']")
            page.wait_for_selector("#wrong-steps")
            assert page.get_attribute("#steps", "aria-invalid") == "true"
            assert_accessible(page)
            page.fill("#steps", "3")
            page.uncheck("text=query_order")
            page.click("button[value='check']")
            page.wait_for_selector("#start")
            assert page.inner_text("#goes-to") == provider.base_url
            assert page.inner_text("#most").startswith("unknown")
            assert "3 steps · 200,000 tokens · 5 min" in page.inner_text("main")
            assert "OPENAI_API_KEY is set" in page.inner_text("#hint-key")
            assert_accessible(page)
            page.click("button[value='change']")
            page.wait_for_selector("#prompt")
            assert page.input_value("#prompt") == "First line\nsecond line <b>"
            assert page.input_value("#steps") == "3"
            assert page.is_checked("text=multiply")
            assert not page.is_checked("text=query_order")
            page.select_option("#provider", "openai")
            page.click("button[value='check']")
            page.wait_for_selector("#start")
            assert page.inner_text("#goes-to") == "https://api.openai.com/v1"
            assert re.match(r"\$0\.\d+ by its list price", page.inner_text("#most"))
            page.click("button[value='change']")
            page.select_option("#provider", "groq")
            page.click("button[value='check']")
            page.wait_for_selector("#start")
            assert "GROQ_API_KEY is not set" in page.inner_text("#hint-key")
            assert "zQ4" not in page.content()
        assert provider.clients == set()


def test_no_address_but_those_of_the_list_is_asked(home: Path, browser: Browser) -> None:
    """Whatever a form says that was changed by hand."""
    with chat_server() as other, running_page(home) as server, visiting(browser, server.new_link()) as visit:
        visit.page.goto(f"{server.address}/lab/live")
        change = "address => { document.querySelector('#provider option').value = address; }"
        visit.page.evaluate(change, other.base_url)
        visit.page.fill("#prompt", "Hello")
        visit.page.fill("#model", "m")
        visit.page.click("button[value='check']")
        visit.page.wait_for_selector("#wrong-provider")
        assert other.clients == set()


def test_a_refused_key_loses_nothing_but_itself(home: Path, browser: Browser) -> None:
    """The loop's own words, what to do, and the form again, filled; with a good key it goes on from there."""
    refused = Reply(status=401, body={"error": {"message": f"Incorrect API key provided: {KEY}"}})
    with chat_server(first=[refused]) as provider:
        environment = {"OPENAI_BASE_URL": provider.base_url}
        with running_page(home, environment=environment) as server, visiting(browser, server.new_link()) as visit:
            ask(visit.page, server.address, prompt="Keep me", key=KEY)
            assert stop_reason(visit.page) == "model_error"
            visit.page.wait_for_selector("text=The same again")
            said = visit.page.inner_text("#live-end")
            assert "401" in said
            assert "The server does not take the key" in said
            assert KEY not in visit.page.content()
            assert_accessible(visit.page)
            visit.page.click("text=The same again")
            visit.page.wait_for_selector("#start")
            assert visit.page.inner_text("#asked") == "Keep me"
            assert visit.page.input_value("#key") == ""
            visit.page.fill("#key", "zQ4-a-good-one")
            visit.page.dblclick("#start")  # one run, one bill
            assert stop_reason(visit.page) == "final_answer"
        assert [headers["authorization"] for headers in provider.headers] == [f"Bearer {KEY}", "Bearer zQ4-a-good-one"]


def test_no_server_at_all_is_told_as_such(home: Path, browser: Browser) -> None:
    """With its address, and the form again."""
    with chat_server() as gone:
        address = gone.base_url
    environment = {"OPENAI_BASE_URL": address}
    with running_page(home, environment=environment) as server, visiting(browser, server.new_link()) as visit:
        visit.page.goto(f"{server.address}/lab/live")
        visit.page.fill("#prompt", "Hello")
        visit.page.fill("#model", "m")
        visit.page.fill("#seconds", "2")
        visit.page.click("button[value='check']")
        start(visit.page)
        assert stop_reason(visit.page) in {"model_error", "deadline_exceeded"}
        visit.page.wait_for_selector("text=The same again")
        assert address in visit.page.inner_text("#live-end")


@pytest.mark.parametrize("stream", [False, True])
def test_a_typed_key_is_nowhere_after_its_run(home: Path, browser: Browser, *, stream: bool) -> None:
    """The server of the provider gives it back; no file, no page, no address and no line of the program has it."""
    pieces = [KEY[at : at + 5] for at in range(0, len(KEY), 5)]
    events = [delta(role="assistant", content="so "), *(delta(content=piece) for piece in pieces), delta("stop")]
    whole = {**ANSWER, "choices": [{**CHOICE, "message": {"role": "assistant", "content": f"so {KEY}"}}]}  # type: ignore[dict-item]
    addresses: list[str] = []
    with chat_server(streamed(*events) if stream else Reply(body=whole)) as provider:
        environment = {"OPENAI_BASE_URL": provider.base_url}
        with running_page(home, environment=environment) as server, visiting(browser, server.new_link()) as visit:
            page = visit.page
            page.on("request", lambda request: addresses.extend([request.url, request.headers.get("referer", "")]))
            name = ask(page, server.address, key=KEY, stream=stream)
            assert stop_reason(page) == "final_answer"
            assert page.inner_text("#live-answer") == "so [REDACTED:own_credential]"
            page.click("text=The page of this run")
            page.wait_for_selector("text=invoke_agent")
            pages = [page.content()]
            for path in ("/", "/lab", "/lab/live"):
                page.goto(server.address + path)
                pages.append(page.content())
            page.goto(name)
            pages.append(page.content())
            page.click("text=Change something")
            page.wait_for_selector("#prompt")
            pages.append(page.content())
            assert not any(KEY in each for each in pages)
        told = [*server.told]
        assert provider.headers[0]["authorization"] == f"Bearer {KEY}"
    assert not any(KEY in each for each in [*addresses, *told])
    files = [path for path in home.rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []


def test_a_key_that_stands_in_the_prompt_is_not_sent(home: Path, browser: Browser) -> None:
    """It would be stored with the prompt."""
    with chat_server() as provider:
        environment = {"OPENAI_BASE_URL": provider.base_url}
        with running_page(home, environment=environment) as server, visiting(browser, server.new_link()) as visit:
            visit.page.goto(f"{server.address}/lab/live")
            visit.page.fill("#prompt", f"Use {KEY} please")
            visit.page.fill("#model", "m")
            visit.page.click("button[value='check']")
            visit.page.fill("#key", KEY)
            visit.page.click("#start")
            visit.page.wait_for_selector("#wrong-key")
            assert "stands in the prompt" in visit.page.inner_text("#wrong-key")
            assert visit.page.input_value("#key") == ""
        assert provider.clients == set()
