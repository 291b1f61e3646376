"""A response body of the Responses API is read whole, and what it does not say stays unknown."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import Response

from traced_loop.closed_words import Anomaly
from traced_loop.messages import RESPONSE_FIELD, ModelAnswer
from traced_loop.models.chat_completion import MAX_DEPTH
from traced_loop.models.error_kinds import kind_of_answer
from traced_loop.models.responses_answer import read_response
from traced_loop.outcomes import StopReason
from traced_loop.rules.answer_verdict import judge
from traced_loop.rules.call_repair import repair
from traced_loop.rules.model_error_kinds import KIND_RULES

from .responses_server import called, refused, response, said, thought

SERVER = "api.test"
WEB = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}}
CUSTOM = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c9", "name": "sh", "input": "ls"}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)
WORDS = ["completed", "incomplete", "failed", "in_progress", "message", "function_call", "reasoning", "output_text"]
FIELDS = ["output", "type", "status", "content", "text", "call_id", "name", "arguments", "error", "code", "usage"]
FIELDS += ["incomplete_details", "reason", "id", "refusal", "input_tokens", "input_tokens_details", "summary"]
near = st.recursive(
    json_values | st.sampled_from([0, -1, 1.5, "12", *WORDS]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner),
    max_leaves=30,
)


def read(body: Any) -> ModelAnswer:
    """The answer in a body."""
    return read_response(body, SERVER)


def verdict(body: Any) -> tuple[str, StopReason | None]:
    """What becomes of a body."""
    answer = read(body)
    assert answer.message is not None
    found = judge(answer, repair(answer.message, lambda: "made00001"), (), None)
    return found.kind, found.stop


@given(near)
def test_any_body_is_an_answer(body: Any) -> None:
    """Never a crash; without a message there is always an error, and what is read can be repaired and judged."""
    answer = read(body)
    assert answer.message is not None or answer.error
    assert answer.error is None or answer.error_code
    if answer.message is not None and answer.error is None:
        judge(answer, repair(answer.message, lambda: "made00001"), (), None)


def test_an_answer_is_read_whole() -> None:
    """Text, calls, counts, ids, and every item as it came."""
    items = [thought(), said("I look."), called("f", '{"a":1}')]
    body = response(*items)
    Response.model_validate(body)  # what the tests serve is what the client's own types hold
    answer = read(body)

    function = {"name": "f", "arguments": '{"a":1}'}
    assert answer.message == {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [{"type": "function", "id": "c1", "function": function}],
        RESPONSE_FIELD: {"server": SERVER, "output": items},
    }
    assert (answer.finish_reason, answer.response_id, answer.response_model) == ("completed", "resp_1", "m-2026")
    usage = answer.usage
    assert (usage.input, usage.output, usage.cached, usage.reasoning, usage.total) == (100, 20, 40, 5, 120)
    assert (usage.source, answer.anomalies, answer.error) == ("provider", (), None)


@pytest.mark.parametrize("stated", [{"cost_in_usd_ticks": 37_756_000}, {"cost": 0.0037756}], ids=["xai", "openrouter"])
def test_the_cost_that_a_provider_states_is_read(stated: dict[str, Any]) -> None:
    """It stands beside the counts, as in Chat Completions."""
    body = response(said("hi"))
    answer = read({**body, "usage": {**body["usage"], **stated}})

    assert (answer.usage.cost_usd, answer.usage.input, answer.anomalies) == (Decimal("0.0037756"), 100, ())


@pytest.mark.parametrize(
    ("fields", "kept"),
    [({"store": True}, "resp_1"), ({"store": False}, None), ({"store": True, "status": "cancelled"}, None)],
    ids=["kept", "not_kept", "cancelled"],
)
def test_the_id_stands_in_the_message_where_a_later_request_can_name_it(fields: Any, kept: str | None) -> None:
    """The server keeps the answer, and it can be continued from."""
    message = read(response(said("hi"), **fields)).message
    assert message is not None
    assert message[RESPONSE_FIELD].get("id") == kept


VERDICTS: dict[str, tuple[dict[str, Any], str, str | None]] = {
    "calls": (response(called("f", "{}")), "calls", None),
    "calls-and-text": (response(said("I look."), called("f", "{}")), "calls", None),
    "text": (response(said("hi")), "final", None),
    "text-of-two-messages": (response(said("h"), said("i")), "final", None),
    "text-without-parts": (response(said("") | {"content": "hi"}), "final", None),
    "text-after-a-search": (response(WEB, said("hi")), "final", None),
    "nothing": (response(), "stop", "empty_response"),
    "reasoning-alone": (response(thought()), "stop", "empty_response"),
    "blank": (response(said(" \n")), "stop", "empty_response"),
    "refusal": (response(refused("no")), "stop", "refused"),
    "cut-text": (response(said("h"), status="incomplete", reason="max_output_tokens"), "stop", "truncated_response"),
    "cut-call": (
        response(called("f", "{}"), status="incomplete", reason="max_output_tokens"),
        "stop",
        "truncated_response",
    ),
    "unfinished-call": (response(called("f", "{}", status="incomplete")), "stop", "truncated_response"),
    "call-still-written": (response(called("f", "{}", status="in_progress")), "stop", "truncated_response"),
    "unfinished-text": (response(said("h", status="incomplete")), "stop", "truncated_response"),
    "filtered": (response(said("h"), status="incomplete", reason="content_filter"), "stop", "content_filtered"),
    "filtered-call": (
        response(called("f", "{}"), status="incomplete", reason="content_filter"),
        "stop",
        "content_filtered",
    ),
    "incomplete-why": (response(said("h"), status="incomplete"), "stop", "truncated_response"),
    "steered": (response(called("f", "{}"), status="incomplete", reason="steered"), "stop", "inconsistent_response"),
    "cancelled": (response(called("f", "{}"), status="cancelled"), "stop", "inconsistent_response"),
    "queued": (response(status="queued"), "stop", "inconsistent_response"),
    "in-progress": (response(called("f", "{}"), status="in_progress"), "stop", "inconsistent_response"),
    "no-status": (response(called("f", "{}")) | {"status": None}, "stop", "inconsistent_response"),
    "custom": (response(CUSTOM), "stop", "inconsistent_response"),
    "custom-and-call": (response(called("f", "{}"), CUSTOM), "stop", "inconsistent_response"),
    "approval": (response({"type": "mcp_approval_request", "id": "m"}, said("?")), "stop", "inconsistent_response"),
    "unknown-that-waits": (response({"type": "new_call", "call_id": "c"}), "stop", "inconsistent_response"),
    "no-type-that-waits": (response({"call_id": "c"}), "stop", "inconsistent_response"),
    "call-without-name": (response(called("f", "{}") | {"name": None}), "stop", "inconsistent_response"),
    "done-by-the-server": (
        response({**CUSTOM}, {"type": "custom_tool_call_output", "call_id": "c9", "output": "x"}, said("hi")),
        "final",
        None,
    ),
}


@pytest.mark.parametrize(("body", "kind", "stop"), VERDICTS.values(), ids=VERDICTS)
def test_every_status_and_every_kind_of_item_has_one_verdict(body: Any, kind: str, stop: str | None) -> None:
    """Only a completed answer of complete function calls is handled."""
    assert verdict(body) == (kind, stop)


def test_items_that_are_not_complete_are_noted() -> None:
    """Why a completed answer counts as cut stands on its span."""
    assert Anomaly.ITEM_INCOMPLETE in read(response(called("f", "{}", status="incomplete"))).anomalies
    assert read(response(called("f", "{}", status=None))).anomalies == ()


ERRORS: dict[str, tuple[Any, str, bool]] = {
    "failed": (response(status="failed", error={"code": "server_error", "message": "oops"}), "server_error", True),
    "rate": (
        response(status="failed", error={"code": "rate_limit_exceeded", "message": "x"}),
        "rate_limit_exceeded",
        True,
    ),
    "prompt": (response(status="failed", error={"code": "invalid_prompt", "message": "x"}), "invalid_prompt", False),
    "failed-why": (response(status="failed"), "provider_error", True),
    "error-only": ({"error": {"code": 502, "message": "upstream"}}, "502", True),
    "error-text": ({"error": "overloaded"}, "_OTHER", False),
    "sentence-for-code": (response(status="failed", error={"code": "no such thing", "message": "x"}), "_OTHER", False),
    "chat-body": ({"choices": [{"message": {"content": "hi"}}]}, "invalid_response", False),
    "list": ([1], "invalid_response", False),
    "output-of-another-kind": (response() | {"output": "hi"}, "invalid_response", False),
}


@pytest.mark.parametrize(("body", "code", "retryable"), ERRORS.values(), ids=ERRORS)
def test_a_failed_answer_is_an_error_with_its_code(body: Any, code: str, retryable: bool) -> None:
    """And without a message, so that the same request may be tried again where the code says that it may work."""
    answer = read(body)
    assert (answer.message, answer.error_code) == (None, code)
    assert answer.error
    assert KIND_RULES[kind_of_answer(answer)].again is retryable


def test_half_an_answer_that_failed_keeps_its_text() -> None:
    """It was said, and was billed."""
    answer = read(response(said("Partial ans"), status="failed", error={"code": "server_error", "message": "lost"}))
    assert answer.message is not None
    assert (answer.message["content"], answer.error, answer.usage.output) == ("Partial ans", "lost", 20)


def test_items_too_deep_to_be_stored_are_no_answer() -> None:
    """They could not be sent back."""
    deep: Any = "x"
    for _ in range(MAX_DEPTH + 1):
        deep = [deep]
    answer = read(response(said("hi") | {"vendor": deep}))
    assert (answer.message, answer.error_code) == (None, "invalid_response")
