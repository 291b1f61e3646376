"""Attacks from pages of other sites in a real browser whose reader has the page open, session and all."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from .browser import chromium, visiting
from .running_page import running_page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = pytest.mark.real


class Empty(BaseHTTPRequestHandler):
    """A page of somebody else's."""

    def do_GET(self) -> None:
        body = b"<!doctype html><title>another site</title><body>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def another_site() -> Iterator[int]:
    """The port of a server on this machine that is not ours."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Empty)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


READ = """async address => {
  try {
    const answer = await fetch(address, {credentials: "include"});
    return await answer.text();
  } catch (error) { return "refused"; }
}"""
BLIND = """address => new Promise(done => {
  const image = document.body.appendChild(new Image());
  image.onload = () => done("loaded");
  image.onerror = () => done("refused");
  image.src = address;
})"""
SEND = """([address, fields]) => {
  const form = document.body.appendChild(document.createElement("form"));
  form.method = "post";
  form.action = address;
  for (const [name, value] of Object.entries(fields)) {
    const field = form.appendChild(document.createElement("input"));
    field.name = name; field.value = value;
  }
  form.submit();
}"""
SOCKET = """address => new Promise(done => {
  const socket = new WebSocket(address);
  socket.onopen = () => done("open");
  socket.onerror = () => done("refused");
})"""
FRAME = """address => new Promise(done => {
  const frame = document.body.appendChild(document.createElement("iframe"));
  frame.onload = () => { try { done(frame.contentDocument?.body.innerText ?? "not readable"); } catch { done("no"); } };
  frame.src = address;
})"""


def theme(context: BrowserContext) -> list[str]:
    """What the reader's browser remembers of colours."""
    return [str(cookie.get("value")) for cookie in context.cookies() if cookie.get("name") == "traced_loop_theme"]


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_a_page_of_another_origin_gets_nothing(home: Path, browser: Browser, name: str) -> None:
    """Another port under the same name, which browsers send the cookie from, and another name."""
    with another_site() as port, running_page(home) as server:
        with visiting(browser, server.new_link()) as visit:
            token = visit.page.locator("input[name=form_token]").first.get_attribute("value")
            page = visit.context.new_page()
            page.goto(f"http://{name}:{port}/")
            assert page.evaluate(READ, f"{server.address}/") == "refused"
            assert page.evaluate(BLIND, f"{server.address}/static/icon.svg") == "refused"
            assert page.evaluate(SOCKET, f"{server.address.replace('http', 'ws')}/changes") == "refused"
            assert "form_token" not in page.evaluate(FRAME, f"{server.address}/")
            page.evaluate(SEND, [f"{server.address}/settings", {"theme": "dark", "form_token": token}])
            page.wait_for_url(f"{server.address}/settings")
            assert "A page of another site asked for this" in page.inner_text("main")
            assert theme(visit.context) == []
        assert server.has_told("refused: other_site")
        assert not any("form_token" in line for line in server.told)


def test_a_link_on_another_site_leads_to_the_page(home: Path, browser: Browser) -> None:
    """Its reader follows it: the token is used, and the page is there although the cookie is a strict one."""
    with another_site() as port, running_page(home) as server:
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"http://localhost:{port}/")
        page.evaluate("link => { location.href = link; }", server.new_link())
        page.wait_for_url(f"{server.address}/")
        page.wait_for_selector("nav")
        assert page.evaluate("document.cookie") == ""
        context.close()


def test_a_name_that_is_made_to_point_here_gets_nothing(home: Path, browser: Browser) -> None:
    """DNS rebinding: the attacker's page has the same origin as what it asks, and the server says no."""
    with running_page(home) as server:
        port = server.address.rpartition(":")[2]
        rules = "--host-resolver-rules=MAP evil.example 127.0.0.1"
        rebound = browser.browser_type.launch(executable_path=chromium(), args=["--no-sandbox", rules])
        page: Page = rebound.new_page()
        link = server.new_link()
        page.goto(link.replace("127.0.0.1", "evil.example"))
        assert "This page answers only under a name of this machine" in page.inner_text("main")
        answer = page.evaluate(READ, f"http://evil.example:{port}/")
        assert "form_token" not in answer
        assert server.has_told(f"refused: wrong_host (evil.example:{port})")
        page.goto(link)
        page.wait_for_selector("nav")
        rebound.close()


def test_two_pages_of_one_browser_do_not_share_a_session(home: Path, tmp_path: Path, browser: Browser) -> None:
    """A browser keeps the cookies of both ports under one name of this machine; each server knows its own."""
    with (
        running_page(home) as one,
        running_page(tmp_path / "other") as other,
        visiting(browser, one.new_link()) as visit,
    ):
        tab = visit.context.new_page()
        tab.goto(f"{other.address}/")
        assert "has not opened the link" in tab.inner_text("main")
        tab.goto(other.new_link())
        tab.wait_for_selector("nav")
        visit.page.reload()
        visit.page.wait_for_selector("nav")
