"""What a real server answers over HTTP through the real client, as one of our errors: its kind, and what follows."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from traced_loop import Budget, Loop, OpenAIModel, Price, RetryPolicy, StopReason, names
from traced_loop.closed_words import ModelErrorKind as Kind
from traced_loop.testing import CountedClock, CountedIds, Spans, counted_wiring

from ..python_program import run_python
from .chat_server import ANSWER, Reply, chat_server
from .test_error_body import JSON
from .test_openai_model import failure

QUICK = RetryPolicy(attempts=3, first_delay=0.001, max_delay=0.002)
TOOL_USE = {"error": {"message": "see failed_generation", "code": "tool_use_failed", "failed_generation": "<f>"}}
GEMINI = [{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": [{"retryDelay": "0.01s"}]}}]

REPLIES: dict[str, tuple[Reply, Kind, bool, float | None]] = {
    "quota": (Reply(429, {"error": {"code": "insufficient_quota"}}), Kind.QUOTA_EXHAUSTED, False, None),
    "rate": (Reply(429, {}, {"Retry-After": "2"}), Kind.RATE_LIMITED, True, 2.0),
    "reset": (
        Reply(429, {}, {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1m2.5s"}),
        Kind.RATE_LIMITED,
        True,
        62.5,
    ),
    "reset-of-another-error": (Reply(500, {}, {"x-ratelimit-reset-tokens": "1s"}), Kind.SERVER_ERROR, True, None),
    "gemini": (Reply(429, GEMINI), Kind.RATE_LIMITED, True, 0.01),
    "busy": (Reply(529, {}), Kind.OVERLOADED, True, None),
    "call": (Reply(400, TOOL_USE), Kind.TOOL_USE_FAILED, True, None),
    "long": (Reply(400, {"error": {"code": "context_length_exceeded"}}), Kind.CONTEXT_TOO_LONG, False, None),
    "balance": (Reply(402, {"error": {"message": "Insufficient Balance"}}), Kind.QUOTA_EXHAUSTED, False, None),
    "credit-for-now": (Reply(402, {"error": {"code": 402}}, {"Retry-After": "1"}), Kind.RATE_LIMITED, True, 1.0),
    "not-again": (Reply(503, {}, {"x-should-retry": "false"}), Kind.OVERLOADED, False, None),
    "again": (Reply(400, {}, {"x-should-retry": "true"}), Kind.INVALID_REQUEST, True, None),
    "quota-again": (
        Reply(429, {"error": {"code": "insufficient_quota"}}, {"x-should-retry": "true"}),
        Kind.QUOTA_EXHAUSTED,
        False,
        None,
    ),
    "no-gzip": (Reply(body=ANSWER, headers={"content-encoding": "gzip"}), Kind.INVALID_RESPONSE, True, None),
    "junk-behind": (Reply(body=json.dumps(ANSWER).encode() + b" and more"), Kind.INVALID_RESPONSE, True, None),
    "moved": (Reply(301, b"", {"location": "http://127.0.0.1:9/"}), Kind.REDIRECTED, False, None),
}


def test_a_refused_key_is_named_by_its_variable() -> None:
    """The provider's own, where it is that."""
    with chat_server(Reply(401, {"error": {"message": "wrong key"}})) as server:
        model = OpenAIModel("m", base_url=server.base_url, profile="deepseek", api_key="key-of-a-test")
        result = Loop(model, store=None).run("Go.")
    assert result.error is not None
    assert "wrong key (check DEEPSEEK_API_KEY)" in result.error


@pytest.mark.parametrize(("reply", "kind", "retryable", "wait"), REPLIES.values(), ids=REPLIES)
def test_a_response_becomes_an_error_of_its_kind(reply: Reply, kind: Kind, retryable: bool, wait: float | None) -> None:
    """With the wait that the server asks for, and sent once."""
    with chat_server(reply) as server:
        error = failure(server.base_url)
    assert (error.kind, error.retryable, error.retry_after) == (kind, retryable, wait)
    assert len(server.bodies) == 1


def test_an_error_says_what_to_do_where_its_status_does_not() -> None:
    """In the words for people."""
    with chat_server(Reply(400, {"error": {"message": "too long", "code": "context_length_exceeded"}})) as server:
        assert "let tools return less" in str(failure(server.base_url))


def test_a_body_that_is_packed_as_it_says_is_read() -> None:
    """The test of one that lies would pass with a client that unpacks nothing."""
    packed = Reply(body=gzip.compress(json.dumps(ANSWER).encode()), headers={"content-encoding": "gzip"})
    with chat_server(packed) as server:
        assert Loop(OpenAIModel("m", base_url=server.base_url), store=None).run("hi").answer == "hello"


def run(server: Any, **options: Any) -> tuple[Any, Spans]:
    """A run against a server, and its spans."""
    spans, ids = Spans(), CountedIds()
    model = OpenAIModel("m", base_url=server.base_url, price=Price(input=1, output=1))
    loop = Loop(model, wiring=counted_wiring(spans, CountedClock(), ids), ids=ids, retry=QUICK, **options)
    return loop.run("hi"), spans


def test_a_badly_written_call_is_asked_for_afresh() -> None:
    """The model may write it well the next time."""
    with chat_server(first=[Reply(400, TOOL_USE)]) as server:
        result, spans = run(server)
    assert (result.answer, len(server.bodies)) == ("hello", 2)
    [failed, _] = spans.named("traced_loop.attempt")
    assert failed.attributes[names.MODEL_ERROR_KIND] == "tool_use_failed"


def test_tokens_that_an_error_response_counts_are_in_the_bill() -> None:
    """A 502 of a relay that had paid already."""
    lost = Reply(502, {"error": {"message": "upstream lost"}, "usage": {"prompt_tokens": 500, "completion_tokens": 3}})
    with chat_server(first=[lost]) as server:
        result, spans = run(server)
    assert (result.usage.input_tokens, result.usage.output_tokens) == (510, 5)
    assert spans.named("traced_loop.attempt")[0].attributes[names.ATTEMPT_INPUT_TOKENS] == 500


def test_no_content_of_an_error_is_on_a_span() -> None:
    """Only closed words and numbers."""
    secret = {"error": {"message": "John Doe said 4711", "code": "John Doe said 4711", "type": "John Doe"}}
    with chat_server(Reply(400, secret)) as server:
        result, spans = run(server)
    assert "John Doe" in (result.error or "")
    assert not any("John" in str(value) for span in spans.ended_spans for value in span.attributes.values())


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.integers(min_value=200, max_value=599).filter(lambda status: status not in {204, 304}),
    JSON | st.binary(max_size=40),
    st.dictionaries(
        st.sampled_from(["Retry-After", "x-ratelimit-reset", "x-should-retry", "x-ratelimit-reset-tokens"]),
        st.text(alphabet="0123456789.-smhTZ:true ", max_size=12),
    ),
)
def test_no_response_is_a_crash_and_no_wait_outlives_the_deadline(
    status: int, body: Any, headers: dict[str, str]
) -> None:
    """Whatever a server sends, the run ends with a stop of its own inside its time."""
    content = body if isinstance(body, bytes) else json.dumps(body, allow_nan=True).encode()
    with chat_server(Reply(status, content, headers)) as server:
        model = OpenAIModel("m", base_url=server.base_url)
        result = Loop(model, store=None, retry=QUICK, budget=Budget(seconds=0.5, steps=1)).run("hi")
    assert result.stop_reason is not StopReason.HARNESS_ERROR
    assert result.usage.seconds < 10


@pytest.mark.parametrize("scheme", ["http", "https"], ids=["for a connection", "for certificates"])
def test_too_many_open_files_are_not_the_servers_fault(tmp_path: Path, scheme: str) -> None:
    """What is said names the limit, and nothing of the server or of certificates."""
    code = f"""
import asyncio, os, resource
from traced_loop import Loop, OpenAIModel, RetryPolicy, UsageError
def made(scheme):
    model = OpenAIModel("m", base_url=f"{{scheme}}://127.0.0.1:9/v1", api_key="key-of-a-test")
    return Loop(model, store=None, retry=RetryPolicy(attempts=1))
async def main():
    print((await made("http").arun("Go.")).stop_reason)  # everything is imported by now
    loop = made("{scheme}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) - 1, 4096))
    try:
        print((await loop.arun("Go.")).stop_detail)
    except UsageError as error:
        print(error)
asyncio.run(main())
"""
    ended = run_python(code, tmp_path / "s")
    assert ended.out.startswith("model_error\ntoo many files are open"), ended.err
