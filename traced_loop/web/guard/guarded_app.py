"""The gate in front of the pages: every request passes its checks here, or gets a refusal and nothing else."""

from collections.abc import Callable
from contextlib import suppress
from typing import Final
from urllib.parse import parse_qs

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from traced_loop.web.guard.access import Access
from traced_loop.web.guard.cookies import cookie_values
from traced_loop.web.guard.form_body import form_of
from traced_loop.web.guard.peer_user import is_own
from traced_loop.web.guard.refusals import STATUS, Refusal, RefusalKind, Refusals
from traced_loop.web.guard.request_checks import refused_head
from traced_loop.web.guard.request_head import RequestHead, head_of
from traced_loop.web.guard.sealed_answers import sealed

FORM_TOKEN: Final = "form_token"  # noqa: S105 - the name of a field
COOKIE: Final = "traced_loop_session"
"""Cookies are shared by all ports of a name, so the port stands behind it."""
_OPEN: Final = "/static/"
"""What is the same for everybody, and tells nothing."""
_ENDING: Final = frozenset({RefusalKind.MALFORMED, RefusalKind.TOO_SLOW})
"""After these nobody knows where a next request would begin."""

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
        head = head_of(scope)
        refusal = refused_head(head)
        if refusal is None and head.method == "GET" and head.path == "/" and (token := _token(head)):
            entered = self._entered(scope, head, token)
            if isinstance(entered, Response):
                await entered(scope, receive, send)
                return
            refusal = entered
        elif refusal is None and not head.path.startswith(_OPEN):
            refusal = await self._unknown(scope, head, receive)
        if refusal is not None:
            self._refusals.note(refusal)
            answer = self._page(scope, refusal, STATUS[refusal.kind])
            if refusal.kind in _ENDING:
                answer.headers["connection"] = "close"
            await answer(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _unknown(self, scope: Scope, head: RequestHead, receive: Receive) -> Refusal | None:
        """Why a request has no session or a form is not this page's; else both are put into the request's state."""
        session = self._session(scope, head)
        if session is None:
            return Refusal(kind=RefusalKind.NO_SESSION)
        state = scope.setdefault("state", {})
        state[FORM_TOKEN] = self._access.form_token(session)
        if head.method != "POST":
            return None
        form = await form_of(head.headers, receive)
        if isinstance(form, Refusal):
            return form
        if not self._access.accepts_form(session, form.get(FORM_TOKEN, "")):
            return Refusal(kind=RefusalKind.FORGED_FORM, detail=head.path)
        state["form"] = form
        return None

    def _entered(self, scope: Scope, head: RequestHead, token: str) -> Response | Refusal:
        """What a link opens, or why nothing."""
        session = self._access.redeem(token)
        if session is not None:
            with suppress(OSError, ValueError):  # a terminal that is gone keeps nobody out
                self._redeemed()
        else:
            session = self._access.redeem_opening(token, lambda: is_own(scope))
        if session is None:
            if self._session(scope, head) is not None:
                return _going_on()  # a reloaded link of a browser that is in already
            opening = self._access.is_opening(token)
            return Refusal(kind=RefusalKind.OTHER_USER if opening else RefusalKind.USED_TOKEN)
        answer = _going_on()
        answer.set_cookie(_cookie_name(scope), session, httponly=True, samesite="strict", path="/")
        return answer

    def _session(self, scope: Scope, head: RequestHead) -> str | None:
        return next(filter(self._access.knows, cookie_values(head, _cookie_name(scope))), None)


def _token(head: RequestHead) -> str:
    """The token of a link; ``""`` for an address without one."""
    return parse_qs(head.query.decode("latin-1")).get("token", [""])[-1]


def _going_on() -> Response:
    """Goes on from a page of our own: browsers send no strict cookie after a link on a page of somebody else's."""
    return Response(_ENTERED, media_type="text/html")


def _cookie_name(scope: Scope) -> str:
    server = scope.get("server")
    return f"{COOKIE}_{server[1]}" if server else COOKIE
