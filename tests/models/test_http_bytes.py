"""Bytes at the HTTP transport: whatever comes over the socket, a run ends for one reason and no call runs from it."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import pytest

from traced_loop import Budget, Loop, OpenAIModel, RetryPolicy, RunResult, StopReason, names, tool
from traced_loop.testing import Spans, counted_wiring

from ..hangs import no_hang
from .raw_server import Bytes, RawServer, chunked, http, raw_server

CALL = {"id": "c1", "type": "function", "function": {"name": "must_not_run", "arguments": '{"a": 1}'}}
CALLS = {"choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"content": None, "tool_calls": [CALL]}}]}
TEXT = {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hello é"}}]}
WHOLE = json.dumps(CALLS).encode()
HELLO = json.dumps(TEXT, ensure_ascii=False).encode()


def events(delta: dict[str, Any], finish: str) -> bytes:
    """A short stream."""
    pieces = [{"delta": delta, "finish_reason": None}, {"delta": {}, "finish_reason": finish}]
    lines = [json.dumps({"choices": [{"index": 0, **piece}]}, ensure_ascii=False) for piece in pieces]
    return "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]).encode()


STREAM = events({"tool_calls": [{"index": 0, **CALL}]}, "tool_calls")
HELLO_STREAM = events({"content": "hello é"}, "stop")


def run(server: RawServer, *, streamed: bool, seconds: float = 20.0, **options: Any) -> tuple[RunResult, Spans]:
    """A run with a tool, which shows itself by ending the test; a second answer is a text."""

    @tool(effect="read")
    def must_not_run(a: int) -> int:
        """Be called by nobody."""
        raise AssertionError(a)

    spans = Spans()
    loop = Loop(
        OpenAIModel("m", base_url=server.base_url, stream=streamed, **options),
        [must_not_run],
        budget=Budget(seconds=None, request_seconds=seconds),
        retry=RetryPolicy(attempts=2, first_delay=0.01),
        wiring=counted_wiring(spans),
    )
    result = loop.run("Go.")
    assert spans.open == []
    assert spans.named(names.EXECUTE_TOOL) == []
    return result, spans


def tries(spans: Spans) -> list[object]:
    """What each try failed with."""
    return [span.attributes.get("error.type") for span in spans.named(names.ATTEMPT)]


BROKEN: dict[str, tuple[bytes, bytes]] = {
    "nothing": (b"", b""),
    "no-http": (b"SSH-2.0-OpenSSH\r\n", b"SSH-2.0-OpenSSH\r\n"),
    "half-a-status-line": (b"HTTP/1.1 20", b"HTTP/1.1 20"),
    "half-of-the-headers": (b"HTTP/1.1 200 OK\r\ncontent-ty", b"HTTP/1.1 200 OK\r\ncontent-ty"),
    "no-status": (b"HTTP/1.1 abc OK\r\n\r\n", b"HTTP/1.1 abc OK\r\n\r\n"),
    "odd-header": (
        b"HTTP/1.1 200 OK\r\nbad header: 1\r\n\r\n" + WHOLE,
        b"HTTP/1.1 200 OK\r\nbad header: 1\r\n\r\n" + STREAM,
    ),
    "two-lengths": (
        http(WHOLE, "content-length: 7"),
        http(STREAM, "content-length: 7", kind="events"),
    ),
    "length-is-no-number": (
        http(WHOLE, "content-length: many", length=None),
        http(STREAM, "content-length: many", length=None, kind="events"),
    ),
    "too-short": (http(WHOLE, length=len(WHOLE) - 9), http(STREAM, length=90, kind="events")),
    "too-long": (http(WHOLE, length=len(WHOLE) + 9), http(STREAM[:-50], length=9999, kind="events")),
    "no-end-of-chunks": (
        http(chunked(WHOLE, end=b""), "transfer-encoding: chunked", length=None),
        http(chunked(STREAM[:150], end=b""), "transfer-encoding: chunked", length=None, kind="events"),
    ),
    "chunk-is-cut": (
        http(b"fff\r\n" + WHOLE, "transfer-encoding: chunked", length=None),
        http(b"fff\r\n" + STREAM[:150], "transfer-encoding: chunked", length=None, kind="events"),
    ),
    "chunk-size-is-none": (
        http(b"zz\r\n" + WHOLE + b"\r\n0\r\n\r\n", "transfer-encoding: chunked", length=None),
        http(b"zz\r\n" + STREAM + b"\r\n0\r\n\r\n", "transfer-encoding: chunked", length=None, kind="events"),
    ),
    "chunk-size-lies": (
        http(b"10\r\n" + WHOLE + b"\r\n0\r\n\r\n", "transfer-encoding: chunked", length=None),
        http(b"10\r\n" + STREAM + b"\r\n0\r\n\r\n", "transfer-encoding: chunked", length=None, kind="events"),
    ),
    "gzip-that-is-none": (
        http(WHOLE, "content-encoding: gzip"),
        http(STREAM, "content-encoding: gzip", kind="events"),
    ),
    "gzip-is-cut": (
        http(gzip.compress(WHOLE)[:60], "content-encoding: gzip"),
        http(gzip.compress(STREAM)[:60], "content-encoding: gzip", kind="events"),
    ),
    "deflate-that-is-none": (
        http(WHOLE, "content-encoding: deflate"),
        http(STREAM, "content-encoding: deflate", kind="events"),
    ),
    "utf-16-without-a-mark": (
        http(json.dumps(CALLS).encode("utf-16-le")[1:]),
        http(STREAM.decode().encode("utf-16-le"), kind="events"),
    ),
    "not-unicode": (http(WHOLE.replace(b"c1", b"\xff\xfe")), http(STREAM.replace(b"c1", b"\xff\xfe"), kind="events")),
    "cut-at-a-brace": (http(WHOLE[:-1]), http(STREAM[: STREAM.rindex(b"}")], kind="events")),
    "zeros-behind": (http(WHOLE + b"\0" * 8), http(b"\0" * 8 + STREAM[:200], kind="events")),
}


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", BROKEN)
def test_a_response_that_is_broken_is_tried_again(name: str, streamed: bool) -> None:
    """No call of it runs; the answer of the second try counts."""
    good = Bytes(http(HELLO_STREAM, kind="events") if streamed else http(HELLO))
    with raw_server(Bytes(BROKEN[name][streamed]), otherwise=good) as server:
        result, spans = run(server, streamed=streamed)
    assert (result.answer, result.stop_reason) == ("hello é", StopReason.FINAL_ANSWER)
    assert tries(spans)[0] in {"connection", "invalid_response"}
    assert (len(tries(spans)), server.requests) == (2, 2)


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", ["gzip-that-is-none", "deflate-that-is-none"])
def test_a_body_that_is_not_encoded_as_it_says_is_no_lost_connection(name: str, streamed: bool) -> None:
    """The connection is well: it is the server, or a proxy, that sends what cannot be read, whole or in pieces."""
    with raw_server(otherwise=Bytes(BROKEN[name][streamed])) as server:
        result, spans = run(server, streamed=streamed)
    assert (result.stop_reason, tries(spans)) == (StopReason.MODEL_ERROR, ["invalid_response"] * 2)


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("at", [0, 9, 60, 120, 200])
def test_a_connection_that_is_reset_is_tried_again(at: int, streamed: bool) -> None:
    """In the status line, in the headers, in the body."""
    whole, good = (http(STREAM, kind="events"), HELLO_STREAM) if streamed else (http(WHOLE), HELLO)
    otherwise = Bytes(http(good, kind="events" if streamed else "json"))
    with raw_server(Bytes(whole[:at], after="reset"), otherwise=otherwise) as server:
        result, spans = run(server, streamed=streamed)
    assert (result.answer, tries(spans)) == ("hello é", ["connection", None])


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("status", ["429 Busy", "503 Busy"])
def test_an_error_whose_body_breaks_off_is_tried_again(status: str, streamed: bool) -> None:
    """The client reads it after the status, and for a stream lets out what its transport raises."""
    cut = Bytes(http(b'{"error": {"mess', status=status, length=500))
    otherwise = Bytes(http(HELLO_STREAM, kind="events") if streamed else http(HELLO))
    with raw_server(cut, otherwise=otherwise) as server:
        result, spans = run(server, streamed=streamed)
    assert (result.answer, tries(spans)) == ("hello é", ["connection", None])


GOOD: dict[str, tuple[bytes, bytes]] = {
    "mark": (http(b"\xef\xbb\xbf" + HELLO), http(b"\xef\xbb\xbf" + HELLO_STREAM, kind="events")),
    "gzip": (
        http(gzip.compress(HELLO), "content-encoding: gzip"),
        http(gzip.compress(HELLO_STREAM), "content-encoding: gzip", kind="events"),
    ),
    "deflate": (
        http(zlib.compress(HELLO), "content-encoding: deflate"),
        http(zlib.compress(HELLO_STREAM), "content-encoding: deflate", kind="events"),
    ),
    "chunks": (
        http(chunked(HELLO[:9], HELLO[9:]), "transfer-encoding: chunked", length=None),
        http(
            chunked(*[HELLO_STREAM[n : n + 1] for n in range(len(HELLO_STREAM))]),
            "transfer-encoding: chunked",
            length=None,
            kind="events",
        ),
    ),
    "without-a-length": (http(HELLO, length=None), http(HELLO_STREAM, length=None, kind="events")),
    "odd-reason": (http(HELLO, status="200"), http(HELLO_STREAM, status="299 What?", kind="events")),
    "header-is-not-ascii": (
        http(HELLO, "x-name: é"),
        http(HELLO_STREAM, "x-name: é", kind="events"),
    ),
    "many-headers": (
        http(HELLO, *[f"x-{n}: {'v' * 200}" for n in range(80)]),
        http(HELLO_STREAM, *[f"x-{n}: {'v' * 200}" for n in range(80)], kind="events"),
    ),
    "hint-before": (b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n" + http(HELLO), http(HELLO_STREAM, kind="events")),
    "carriage-returns": (http(HELLO), http(HELLO_STREAM.replace(b"\n", b"\r"), kind="events")),
    "more-behind": (http(HELLO) + b"HTTP/1.1 500 No\r\n\r\n", http(HELLO_STREAM + b"data: {}\n\n", kind="events")),
    "whole-for-a-stream": (http(HELLO), http(HELLO)),
}


@pytest.mark.parametrize("packet", [0, 1], ids=["at-once", "byte-by-byte"])
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", GOOD)
def test_a_response_in_an_unusual_form_is_read(name: str, streamed: bool, packet: int) -> None:
    """Encoded, in chunks, behind a mark, in packets of one byte: it is the same answer, at the first try."""
    with raw_server(otherwise=Bytes(GOOD[name][streamed], packet=packet)) as server:
        result, spans = run(server, streamed=streamed)
    assert (result.answer, tries(spans), server.requests) == ("hello é", [], 1)


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_one_connection_serves_the_requests_of_a_run(streamed: bool) -> None:
    """What lies behind an answer that was told apart from it is not taken for the next."""
    first = http(STREAM if streamed else WHOLE, kind="events" if streamed else "json")
    refused = first.replace(b"must_not_run", b"no_such_tool")
    last = http(HELLO_STREAM if streamed else HELLO, kind="events" if streamed else "json")
    with raw_server(Bytes(refused, after="keep"), otherwise=Bytes(last, after="keep")) as server:
        result, spans = run(server, streamed=streamed)
    assert (result.answer, server.requests, server.connections) == ("hello é", 2, 1)
    assert list(spans.outcomes().values()) == [["unknown_tool"]]


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_a_connection_that_was_closed_while_it_waited_is_opened_anew(streamed: bool) -> None:
    """The server says `keep-alive` and hangs up all the same."""
    body, kind = (STREAM, "events") if streamed else (WHOLE, "json")
    refused = http(body, "connection: keep-alive", kind=kind).replace(b"must_not_run", b"no_such_tool")
    last = http(HELLO_STREAM if streamed else HELLO, kind=kind)
    with raw_server(Bytes(refused, after="close"), otherwise=Bytes(last)) as server:
        result, _ = run(server, streamed=streamed)
    assert (result.answer, server.connections) == ("hello é", 2)


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_a_server_that_drips_cannot_outlive_the_request(streamed: bool) -> None:
    """A byte every tenth of a second would take ten minutes."""
    body = http(STREAM if streamed else WHOLE, kind="events" if streamed else "json")
    drips = Bytes(body + b" " * 6_000, packet=1, pause=0.1)
    with no_hang(), raw_server(otherwise=drips) as server:
        result, spans = run(server, streamed=streamed, seconds=0.5)
    assert (result.stop_reason, spans.named("chat")[0].attributes["error.type"]) == (StopReason.MODEL_ERROR, "timeout")


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Again", "308 Moved"])
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_a_redirect_is_followed_nowhere(status: str, streamed: bool) -> None:
    """The conversation would go to a host that nobody named."""
    with raw_server(otherwise=Bytes(http(HELLO))) as other:
        moved = Bytes(http(b"", f"location: {other.base_url}", status=status))
        with raw_server(otherwise=moved) as server:
            result, _ = run(server, streamed=streamed)
    assert (result.stop_reason, other.requests) == (StopReason.MODEL_ERROR, 0)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_json_in_another_unicode_encoding_is_read_whole_or_not_at_all(encoding: str) -> None:
    """The client finds out what a whole body is in; where a stream was asked for, only UTF-8 counts."""
    odd = Bytes(http(json.dumps(TEXT).encode(encoding)))
    for streamed, failed in ((False, []), (True, ["invalid_response", None])):
        with raw_server(odd, otherwise=Bytes(http(HELLO))) as server:
            result, spans = run(server, streamed=streamed)
        assert (result.answer, tries(spans)) == ("hello é", failed)
