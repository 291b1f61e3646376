"""The body of a form: read whole, within bounds, and only in the one format in which browsers send plain forms."""

import asyncio
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

from starlette.types import Receive

from traced_loop.web.guard.refusals import Refusal, RefusalKind

MAX_BODY: Final = 262_144
"""Bytes of a form: the longest prompt of the lab in any script, nine bytes a character as browsers send it."""
BODY_SECONDS: Final = 5.0
"""Until all of a form has come."""
MAX_FIELDS: Final = 1_024
"""A field for each tool of a run, and some."""
_MAX_DIGITS: Final = 9
_FORMAT: Final = "application/x-www-form-urlencoded"

Form = Mapping[str, str]
"""Fields by name; of several with one name the last."""


async def form_of(headers: Mapping[str, str], receive: Receive, seconds: float = BODY_SECONDS) -> Form | Refusal:
    """The fields of a form, or why it is refused."""
    if headers.get("content-type", "").partition(";")[0].strip().lower() != _FORMAT:
        return Refusal(kind=RefusalKind.BAD_FORM, detail="content type")
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()):
        return Refusal(kind=RefusalKind.BAD_FORM, detail="content length")
    if len(length) > _MAX_DIGITS or int(length) > MAX_BODY:
        return Refusal(kind=RefusalKind.TOO_LARGE, detail="form")
    try:
        async with asyncio.timeout(seconds):
            body = await _body(receive)
    except TimeoutError:
        return Refusal(kind=RefusalKind.TOO_SLOW, detail="form")
    return body if isinstance(body, Refusal) else _fields(body)


async def _body(receive: Receive) -> bytes | Refusal:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return Refusal(kind=RefusalKind.BAD_FORM, detail="broken off")
        body += message.get("body", b"")
        if len(body) > MAX_BODY:
            return Refusal(kind=RefusalKind.TOO_LARGE, detail="form")
        if not message.get("more_body", False):
            return bytes(body)


def _fields(body: bytes) -> Form | Refusal:
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError:
        return Refusal(kind=RefusalKind.BAD_FORM, detail="fields")
    return dict(pairs)
