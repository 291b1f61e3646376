"""What a server does wrong, over real HTTP: the exit code, the lines on stderr, and the spans say what it was."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from traced_loop import names

from ..command_line import Ended, traced_loop
from .aimock import asks_for, fails, in_order, says, tool_call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .aimock import Aimock

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("home")]

MULTIPLY = tool_call("call_1", "multiply", {"a": 62, "b": 60})
TICKET = {"title": "Parcel open", "body": "Please look.", "request_id": "mail-1"}


def run(base_url: str, *more: str, tools: str = "multiply") -> Ended:
    """A run against a server."""
    return traced_loop("run", "Go.", "--base-url", base_url, "--model", "gpt-test", "--tools", tools, *more)


def run_id_of(ended: Ended) -> str:
    """The run that stderr names."""
    return ended.err_lines[-1].removeprefix("traced-loop show ")


def spans_of(ended: Ended, name: str) -> list[dict[str, Any]]:
    """The stored spans of that name, in order."""
    spans = traced_loop("show", run_id_of(ended), "--json").json["spans"]
    return [span for span in spans if span["name"].split()[0] == name]


def attempts_of(ended: Ended) -> list[tuple[Any, ...]]:
    """Number, kind, error type, status and error of each attempt's span."""
    keys = (names.ATTEMPT_NUMBER, names.ATTEMPT_KIND, "error.type", names.HTTP_STATUS)
    return [(*(span["attributes"].get(key) for key in keys), span["error"]) for span in spans_of(ended, names.ATTEMPT)]


@pytest.fixture
def hanging() -> Iterator[str]:
    """A server that takes connections and requests, and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"


def test_a_busy_server_is_asked_again_when_it_says(start_aimock: Callable[..., Aimock]) -> None:
    """A 429 with Retry-After and then an answer: two attempts, the second after exactly that long."""
    ended = run(start_aimock(in_order(fails(429, "slow down", retry_after=1), says("done"))).base_url)
    assert (ended.code, ended.out) == (0, "done\n")
    assert ended.err_lines[:2] == ["step 1: try 1 failed (429), again in 1 s", "step 1: finish_reason=stop"]
    assert attempts_of(ended) == [(1, "model", "429", 429, True), (2, "model", None, None, False)]
    assert [s["attributes"][names.ATTEMPT_DELAY_MS] for s in spans_of(ended, names.ATTEMPT)] == [0, 1000]
    [chat] = spans_of(ended, "chat")
    assert not chat["error"]


def test_a_server_error_that_passes_leaves_no_error_on_the_chat_span(start_aimock: Callable[..., Aimock]) -> None:
    """A 500 and then an answer: the failed attempt has status ERROR, its parent and the root have not."""
    ended = run(start_aimock(in_order(fails(500, "broken"), says("done"))).base_url)
    assert (ended.code, ended.out) == (0, "done\n")
    assert attempts_of(ended) == [(1, "model", "500", 500, True), (2, "model", None, None, False)]
    second = spans_of(ended, names.ATTEMPT)[1]
    assert 300 <= second["attributes"][names.ATTEMPT_DELAY_MS] <= 500
    assert not any(s["error"] for name in ("chat", "invoke_agent") for s in spans_of(ended, name))


def test_three_failures_are_the_model_servers_stop(start_aimock: Callable[..., Aimock]) -> None:
    """After the third try the run ends with exit code 6 and says what the server said."""
    server = start_aimock(in_order(*[fails(503, "overloaded")] * 4))
    ended = run(server.base_url)
    assert (ended.code, ended.out, server.statuses()) == (6, "", [503] * 3)
    where = urlsplit(server.base_url).netloc
    assert f"stopped: model_error - the model request failed: 503 ({where})" in ended.err_lines
    assert f"{server.base_url} answered 503: overloaded" in ended.err_lines
    assert [attempt[0] for attempt in attempts_of(ended)] == [1, 2, 3]
    assert all(spans_of(ended, name)[0]["error"] for name in ("chat", "invoke_agent"))


def test_a_failure_after_a_call_keeps_what_was_done(start_aimock: Callable[..., Aimock]) -> None:
    """The second request fails for good: the first step's call and its result are in the transcript."""
    server = start_aimock(in_order(asks_for(MULTIPLY), fails(400, "bad request")))
    ended = run(server.base_url)
    assert (ended.code, server.statuses()) == (6, [200, 400])
    shown = traced_loop("show", run_id_of(ended), "--messages", "--json").json
    assert [message["role"] for message in shown["messages"]] == ["user", "assistant", "tool"]


def test_a_wrong_key_is_not_tried_again_and_names_the_variable(start_aimock: Callable[..., Aimock]) -> None:
    """A 401 stops at once."""
    server = start_aimock(in_order(fails(401, "Incorrect API key provided")))
    ended = run(server.base_url)
    assert (ended.code, server.statuses()) == (6, [401])
    assert f"{server.base_url} answered 401: Incorrect API key provided (check OPENAI_API_KEY)" in ended.err_lines


def test_a_key_stays_off_stderr_and_off_the_spans(
    start_aimock: Callable[..., Aimock], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the server repeats it in its error."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-key-0123456789")
    ended = run(start_aimock(in_order(fails(401, "Incorrect key sk-very-secret-key-0123456789"))).base_url)
    shown = traced_loop("show", run_id_of(ended), "--json").out
    assert "very-secret" not in shown
    assert "very-secret" not in ended.err


def test_a_model_that_is_not_there_names_what_to_check(start_aimock: Callable[..., Aimock]) -> None:
    """A 404 is no reason to ask again."""
    server = start_aimock(in_order())
    ended = run(server.base_url)
    assert (ended.code, server.statuses()) == (6, [404])
    assert "(check the model's name and the base URL)" in ended.err


def test_a_server_that_is_not_reachable_is_named_once() -> None:
    """Nobody listens: exit code 6, and one line with the address."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        base_url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
    ended = run(base_url)
    assert (ended.code, ended.out) == (6, "")
    [line] = [line for line in ended.err_lines if base_url in line]
    assert line.startswith(f"cannot reach {base_url}: ")


def test_a_server_that_hangs_cannot_outlive_the_deadline(hanging: str) -> None:
    """`--max-seconds 1` ends the run with exit code 3, and not the time of a request, which is two minutes."""
    ended = run(hanging, "--max-seconds", "1")
    assert ended.code == 3
    assert "stopped: deadline_exceeded - the run's seconds were over during a model request" in ended.err_lines
    assert not any(span["open"] for span in traced_loop("show", run_id_of(ended), "--json").json["spans"])


def test_calls_beside_stop_run_nothing_and_name_the_option(start_aimock: Callable[..., Aimock]) -> None:
    """Exit code 5; the detail says how such a server is accepted."""
    server = start_aimock(in_order(asks_for(MULTIPLY, finishReason="stop")))
    ended = run(server.base_url)
    assert ended.code == 5
    [line] = [line for line in ended.err_lines if line.startswith("stopped: inconsistent_response")]
    assert line.endswith("--tolerate stop_with_tool_calls")
    assert spans_of(ended, "execute_tool") == []


def test_with_that_option_the_run_goes_on(start_aimock: Callable[..., Aimock]) -> None:
    """The call runs, and the span keeps a note of the quirk."""
    script = in_order(asks_for(MULTIPLY, finishReason="stop"), says("3720"))
    ended = run(start_aimock(script).base_url, "--tolerate", "stop_with_tool_calls")
    assert (ended.code, ended.out) == (0, "3720\n")
    assert spans_of(ended, "chat")[0]["attributes"][names.ANOMALIES] == "stop_with_tool_calls"


def test_an_answer_that_was_cut_is_partial_and_no_answer(start_aimock: Callable[..., Aimock]) -> None:
    """Finish reason `length`: exit code 5, nothing on stdout, the text on stderr."""
    ended = run(start_aimock(in_order(says("62 times 60 is", finishReason="length"))).base_url)
    assert (ended.code, ended.out) == (5, "")
    assert "stopped: truncated_response - the answer was cut at the output limit" in ended.err_lines
    assert "partial answer: 62 times 60 is" in ended.err_lines


def test_a_call_that_was_cut_is_answered_and_not_run(start_aimock: Callable[..., Aimock]) -> None:
    """Half a call: its id gets a result in the transcript, and no tool is started."""
    cut = asks_for(tool_call("call_1", "multiply", '{"a": 62, "b'), finishReason="length")
    ended = run(start_aimock(in_order(cut)).base_url)
    assert ended.code == 5
    shown = traced_loop("show", run_id_of(ended), "--messages", "--json").json
    assert [message["role"] for message in shown["messages"]] == ["user", "assistant", "tool"]
    assert not any(span["name"].startswith("execute_tool") for span in shown["spans"])


def test_a_limit_of_one_step_ends_before_the_second_request(start_aimock: Callable[..., Aimock]) -> None:
    """The call of the first answer runs; the second request is never sent; exit code 3."""
    server = start_aimock(in_order(asks_for(MULTIPLY), says("never")))
    ended = run(server.base_url, "--max-steps", "1")
    assert (ended.code, len(server.requests())) == (3, 1)
    assert "stopped: max_steps_exceeded - the limit steps=1 allows no more" in ended.err_lines
    assert [s["attributes"][names.CALL_OUTCOME] for s in spans_of(ended, "execute_tool")] == ["ok"]


def test_a_write_waits_and_stderr_names_it(start_aimock: Callable[..., Aimock]) -> None:
    """Nothing prompts without a terminal: exit code 4, and what waits, with its call id."""
    server = start_aimock(in_order(asks_for(tool_call("call_9", "create_ticket", TICKET))))
    ended = run(server.base_url, tools="create_ticket")
    assert (ended.code, ended.out) == (4, "")
    assert "waits for a confirmation: create_ticket (call_9), " in ended.err
    assert spans_of(ended, "execute_tool") == []
    pending = run(
        start_aimock(in_order(asks_for(tool_call("c", "create_ticket", TICKET)))).base_url,
        "--json",
        tools="create_ticket",
    )
    assert [(p["tool"], p["call_id"]) for p in pending.json["pending"]] == [("create_ticket", "c")]


def test_a_model_that_repeats_itself_is_told_and_then_ended(start_aimock: Callable[..., Aimock]) -> None:
    """The same call for ever ends with exit code 7 at the fourth, flagged in the list of runs."""
    server = start_aimock(in_order(*[asks_for(MULTIPLY)] * 9))
    ended = run(server.base_url)
    assert (ended.code, len(server.requests())) == (7, 4)
    assert "step 3: repetition, nudge: multiply brought the same 3 times" in ended.err_lines
    assert [m["role"] for m in server.requests()[3]["messages"][-3:]] == ["assistant", "tool", "user"]
    assert "repetition_detected (repeats)" in traced_loop("runs").out


def test_a_model_whose_repetitions_are_only_observed_is_ended_by_a_limit(start_aimock: Callable[..., Aimock]) -> None:
    """With exit code 3 at the limit on steps, flagged all the same."""
    server = start_aimock(in_order(*[asks_for(MULTIPLY)] * 9))
    ended = run(server.base_url, "--repetition", "observe")
    assert (ended.code, len(server.requests())) == (3, 8)
    assert "max_steps_exceeded (repeats)" in traced_loop("runs").out
