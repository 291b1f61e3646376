"""The kind of a failed response is told by its status and by words that are known, and by nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop import ModelError
from traced_loop.closed_words import ModelErrorKind as Kind
from traced_loop.messages import ModelAnswer
from traced_loop.models.error_kinds import kind_of, kind_of_answer, kind_of_error

from .test_error_body import JSON

_RAW = json.dumps({"error": {"message": "x", "code": "context_length_exceeded"}})
_CUT = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens"

RESPONSES: dict[str, tuple[int | None, Any, Kind]] = {
    "openai-rate": (429, {"error": {"type": "tokens", "code": "rate_limit_exceeded"}}, Kind.RATE_LIMITED),
    "openai-quota": (429, {"error": {"type": "insufficient_quota", "code": None}}, Kind.QUOTA_EXHAUSTED),
    "openai-spend": (
        429,
        {"error": {"type": "insufficient_quota", "code": "project_spend_limit_exceeded"}},
        Kind.QUOTA_EXHAUSTED,
    ),
    "openai-key": (401, {"error": {"type": "invalid_request_error", "code": "invalid_api_key"}}, Kind.AUTH),
    "openai-model": (404, {"error": {"type": "invalid_request_error", "code": "model_not_found"}}, Kind.NOT_FOUND),
    "openai-long": (400, {"error": {"code": "context_length_exceeded"}}, Kind.CONTEXT_TOO_LONG),
    "openai-busy": (503, {"error": {"code": "server_is_overloaded"}}, Kind.OVERLOADED),
    "azure-filter": (
        400,
        {"error": {"code": "content_filter", "innererror": {"code": "ResponsibleAIPolicyViolation"}}},
        Kind.CONTENT_FILTERED,
    ),
    "azure-deployment": (404, {"error": {"code": "DeploymentNotFound"}}, Kind.NOT_FOUND),
    "anthropic-529": (529, {"type": "error", "error": {"type": "overloaded_error"}}, Kind.OVERLOADED),
    "groq-call": (400, {"error": {"type": "invalid_request_error", "code": "tool_use_failed"}}, Kind.TOOL_USE_FAILED),
    "groq-large": (413, {"error": {"type": "tokens", "code": "rate_limit_exceeded"}}, Kind.REQUEST_TOO_LARGE),
    "groq-capacity": (498, {}, Kind.OVERLOADED),
    "groq-capacity-inside": (None, {"error": {"code": "capacity_exceeded"}}, Kind.OVERLOADED),
    "moonshot-context": (
        400,
        {
            "error": {
                "type": "invalid_request_error",
                "message": "Your request exceeded model token limit: 8 (requested: 9)",
            }
        },
        Kind.CONTEXT_TOO_LONG,
    ),
    "deepseek-balance": (402, {"error": {"type": "unknown_error"}}, Kind.QUOTA_EXHAUSTED),
    "openrouter-upstream": (
        400,
        {"error": {"code": 400, "message": "Provider returned error", "metadata": {"raw": _RAW}}},
        Kind.CONTEXT_TOO_LONG,
    ),
    "gemini-rate": (429, [{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}], Kind.RATE_LIMITED),
    "gemini-key": (
        400,
        [{"error": {"code": 400, "status": "INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]}}],
        Kind.AUTH,
    ),
    "gemini-busy": (503, [{"error": {"status": "UNAVAILABLE"}}], Kind.OVERLOADED),
    "vllm-long": (400, {"object": "error", "message": _CUT, "type": "BadRequestError"}, Kind.CONTEXT_TOO_LONG),
    "ollama-model": (404, {"error": {"message": "model 'x' not found", "type": "not_found_error"}}, Kind.NOT_FOUND),
    "llama-cpp-long": (400, {"error": {"type": "exceed_context_size_error"}}, Kind.CONTEXT_TOO_LONG),
    "proxy-page": (502, "<html>bad gateway</html>", Kind.SERVER_ERROR),
    "gateway-time": (504, "", Kind.TIMEOUT),
    "cloudflare": (524, "", Kind.TIMEOUT),
    "conflict": (409, {}, Kind.CONFLICT),
    "time": (408, {}, Kind.TIMEOUT),
    "region": (403, {"error": {"code": "unsupported_country_region_territory"}}, Kind.PERMISSION),
    "redirect": (307, "", Kind.REDIRECTED),
    "schema": (400, {"error": {"message": "bad schema", "type": "invalid_request_error"}}, Kind.INVALID_REQUEST),
    "unprocessable": (422, {"detail": [{"type": "extra_forbidden"}]}, Kind.INVALID_REQUEST),
    "key-and-a-word": (401, {"error": {"type": "server_error"}}, Kind.AUTH),
    "schema-and-a-word": (
        400,
        {"error": {"type": "server_error", "code": "rate_limit_exceeded"}},
        Kind.INVALID_REQUEST,
    ),
    "busy-and-a-word": (500, {"error": {"type": "overloaded_error"}}, Kind.OVERLOADED),
    "teapot": (418, {}, Kind.OTHER),
    "inside-200": (None, {"code": 429, "message": "slow"}, Kind.RATE_LIMITED),
    "inside-200-text": (None, {"code": "502", "message": "lost"}, Kind.SERVER_ERROR),
    "inside-200-quota": (None, {"code": 429, "type": "insufficient_quota"}, Kind.QUOTA_EXHAUSTED),
    "inside-200-nothing": (None, "it broke", Kind.OTHER),
}


@pytest.mark.parametrize(("status", "body", "kind"), RESPONSES.values(), ids=RESPONSES)
def test_a_response_has_its_kind(status: int | None, body: Any, kind: Kind) -> None:
    """In the words of each provider."""
    assert kind_of(status, body) is kind


@pytest.mark.parametrize("status", [401, 429, 500])
def test_a_message_about_length_says_nothing_where_the_status_says_more(status: int) -> None:
    """Only a request that is refused for an unnamed reason is asked for its text."""
    assert kind_of(status, {"message": _CUT}) is not Kind.CONTEXT_TOO_LONG


@given(st.none() | st.integers(min_value=100, max_value=999), JSON)
def test_every_response_has_a_kind(status: int | None, body: Any) -> None:
    """Never a crash, whatever comes."""
    assert kind_of(status, body) in Kind


def test_an_adapter_of_ones_own_need_not_know_the_kinds() -> None:
    """Its status and its word tell; what it says itself goes first."""
    assert kind_of_error(ModelError("x", error_type="429", status=429)) is Kind.RATE_LIMITED
    assert kind_of_error(ModelError("x", error_type="timeout")) is Kind.TIMEOUT
    assert kind_of_error(ModelError("x", error_type="APIError")) is Kind.OTHER
    assert kind_of_error(ModelError("x", error_type="429", status=429, kind=Kind.AUTH)) is Kind.AUTH
    assert kind_of_answer(ModelAnswer(message=None, finish_reason=None, error="x", error_code="529")) is Kind.OVERLOADED
