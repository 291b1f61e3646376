"""The pages behind their gate, without a socket: what a failing page shows and tells, and what a stranger sees."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from traced_loop.errors import UsageError
from traced_loop.web.guard.access import Access
from traced_loop.web.guard.refusals import Refusal, Refusals
from traced_loop.web.page_app import page_app
from traced_loop.web.site import Site
from traced_loop.web.store_changes import StoreChanges

from .guard.requests import Answer, pieces, scope

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from starlette.types import ASGIApp

SECRET = "what the customer wrote"


class Failing(StoreChanges):
    """A store whose looking at fails."""

    def __init__(self, folder: Path, error: Exception) -> None:
        super().__init__(folder)
        self.error = error

    def stamp(self) -> str:
        raise self.error


def answer_of(app: ASGIApp, cookie: str = "", path: str = "/", **headers: str) -> Answer:
    """The answer to a request for a page."""
    answer = Answer()
    asyncio.run(app(scope(path=path, cookie=cookie, **headers), pieces([b""]), answer))
    return answer


def entered(app: ASGIApp, access: Access) -> str:
    """The cookie of a browser that opens the link."""
    answer = Answer()
    asyncio.run(app(scope(query=f"token={access.link_token}"), pieces([b""]), answer))
    return answer.headers["set-cookie"].partition(";")[0]


def failing(
    tmp_path: Path, error: Exception, told: Callable[[BaseException], None] = lambda _error: None
) -> tuple[ASGIApp, str]:
    """An app whose pages fail with an error, and the cookie of its reader."""
    site = replace(Site.of(tmp_path / "store", {}), changes=Failing(tmp_path, error))
    access, refusals = Access(), Refusals(lambda _refusal: None)
    app, _ = page_app(site, access, refusals, redeemed=lambda: None, failed=told)
    return app, entered(app, access)


def test_a_fault_is_a_page_with_its_kind_and_none_of_its_text(tmp_path: Path) -> None:
    """The text of an exception is content; who runs the page is told of the exception itself."""
    told: list[BaseException] = []
    app, cookie = failing(tmp_path, ZeroDivisionError(SECRET), told.append)
    answer = Answer()
    with suppress(ZeroDivisionError):  # the server behind drops it without a word
        asyncio.run(app(scope(cookie=cookie), pieces([b""]), answer))
    assert (answer.status, b"ZeroDivisionError" in answer.body) == (500, True)
    assert SECRET.encode() not in answer.body
    assert [str(error) for error in told] == [SECRET]
    assert answer.headers["content-security-policy"]


def test_a_terminal_that_is_gone_hides_no_page(tmp_path: Path) -> None:
    """The page is shown although nobody can be told."""

    def gone(_error: BaseException) -> None:
        raise BrokenPipeError

    app, cookie = failing(tmp_path, ZeroDivisionError(SECRET), gone)
    answer = Answer()
    with suppress(ZeroDivisionError):
        asyncio.run(app(scope(cookie=cookie), pieces([b""]), answer))
    assert answer.status == 500


def test_an_error_that_says_what_to_do_is_shown_as_it_is(tmp_path: Path) -> None:
    """In its own language, whatever that of the page."""
    app, cookie = failing(tmp_path, UsageError("the store <b>x</b> is no folder"))
    answer = answer_of(app, cookie, accept_language="zh")
    assert answer.status == 400
    assert b'<p class="theirs" lang="en">the store &lt;b&gt;x&lt;/b&gt; is no folder</p>' in answer.body
    assert b'<html lang="zh"' in answer.body


def test_a_store_that_has_become_a_file_is_said_on_each_page(tmp_path: Path) -> None:
    """The page that says so does not read the store again."""
    folder = tmp_path / "store"
    access = Access()
    refused = Refusals(lambda _refusal: None)
    app, _ = page_app(Site.of(folder, {}), access, refused, redeemed=lambda: None, failed=lambda _error: None)
    cookie = entered(app, access)
    folder.write_text("")
    for path in ("/", "/confirmations", "/runs/last", "/lab"):
        answer = answer_of(app, cookie, path=path)
        assert answer.status == 400, path
        assert b"is no folder" in answer.body


def test_who_has_no_session_sees_nothing_of_the_site(tmp_path: Path) -> None:
    """Not where its store is; but in the stranger's own language."""
    told: list[Refusal] = []
    folder = tmp_path / "private-folder"
    site = Site.of(folder, {})
    access = Access()
    app, _ = page_app(site, access, Refusals(told.append), redeemed=lambda: None, failed=lambda _error: None)
    for headers in ({}, {"host": "evil.example"}):
        answer = answer_of(app, accept_language="zh-CN", **headers)
        assert answer.status in {401, 421}
        assert b"private-folder" not in answer.body
        assert b'<html lang="zh"' in answer.body
    assert b"private-folder" in answer_of(app, entered(app, access)).body
    assert [refusal.kind for refusal in told] == ["no_session", "wrong_host"]
