"""The gate as a whole, without a socket: who gets through, and what others get."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import PlainTextResponse

from traced_loop.web.guard.access import Access
from traced_loop.web.guard.guarded_app import COOKIE, GuardedApp
from traced_loop.web.guard.refusals import Refusal, RefusalKind, Refusals

from .requests import Answer, form, pieces, scope

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send


class House:
    """A gate with something behind it that tells what it was asked."""

    def __init__(self) -> None:
        self.access = Access()
        self.reached: list[Scope] = []
        self.told: list[Refusal] = []
        self.used: list[str] = []

        def page(_scope: Scope, refusal: Refusal, status: int) -> Response:
            return PlainTextResponse(refusal.kind, status)

        self.gate = GuardedApp(
            self.behind, self.access, Refusals(self.told.append), page=page, redeemed=lambda: self.used.append("link")
        )

    async def behind(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.reached.append(scope)
        await PlainTextResponse("the page")(scope, receive, send)

    def ask(self, scope: Scope, receive: Receive | None = None) -> Answer:
        """The answer to one request."""
        answer = Answer()
        asyncio.run(self.gate(scope, receive or pieces([b""]), answer))
        return answer

    def cookie(self) -> str:
        """That of a browser which has opened the link."""
        answer = self.ask(scope(query=f"token={self.access.link_token}"))
        assert answer.status == 200
        return answer.headers["set-cookie"].partition(";")[0]

    def form_token(self, cookie: str) -> str:
        """What its forms carry."""
        self.ask(scope(cookie=cookie))
        return str(self.reached[-1]["state"]["form_token"])


def test_the_link_makes_a_session_that_scripts_and_other_sites_do_not_get() -> None:
    """The cookie is for this host and session only, and the address with the token is left by a page of our own."""
    house = House()
    answer = house.ask(scope(query=f"token={house.access.link_token}"))
    name, *attributes = answer.headers["set-cookie"].split("; ")
    assert name.startswith(f"{COOKIE}_7463=")
    assert {attribute.lower() for attribute in attributes} == {"httponly", "path=/", "samesite=strict"}
    assert b'http-equiv="refresh" content="0;url=/"' in answer.body
    assert (house.reached, house.used) == ([], ["link"])
    assert house.ask(scope(cookie=name)).body == b"the page"


def test_without_a_session_nothing_is_reached() -> None:
    """Neither a page nor a form; what is the same for all is."""
    house = House()
    assert house.ask(scope(path="/runs/x")).status == 401
    assert house.ask(*form(b"a=1")).status == 401
    assert house.reached == []
    assert house.ask(scope(path="/static/page.css")).status == 200
    assert [refusal.kind for refusal in house.told] == [RefusalKind.NO_SESSION]


def test_a_head_request_uses_no_link_up() -> None:
    """What looks at a link before a person does leaves it."""
    house = House()
    assert house.ask(scope("HEAD", query=f"token={house.access.link_token}")).status == 401
    assert house.used == []


def test_a_used_link_lets_only_its_own_browser_in() -> None:
    """That one reloads it; any other is told to take the new one."""
    house = House()
    token = house.access.link_token
    cookie = house.cookie()
    assert house.ask(scope(query=f"token={token}", cookie=cookie)).status == 200
    assert house.ask(scope(query=f"token={token}")).status == 401
    assert [refusal.kind for refusal in house.told] == [RefusalKind.USED_TOKEN]


def test_a_session_that_somebody_planted_is_not_taken_over() -> None:
    """The link makes a new one, whatever cookie came with it."""
    house = House()
    planted = f"{COOKIE}_7463=planted"
    answer = house.ask(scope(query=f"token={house.access.link_token}", cookie=planted))
    assert not answer.headers["set-cookie"].startswith(planted)
    assert house.ask(scope(cookie=planted)).status == 401


def test_a_cookie_of_a_server_on_another_port_is_none() -> None:
    """Browsers send it, since they keep cookies by host; its name tells."""
    house = House()
    value = house.cookie().partition("=")[2]
    assert house.ask(scope(cookie=f"{COOKIE}_7464={value}")).status == 401


def test_a_form_needs_its_own_sessions_token() -> None:
    """None, another session's and an invented one are forgeries; the right one reaches the page with its fields."""
    house = House()
    mine, other = house.cookie(), house.cookie()
    tokens = {"none": "", "other's": house.form_token(other), "invented": "0" * 64}
    house.reached.clear()
    for token in tokens.values():
        assert house.ask(*form(urlencode({"form_token": token}).encode(), cookie=mine)).status == 403
    assert house.ask(*form(b"", cookie=mine)).status == 403
    assert house.reached == []
    right = urlencode({"form_token": house.form_token(mine), "a": "1"}).encode()
    assert house.ask(*form(right, cookie=mine)).status == 200
    assert house.reached[-1]["state"]["form"]["a"] == "1"


def test_a_forms_token_is_no_token_in_the_address() -> None:
    """It counts in the body only."""
    house = House()
    cookie = house.cookie()
    request, body = form(b"a=1", cookie=cookie)
    request["query_string"] = f"form_token={house.form_token(cookie)}".encode()
    assert house.ask(request, body).status == 403


def test_the_opened_browsers_address_is_refused_to_others() -> None:
    """A connection that is not known to be this user's gets nothing, and is told apart from a used link."""
    house = House()
    answer = house.ask(scope(query=f"token={house.access.opening_token}"))
    assert (answer.status, answer.body) == (401, b"other_user")


def test_after_a_request_that_can_be_read_in_two_ways_the_connection_ends() -> None:
    """What follows it may be a part of it; after any other refusal it goes on."""
    house = House()
    assert house.ask({**scope(), "headers": scope()["headers"] * 2}).headers["connection"] == "close"
    assert "connection" not in house.ask(scope(path="/runs/x")).headers


@pytest.mark.parametrize("path", ["/", "/static/page.css", "/runs/x"])
def test_every_answer_is_sealed(path: str) -> None:
    """Refusals and files, too."""
    headers = House().ask(scope(path=path)).headers
    assert headers["cache-control"] == "no-store"
    assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert not any(name.startswith("access-control-") for name in headers)


def test_another_protocol_gets_nothing() -> None:
    """A socket is not accepted."""
    house = House()
    assert house.ask({**scope(), "type": "websocket"}).messages == []
    assert house.reached == []


@given(
    st.sampled_from(["GET", "HEAD", "POST", "PUT"]) | st.text(max_size=8),
    st.text(max_size=30),
    st.binary(max_size=60),
    st.lists(
        st.tuples(st.sampled_from([b"host", b"cookie", b"origin", b"content-type"]), st.binary(max_size=60)), max_size=4
    ),
    st.binary(max_size=60),
)
def test_no_request_makes_the_gate_fail_or_open(
    method: str, path: str, query: bytes, headers: list[tuple[bytes, bytes]], body: bytes
) -> None:
    """Whatever head, cookie, query and body: an answer, and nothing behind the gate is reached."""
    house = House()
    answer = house.ask(
        {
            **scope(),
            "method": method,
            "path": f"/{path}",
            "raw_path": f"/{path}".encode("utf-8", "surrogatepass"),
            "query_string": query,
            "headers": headers or scope()["headers"],
        },
        pieces([body]),
    )
    assert answer.status in {400, 401, 403, 405, 408, 413, 421} or path.startswith("static/")
    assert house.reached == [] or path.startswith("static/")
