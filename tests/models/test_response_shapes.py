"""Responses of every shape that servers, relays and proxies send, over real HTTP: what a run makes of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from traced_loop import Loop, OpenAIModel, RetryPolicy, StopReason, names, tool
from traced_loop.testing import CountedIds, Spans, counted_wiring

from .chat_server import ANSWER, Reply, chat_server

QUICK = RetryPolicy(attempts=2, first_delay=0.001)
FINAL, EMPTY, ERROR = StopReason.FINAL_ANSWER, StopReason.EMPTY_RESPONSE, StopReason.MODEL_ERROR
ODD, FILTERED, CUT = StopReason.INCONSISTENT_RESPONSE, StopReason.CONTENT_FILTERED, StopReason.TRUNCATED_RESPONSE


@tool(effect="read")
def look() -> str:
    """Look."""
    return "seen"


@dataclass(frozen=True)
class Case:
    """A reply, and what becomes of the run: its stop, what it says, how often the server was asked."""

    reply: Reply
    stop: StopReason
    says: str | None = None
    requests: int = 1


def said(content: Any, reason: Any = "stop", **message: Any) -> dict[str, Any]:
    """A body whose message has this content."""
    choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": content, **message}}
    return {**ANSWER, "choices": [choice]}


def with_error(error: Any, **fields: Any) -> Reply:
    """A successful response with an error object in it."""
    return Reply(body={"error": error, "choices": None, **fields})


RAW = json.dumps(ANSWER).encode()
PLAIN = "text/plain; charset=utf-8"

CASES = {
    # what stands for the body
    "byte-order-mark": Case(Reply(body=b"\xef\xbb\xbf" + RAW), FINAL, "hello"),
    "json-as-text": Case(Reply(body=RAW, content_type=PLAIN), FINAL, "hello"),
    "json-as-text-with-mark": Case(Reply(body=b"\xef\xbb\xbf" + RAW, content_type=PLAIN), FINAL, "hello"),
    "json-of-a-vendors-type": Case(Reply(body=RAW, content_type="application/vnd.acme+json"), FINAL, "hello"),
    "created": Case(Reply(201, ANSWER), FINAL, "hello"),
    "no-content": Case(Reply(204, b""), ERROR, requests=2),
    "empty-text": Case(Reply(body=b"", content_type=PLAIN), ERROR),
    "page": Case(Reply(body=b"<!doctype html><title>Sign in</title>", content_type="text/html"), ERROR),
    "stream-unasked": Case(Reply(body=b'data: {"choices": []}\n\n', content_type="text/event-stream"), ERROR),
    "empty": Case(Reply(body=b""), ERROR, requests=2),
    "junk-behind": Case(Reply(body=RAW + b"}"), ERROR, requests=2),
    "two-values": Case(Reply(body=RAW + b"\n" + RAW), ERROR, requests=2),
    "moved": Case(Reply(308, b"", {"location": "http://127.0.0.1:9/"}), ERROR),
    "bad-gateway-page": Case(Reply(502, b"<html>", content_type="text/html"), ERROR, requests=2),
    # what stands for the message
    "message-null": Case(Reply(body={"choices": [{"finish_reason": "stop", "message": None}]}), ERROR),
    "message-absent": Case(Reply(body={"choices": [{"finish_reason": "stop"}]}), ERROR),
    "message-text": Case(Reply(body={"choices": [{"finish_reason": "stop", "message": "hello"}]}), ERROR),
    "choices-object": Case(Reply(body={"choices": {"message": {"content": "hello"}}}), ERROR),
    "content-absent": Case(Reply(body={"choices": [{"finish_reason": "stop", "message": {}}]}), EMPTY),
    "content-null": Case(Reply(body=said(None)), EMPTY),
    "content-number": Case(Reply(body=said(42)), EMPTY),
    "content-parts": Case(
        Reply(body=said([{"type": "text", "text": "hel"}, {"type": "text", "text": "lo"}])), FINAL, "hello"
    ),
    "content-other-parts": Case(Reply(body=said([{"type": "image"}, None, 3])), EMPTY),
    "thoughts-stay": Case(Reply(body=said("<think>hm</think>hello")), FINAL, "<think>hm</think>hello"),
    "reasoning-apart": Case(Reply(body=said("hello", reasoning="hm", reasoning_content="hm")), FINAL, "hello"),
    "reasoning-only": Case(Reply(body=said("", reasoning_content="hm")), EMPTY),
    "refusal": Case(Reply(body=said(None, refusal="I will not")), StopReason.REFUSED, "I will not"),
    "old-call-null": Case(Reply(body=said("hello", function_call=None, tool_calls=None)), FINAL, "hello"),
    "calls-as-object": Case(Reply(body=said("hm", "tool_calls", tool_calls={"name": "look"})), ODD, "hm"),
    "calls-of-null": Case(Reply(body=said("hm", "tool_calls", tool_calls=[None])), ODD, "hm"),
    # finish reasons
    "reason-null": Case(Reply(body=said("half", None)), ODD, "half"),
    "reason-number": Case(Reply(body=said("half", 1)), ODD, "half"),
    "reason-new": Case(Reply(body=said("half", "pause_turn")), ODD, "half"),
    "reason-capitals": Case(Reply(body=said("hello", "STOP")), FINAL, "hello"),
    "reason-max-tokens": Case(Reply(body=said("half", "MAX_TOKENS")), CUT, "half"),
    "reason-safety": Case(Reply(body=said(None, "SAFETY")), FILTERED),
    "reason-error": Case(Reply(body=said("half", "error")), ERROR, "half"),
    # errors inside of a success
    "error-busy": Case(with_error({"code": 503, "message": "busy"}), ERROR, requests=2),
    "error-busy-beside-nothing": Case(
        Reply(body={**said("", "error"), "error": {"code": 502, "message": "lost"}}), ERROR, requests=2
    ),
    "error-beside-half": Case(Reply(body={**said("half", "error"), "error": {"code": 502}}), ERROR, "half"),
    "error-credit": Case(with_error({"code": 402, "message": "no credit"}), ERROR),
    "error-text": Case(with_error("it broke"), ERROR),
    "error-filter": Case(with_error({"code": "content_filter", "message": "policy"}), FILTERED),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_response_ends_the_run_as_its_shape_says(case: Case) -> None:
    """Never by a crash; what the model said is kept."""
    spans, ids = Spans(), CountedIds()
    with chat_server(case.reply) as server:
        model = OpenAIModel("m", base_url=server.base_url)
        loop = Loop(model, [look], wiring=counted_wiring(spans, ids=ids), ids=ids, retry=QUICK)
        result = loop.run("Go.")
    assert (result.stop_reason, result.answer or result.partial, len(server.bodies)) == (
        case.stop,
        case.says,
        case.requests,
    )
    [chat] = spans.named("chat")
    assert (names.MODEL_ERROR_KIND in chat.attributes) == bool(chat.error)
    assert chat.error or case.stop is not ERROR


USAGES: dict[str, tuple[Any, int | None, int | None, bool]] = {
    "texts": ({"prompt_tokens": "12", "completion_tokens": " 3 "}, 12, 3, False),
    "floats": ({"prompt_tokens": 12.0, "completion_tokens": 3.0}, 12, 3, False),
    "negative": ({"prompt_tokens": -1, "completion_tokens": 3}, None, 3, True),
    "booleans": ({"prompt_tokens": True, "completion_tokens": 3}, None, 3, True),
    "one-unknown": ({"prompt_tokens": 12, "completion_tokens": None}, 12, None, True),
    "only-a-sum": ({"total_tokens": 15}, None, None, False),
    "zeros": ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, None, None, True),
    "list": ([1, 2], None, None, True),
    "text": ("12", None, None, True),
    "null": (None, None, None, True),
}


@pytest.mark.parametrize(("usage", "given", "answered", "estimated"), USAGES.values(), ids=USAGES)
def test_counts_of_any_form_are_read_or_unknown(
    usage: Any, given: int | None, answered: int | None, estimated: bool
) -> None:
    """Unknown is never zero, and a limit is held on an estimate."""
    with chat_server(Reply(body={**ANSWER, "usage": usage})) as server:
        result = Loop(OpenAIModel("m", base_url=server.base_url), store=None).run("Go.")
    assert (result.usage.input_tokens, result.usage.output_tokens) == (given, answered)
    assert (result.usage.estimated, result.usage.tokens > 0) == (estimated, True)
