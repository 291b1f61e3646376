"""How views answer: a page in the reader's language and colours, or the way back to one after a form."""

from collections.abc import Mapping
from typing import Any, Final, cast

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse

from traced_loop.web.page_words import LANGUAGES, PageWords, page_words, wanted_language
from traced_loop.web.site import site_of
from traced_loop.web.templates import templates

LANGUAGE_COOKIE: Final = "traced_loop_language"
THEME_COOKIE: Final = "traced_loop_theme"
KEY_FIELD: Final = "key"
THEMES: Final = ("auto", "light", "dark")


def words_of(request: Request) -> PageWords:
    """The words in the language that the reader chose, else the browser's, else English."""
    chosen = request.cookies.get(LANGUAGE_COOKIE)
    return page_words(wanted_language(chosen, request.headers.get("accept-language", "")))


def page(
    request: Request, template: str, *, status: int = 200, stamp: str = "", watch: str = "", **values: Any
) -> HTMLResponse:
    """A page, with how many calls wait for a person beside the way to them.

    Args:
        request: what asks for it.
        template: its file.
        status: of HTTP.
        stamp: of what it shows (``Site.stamp``), taken before that was read; ``""`` where nothing is watched.
        watch: what is watched, likewise.
        values: what the template names.
    """
    count, is_more = site_of(request).confirmations.pending.count()
    waiting = f"{count}+" if is_more else str(count or "")
    return piece(request, template, status=status, stamp=stamp, watch=watch, waiting_count=waiting, **values)


def piece(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A part of a page, for the script that puts it in; nothing of the store is read for it.

    Args:
        request: what asks for it.
        template: its file.
        status: of HTTP.
        values: what the template names.
    """
    site, theme = site_of(request), request.cookies.get(THEME_COOKIE, "auto")
    shared: dict[str, Any] = {
        "t": words_of(request),
        "site": site,
        "path": request.url.path,
        "here": request.url.path + (f"?{request.url.query}" if request.url.query else ""),
        "form_token": request.scope.get("state", {}).get("form_token", ""),
        "languages": LANGUAGES,
        "themes": THEMES,
        "theme": theme if theme in THEMES else "auto",
        "stamp": "",
        "watch": "",
        "now_ns": site.now_ns(),
    }
    return HTMLResponse(templates().get_template(template).render({**shared, **values}), status_code=status)


def problem(request: Request, status: int, key: str, *, outside: bool = False, **values: object) -> HTMLResponse:
    """A page that says what is wrong and what to do.

    Args:
        request: what asked.
        status: of HTTP.
        key: of the text, in ``page.problem``.
        outside: whether who asks may see nothing of this site, not even where its store is.
        values: what the text names.
    """
    words = words_of(request)
    text = words(f"page.problem.{key}", **values)
    return piece(request, "refusal.html", status=status, text=text) if outside else told(request, status, text)


def told(request: Request, status: int, text: str, language: str = "") -> HTMLResponse:
    """A page that says a sentence. The store may be what is wrong: it is not read again.

    Args:
        request: what asked.
        status: of HTTP.
        text: the sentence.
        language: of it; ``""`` for the reader's.
    """
    language = language or words_of(request).language
    return piece(request, "problem.html", status=status, waiting_count="", text=text, text_language=language)


def form_of(request: Request) -> Mapping[str, str]:
    """The fields of a form; the gate has read and checked them."""
    return cast("Mapping[str, str]", request.state.form)


def typed_key(request: Request) -> str:
    """The key that was typed into a form, taken out of it, so that nothing that is made of the form can hold it."""
    return cast("dict[str, str]", request.state.form).pop(KEY_FIELD, "").strip()


def back(address: str) -> RedirectResponse:
    """To a page of this server after a form was taken, so that reloading sends nothing again.

    Args:
        address: a path; what is no path of this server leads to the first page.
    """
    is_ours = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()
    return RedirectResponse(address if is_ours else "/", status_code=303)
