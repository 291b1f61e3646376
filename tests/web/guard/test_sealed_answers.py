"""The headers of every answer."""

from __future__ import annotations

import asyncio

from traced_loop.web.guard.sealed_answers import sealed

from .requests import Answer


def test_an_answer_cannot_loosen_its_seal() -> None:
    """What a page says itself gives way, and the headers of a file that may be kept do, too."""
    answer = Answer()
    theirs = [(b"content-security-policy", b"default-src *"), (b"cache-control", b"max-age=9"), (b"etag", b"x")]
    asyncio.run(sealed(answer)({"type": "http.response.start", "status": 200, "headers": theirs}))
    assert "*" not in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-store"


def test_nothing_inline_and_nothing_from_elsewhere_is_allowed() -> None:
    """No directive names another place than this origin, or anything unsafe."""
    answer = Answer()
    asyncio.run(sealed(answer)({"type": "http.response.start", "status": 200, "headers": []}))
    directives = [part.split() for part in answer.headers["content-security-policy"].split("; ")]
    assert {source for _, *sources in directives for source in sources} == {"'none'", "'self'"}
    assert {"base-uri", "form-action", "frame-ancestors"} <= {name for name, *_ in directives}
