"""What a server answers becomes a value, or an error that says as much as is known and no more."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    CallToolResult,
    ImageContent,
    InputRequiredResult,
    TextContent,
)
from pydantic import TypeAdapter, ValidationError

from traced_loop import NotApplied, ToolError
from traced_loop.loop.call_end import outcome_of
from traced_loop.mcp_tools.call_result import REFUSED, error_of, value_of
from traced_loop.outcomes import Outcome

TEXTS = st.text(max_size=30)
BLOCKS = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, TEXTS),
    st.builds(
        lambda kind, data: {"type": kind, "data": data, "mimeType": "a/b"}, st.sampled_from(["image", "audio"]), TEXTS
    ),
    st.builds(lambda uri: {"type": "resource_link", "uri": uri, "name": "n"}, TEXTS),
    st.builds(lambda uri, text: {"type": "resource", "resource": {"uri": uri, "text": text}}, TEXTS, TEXTS),
    st.builds(lambda uri, blob: {"type": "resource", "resource": {"uri": uri, "blob": blob}}, TEXTS, TEXTS),
)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(TEXTS, below, max_size=3),
    max_leaves=10,
)
ANSWERS = st.fixed_dictionaries(
    {"content": st.lists(BLOCKS | JSON, max_size=4)},
    optional={"structuredContent": JSON, "isError": st.booleans() | JSON, "_meta": JSON},
)
READER: TypeAdapter[CallToolResult | InputRequiredResult] = TypeAdapter(CallToolResult | InputRequiredResult)


def result(text: str = "", **more: Any) -> CallToolResult:
    """A result with one text."""
    return CallToolResult(content=[TextContent(text=text)] if text else [], **more)


@given(ANSWERS, st.booleans())
def test_any_answer_is_a_value_or_a_tools_error(answer: dict[str, Any], harmless: bool) -> None:
    """Whatever a server sends; a declared error is never taken for a result."""
    try:
        read = READER.validate_python(answer, by_name=False)
    except ValidationError:
        return
    if isinstance(read, CallToolResult) and not read.is_error:
        assert value_of(read, error_is_not_applied=harmless) is not None
        return
    with pytest.raises(ToolError) as raised:
        value_of(read, error_is_not_applied=harmless)
    assert str(raised.value)
    assert isinstance(raised.value, NotApplied) is (harmless and isinstance(read, CallToolResult))


@given(st.binary(max_size=200))
def test_a_marker_has_the_true_size_and_none_of_the_data(data: bytes) -> None:
    """Base64 is a third longer."""
    encoded = base64.b64encode(data).decode()
    shown = value_of(
        CallToolResult(content=[ImageContent(data=encoded, mime_type="image/png")]), error_is_not_applied=False
    )

    assert shown == f"[image image/png, {len(data)} bytes]"


def test_structured_content_comes_with_what_its_text_cannot_say() -> None:
    """An image beside it is not lost."""
    image = ImageContent(data="aGVsbG8=", mime_type="image/png")
    both = CallToolResult(content=[TextContent(text="{}"), image], structured_content={"a": 1})

    assert value_of(both, error_is_not_applied=False) == {
        "structured": {"a": 1},
        "content": ["[image image/png, 5 bytes]"],
    }


def test_what_wants_input_first_is_refused() -> None:
    """Nobody answers a server's questions."""
    with pytest.raises(ToolError, match="refused"):
        value_of(InputRequiredResult(input_requests={}, request_state="x"), error_is_not_applied=True)


def test_an_error_without_words_says_so() -> None:
    """The model is never told nothing."""
    with pytest.raises(ToolError, match="said nothing"):
        value_of(result(is_error=True), error_is_not_applied=False)


@pytest.mark.parametrize(
    ("code", "status", "write", "transient"),
    [
        (INVALID_PARAMS, None, Outcome.ERROR, False),
        (METHOD_NOT_FOUND, 200, Outcome.ERROR, False),
        (INTERNAL_ERROR, 401, Outcome.ERROR, False),
        (INTERNAL_ERROR, 429, Outcome.ERROR, True),
        (INVALID_REQUEST, 404, Outcome.ERROR, False),
        (INTERNAL_ERROR, None, Outcome.UNKNOWN, False),
        (INVALID_REQUEST, 200, Outcome.UNKNOWN, False),
        (INTERNAL_ERROR, 500, Outcome.UNKNOWN, True),
        (INTERNAL_ERROR, 408, Outcome.UNKNOWN, False),
        (CONNECTION_CLOSED, None, Outcome.UNKNOWN, True),
    ],
)
def test_an_error_of_the_protocol(code: int, status: int | None, write: Outcome, transient: bool) -> None:
    """A write that was refused has not happened; any other may have."""
    error = error_of(MCPError(code, "why"), status)

    assert outcome_of(error, "write") is write
    assert outcome_of(error, "read") is Outcome.ERROR
    assert error.transient is transient


def test_no_status_that_may_come_after_the_work_counts_as_refused() -> None:
    """A time-out of a gateway, a conflict, a failure."""
    assert not REFUSED & {408, 409, 499, 500, 502, 503, 504}
