"""Bodies that are read whole: no server fills the memory with one."""

from __future__ import annotations

import asyncio
import gzip

import pytest

from traced_loop import OpenAIModel
from traced_loop.errors import ModelError
from traced_loop.messages import ModelRequest
from traced_loop.models.bounded_bodies import MAX_BODY_BYTES

from .raw_server import Bytes, http, raw_server

LONG = b" " * (MAX_BODY_BYTES + 1)
PACKED = gzip.compress(LONG, 1)


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "compressed"])
@pytest.mark.parametrize("status", ["200 OK", "500 Broken", "429 Slow down"])
def test_a_body_that_is_too_long_is_refused_and_not_asked_for_again(
    status: str, *, packed: bool, streamed: bool
) -> None:
    """Of an answer or of an error; what counts is its length once it is decoded."""
    data = http(PACKED, "content-encoding: gzip", status=status) if packed else http(LONG, status=status)

    async def asked(base_url: str) -> None:
        model = OpenAIModel("m", base_url=base_url, stream=streamed)
        await model.complete(ModelRequest(messages=[{"role": "user", "content": "Go."}], timeout=30))

    with raw_server(otherwise=Bytes(data)) as server, pytest.raises(ModelError) as refused:
        asyncio.run(asked(server.base_url))
    assert (refused.value.error_type, refused.value.retryable) == ("invalid_response", False)
