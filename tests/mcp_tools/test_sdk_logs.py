"""What the SDK logs of our sessions reaches nobody who did not ask for it."""

from __future__ import annotations

import logging
import threading

import pytest

from traced_loop.mcp_tools.sdk_logs import keep_quiet
from traced_loop.mcp_tools.session_thread import THREAD_NAME

LOGGER = logging.getLogger("mcp.client.streamable_http")


def said_in(thread: str, caplog: pytest.LogCaptureFixture) -> list[str]:
    """What is logged of an error in a thread of that name."""
    caplog.clear()
    acting = threading.Thread(target=LOGGER.error, args=("secret",), name=thread)
    acting.start()
    acting.join()
    return caplog.messages


def test_only_our_threads_are_quiet(caplog: pytest.LogCaptureFixture) -> None:
    """An application may use the SDK itself."""
    keep_quiet()
    keep_quiet()

    assert said_in(THREAD_NAME, caplog) == []
    assert said_in("theirs", caplog) == ["secret"]


def test_whoever_wants_all_gets_all(caplog: pytest.LogCaptureFixture) -> None:
    """By the level of the logger."""
    keep_quiet()
    with caplog.at_level(logging.DEBUG, logger=LOGGER.name):
        assert said_in(THREAD_NAME, caplog) == ["secret"]
