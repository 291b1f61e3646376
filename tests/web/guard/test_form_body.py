"""The body of a form: within its bounds it is fields, otherwise a refusal, never an exception."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.web.guard.form_body import MAX_BODY, MAX_FIELDS, form_of
from traced_loop.web.guard.refusals import Refusal, RefusalKind

from .requests import pieces

if TYPE_CHECKING:
    from starlette.types import Message

FORM = {"content-type": "application/x-www-form-urlencoded"}


def sent(bodies: list[bytes], **headers: str) -> Any:
    """What comes of a body in pieces: fields, or the kind of a refusal."""
    form = asyncio.run(form_of({**FORM, **{n.replace("_", "-"): v for n, v in headers.items()}}, pieces(bodies)))
    return form.kind if isinstance(form, Refusal) else dict(form)


@given(st.dictionaries(st.text(min_size=1, max_size=20), st.text(max_size=20), max_size=20), st.integers(1, 7))
def test_fields_come_back_as_they_were_sent(fields: dict[str, str], length: int) -> None:
    """In however many pieces."""
    body = urlencode(fields).encode()
    assert sent([body[at : at + length] for at in range(0, len(body), length)] or [b""]) == fields


@given(st.lists(st.binary(max_size=200), min_size=1, max_size=5), st.text(max_size=20), st.text(max_size=20))
def test_no_body_is_too_odd(bodies: list[bytes], kind: str, length: str) -> None:
    """Fields, or a refusal."""
    assert isinstance(sent(bodies), (dict, RefusalKind))
    assert isinstance(sent(bodies, content_type=kind, content_length=length), (dict, RefusalKind))


@pytest.mark.parametrize("kind", ["", "multipart/form-data; boundary=x", "application/json", "text/plain"])
def test_another_format_is_refused_unread(kind: str) -> None:
    """Among them what a page of another site may send without asking first."""
    assert sent([b"a=1"], content_type=kind) == RefusalKind.BAD_FORM


def test_a_large_form_is_refused_by_what_it_says_of_itself() -> None:
    """Nothing of it is read."""
    assert sent([], content_length=str(MAX_BODY + 1)) == RefusalKind.TOO_LARGE
    assert sent([], content_length="9" * 5000) == RefusalKind.TOO_LARGE
    assert sent([], content_length="-1") == RefusalKind.BAD_FORM


def test_a_large_form_that_says_nothing_is_refused_when_it_is_too_large() -> None:
    """The rest is not read."""
    assert sent([b"a=" + b"x" * (MAX_BODY - 2)]) == {"a": "x" * (MAX_BODY - 2)}
    assert sent([b"x" * MAX_BODY, b"x", b"never read"]) == RefusalKind.TOO_LARGE


def test_a_form_that_breaks_off_is_none() -> None:
    """Its fields so far are not taken for all."""
    told = iter([{"type": "http.request", "body": b"a=1", "more_body": True}, {"type": "http.disconnect"}])

    async def half() -> Message:
        return next(told)

    refusal = asyncio.run(form_of(FORM, half))
    assert isinstance(refusal, Refusal)
    assert refusal.kind == RefusalKind.BAD_FORM


def test_a_form_that_does_not_end_is_let_go_of() -> None:
    """After the time that it is given."""

    async def never() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    refusal = asyncio.run(form_of(FORM, never, seconds=0.01))
    assert isinstance(refusal, Refusal)
    assert refusal.kind == RefusalKind.TOO_SLOW


@pytest.mark.parametrize(
    "body", [b"\xff", b"a=%ff", b"&".join([b"a=1"] * (MAX_FIELDS + 1)), "a=\udcff".encode("utf-8", "surrogatepass")]
)
def test_what_is_no_text_or_too_much_of_it_is_refused(body: bytes) -> None:
    """More fields than any form has, and bytes that are no UTF-8."""
    assert sent([body]) == RefusalKind.BAD_FORM
