"""What goes wrong at servers that others wrote: each fault ends a run or is tried again, and no call runs from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from traced_loop import Budget, RetryPolicy, StopReason, names

from . import aimock as aimock_responses
from .foreign_servers import Api, Call, control
from .llmock import behaviour, breaks, fails
from .mock_llm import chat_body, responses_body
from .real_runs import Ran, model_of, run

if TYPE_CHECKING:
    from .aimock import Aimock
    from .fakellm import Fakellm
    from .litellm_proxy import LitellmProxy
    from .llmock import Llmock
    from .mock_llm import MockLlm

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("home")]

WAYS = pytest.mark.parametrize(
    ("api", "streamed"),
    [("chat", False), ("chat", True), ("responses", False), ("responses", True)],
    ids=["chat-whole", "chat-streamed", "responses-whole", "responses-streamed"],
)
APIS = pytest.mark.parametrize("api", ["chat", "responses"])
TEXT = behaviour("One two three four five six.")
CALLS = behaviour((Call("later", {"a": 1}), Call("save", {"a": 3})))
AGAIN = behaviour("Again, and whole.")
TWICE = RetryPolicy(attempts=2, first_delay=0.01)
PATIENT = RetryPolicy(attempts=3, first_delay=0.1)
"""Longer than a server takes to note that a stream has broken."""


def ended(ran: Ran, stop: StopReason, *tries: object) -> bool:
    """Whether a run ended so after these tries of one request, and nothing ran in it."""
    assert (ran.result.stop_reason, ran.attempts(), ran.called) == (stop, [*tries], [])
    return ran.spans.named(names.EXECUTE_TOOL) == []


@WAYS
def test_a_busy_server_is_asked_again_no_earlier_than_it_says(llmock: Llmock, api: Api, streamed: bool) -> None:
    """A 429 with `Retry-After: 0.3`, and then an answer; the server counts the seconds too."""
    llmock.behave(fails(429, retry_after=0.3), TEXT)
    ran = run(model_of(llmock, api, streamed=streamed))
    assert ended(ran, StopReason.FINAL_ANSWER, "429", None)
    assert ran.attributes(names.ATTEMPT)[1][names.ATTEMPT_DELAY_MS] == 300
    assert llmock.errors() == []


@WAYS
@pytest.mark.parametrize("status", [408, 500, 529])
def test_a_fault_that_passes_is_tried_again(llmock: Llmock, api: Api, streamed: bool, status: int) -> None:
    """One failed try, one that answers, no error on the request itself."""
    llmock.behave(fails(status), TEXT)
    ran = run(model_of(llmock, api, streamed=streamed))
    assert ended(ran, StopReason.FINAL_ANSWER, str(status), None)
    assert not ran.spans.named("chat")[0].error
    assert llmock.errors() == []


@WAYS
def test_a_server_that_stays_down_is_given_up(llmock: Llmock, api: Api, streamed: bool) -> None:
    """After three tries."""
    llmock.behave(fails(503, times=9))
    assert ended(run(model_of(llmock, api, streamed=streamed)), StopReason.MODEL_ERROR, *["503"] * 3)
    assert [request["status"] for request in llmock.requests()] == [503] * 3
    assert llmock.errors() == []


@WAYS
@pytest.mark.parametrize("status", [400, 401, 413])
def test_a_refusal_is_not_tried_again(llmock: Llmock, api: Api, streamed: bool, status: int) -> None:
    """The same request would be refused again."""
    llmock.behave(fails(status), TEXT)
    assert ended(run(model_of(llmock, api, streamed=streamed)), StopReason.MODEL_ERROR)
    assert [request["status"] for request in llmock.requests()] == [status]


@WAYS
def test_a_server_that_takes_too_long_is_given_up_in_time(llmock: Llmock, api: Api, streamed: bool) -> None:
    """After the request's seconds: what it would have said later is no answer."""
    llmock.behave({"type": "delay", "seconds": 15}, TEXT)
    ran = run(model_of(llmock, api, streamed=streamed), budget=Budget(request_seconds=0.4))
    assert ended(ran, StopReason.MODEL_ERROR)
    assert ran.attributes("chat")[0]["error.type"] == "timeout"


@WAYS
@pytest.mark.parametrize(
    ("fault", "outcome"), [("malformed_arguments", "invalid"), ("unknown_tool", "unknown_tool")], ids=["json", "name"]
)
def test_a_broken_call_is_told_and_its_neighbour_runs(
    llmock: Llmock, api: Api, streamed: bool, fault: str, outcome: str
) -> None:
    """Arguments that break off, and a tool that nobody offered."""
    llmock.behave({"type": "tool_fault", "kind": fault}, CALLS, AGAIN)
    ran = run(model_of(llmock, api, streamed=streamed))
    assert (ran.result.stop_reason, ran.called) == (StopReason.FINAL_ANSWER, [("save", 3)])
    assert list(ran.spans.outcomes().values()) == [[outcome], ["ok"]]


@WAYS
def test_calls_of_an_answer_that_was_cut_do_not_run(llmock: Llmock, api: Api, streamed: bool) -> None:
    """By `length` in one API, by `incomplete` in the other; each id is answered."""
    llmock.behave({**CALLS, "finish_reason": "length"}, AGAIN)
    ran = run(model_of(llmock, api, streamed=streamed))
    assert ended(ran, StopReason.TRUNCATED_RESPONSE)
    assert list(ran.spans.outcomes().values()) == [["skipped_truncated"]] * 2


@APIS
@pytest.mark.parametrize("what", [TEXT, CALLS], ids=["text", "calls"])
@pytest.mark.parametrize("after", [0, 1, 4])
@pytest.mark.parametrize("kind", ["disconnect", "truncate", "malformed"])
def test_a_stream_that_breaks_is_tried_again_whole(
    llmock: Llmock, api: Api, kind: str, after: int, what: dict[str, Any]
) -> None:
    """Nothing of it is taken for an answer, and no call of it runs, wherever it breaks."""
    llmock.behave(breaks(kind, after), what, AGAIN)
    ran = run(model_of(llmock, api, streamed=True), retry=PATIENT)
    nothing_came = after == 0 and kind == "truncate"
    said = "invalid_response" if kind == "malformed" or nothing_came else "connection"
    assert ended(ran, StopReason.FINAL_ANSWER, said, None)
    assert ran.result.answer == "Again, and whole."
    assert llmock.errors() == []


@APIS
def test_a_stream_that_stalls_is_tried_again_and_a_slow_first_token_is_none(llmock: Llmock, api: Api) -> None:
    """Silence in the middle has a bound of its own; silence before the first piece is the model thinking."""
    llmock.behave(breaks("stall", 3, stall_seconds=15), TEXT, AGAIN)
    ran = run(model_of(llmock, api, streamed=True, stall_seconds=0.3))
    assert ended(ran, StopReason.FINAL_ANSWER, "stalled", None)
    llmock.behave({"type": "slow_first_token", "seconds": 0.6}, TEXT)
    ran = run(model_of(llmock, api, streamed=True, stall_seconds=0.3))
    assert ended(ran, StopReason.FINAL_ANSWER)


CHAOS = {
    "dropRate": "500",
    "malformedRate": "invalid_response",
    "disconnectRate": "connection",
    "rateLimitRate": "429",
}


@WAYS
@pytest.mark.parametrize(("fault", "said"), CHAOS.items(), ids=CHAOS)
def test_chaos_at_every_request_ends_the_run(aimock: Aimock, api: Api, streamed: bool, fault: str, said: str) -> None:
    """After the tries that there are: a server error, half a JSON, a connection that is cut, too many requests."""
    aimock.answer("Never.")
    control(f"{aimock.url}/__aimock/chaos", {fault: 1})
    try:
        ran = run(model_of(aimock, api, streamed=streamed), retry=TWICE)
    finally:
        control(f"{aimock.url}/__aimock/chaos", method="DELETE")
    assert ended(ran, StopReason.MODEL_ERROR, said, said)


@APIS
@pytest.mark.parametrize("how", [{"truncateAfterChunks": 2}, {"disconnectAfterMs": 100, "latency": 60}], ids=str)
@pytest.mark.parametrize("what", ["text", "calls"])
def test_streams_that_break_at_every_try_end_the_run(aimock: Aimock, api: Api, how: dict[str, int], what: str) -> None:
    """What came of the last one is kept as partial, and no call of it runs."""
    calls = aimock_responses.response((Call("later", {"a": 1}), Call("save", {"a": 3})))
    response = calls if what == "calls" else aimock_responses.says("One two three four five six seven eight nine.")
    aimock.serve(response, response, **how)
    ran = run(model_of(aimock, api, streamed=True), retry=TWICE)
    assert ended(ran, StopReason.MODEL_ERROR, "connection", "connection")


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("length", StopReason.TRUNCATED_RESPONSE),
        ("content_filter", StopReason.CONTENT_FILTERED),
        ("stop", StopReason.INCONSISTENT_RESPONSE),
        ("pause", StopReason.INCONSISTENT_RESPONSE),
    ],
)
def test_no_call_runs_beside_a_finish_reason_that_is_not_theirs(
    aimock: Aimock, streamed: bool, finish: str, stop: StopReason
) -> None:
    """Each is the stop that its reason means."""
    calls = aimock_responses.response((Call("later", {"a": 1}),))
    aimock.serve({**calls, "finishReason": finish}, aimock_responses.says("Never."))
    assert ended(run(model_of(aimock, streamed=streamed)), stop)


@WAYS
def test_calls_without_ids_get_some(aimock: Aimock, api: Api, streamed: bool) -> None:
    """Each its own, in the history too."""
    nameless = [aimock_responses.tool_call("", tool, {"a": a}) for tool, a in (("later", 1), ("save", 3))]
    aimock.serve(aimock_responses.asks_for(*nameless), aimock_responses.says("Done."))
    ran = run(model_of(aimock, api, streamed=streamed))
    assert (ran.result.answer, sorted(ran.called)) == ("Done.", [("later", 1), ("save", 3)])


NO_ANSWERS: dict[str, Any] = {
    "list": [1],
    "null": None,
    "empty": {},
    "nothing-in-it": {"choices": [], "output": None},
    "error-text": {"error": "no"},
    "error-without-a-code": {"error": {"message": "no"}},
}


@APIS
@pytest.mark.parametrize("body", NO_ANSWERS.values(), ids=NO_ANSWERS)
def test_json_that_is_no_answer_is_an_error_of_the_server(mock_llm: MockLlm, api: Api, body: Any) -> None:
    """With status 200, too; it is not asked the same again."""
    mock_llm.send(api, [(200, body)])
    ran = run(model_of(mock_llm, api))
    assert ended(ran, StopReason.MODEL_ERROR)
    assert ran.spans.named("chat")[0].error


@APIS
def test_an_error_under_status_200_is_tried_again_where_its_code_says_so(mock_llm: MockLlm, api: Api) -> None:
    """As that status would be."""
    answer = chat_body("Fine.") if api == "chat" else responses_body("Fine.")
    mock_llm.send(api, [(200, {"error": {"message": "busy", "code": 503}}), (200, answer)])
    assert ended(run(model_of(mock_llm, api)), StopReason.FINAL_ANSWER, "503", None)


def test_an_error_in_a_stream_is_tried_again_where_its_code_says_so(mock_llm: MockLlm) -> None:
    """This server sends every error as an event under status 200."""
    mock_llm.send("chat", [(503, {"error": {"message": "busy", "code": "503"}}), (200, chat_body("Fine."))])
    assert ended(run(model_of(mock_llm, streamed=True)), StopReason.FINAL_ANSWER, "503", None)


def test_a_rule_that_fails_is_tried_again(fakellm: Fakellm) -> None:
    """Its error bodies have a type of their own."""
    fakellm.respond({"status": 503, "error": "overloaded"}, {"content": "Fine."})
    assert ended(run(model_of(fakellm)), StopReason.FINAL_ANSWER, "503", None)


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_the_answers_that_litellm_makes_up_are_read(litellm_proxy: LitellmProxy, streamed: bool) -> None:
    """A text is an answer; the errors that it plays are errors with its own bodies, tried again by us alone."""
    ran = run(model_of(litellm_proxy, streamed=streamed, name="mocked-text"))
    assert ended(ran, StopReason.FINAL_ANSWER)
    assert ran.result.answer == "The answer is 42."
    for name, status in (("busy", "429"), ("broken", "500")):
        ran = run(model_of(litellm_proxy, streamed=streamed, name=name), retry=TWICE)
        assert ended(ran, StopReason.MODEL_ERROR, status, status)


def test_the_calls_that_litellm_makes_up_are_beside_stop(litellm_proxy: LitellmProxy) -> None:
    """So they do not run, unless that is tolerated. Streamed, it leaves them out altogether."""
    assert ended(run(model_of(litellm_proxy, name="mocked-call")), StopReason.INCONSISTENT_RESPONSE)
    tolerant = model_of(litellm_proxy, name="mocked-call", tolerate={"stop_with_tool_calls"})
    ran = run(tolerant, budget=Budget(steps=1))
    assert (ran.result.stop_reason, ran.called) == (StopReason.MAX_STEPS_EXCEEDED, [("later", 1)])
    assert ran.attributes("chat")[0][names.ANOMALIES] == "stop_with_tool_calls"
    ran = run(model_of(litellm_proxy, streamed=True, name="mocked-call"))
    assert ended(ran, StopReason.FINAL_ANSWER)


@WAYS
def test_litellm_refuses_a_wrong_key_and_an_unknown_model(
    litellm_proxy: LitellmProxy, api: Api, streamed: bool
) -> None:
    """Both with status 400 where it has no database; neither is asked again, and the key stays off every span."""
    wrong = "sk-a-wrong-key-of-the-tests"
    ran = run(model_of(litellm_proxy, api, streamed=streamed, api_key=wrong))
    assert ended(ran, StopReason.MODEL_ERROR)
    assert ran.attributes("chat")[0][names.HTTP_STATUS] == 400
    assert wrong not in repr([(span.attributes, span.error) for span in ran.spans.ended_spans])
    assert ended(run(model_of(litellm_proxy, api, streamed=streamed, name="nope")), StopReason.MODEL_ERROR)


@WAYS
@pytest.mark.parametrize("status", [429, 500])
def test_a_fault_behind_litellm_is_tried_again_by_us_alone(
    litellm_proxy: LitellmProxy, llmock: Llmock, api: Api, streamed: bool, status: int
) -> None:
    """The server behind it sees one request for each of our tries."""
    llmock.behave(fails(status, retry_after=0.2), TEXT)
    ran = run(model_of(litellm_proxy, api, streamed=streamed))
    assert ended(ran, StopReason.FINAL_ANSWER, str(status), None)
    assert [request["status"] for request in llmock.requests()] == [status, 200]


@APIS
@pytest.mark.parametrize("kind", ["disconnect", "truncate", "malformed"])
def test_no_call_runs_from_a_stream_that_breaks_behind_litellm(
    litellm_proxy: LitellmProxy, llmock: Llmock, api: Api, kind: str
) -> None:
    """It sends an error event, or ends the stream with `stop` as if it were whole: never with calls that count."""
    llmock.behave(breaks(kind, 3), CALLS, AGAIN)
    ran = run(model_of(litellm_proxy, api, streamed=True))
    assert ran.called in ([], [("later", 1), ("save", 3)] if (api, kind) == ("responses", "malformed") else [])
    assert ran.result.stop_reason in {
        StopReason.FINAL_ANSWER,
        StopReason.MODEL_ERROR,
        StopReason.INCONSISTENT_RESPONSE,
    }
