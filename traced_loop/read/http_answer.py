"""One answer over HTTP, within a time that nobody can stretch: neither a slow server nor a resolver."""

import urllib.error
import urllib.request
from http.client import HTTPException, HTTPMessage, HTTPResponse
from threading import Thread
from time import monotonic
from typing import IO, Final

from traced_loop.frozen_value import frozen_value

_PART_BYTES: Final = 1 << 20
_ERROR_BYTES: Final = 10_000
"""Read of the body of an error."""


@frozen_value
class HttpAnswer:
    """What a server answered.

    Attributes:
        status: 200 and its like, or that of an error; of a redirect too, none is followed.
        body: of an error its beginning.
        reason: the server's word for the status.
        location: where a redirect leads to.
    """

    status: int
    body: bytes
    reason: str = ""
    location: str | None = None


class TooSlow(Exception):
    """The answer was not whole when its time was over, although parts of it came."""


def answer_within(request: urllib.request.Request, *, until: float, silence: float, most: int) -> HttpAnswer:
    """Send a request and read its answer.

    Args:
        request: over http or https.
        until: on the monotonic clock, when the whole answer has to be there.
        silence: seconds until a connection stands, and between two parts of the answer.
        most: bytes that are read; an answer of more has at least one more.

    Raises:
        TooSlow: it was not there in time.
        OSError: no connection, or silence; as ``urllib`` raises it.
        HTTPException: the answer is none.
        ValueError: the request holds what cannot be sent.
    """
    found: list[HttpAnswer | BaseException] = []

    def read() -> None:
        try:
            found.append(_answer(request, until, silence, most))
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            found.append(error)

    # Headers and names are waited for in C and in loops of the library: only another thread can be left behind.
    thread = Thread(target=read, name="traced_loop http answer", daemon=True)
    thread.start()
    thread.join(max(0.0, until - monotonic()))
    if not found:
        raise TooSlow
    [outcome] = found
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def _answer(request: urllib.request.Request, until: float, silence: float, most: int) -> HttpAnswer:
    try:
        with _OPENER.open(request, timeout=silence) as answer:
            return HttpAnswer(status=answer.status, body=_body(answer, until, most + 1))
    except urllib.error.HTTPError as error:
        with error:
            try:
                body = _body(error, until, _ERROR_BYTES)
            except (OSError, HTTPException, ValueError):
                body = b""
            location = error.headers.get("Location")
            return HttpAnswer(status=error.code, body=body, reason=str(error.reason), location=location)


def _body(answer: HTTPResponse | urllib.error.HTTPError, until: float, most: int) -> bytes:
    parts, left = list[bytes](), most
    while left > 0 and (part := answer.read1(min(left, _PART_BYTES))):
        parts.append(part)
        left -= len(part)
        if monotonic() > until:
            raise TooSlow
    return b"".join(parts)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Headers with credentials go to the address that was given, and to no other."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """Follow none; the answer becomes an ``HTTPError``."""


_OPENER: Final = urllib.request.build_opener(_NoRedirects)
