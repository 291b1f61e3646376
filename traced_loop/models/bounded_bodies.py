"""Bodies that the client reads whole: bounded, whatever a server sends and however it is compressed.

A stream is read elsewhere, packet by packet; the body of an error to a streamed request is read whole, too.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final

from traced_loop.errors import ModelError

MAX_BODY_BYTES: Final = 64 * 1024 * 1024
"""Of one body, once it is decoded."""


class BodyTooLong(Exception):
    """A body is longer than ``MAX_BODY_BYTES``."""


async def bound_body(response: Any) -> None:
    """Let no more of a response be read at once than a body may have; a hook of the client's transport.

    Args:
        response: of one of the two packages that the client may use; its body is unread.
    """
    pieces, whole = response.aiter_bytes, response.aread

    async def read() -> bytes:
        response.aiter_bytes = lambda: _bounded(pieces())
        body: bytes = await whole()
        return body

    response.aread = read


def too_long(error: BaseException, where: str) -> ModelError | None:
    """What the client raises for such a body, as ours; None where that was not it.

    The same request would be answered as long again.
    """
    if isinstance(error, BodyTooLong) or isinstance(error.__cause__, BodyTooLong):
        return ModelError(f"{where} sent a body that is too long", error_type="invalid_response")
    return None


async def _bounded(pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """The pieces, up to the bound.

    Raises:
        BodyTooLong: there are more.
    """
    size = 0
    async with aclosing(pieces):
        async for piece in pieces:
            size += len(piece)
            if size > MAX_BODY_BYTES:
                raise BodyTooLong
            yield piece
