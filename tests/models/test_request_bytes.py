"""A request as bytes: those that the official client would make of the same body."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai import AsyncOpenAI
from openai._utils._json import openapi_dumps

from traced_loop import Loop, OpenAIModel, tool
from traced_loop.messages import ModelRequest, RunMessages
from traced_loop.models import request_bytes as of_requests
from traced_loop.models.request_bytes import request_bytes
from traced_loop.testing import Spans, counted_wiring

from .chat_server import ANSWER, Reply, chat_server

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
MESSAGES = st.dictionaries(st.sampled_from(["role", "content", "tool_calls", "é"]), VALUES, max_size=3)


class Counting(json.JSONEncoder):
    """Remembers what it writes."""

    written: ClassVar[list[Any]] = []

    def encode(self, o: Any) -> str:
        self.written.append(o)
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

    assert request_bytes(body, messages) == official(body)


@given(st.lists(st.lists(MESSAGES, max_size=5), max_size=5), st.data())
def test_each_request_has_the_messages_as_they_are_then(histories: list[list[Any]], data: st.DataObject) -> None:
    """A history that grows, shrinks, has other messages in old places, or messages that were changed in place."""
    run, known = RunMessages(), [message for history in histories for message in history]

    for history in histories:
        mixed = data.draw(st.lists(st.sampled_from(known), max_size=6)) if known else []
        for messages in (history, mixed):
            run[:] = messages
            for message in run[:1]:
                message["content"] = data.draw(st.text() | st.lists(st.text(), max_size=2))
            body = {"messages": run}
            assert request_bytes(body, run) == official(body)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ({"type": "text"}, lambda part: part.update(mark="m")),
        (["hi"], lambda part: part.append("m")),
        (("hi", ["x"]), lambda part: part[1].append("m")),
    ],
    ids=["object", "array", "tuple"],
)
def test_a_part_that_was_changed_in_place_is_sent_as_it_is_now(part: Any, change: Callable[[Any], None]) -> None:
    """As a mark is that says how far a provider may cache."""
    messages = RunMessages([{"role": "user", "content": [part]}])
    body = {"messages": messages}
    before = request_bytes(body, messages)

    change(part)

    assert request_bytes(body, messages) == official(body) != before


def test_a_message_is_written_once_however_many_requests_it_is_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hundredth request of a history writes one message."""
    monkeypatch.setattr(of_requests, "_encoder", Counting(ensure_ascii=False, separators=(",", ":")))
    messages = RunMessages({"role": "user", "content": str(n)} for n in range(100))
    last = messages.pop()
    request_bytes({"messages": messages}, messages)
    messages.append(last)
    Counting.written = []

    request_bytes({"messages": messages}, messages)

    assert Counting.written == ["messages", last]


def test_equal_tools_are_written_once_and_changed_ones_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where they were changed in place, or are other objects that are equal."""
    monkeypatch.setattr(of_requests, "_encoder", Counting(ensure_ascii=False, separators=(",", ":")))
    messages, tools = RunMessages(), [{"function": {"name": "look"}}]
    request_bytes({"tools": tools}, messages)
    Counting.written = []

    equal = request_bytes({"tools": copy.deepcopy(tools)}, messages)
    tools[0]["function"]["name"] = "watch"
    changed = request_bytes({"tools": tools}, messages)

    assert (equal, changed) == (b'{"tools":[{"function":{"name":"look"}}]}', official({"tools": tools}))
    assert Counting.written == ["tools", "tools", tools]


def test_the_requests_of_a_run_write_each_message_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a whole run, and anew for the next one."""
    monkeypatch.setattr(of_requests, "_encoder", Counting(ensure_ascii=False, separators=(",", ":")))
    Counting.written = []

    bodies = [body for body, *_ in sent(given=False)]

    assert [value for value in Counting.written if isinstance(value, dict)] == bodies[-1]["messages"]


def test_a_request_can_be_copied_pickled_and_kept_as_json() -> None:
    """Whatever was made of its messages: who records requests does so."""
    request = ModelRequest(messages=RunMessages([{"role": "user", "content": "hi"}]))
    request_bytes({"messages": request.messages}, request.messages)

    copies = [copy.deepcopy(request), pickle.loads(pickle.dumps(request))]

    assert copies == [request, request]
    assert json.loads(json.dumps(asdict(request)))["messages"] == [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, "\ud800", datetime(2026, 1, 1, tzinfo=UTC)])
def test_what_is_not_plain_json_is_left_to_the_official_client(value: object) -> None:
    """It writes some of it, and says what is wrong with the rest."""
    messages: list[Any] = [{"role": "user", "content": "hi"}]

    assert request_bytes({"messages": messages, "extra": value}, messages) is None


def test_a_name_that_is_no_text_is_left_to_the_official_client() -> None:
    """JSON has only texts for names, and the client makes one of it."""
    body: Any = {"messages": [], 1: 2}

    assert request_bytes(body, body["messages"]) is None


def test_a_message_that_nests_too_deeply_is_left_to_the_official_client() -> None:
    """Its error is the one that users know."""
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    messages = [{"role": "user", "content": deep}]

    assert request_bytes({"messages": messages}, messages) is None


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
