"""Every tree is that of an answer that comes whole, and that of the same one in pieces."""

from __future__ import annotations

import random
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import pytest

from tests.models.streamed_bodies import events_of, is_streamable
from traced_loop.models import scripted
from traced_loop.models.chat_completion import read_body
from traced_loop.models.chat_stream import ChatStream

if TYPE_CHECKING:
    from traced_loop.messages import ModelAnswer, ModelRequest

_ASKED: ContextVar[ModelRequest] = ContextVar("asked")


@pytest.fixture(autouse=True, params=["whole", "in_pieces"])
def _delivery(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How the scripted model gives its bodies; the test says what is true of both."""
    if request.param == "whole":
        return
    draw = random.Random(request.node.name).randint
    complete = scripted.ScriptedModel.complete

    async def asked(model: scripted.ScriptedModel, asked: ModelRequest) -> ModelAnswer:
        _ASKED.set(asked)
        return await complete(model, asked)

    def read_in_pieces(body: Any) -> ModelAnswer:
        if not is_streamable(body):
            return read_body(body)
        reader, told = ChatStream(), _ASKED.get().on_chunk
        for event in events_of(body, draw):
            chunk = reader.take(event)
            if told is not None:
                told(chunk)
        return reader.answer()

    monkeypatch.setattr(scripted.ScriptedModel, "complete", asked)
    monkeypatch.setattr(scripted, "read_body", read_in_pieces)
