"""The body of a form: read whole, within a bound, and only in the one format in which browsers send plain forms."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

from starlette.types import Receive

from traced_loop.web.guard.refusals import Refusal, RefusalKind

MAX_BODY: Final = 65_536
"""Bytes of a form."""
_MAX_FIELDS: Final = 64
_FORMAT: Final = "application/x-www-form-urlencoded"

Form = Mapping[str, str]
"""Fields by name; of several with one name the last."""


async def form_of(headers: Mapping[str, str], receive: Receive) -> Form | Refusal:
    """The fields of a form, or why it is refused."""
    if headers.get("content-type", "").partition(";")[0].strip().lower() != _FORMAT:
        return Refusal(kind=RefusalKind.BAD_FORM, detail="content type")
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return Refusal(kind=RefusalKind.BAD_FORM, detail="broken off")
        body += message.get("body", b"")
        if len(body) > MAX_BODY:
            return Refusal(kind=RefusalKind.TOO_LARGE, detail="form")
        if not message.get("more_body", False):
            break
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS)
    except ValueError:
        return Refusal(kind=RefusalKind.BAD_FORM, detail="fields")
    return dict(pairs)
