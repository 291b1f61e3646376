"""The official client against a real server that streams: every way in which a stream goes on, breaks, and ends."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import random
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai import AsyncOpenAI

from traced_loop import Loop, ModelError, OpenAIModel, RetryPolicy, StopReason, UsageError, partial_result
from traced_loop.closed_words import Anomaly
from traced_loop.events import AttemptFailed, Event, TextDelta
from traced_loop.messages import ModelAnswer, ModelChunk, ModelRequest
from traced_loop.models import answer_stream
from traced_loop.models.answer_stream import AnswerStream
from traced_loop.models.chat_completion import read_body
from traced_loop.models.chat_format import ChatFormat
from traced_loop.models.server_events import MAX_EVENT_BYTES

from ..hangs import HANGS, no_hang
from .chat_server import ANSWER, Reply, chat_server, counted, delta, streamed
from .streamed_bodies import events_of, packets_of

REQUEST = ModelRequest(messages=[{"role": "user", "content": "hi"}], timeout=HANGS)
HELLO = [delta(role="assistant"), delta(content="hel"), delta(content="lo"), delta("stop"), counted(10, 2)]
SENT = [b"data: %s\n\n" % json.dumps(event).encode() for event in HELLO]
DONE = b"data: [DONE]\n\n"


def ask(base_url: str, request: ModelRequest = REQUEST, **options: Any) -> ModelAnswer:
    """One streamed request of a client that is closed afterwards."""

    async def asked() -> ModelAnswer:
        async with AsyncOpenAI(api_key="key-of-a-test", base_url=base_url) as client:
            try:
                return await OpenAIModel("m", client=client, stream=True, **options).complete(request)
            finally:
                await asyncio.sleep(0)

    return asyncio.run(asked())


def answered(*packets: bytes, **more: Any) -> ModelAnswer:
    """The answer of a server that sends these packets."""
    with chat_server(Reply(packets=packets, content_type="text/event-stream", **more)) as server:
        return ask(server.base_url)


def failure(*packets: bytes, **more: Any) -> ModelError:
    """The error of one that sends these."""
    with pytest.raises(ModelError) as raised:
        answered(*packets, **more)
    return raised.value


def content(answer: ModelAnswer) -> Any:
    """The text of an answer."""
    assert answer.message is not None
    return answer.message["content"]


def test_a_stream_is_asked_for_with_its_counts() -> None:
    """And read as if it had come whole."""
    with chat_server(streamed(*HELLO)) as server:
        answer = ask(server.base_url)

    assert server.bodies[0]["stream"] is True
    assert server.bodies[0]["stream_options"] == {"include_usage": True}
    assert answer == read_body(ANSWER)


def test_each_piece_is_told_as_it_comes() -> None:
    """Before the next one is sent: the last of these would never come."""
    came: list[ModelChunk] = []
    told = threading.Event()

    def take(chunk: ModelChunk) -> None:
        came.append(chunk)
        if chunk.text == "lo":
            told.set()
            raise KeyboardInterrupt

    with chat_server(streamed(*HELLO[:3], done=False, end="open")) as server:
        with pytest.raises(KeyboardInterrupt):
            ask(server.base_url, replace(REQUEST, on_chunk=take))
        assert server.left.wait(60)
    assert [chunk.text for chunk in came] == ["", "hel", "lo"]


@settings(max_examples=25)
@given(st.data())
def test_packets_may_end_anywhere(data: st.DataObject) -> None:
    """Comments, names of events, CRLF, escapes or UTF-8: the answer is the same."""
    body: dict[str, Any] = {
        **ANSWER,
        "choices": [{"message": {"content": "grüße \U0001f600"}, "finish_reason": "stop"}],
    }
    draw = random.Random(data.draw(st.integers(0, 2**32))).randint
    packets = packets_of(events_of(body, draw), draw, line_end=data.draw(st.sampled_from(["\n", "\r\n", "\r"])))

    assert answered(*packets) == read_body(body)


ENDS = {
    "done": [*SENT, DONE],
    "no_done": SENT,
    "junk_after_done": [*SENT, DONE + b"data: {broken\n\ndata: 7\n\n"],
    "done_in_the_last_packet": [*SENT[:-1], SENT[-1] + DONE],
    "no_blank_line_at_the_end": [*SENT[:-1], SENT[-1].strip()],
    "several_data_lines": [b'data: {"choices":\ndata: []}\n\n', *SENT, DONE],
    "empty_data": [b"data:\n\ndata: \n\n", *SENT, DONE],
    "comments_first": [b": working\n\n", b": still\n\n", *SENT, DONE],
    "blank_first": [b"\n\n  \n", *SENT, DONE],
    "a_mark_first": [b"\xef\xbb\xbf", *SENT, DONE],
}


@pytest.mark.parametrize("packets", ENDS.values(), ids=ENDS)
def test_every_writing_of_a_stream_is_read(packets: list[bytes]) -> None:
    """As servers write it, whether they say that it is over or not."""
    answer = answered(*packets)

    assert (content(answer), answer.finish_reason, answer.usage.total) == ("hello", "stop", 12)


def test_a_stream_that_never_ends_is_bounded_by_the_requests_time() -> None:
    """However lively it is."""
    lively = Reply(packets=itertools.repeat(SENT[1], 10**9))  # type: ignore[arg-type]
    with chat_server(lively) as server, no_hang(), pytest.raises(ModelError) as raised:
        ask(server.base_url, replace(REQUEST, timeout=0.5))
    assert (raised.value.error_type, raised.value.retryable) == ("timeout", True)


class Cut:
    """A response of which some bytes come before its end, or before the connection is lost."""

    def __init__(self, data: bytes, *, lost: bool) -> None:
        self._data = data
        self._lost = lost

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        """All that there is, in one packet."""
        if self._data:
            yield self._data
        if self._lost:
            raise ConnectionResetError("gone")

    async def aclose(self) -> None:
        """Nothing is held."""


@pytest.mark.parametrize("lost", [False, True], ids=["ended", "lost"])
def test_a_stream_that_is_cut_at_any_byte_is_whole_or_an_error(lost: bool) -> None:
    """Before the finish reason it is a failed try that may work again; from then on nothing is missing."""
    whole = b"".join(SENT) + DONE
    over = len(b"".join(SENT[:4]))

    def outcome(at: int) -> str:
        stream = AnswerStream(
            response=Cut(whole[:at], lost=lost),
            wire=ChatFormat(),
            on_chunk=None,
            stall_seconds=60,
            deadline=math.inf,
            where="a server",
        )
        try:
            return str(content(asyncio.run(stream.read())))
        except ModelError as error:
            return f"{error.error_type} {error.retryable}"

    # Without its line end the event is whole for who knows that the end is the end.
    complete = over if lost else over - len("\n\n")
    first = {"connection True"} if lost else {"connection True", "invalid_response True"}
    assert {outcome(at) for at in range(complete)} == first
    assert {outcome(at) for at in range(complete, len(whole) + 1)} == {"hello"}


def test_a_connection_that_is_cut_is_a_connection_error() -> None:
    """By the real client."""
    error = failure(*SENT[:3], end="cut")

    assert (error.error_type, error.retryable) == ("connection", True)
    assert content(answered(*SENT[:4], end="cut")) == "hello"


BROKEN = {
    "no_json": [*SENT[:2], b"data: {broken\n\n", *SENT[2:]],
    "no_utf_8": [*SENT[:2], b'data: {"a": "\xff"}\n\n', *SENT[2:]],
    "too_deep": [*SENT[:2], b"data: " + b"[" * 100_000 + b"\n\n", *SENT[2:]],
    "html": [b"<html><body>busy</body></html>"],
    "text": [b"upstream connect error\n\n"],
    "nothing": [],
    "half_a_body": [b'{"choices": ['],
}


@pytest.mark.parametrize("packets", BROKEN.values(), ids=BROKEN)
def test_what_is_no_stream_is_an_invalid_response(packets: list[bytes]) -> None:
    """Also where one event is unreadable: what it held is lost, and nobody knows what it was."""
    error = failure(*packets)

    assert (error.error_type, error.retryable) == ("invalid_response", True)


def test_an_unreadable_event_after_the_answer_takes_nothing_away() -> None:
    """The answer was over."""
    assert content(answered(*SENT[:4], b"data: {broken\n\n")) == "hello"


@pytest.mark.parametrize("end", [b"", b"data: {\n\n"], ids=["ends", "breaks"])
def test_an_answer_that_is_written_on_after_its_reason_is_whole_only_at_its_end(end: bytes) -> None:
    """Whoever breaks off then may have left out the rest: of a call, its arguments."""
    call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": ""}}
    late = b"data: %s\n\n" % json.dumps(delta(tool_calls=[call])).encode()
    reason = b"data: %s\n\n" % json.dumps(delta("tool_calls")).encode()

    assert failure(reason, late, end).retryable
    assert answered(reason, late, reason, end).finish_reason == "tool_calls"
    assert answered(reason, late, DONE).finish_reason == "tool_calls"


def test_an_event_without_end_is_refused_at_the_bound() -> None:
    """And not asked for again: it would be as long."""
    packet = b"x" * 1024 * 1024
    error = failure(SENT[0] + b"data: ", *[packet] * (MAX_EVENT_BYTES // len(packet) + 34))

    assert (error.error_type, error.retryable) == ("invalid_response", False)


def test_a_body_instead_of_a_stream_is_read_whole() -> None:
    """The server does not stream: noted, and no error; in however many packets it comes."""
    data = json.dumps(ANSWER).encode()
    for packets in ([data], [data[at : at + 10] for at in range(0, len(data), 10)]):
        answer = answered(*packets)
        assert answer == replace(read_body(ANSWER), anomalies=(Anomaly.STREAM_IGNORED,))


def test_a_body_instead_of_a_stream_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is held as a whole."""
    monkeypatch.setattr(answer_stream, "MAX_BODY_BYTES", 1000)

    assert failure(*[b"[" + b" " * 600] * 2).error_type == "invalid_response"


def test_a_stream_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """However small its events are."""
    monkeypatch.setattr(answer_stream, "MAX_STREAM_BYTES", 10 * len(SENT[1]))

    error = failure(*[SENT[1]] * 20)
    assert (error.error_type, error.retryable) == ("invalid_response", False)


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(b'data: {"error": {"message": "overloaded", "code": 503}}', id="object"),
        pytest.param(b'event: error\ndata: {"message": "overloaded", "code": 503}', id="named"),
    ],
)
def test_an_error_inside_the_stream_is_the_answers(event: bytes) -> None:
    """With what was said before it."""
    answer = answered(*SENT[:2], event + b"\n\n")

    assert (answer.error, answer.error_code, content(answer)) == ("overloaded", "503", "hel")


def test_a_status_is_an_error_as_without_a_stream() -> None:
    """The body is read for what it says."""
    busy = Reply(429, {"error": {"message": "slow down"}}, {"Retry-After": "7"})
    with chat_server(busy) as server, pytest.raises(ModelError, match="slow down") as raised:
        ask(server.base_url)
    assert (raised.value.status, raised.value.retry_after, raised.value.retryable) == (429, 7.0, True)


def test_a_stream_that_goes_silent_has_stalled() -> None:
    """After the declared silence, and the server sees that nobody listens any more."""
    with chat_server(streamed(*HELLO[:2], done=False, end="open")) as server:
        with no_hang(), pytest.raises(ModelError, match=r"sent nothing for 0\.2 s") as raised:
            ask(server.base_url, stall_seconds=0.2)
        assert server.left.wait(60)
    assert (raised.value.error_type, raised.value.retryable) == ("stalled", True)


def test_the_first_piece_may_take_the_requests_time() -> None:
    """A model that thinks for long is no stalled stream, also where the server says meanwhile that it is there."""
    with chat_server(Reply(packets=[b": working\n\n"], end="open")) as server, pytest.raises(ModelError) as raised:
        ask(server.base_url, replace(REQUEST, timeout=0.5), stall_seconds=0.1)
    assert raised.value.error_type == "timeout"


def test_an_answer_that_is_over_does_not_wait_for_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The counts may still come; a server that says nothing more is not waited for as long as one that stalls."""
    monkeypatch.setattr(answer_stream, "LINGER_SECONDS", 0.2)
    with chat_server(streamed(*HELLO[:4], done=False, end="open")) as server:
        answer = ask(server.base_url)
    assert (content(answer), answer.usage.source) == ("hello", "missing")


def test_the_last_event_is_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that stays open after it is not waited for."""
    monkeypatch.setattr(answer_stream, "LINGER_SECONDS", HANGS)
    with chat_server(streamed(*HELLO, end="open")) as server:
        with no_hang():
            assert content(ask(server.base_url)) == "hello"
        assert server.left.wait(60)


def test_a_connection_is_used_again_after_a_stream() -> None:
    """Its end is read."""

    async def asked(base_url: str) -> list[int]:
        async with AsyncOpenAI(api_key="key-of-a-test", base_url=base_url) as client:
            model = OpenAIModel("m", client=client, stream=True)
            for _ in range(3):
                await model.complete(REQUEST)
            await asyncio.sleep(0)
        return []

    with chat_server(streamed(*HELLO)) as server:
        asyncio.run(asked(server.base_url))
    assert len(server.bodies) == 3
    assert len(server.clients) == 1


def test_a_cancelled_request_closes_its_connection_at_once() -> None:
    """The server sees it, and stops to generate what nobody reads."""

    async def cancelled(base_url: str) -> None:
        came = asyncio.Event()
        async with AsyncOpenAI(api_key="key-of-a-test", base_url=base_url) as client:
            request = replace(REQUEST, timeout=60.0, on_chunk=lambda _chunk: came.set())
            task = asyncio.create_task(OpenAIModel("m", client=client, stream=True).complete(request))
            await came.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(server.left.wait, 5)

    with chat_server(streamed(*HELLO[:2], done=False, end="open")) as server:
        asyncio.run(cancelled(server.base_url))


def test_what_the_callers_options_say_of_a_stream_goes_out() -> None:
    """Beside the counts."""
    with chat_server(streamed(*HELLO)) as server:
        ask(server.base_url, replace(REQUEST, parameters={"stream_options": {"include_obfuscation": False}}))
    assert server.bodies[0]["stream_options"] == {"include_usage": True, "include_obfuscation": False}


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), "60"])
def test_a_silence_that_makes_no_sense_is_refused(seconds: Any) -> None:
    """When the model is configured."""
    with pytest.raises(UsageError, match="stall_seconds"):
        OpenAIModel("m", base_url="http://localhost/v1", stall_seconds=seconds)


def in_a_run(*replies: Reply, on_event: Callable[[Event], None] = lambda _event: None, **options: Any) -> Any:
    """The result of a run against a server that gives these replies in order."""
    with chat_server(replies[-1], first=replies[:-1]) as server:
        model = OpenAIModel("m", base_url=server.base_url, stream=True, **options)
        return Loop(model, store=None, retry=RetryPolicy(attempts=2, first_delay=0.001), on_event=on_event).run("hi")


def test_a_lost_connection_is_tried_again_and_told() -> None:
    """Text of the broken try is no part of the answer; what came of it is billed, estimated."""
    events: list[Event] = []
    result = in_a_run(streamed(*HELLO[:2], done=False, end="cut"), streamed(*HELLO), on_event=events.append)

    assert (result.answer, result.usage.model_requests, result.usage.estimated) == ("hello", 2, True)
    shown = [
        (event.attempt, event.text) if isinstance(event, TextDelta) else event.error_type
        for event in events
        if isinstance(event, (TextDelta, AttemptFailed))
    ]
    assert shown == [(1, "hel"), "connection", (2, "hel"), (2, "lo")]
    assert result.usage.tokens > 12


def test_what_came_is_kept_where_every_try_breaks() -> None:
    """As the run's partial text; the call that began in it is none."""
    call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}
    result = in_a_run(streamed(*HELLO[:2], delta(tool_calls=[call]), done=False, end="cut"))

    assert (result.stop_reason, result.partial, result.answer) == (StopReason.MODEL_ERROR, "hel", None)
    assert result.usage.model_requests == 2
    assert result.usage.tool_calls == 0


def test_a_run_that_is_left_keeps_what_came() -> None:
    """By an exception of its own callback: the text, and what it is estimated to cost."""

    def broken(event: Event) -> None:
        if isinstance(event, TextDelta) and event.text == "lo":
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken") as raised:
        in_a_run(streamed(*HELLO), on_event=broken)
    result = partial_result(raised.value)
    assert result is not None
    assert (result.partial, result.stop_reason) == ("hello", StopReason.HARNESS_ERROR)
    assert result.usage.tokens > 0


class Prepared:
    """A response whose packets are all there already, so that reading waits for none."""

    def __init__(self, packets: list[bytes]) -> None:
        self.packets = packets

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        """The packets."""
        for packet in self.packets:
            yield packet

    async def aclose(self) -> None:
        """Nothing is open."""


class CountedLoop(asyncio.SelectorEventLoop):
    """An event loop on whose clock each look takes a millisecond."""

    looks = 0

    def time(self) -> float:
        """Seconds since it was made."""
        self.looks += 1
        return self.looks / 1000


@pytest.mark.parametrize("size", [1, 1 << 30], ids=["bytes", "whole"])
def test_what_has_come_already_leaves_others_their_turn(size: int) -> None:
    """Hundreds of pieces, one a packet or all in one: whatever else runs on the event loop goes on meanwhile."""
    body = b" " * 1000 + SENT[0] + SENT[1] * 500 + b"".join(SENT[3:]) + DONE
    turns = 0

    async def read() -> ModelAnswer:
        nonlocal turns
        stream = AnswerStream(
            response=Prepared([body[at : at + size] for at in range(0, len(body), size)]),
            wire=ChatFormat(),
            on_chunk=None,
            stall_seconds=3600.0,
            deadline=asyncio.get_running_loop().time() + 3600,
            where="test",
        )
        reading = asyncio.create_task(stream.read())
        while not reading.done():
            turns += 1
            await asyncio.sleep(0)
        return await reading

    with asyncio.Runner(loop_factory=CountedLoop) as runner:
        assert content(runner.run(read())) == "hel" * 500
    assert turns > 10
