"""The reader's language and colours, kept in cookies of their own browser."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from traced_loop.web.answers import LANGUAGE_COOKIE, THEME_COOKIE, THEMES, back, form_of
from traced_loop.web.page_words import LANGUAGES

_YEAR: Final = 365 * 24 * 3600


def routes() -> list[Route]:
    """The form's address."""
    return [Route("/settings", _set, methods=["POST"])]


async def _set(request: Request) -> Response:
    form = form_of(request)
    answer = back(form.get("back", "/"))
    for cookie, value, known in (
        (LANGUAGE_COOKIE, form.get("language", ""), LANGUAGES),
        (THEME_COOKIE, form.get("theme", ""), THEMES),
    ):
        if value in known:
            answer.set_cookie(cookie, value, max_age=_YEAR, httponly=True, samesite="strict")
    return answer
