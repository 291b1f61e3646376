"""The official client against a real server: what goes out, what comes back, and every way to fail."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from openai import AsyncOpenAI
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from traced_loop import Loop, ModelError, OpenAIModel, Price, RetryPolicy, StopReason, UsageError
from traced_loop.messages import ModelAnswer, ModelRequest
from traced_loop.redaction import redact_text

from ..hangs import WITHIN, no_hang
from .chat_server import ANSWER, Reply, chat_server, closed_port, silent_server

T = TypeVar("T")
NOON = "Mon, 30 Nov 2026 00:00:00 GMT"
REQUEST = ModelRequest(messages=[{"role": "user", "content": "hi"}], timeout=WITHIN)


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)


def in_a_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run it, and let the transports close before the event loop does."""

    async def settled() -> T:
        try:
            return await work
        finally:
            await asyncio.sleep(0)

    return asyncio.run(settled())


def ask(base_url: str, request: ModelRequest = REQUEST, **options: Any) -> ModelAnswer:
    """One request of a client that is closed afterwards."""

    async def asked() -> ModelAnswer:
        async with AsyncOpenAI(api_key=options.pop("api_key", "key-of-a-test"), base_url=base_url) as client:
            return await OpenAIModel("m", client=client, **options).complete(request)

    return in_a_loop(asked())


def failure(base_url: str, request: ModelRequest = REQUEST, **options: Any) -> ModelError:
    """The error of one request."""
    with pytest.raises(ModelError) as raised:
        ask(base_url, request, **options)
    return raised.value


def test_an_answer_is_read_whole() -> None:
    """Message, counts, ids and finish reason."""
    with chat_server() as server:
        answer = ask(server.base_url)
    assert answer.message == {"role": "assistant", "content": "hello"}
    assert (answer.finish_reason, answer.response_id, answer.response_model) == ("stop", "chatcmpl-1", "m-2026")
    assert (answer.usage.input, answer.usage.output, answer.usage.source) == (10, 2, "provider")


def test_unknown_fields_of_a_message_are_kept() -> None:
    """The typed client would drop or change some of them."""
    message = {"role": "assistant", "content": None, "reasoning_content": "hm", "vendor": {"a": [1]}}
    body = {**ANSWER, "choices": [{"index": 0, "finish_reason": "stop", "message": message}]}
    with chat_server(Reply(body=body)) as server:
        assert ask(server.base_url).message == message


def test_a_request_carries_what_was_asked_and_nothing_else() -> None:
    """Tools, choice, parameters and the cap go out; without them, only model and messages."""
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    full = replace(REQUEST, tools=tools, tool_choice="auto", parameters={"temperature": 0}, output_cap=7)
    with chat_server() as server:
        ask(server.base_url)
        ask(server.base_url, full)
    plain = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    assert server.bodies == [
        plain,
        {**plain, "tools": tools, "tool_choice": "auto", "temperature": 0, "max_tokens": 7},
    ]
    assert server.paths == ["/v1/chat/completions"] * 2
    assert server.headers[0]["authorization"] == "Bearer key-of-a-test"


def test_the_name_of_the_cap_can_be_chosen() -> None:
    """Servers differ."""
    with chat_server() as server:
        ask(server.base_url, replace(REQUEST, output_cap=7), output_cap_field="max_completion_tokens")
    assert server.bodies[0]["max_completion_tokens"] == 7


STATUSES = {
    "400": (Reply(400, {"error": {"message": "bad schema"}}), False, "answered 400: bad schema"),
    "401": (Reply(401, {"error": {"message": "wrong key"}}), False, "wrong key (check OPENAI_API_KEY)"),
    "404": (Reply(404, {"error": {"message": "no model"}}), False, "check the model's name and the base URL"),
    "408": (Reply(408, {}), True, "answered 408"),
    "409": (Reply(409, {}), True, "answered 409"),
    "429": (Reply(429, {"error": {"message": "slow down"}}), True, "slow down"),
    "500": (Reply(500, {"error": {"message": "oops"}}), True, "oops"),
    "503-html": (Reply(503, b"<html>busy</html>", content_type="text/html"), True, "answered 503"),
    "502-empty": (Reply(502, b"", content_type="text/plain"), True, "answered 502"),
    "529": (Reply(529, b"null"), True, "answered 529"),
    "500-list": (Reply(500, [1, 2]), True, "answered 500"),
    "500-error-is-text": (Reply(500, {"error": "broken"}), True, "answered 500"),
}


@pytest.mark.parametrize(
    ("cut", "api", "said"),
    [
        ("", "chat_completions", "(check the model's name and the base URL)"),
        ("/v1", "chat_completions", "(check the model's name and the base URL, which mostly ends in /v1)"),
        ("", "responses", "the base URL, and whether the server has the Responses API)"),
    ],
)
def test_what_a_server_has_not_got_is_guessed_from_what_was_asked(cut: str, api: str, said: str) -> None:
    """An address without its path, and the younger API, are what is mostly wrong."""
    with chat_server(Reply(404, {"error": {"message": "no"}})) as server:
        error = failure(server.base_url.removesuffix(cut), api=api)
    assert said in str(error)


@pytest.mark.parametrize(("reply", "retryable", "said"), STATUSES.values(), ids=STATUSES)
def test_a_status_becomes_an_error_that_says_whether_to_try_again(reply: Reply, retryable: bool, said: str) -> None:
    """With the server's words, and what to do about it."""
    with chat_server(reply) as server:
        error = failure(server.base_url)
    assert (error.status, error.error_type, error.retryable) == (reply.status, str(reply.status), retryable)
    assert said in str(error)
    assert len(server.bodies) == 1


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"Retry-After-Ms": "250"}, 0.25),
        ({"Retry-After-Ms": "250", "Retry-After": "7"}, 0.25),
        ({"Retry-After-Ms": "soon", "Retry-After": "7"}, 7.0),
        ({"Retry-After": "-1"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "Mon, 30 Foo 2026 00:00:07 GMT"}, None),
        ({"Retry-After": "1e9"}, 1e9),
        ({"Retry-After": "Mon, 30 Nov 2026 00:00:07 GMT", "Date": NOON}, 7.0),
        ({"Retry-After": "Mon, 30 Nov 2026 00:00:07 -0000", "Date": NOON}, 7.0),
        ({"Retry-After": "Sun, 29 Nov 2026 23:59:00 GMT", "Date": NOON}, 0.0),
        ({"Retry-After": "Sun, 01 Jan 1950 00:00:00 GMT"}, 0.0),
        ({}, None),
    ],
)
def test_the_wait_that_a_server_asks_for_is_read(headers: dict[str, str], seconds: float | None) -> None:
    """Milliseconds go before seconds, a date is read by the server's clock, nonsense is no wait."""
    with chat_server(Reply(429, {}, headers)) as server:
        assert failure(server.base_url).retry_after == seconds


@pytest.mark.parametrize("asked", ["Fri, 01 Jan 2100 00:00:00 GMT", "100000"])
def test_a_wait_that_is_longer_than_the_time_left_means_no_further_try(asked: str) -> None:
    """Never one that comes earlier than the server asks."""
    with chat_server(Reply(429, {}, {"Retry-After": asked})) as server:
        result = Loop(OpenAIModel("m", base_url=server.base_url), store=None).run("hi")

    assert (result.stop_reason, result.usage.model_requests) == (StopReason.MODEL_ERROR, 1)


@pytest.mark.parametrize("given", [float("nan"), {1}, "\ud83e", object()], ids=["nan", "set", "surrogate", "object"])
def test_a_request_that_cannot_be_written_is_not_the_servers_fault(given: Any) -> None:
    """It is sent to nobody, blamed on nobody, and not tried again."""
    with chat_server() as server:
        error = failure(server.base_url, replace(REQUEST, parameters={"user": given}))

    assert (error.error_type, error.retryable, server.bodies) == ("invalid_request", False, [])
    assert "cannot be written as JSON" in str(error)


BODIES = {
    "text-for-json": Reply(body=b"this is no JSON"),
    "half": Reply(body=b'{"choices": ['),
    "nothing": Reply(body=b""),
    "not-utf8": Reply(body=b'{"id": "\xff\xfe"'),
    "deep": Reply(body=b"[" * 100_000),
    "long-integer": Reply(body=b'{"n": ' + b"9" * 5000 + b"}"),
}


@pytest.mark.parametrize("reply", BODIES.values(), ids=BODIES)
def test_a_body_that_is_no_json_is_an_invalid_response(reply: Reply) -> None:
    """Never a crash of a parser."""
    with chat_server(reply) as server:
        error = failure(server.base_url)
    assert (error.error_type, error.retryable) == ("invalid_response", True)


SHAPES = {
    "html": Reply(body=b"<html>log in</html>", content_type="text/html"),
    "list": Reply(body=[1]),
    "null": Reply(body=b"null"),
    "text": Reply(body="hello"),
    "object": Reply(body={}),
    "choices-null": Reply(body={"choices": None}),
    "choices-empty": Reply(body={"choices": []}),
    "choice-null": Reply(body={"choices": [None]}),
    "message-list": Reply(body={"choices": [{"message": []}]}),
}


@pytest.mark.parametrize("reply", SHAPES.values(), ids=SHAPES)
def test_json_of_another_shape_is_an_answer_with_an_error(reply: Reply) -> None:
    """Its usage would still count."""
    with chat_server(reply) as server:
        answer = ask(server.base_url)
    assert (answer.message, answer.error_code) == (None, "invalid_response")
    assert answer.error


def test_a_refused_connection_names_the_server() -> None:
    """And can be tried again."""
    port = closed_port()
    error = failure(f"http://127.0.0.1:{port}/v1")
    assert (error.error_type, error.retryable, error.status) == ("connection", True, None)
    assert f"127.0.0.1:{port}" in str(error)


def test_a_connection_that_ends_in_the_middle_is_a_connection_error() -> None:
    """Fewer bytes came than were announced."""
    with chat_server(Reply(body=ANSWER, headers={"content-length": "100000"})) as server:
        error = failure(server.base_url)
    assert (error.error_type, error.retryable) == ("connection", True)


def test_a_server_that_hangs_is_given_up_at_the_timeout() -> None:
    """The timeout is the request's, and nothing is tried again in secret."""
    with silent_server() as base_url, no_hang():
        error = failure(base_url, replace(REQUEST, timeout=0.2))
    assert (error.error_type, error.retryable) == ("timeout", True)


def test_credentials_in_the_address_are_in_no_error_and_no_trait() -> None:
    """A proxy may want them; nobody else does."""
    base_url = f"http://user:pa55word@127.0.0.1:{closed_port()}/v1"
    assert "pa55word" not in str(failure(base_url))
    model = OpenAIModel("m", base_url=base_url)
    assert model.traits.server_address == "127.0.0.1"


def test_a_server_that_is_not_openais_needs_no_key() -> None:
    """Many local servers ask for none; a stand-in is sent."""
    with chat_server() as server:
        result = Loop(OpenAIModel("m", base_url=server.base_url), store=None).run("hi")
    assert result.answer == "hello"
    assert server.headers[0]["authorization"] == "Bearer no-key"


def test_openais_server_needs_a_key() -> None:
    """Said before any request, with what to set."""
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        OpenAIModel("m")


def test_a_model_needs_a_name() -> None:
    """From the argument or the environment."""
    with pytest.raises(UsageError, match="OPENAI_MODEL"):
        OpenAIModel(base_url="http://localhost/v1")


def test_the_environment_configures_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the official client reads it."""
    with chat_server() as server:
        monkeypatch.setenv("OPENAI_MODEL", "from-environment")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "key-from-environment")
        Loop(OpenAIModel(), store=None).run("hi")
    assert server.bodies[0]["model"] == "from-environment"
    assert server.headers[0]["authorization"] == "Bearer key-from-environment"


@pytest.mark.parametrize(
    "base_url",
    ["localhost:8000", "ftp://host/v1", "http://", "/v1", "http://host:port/v1", "http://host:99999", "http://[::1/v1"],
)
def test_an_address_that_is_none_is_refused(base_url: str) -> None:
    """When the model is configured, not in the middle of a run."""
    with pytest.raises(UsageError, match="base_url"):
        OpenAIModel("m", base_url=base_url)


def test_an_unknown_quirk_is_refused() -> None:
    """A typing mistake would tolerate nothing."""
    with pytest.raises(UsageError, match="stop_with_tool_calls"):
        OpenAIModel("m", base_url="http://localhost/v1", tolerate={"stop_with_calls"})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("base_url", "provider"),
    [
        ("https://api.openai.com/v1", "openai"),
        ("https://me.openai.azure.com/openai/v1", "azure.ai.openai"),
        ("https://api.mistral.ai/v1", "mistral_ai"),
        ("http://localhost:11434/v1", "openai"),
    ],
)
def test_the_provider_is_told_from_the_address(base_url: str, provider: str) -> None:
    """Unless it is given."""
    assert OpenAIModel("m", base_url=base_url, api_key="key-of-a-test").provider == provider
    assert OpenAIModel("m", base_url=base_url, api_key="key-of-a-test", provider="own").provider == "own"


def test_a_price_comes_from_the_table_only_for_a_known_server() -> None:
    """A local model of the same name costs what its owner says."""
    at_openai = OpenAIModel("gpt-5-mini", api_key="key-of-a-test")
    local = OpenAIModel("gpt-5-mini", base_url="http://localhost:1/v1")
    declared = OpenAIModel("gpt-5-mini", base_url="http://localhost:1/v1", price=Price.free())
    sources = [found.source if (found := m.traits.pricing(m.name)) else None for m in (at_openai, local, declared)]
    assert sources == ["price_table", None, "declared"]


def test_the_key_is_masked_in_telemetry() -> None:
    """Whatever it looks like."""
    OpenAIModel("m", base_url="http://localhost/v1", api_key="an unusual key")
    assert "unusual" not in redact_text("it was an unusual key")


def test_a_loop_tries_again_as_the_server_asks() -> None:
    """Each try is a request of its own."""
    with chat_server(Reply(429, {}, {"Retry-After-Ms": "10"})) as server:
        model = OpenAIModel("m", base_url=server.base_url)
        result = Loop(model, store=None, retry=RetryPolicy(attempts=3)).run("hi")
    assert (result.stop_reason, result.usage.model_requests) == (StopReason.MODEL_ERROR, 3)
    assert len(server.bodies) == 3


def test_a_model_can_be_used_from_several_event_loops() -> None:
    """Connections belong to one loop; each gets its own."""
    with chat_server() as server:
        model = OpenAIModel("m", base_url=server.base_url)
        loop = Loop(model, store=None)
        answers = [asyncio.run(loop.arun("hi")).answer, loop.run("hi").answer, asyncio.run(loop.arun("hi")).answer]
    assert answers == ["hello"] * 3


def test_another_instrumentation_makes_no_second_chat_span() -> None:
    """With the official one active and sharing the provider: one ``chat`` span per request, ours."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrumentor = OpenAIInstrumentor()
    instrumentor.instrument(tracer_provider=provider)
    try:
        with chat_server() as server:
            model = OpenAIModel("m", base_url=server.base_url)
            Loop(model, store=None, tracer_provider=provider).run("hi")
    finally:
        instrumentor.uninstrument()
    chats = [span for span in exporter.get_finished_spans() if span.name.startswith("chat")]
    assert len(server.bodies) == 1
    assert [span.instrumentation_scope.name for span in chats] == ["traced_loop"]


def test_the_other_instrumentation_is_really_active() -> None:
    """The test above would pass with one that does nothing: the client's own call makes a span."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrumentor = OpenAIInstrumentor()
    instrumentor.instrument(tracer_provider=provider)

    async def typed(base_url: str) -> None:
        async with AsyncOpenAI(api_key="key-of-a-test", base_url=base_url) as client:
            await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])

    try:
        with chat_server() as server:
            in_a_loop(typed(server.base_url))
    finally:
        instrumentor.uninstrument()
    assert [span.name for span in exporter.get_finished_spans()] == ["chat m"]


def test_text_that_is_no_unicode_never_leaves_as_a_crash() -> None:
    """A prompt out of a badly decoded file."""
    with chat_server() as server:
        result = Loop(OpenAIModel("m", base_url=server.base_url), store=None).run("bad \ud83e")
    assert result.stop_reason in {StopReason.FINAL_ANSWER, StopReason.MODEL_ERROR}
    assert json.dumps(result.error or "", ensure_ascii=False).encode()


def test_a_line_end_is_no_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files and secret managers add one; the server gets the key without."""
    monkeypatch.setenv("OPENAI_API_KEY", "  sk-with-a-line-end\n")
    with chat_server() as server:
        result = Loop(OpenAIModel("m", base_url=server.base_url), store=None).run("Go.")

    assert result.stop_reason is StopReason.FINAL_ANSWER
    assert server.headers[0]["authorization"] == "Bearer sk-with-a-line-end"


@pytest.mark.parametrize("key", ["sk-\u00e4", "sk-a\nb", "sk-a\x00b"], ids=ascii)
def test_a_key_that_no_header_takes_is_refused_without_being_shown(key: str) -> None:
    """Before anything is sent."""
    with pytest.raises(UsageError, match="copy it again") as refused:
        OpenAIModel("m", api_key=key)

    assert "sk-" not in str(refused.value)


def test_a_redirect_gets_nothing_of_the_conversation() -> None:
    """The other host is not asked; the status is the error."""
    with chat_server() as other:
        moved = Reply(status=307, headers={"location": f"{other.base_url}/chat/completions"})
        with chat_server(moved) as server:
            error = failure(server.base_url)

    assert (error.error_type, error.retryable, other.bodies) == ("307", False, [])
