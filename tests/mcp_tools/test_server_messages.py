"""What a server writes that is no message, or hardly one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("mcp", reason="needs the extra: uv sync --extra mcp")

from mcp.shared.message import SessionMessage

from traced_loop.mcp_tools.server_messages import message_of


def said(line: bytes) -> dict[str, Any]:
    """The message as JSON."""
    message = message_of(line)
    assert isinstance(message, SessionMessage)
    read: dict[str, Any] = message.message.model_dump(mode="json", exclude_unset=True)
    return read


def test_half_a_character_is_replaced() -> None:
    """As a server writes a text that it has cut."""
    found = said(rb'{"jsonrpc": "2.0", "id": 7, "result": {"text": "cut \ud83d"}}')
    assert (found["id"], found["result"]) == (7, {"text": "cut ?"})


@pytest.mark.parametrize(
    "value",
    [b"NaN", b"-Infinity", b"9" * 5000, b"[" * 3000 + b"]" * 3000, b"[1,", b'"\xff"'],
    ids=lambda v: v[:4].decode("latin-1"),
)
def test_an_answer_that_cannot_be_read_is_an_error_of_its_request(value: bytes) -> None:
    """Or whoever asked waited for another one until the time is over."""
    found = message_of(b'{"jsonrpc": "2.0", "id": 7, "result": {"a": %s}}' % value)
    if isinstance(found, Exception):
        pytest.fail(f"nobody hears of it: {found}")
    read = found.message.model_dump(mode="json", exclude_unset=True)
    assert read["id"] == 7
    assert read.get("error", {}).get("code") == -32700 or "result" in read


@pytest.mark.parametrize(
    "line", [b"starting ...", b"{}", b"7", b'{"id": 7, "method": "x", "params": NaN}', b'{"id": true}']
)
def test_what_answers_nothing_is_passed_over(line: bytes) -> None:
    """Some servers print."""
    assert isinstance(message_of(line), Exception)


@given(
    st.one_of(
        st.binary(),
        st.recursive(
            st.none() | st.floats() | st.text() | st.integers(),
            lambda inner: (
                st.lists(inner)
                | st.dictionaries(st.sampled_from(["id", "result", "method", "jsonrpc", "error"]), inner)
            ),
        ).map(lambda value: json.dumps(value).encode()),
    )
)
def test_any_line_is_a_message_or_none(line: bytes) -> None:
    """Whatever is written, nothing raises."""
    assert isinstance(message_of(line), (SessionMessage, Exception))
