"""The gate in front of the pages: every request passes its checks here, or gets a refusal and nothing else."""

from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import parse_qs

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from traced_loop.web.guard.access import Access
from traced_loop.web.guard.form_body import form_of
from traced_loop.web.guard.refusals import STATUS, Refusal, RefusalKind, Refusals
from traced_loop.web.guard.request_checks import READING, refused_head
from traced_loop.web.guard.sealed_answers import sealed

FORM_TOKEN: Final = "form_token"  # noqa: S105 - the name of a field
COOKIE: Final = "traced_loop_session"
"""Cookies are shared by all ports of a name, so the port stands behind it."""
_OPEN: Final = "/static/"
"""What is the same for everybody, and tells nothing."""

_ENTERED: Final = """<!doctype html>
<html lang="en">
<title>traced_loop</title>
<link rel="icon" href="/static/icon.svg">
<meta http-equiv="refresh" content="0;url=/">
<p><a href="/">traced_loop</a></p>
</html>
"""

RefusalPage = Callable[[Scope, Refusal, int], Response]
Redeemed = Callable[[], None]


class GuardedApp:
    """An ASGI app that lets only its own browsers through."""

    def __init__(
        self, app: ASGIApp, access: Access, refusals: Refusals, *, page: RefusalPage, redeemed: Redeemed
    ) -> None:
        """Put the gate up.

        Args:
            app: what is behind it.
            access: who has opened the link.
            refusals: who is told of refused requests.
            page: makes the answer to a refused request, with its status.
            redeemed: called when a link was used up.
        """
        self._app = app
        self._access = access
        self._refusals = refusals
        self._page = page
        self._redeemed = redeemed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, sealed(send))
        # Nothing here speaks another protocol: such a connection is closed.

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        method, path, query = scope["method"], scope["path"], scope["query_string"]
        refusal = refused_head(method, len(scope.get("raw_path") or b"") + len(query), headers)
        if refusal is None and method in READING and path == "/" and b"token=" in query:
            await self._open_link(scope, receive, send)
            return
        if refusal is None and not path.startswith(_OPEN):
            refusal = await self._unknown(scope, headers, receive)
        if refusal is not None:
            self._refusals.note(refusal)
            await self._page(scope, refusal, STATUS[refusal.kind])(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _unknown(self, scope: Scope, headers: dict[str, str], receive: Receive) -> Refusal | None:
        """Why a request has no session or a form is not this page's; else both are put into the request's state."""
        session = _cookie(headers.get("cookie", ""), _cookie_name(scope))
        if not self._access.knows(session):
            return Refusal(kind=RefusalKind.NO_SESSION)
        state = scope.setdefault("state", {})
        state[FORM_TOKEN] = self._access.form_token(session)
        if scope["method"] != "POST":
            return None
        form = await form_of(headers, receive)
        if isinstance(form, Refusal):
            return form
        if not self._access.accepts_form(session, form.get(FORM_TOKEN, "")):
            return Refusal(kind=RefusalKind.FORGED_FORM, detail=scope["path"])
        state["form"] = form
        return None

    async def _open_link(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[-1]
        session = self._access.redeem(given)
        if session is None:
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
            if self._access.knows(_cookie(headers.get("cookie", ""), _cookie_name(scope))):
                await _entered()(scope, receive, send)  # a reloaded link of a browser that is in already
                return
            refusal = Refusal(kind=RefusalKind.USED_TOKEN)
            self._refusals.note(refusal)
            await self._page(scope, refusal, STATUS[refusal.kind])(scope, receive, send)
            return
        self._redeemed()
        answer = _entered()
        answer.set_cookie(_cookie_name(scope), session, httponly=True, samesite="strict", path="/")
        await answer(scope, receive, send)


def _entered() -> Response:
    """Goes on from a page of our own: browsers send no strict cookie after a link on a page of somebody else's."""
    return Response(_ENTERED, media_type="text/html")


def _cookie_name(scope: Scope) -> str:
    server = scope.get("server")
    return f"{COOKIE}_{server[1]}" if server else COOKIE


def _cookie(header: str, name: str) -> str:
    try:
        found = SimpleCookie(header).get(name)
    except CookieError:
        return ""
    return "" if found is None else found.value
