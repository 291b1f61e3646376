"""What a server answered, written down without secrets and replayed without a key: over HTTP and with scripts."""

from __future__ import annotations

import asyncio
import json
import stat
from typing import TYPE_CHECKING, Any

import pytest
from openai import AsyncOpenAI

from traced_loop import (
    Budget,
    Loop,
    ModelError,
    OpenAIModel,
    Price,
    RecordingModel,
    ReplayModel,
    RetryPolicy,
    ScriptedModel,
    StopReason,
    UsageError,
    names,
    tool,
)
from traced_loop.messages import ModelRequest
from traced_loop.models.scripted import calls
from traced_loop.redaction import register_secret
from traced_loop.testing import Spans, counted_wiring
from traced_loop.tools import multiply

from .chat_server import Reply, chat_server

if TYPE_CHECKING:
    from pathlib import Path

    from traced_loop.messages import Model
    from traced_loop.run_result import RunResult

AGAIN = RetryPolicy(attempts=3, first_delay=0)
OWN = "my-very-own-secret-value-17"
KEY = "sk-proj-" + "A1b2C3d4E5f6G7h8I9j0K1l2" * 2
CARD = "4111 1111 1111 1111"
MAIL = "jane.doe@mail.example.org"


def played(
    model: Model, tools: Any = (multiply,), prompt: str | None = None, **options: Any
) -> tuple[RunResult, Spans]:
    """One run and its spans."""
    spans = Spans()
    messages = options.pop("messages", None)
    loop = Loop(model, tools, retry=AGAIN, wiring=counted_wiring(spans), **options)
    return loop.run(prompt, messages=messages), spans


def replayed(path: Path, tools: Any = (multiply,), **options: Any) -> tuple[RunResult, Spans, ReplayModel]:
    """The recording as a run."""
    model = ReplayModel.of_file(path, **options)
    return *played(model, tools, messages=model.messages), model


def body(message: dict[str, Any], reason: str, **usage: Any) -> Reply:
    """A response of a server."""
    counts = {"prompt_tokens": 100, "completion_tokens": 10, **usage}
    choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", **message}}
    return Reply(body={"id": "chatcmpl-7", "model": "m-2026", "choices": [choice], "usage": counts})


def call(name: str, arguments: dict[str, Any], call_id: str = "call_1") -> dict[str, Any]:
    """A message with one call."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"content": None, "tool_calls": [{"id": call_id, "type": "function", "function": function}], "x_vendor": [1]}


def recorded_over_http(path: Path, replies: list[Reply], tools: Any = (multiply,), prompt: str = "6 * 7?") -> Any:
    """A run against a real server, recorded; the result, and its spans."""
    spans = Spans()

    async def run(base_url: str) -> RunResult:
        async with AsyncOpenAI(api_key=KEY, base_url=base_url) as client:
            model = RecordingModel(OpenAIModel("m", client=client, price=Price(input=1, output=4)), path)
            return await Loop(model, tools, retry=AGAIN, wiring=counted_wiring(spans)).arun(prompt)

    with chat_server(replies[-1], first=replies[:-1]) as server:
        result = asyncio.run(run(server.base_url))
        assert any(KEY in headers["authorization"] for headers in server.headers)
    return result, spans


def test_what_a_server_answered_is_replayed_without_it(tmp_path: Path) -> None:
    """A refused try, unknown fields, parts of the usage and the price among it; the span trees are equal."""
    path = tmp_path / "a.jsonl"
    busy = Reply(status=429, body={"error": {"message": f"slow down, {MAIL}"}}, headers={"retry-after": "0"})
    details = {"cached_tokens": 40}
    answers = [busy, body(call("multiply", {"a": 6, "b": 7}), "tool_calls"), body({"content": "42"}, "stop")]
    answers[1] = body(call("multiply", {"a": 6, "b": 7}), "tool_calls", prompt_tokens_details=details)

    first, spans = recorded_over_http(path, answers)
    again, other, model = replayed(path)

    assert other.tree() == spans.tree()
    assert (again.answer, again.messages, again.cost) == (first.answer, first.messages, first.cost)
    assert again.messages[1]["x_vendor"] == [1]
    chats = zip(other.named("chat"), spans.named("chat"), strict=True)
    for mine, theirs in chats:
        same = (names.GEN_AI_RESPONSE_ID, names.GEN_AI_RESPONSE_MODEL, names.GEN_AI_CACHED_TOKENS, names.COST_RATES)
        assert [mine.attributes.get(key) for key in same] == [theirs.attributes.get(key) for key in same]
    assert (model.divergences, model.left) == ([], 0)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_no_secret_is_in_a_recording(tmp_path: Path) -> None:
    """Whether it stood in the prompt, in a result, in an answer, in a call, in an error, or was the key."""
    register_secret(OWN)
    path = tmp_path / "a.jsonl"

    @tool(effect="read")
    def read_mail(folder: str) -> dict[str, str]:
        """Read a mail."""
        return {"from": MAIL, "password": "correct horse battery", "text": f"card {CARD}, key {KEY}, {OWN}"}

    answers = [
        Reply(status=503, body={"error": {"message": f"down, {OWN} {KEY}"}}, headers={"retry-after": "0"}),
        body({**call("read_mail", {"folder": OWN}, call_id=KEY), "reasoning_content": f"use {KEY}"}, "tool_calls"),
        body({"content": f"It says {OWN} and {CARD}."}, "stop"),
    ]

    first, _ = recorded_over_http(path, answers, [read_mail], f"Read it. My key is {KEY}, my mail {MAIL}.")
    text = path.read_text()
    again, _, model = replayed(path, [read_mail])

    assert first.stop_reason is StopReason.FINAL_ANSWER
    for secret in (OWN, KEY, CARD, CARD.replace(" ", ""), MAIL, "correct horse battery", "uthorization"):
        assert secret not in text
    assert text.count("REDACTED") >= 8
    assert (again.error, again.stop_reason, model.divergences) == (None, StopReason.FINAL_ANSWER, [])
    assert again.answer == "It says [REDACTED:own_credential] and [REDACTED:card]."
    assert '"id": "masked_1"' in text


def test_ids_that_the_loop_makes_are_no_difference(tmp_path: Path) -> None:
    """A server without ids: they are made anew each time."""
    path = tmp_path / "a.jsonl"
    answers = [body(call("multiply", {"a": 6, "b": 7}, call_id=""), "tool_calls"), body({"content": "42"}, "stop")]

    first, _ = recorded_over_http(path, answers)
    model = ReplayModel.of_file(path)
    again = Loop(model, [multiply], store=None).run(messages=model.messages)

    assert (again.answer, model.divergences) == ("42", [])
    assert again.messages[1]["tool_calls"][0]["id"] != first.messages[1]["tool_calls"][0]["id"]


def test_a_masked_argument_is_given_masked(tmp_path: Path) -> None:
    """The tool is told so; what it then answers to it is another result, and shows."""
    path, seen = tmp_path / "a.jsonl", list[str]()

    @tool(effect="read")
    def look_up(mail: str) -> str:
        """Look somebody up."""
        seen.append(mail)
        return f"{len(seen)} found"

    script = [calls(("look_up", {"mail": MAIL})), "Found."]
    played(RecordingModel(ScriptedModel(script), path), [look_up], "Who?")

    result, _, _ = replayed(path, [look_up])

    assert (seen[0], "REDACTED" in seen[1], MAIL in seen[1]) == (MAIL, True, False)
    assert result.error is not None
    assert "recorded 1 found, now 2 found" in result.error.replace('"', "")


def test_a_changed_tool_is_named_by_its_definition(tmp_path: Path) -> None:
    """A recording has the digest of each, so that the one that changed can be named."""
    path = tmp_path / "a.jsonl"
    played(RecordingModel(ScriptedModel([calls(("multiply", {"a": 6, "b": 7})), "42"]), path), prompt="6 * 7?")

    @tool(effect="read", name="multiply")
    def longer(a: int, b: int) -> int:
        """Multiply two integers, whatever they are."""
        return a * b

    result, _, _ = replayed(path, [longer])
    accepted, _, model = replayed(path, [longer], ignore={"tools"})

    assert result.stop_detail == "request 1 differs from the recording (the tool multiply)"
    assert (accepted.answer, [found.kind for found in model.divergences]) == ("42", ["tools"])


def test_several_runs_one_after_the_other_are_one_recording(tmp_path: Path) -> None:
    """A history that begins anew is written anew; one that goes on is not written twice."""
    path = tmp_path / "a.jsonl"
    model = RecordingModel(ScriptedModel(["one", "two", "three"]), path)
    first, _ = played(model, (), "first?")
    played(model, (), messages=[*first.messages, {"role": "user", "content": "second?"}])
    played(model, (), "third?")

    replay = ReplayModel.of_file(path)
    one, _ = played(replay, (), "first?")
    two, _ = played(replay, (), messages=[*one.messages, {"role": "user", "content": "second?"}])
    three, _ = played(replay, (), "third?")

    assert [json.loads(line)["kept"] for line in path.read_text().splitlines()[1:]] == [0, 1, 0]
    assert [result.answer for result in (one, two, three)] == ["one", "two", "three"]


def test_a_request_that_was_cancelled_is_a_gap(tmp_path: Path) -> None:
    """Nobody knows what it would have been answered."""
    path = tmp_path / "a.jsonl"

    async def never(_: ModelRequest) -> str:
        await asyncio.Event().wait()
        return ""

    budget = Budget(seconds=0.5)
    first = Loop(RecordingModel(ScriptedModel([never]), path), [], budget=budget, store=tmp_path / "s").run("hi")
    again, _, _ = replayed(path, ())

    assert first.stop_reason is StopReason.DEADLINE_EXCEEDED
    assert "has no answer to give again: it was cancelled, or its time was over" in again.stop_detail


def test_an_error_is_recorded_and_raised_again(tmp_path: Path) -> None:
    """Its word and status, and its text without secrets; an exception of the model's own, too."""
    path, other = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    refused = ModelError(f"no such model for {MAIL}", error_type="404", status=404)
    first, _ = played(RecordingModel(ScriptedModel([refused]), path), prompt="hi")
    with pytest.raises(ZeroDivisionError):
        played(RecordingModel(ScriptedModel([ZeroDivisionError("oops")]), other), prompt="hi")

    again, _, _ = replayed(path)
    broken, _, _ = replayed(other)

    assert (again.stop_reason, again.stop_detail) == (first.stop_reason, first.stop_detail)
    assert str(again.error).startswith("no such model for [REDACTED:")
    assert broken.stop_detail == "the model request failed: ZeroDivisionError"


def test_a_file_is_never_written_over(tmp_path: Path) -> None:
    """Nor made where there is no folder; nothing is made before the first request."""
    path = tmp_path / "a.jsonl"
    RecordingModel(ScriptedModel([]), path)
    assert not path.exists()
    path.write_text("mine")

    with pytest.raises(UsageError, match=r"a\.jsonl exists already"):
        RecordingModel(ScriptedModel([]), path)
    with pytest.raises(UsageError, match="is no folder"):
        RecordingModel(ScriptedModel([]), tmp_path / "no" / "a.jsonl")


def test_a_recording_that_cannot_be_written_hurts_no_run(tmp_path: Path) -> None:
    """It says why it ends there."""
    folder = tmp_path / "f"
    folder.mkdir()
    model = RecordingModel(ScriptedModel(["hello"]), folder / "a.jsonl")
    folder.rmdir()

    result, _ = played(model, prompt="hi")

    assert result.answer == "hello"
    assert model.problem == f"{folder / 'a.jsonl'} ends after 0 requests: No such file or directory"


def test_the_model_is_asked_as_if_it_were_alone() -> None:
    """Name, provider and traits are its own."""
    inner = ScriptedModel([], name="m", price=Price.free())
    model = RecordingModel(inner, "never-made.jsonl")

    assert (model.name, model.provider, model.traits) == ("m", "scripted", inner.traits)
