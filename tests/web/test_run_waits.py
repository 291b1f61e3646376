"""What an open span is called in the list of runs."""

from __future__ import annotations

from typing import Any

import pytest

from traced_loop import names
from traced_loop.read.trace import StoredSpan
from traced_loop.web.run_waits import wait_of


def opened(name: str, **told: Any) -> StoredSpan:
    """An open span; ``told`` are attributes, by the names of the constants."""
    return StoredSpan(
        trace_id="1",
        span_id="1",
        name=name,
        start_ns=7,
        is_open=True,
        attributes={getattr(names, key): value for key, value in told.items()},
    )


@pytest.mark.parametrize(
    ("span", "kind", "subject"),
    [
        (opened("chat m", GEN_AI_OPERATION=names.CHAT, GEN_AI_REQUEST_MODEL="m"), "model", "m"),
        (opened(names.ATTEMPT, ATTEMPT_KIND="model", ATTEMPT_MODEL="other"), "model", "other"),
        (opened(names.ATTEMPT, ATTEMPT_KIND="model"), "model", ""),
        (opened(names.ATTEMPT, ATTEMPT_KIND="tool"), "tool", ""),
        (opened("execute_tool t", GEN_AI_OPERATION=names.EXECUTE_TOOL, GEN_AI_TOOL_NAME="t"), "tool", "t"),
        (opened(names.AUTHORIZE_CALL, CALL_TOOL="t"), "policy", "t"),
        (opened(names.AUTHORIZE_CALL, CALL_TOOL="t", POLICY_DECISION="needs_confirmation"), "confirmation", "t"),
        (opened(names.STEP), "loop", ""),
        (opened("invoke_agent a", GEN_AI_OPERATION=names.INVOKE_AGENT), "loop", ""),
        (opened("what nobody knows", ATTEMPT_KIND=3, CALL_TOOL="t"), "loop", ""),
    ],
)
def test_a_span_without_an_end_is_a_wait_for_something(span: StoredSpan, kind: str, subject: str) -> None:
    """For the model, a tool, a person, a rule, or nothing but the loop's own work."""
    wait = wait_of(span)
    assert (wait.kind, wait.subject, wait.since_ns) == (kind, subject, 7)


def test_the_exact_words_are_those_of_the_command_line() -> None:
    """With the id of the call."""
    span = opened(
        "execute_tool t", GEN_AI_OPERATION=names.EXECUTE_TOOL, GEN_AI_TOOL_NAME="t", GEN_AI_TOOL_CALL_ID="call_1"
    )
    assert wait_of(span).exact == "execute_tool t (call_1)"
