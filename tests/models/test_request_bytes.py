"""A request as bytes: those that the official client would make of the same body."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai import AsyncOpenAI
from openai._utils._json import openapi_dumps

from traced_loop import Loop, OpenAIModel, tool
from traced_loop.models import request_bytes as of_requests
from traced_loop.models.request_bytes import WrittenMessages, request_bytes
from traced_loop.testing import Spans, counted_wiring

from .chat_server import ANSWER, Reply, chat_server

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
MESSAGES = st.dictionaries(st.sampled_from(["role", "content", "tool_calls", "é"]), VALUES, max_size=3)


class Counting(json.JSONEncoder):
    """Counts what it writes."""

    count = 0

    def encode(self, o: Any) -> str:
        type(self).count += 1
        return super().encode(o)


def official(body: dict[str, Any]) -> bytes | None:
    """What the client sends; None where it cannot."""
    try:
        return openapi_dumps(body)
    except ValueError:
        return None


@given(messages=st.lists(MESSAGES, max_size=4), more=st.dictionaries(st.text(), VALUES, max_size=3))
def test_the_bytes_are_those_of_the_official_client(messages: list[Any], more: dict[str, Any]) -> None:
    """Whatever is in the body, before and after its messages; lone surrogates are sent by neither."""
    body = {"model": "m", "messages": messages, **more}

    assert request_bytes(body, messages, WrittenMessages()) == official(body)


@given(st.lists(st.lists(MESSAGES, max_size=5), max_size=5), st.data())
def test_each_request_has_the_messages_of_its_own_history(histories: list[list[Any]], data: st.DataObject) -> None:
    """Histories that grow, shrink, and have other messages in old places, written by the same writer."""
    written, known = WrittenMessages(), [message for history in histories for message in history]

    for history in histories:
        mixed = data.draw(st.lists(st.sampled_from(known), max_size=6)) if known else []
        for messages in (history, mixed):
            body = {"messages": messages}
            assert request_bytes(body, messages, written) == official(body)


def test_a_message_is_written_once_however_many_requests_it_is_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hundredth request of a history writes one message."""
    monkeypatch.setattr(of_requests, "_encoder", Counting(ensure_ascii=False, separators=(",", ":")))
    messages = [{"role": "user", "content": str(n)} for n in range(100)]
    written = WrittenMessages()
    written.array(messages[:99])
    Counting.count = 0

    written.array(messages)

    assert Counting.count == 1


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, "\ud800", datetime(2026, 1, 1, tzinfo=UTC)])
def test_what_is_not_plain_json_is_left_to_the_official_client(value: object) -> None:
    """It writes some of it, and says what is wrong with the rest."""
    messages: list[Any] = [{"role": "user", "content": "hi"}]

    assert request_bytes({"messages": messages, "extra": value}, messages, WrittenMessages()) is None


def test_a_message_that_nests_too_deeply_is_left_to_the_official_client() -> None:
    """Its error is the one that users know."""
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    messages = [{"role": "user", "content": deep}]

    assert request_bytes({"messages": messages}, messages, WrittenMessages()) is None


CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Z\\u00fcrich"}'}}
ASKS = {
    **ANSWER,
    "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": [CALL]}}],
}


@tool(effect="read")
def weather(city: str) -> str:
    """Say what it is like."""
    return f"{city}: 21 °C"


def sent(*, given: bool) -> list[tuple[Any, str, str]]:
    """Of the three requests of a run: the body, its length and its type."""
    with chat_server(first=[Reply(body=ASKS)] * 2) as server:

        async def run() -> None:
            async with AsyncOpenAI(api_key="key-of-a-test", base_url=server.base_url) as client:
                where: dict[str, Any] = {"client": client} if given else {"base_url": server.base_url, "api_key": "k"}
                await Loop(OpenAIModel("m", **where), [weather], wiring=counted_wiring(Spans())).arun("Grüezi?")

        asyncio.run(run())
        heads = [(head["content-length"], head["content-type"]) for head in server.headers]
        return [(body, *head) for body, head in zip(server.bodies, heads, strict=True)]


def test_a_server_gets_the_same_from_our_client_as_from_a_given_one() -> None:
    """Body, length and type of each request of a run with calls, whoever made the client."""
    assert len(sent(given=False)) == 3
    assert sent(given=False) == sent(given=True)
