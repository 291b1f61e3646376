"""What an answer means is decided by what is in it; every combination has one verdict."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.closed_words import Anomaly
from traced_loop.messages import ModelAnswer, TokenUsage
from traced_loop.rules.answer_verdict import FILTER_REASONS, LENGTH_REASONS, STOP_REASONS, TOOL_REASONS, Verdict, judge
from traced_loop.rules.call_repair import RepairedMessage, repair

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CUT = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": "tex'}}


def verdict(reason: str | None, *, cap: int | None = None, output: int | None = 5, **message: Any) -> Verdict:
    """The verdict on a message with this finish reason."""
    whole = {"role": "assistant", "content": None, **message}
    answer = ModelAnswer(message=whole, finish_reason=reason, usage=TokenUsage(output=output, source="provider"))
    tolerate = {"stop_with_tool_calls"} if reason == "stop, tolerated" else set()
    answer = ModelAnswer(message=whole, finish_reason="stop" if tolerate else reason, usage=answer.usage)
    return judge(answer, repair(whole, lambda: "made00001"), tolerate, cap)


TABLE: dict[str, tuple[str | None, dict[str, Any], str, str | None]] = {
    "calls": ("tool_calls", {"tool_calls": [CALL]}, "calls", None),
    "calls-stop": ("stop", {"tool_calls": [CALL]}, "stop", "inconsistent_response"),
    "calls-stop-tolerated": ("stop, tolerated", {"tool_calls": [CALL]}, "calls", None),
    "calls-none": (None, {"tool_calls": [CALL]}, "stop", "inconsistent_response"),
    "calls-other": ("weird", {"tool_calls": [CALL]}, "stop", "inconsistent_response"),
    "calls-length": ("length", {"tool_calls": [CALL]}, "stop", "truncated_response"),
    "calls-filter": ("content_filter", {"tool_calls": [CALL]}, "stop", "content_filtered"),
    "malformed": ("tool_calls", {"tool_calls": [{"id": "c"}]}, "stop", "inconsistent_response"),
    "malformed-length": ("length", {"tool_calls": [{"id": "c"}]}, "stop", "truncated_response"),
    "calls-whole": ("completed", {"tool_calls": [CALL]}, "calls", None),
    "text-whole": ("completed", {"content": "hi"}, "final", None),
    "nothing-whole": ("completed", {}, "stop", "empty_response"),
    "refusal-whole": ("completed", {"refusal": "no"}, "stop", "refused"),
    "text": ("stop", {"content": "hi"}, "final", None),
    "text-in-capitals": ("STOP", {"content": "hi"}, "final", None),
    "parts": ("stop", {"content": [{"type": "text", "text": "h"}, {"type": "text", "text": "i"}]}, "final", None),
    "blank": ("stop", {"content": " \n"}, "stop", "empty_response"),
    "nothing": ("stop", {}, "stop", "empty_response"),
    "refusal": ("stop", {"refusal": "no"}, "stop", "refused"),
    "text-length": ("length", {"content": "hi"}, "stop", "truncated_response"),
    "text-filter": ("SAFETY", {"content": "hi"}, "stop", "content_filtered"),
    "text-tool-calls": ("tool_calls", {"content": "hi"}, "stop", "inconsistent_response"),
    "text-none": (None, {"content": "hi"}, "stop", "inconsistent_response"),
    "text-other": ("weird", {"content": "hi"}, "stop", "inconsistent_response"),
    "empty-list-of-calls": ("tool_calls", {"tool_calls": []}, "stop", "inconsistent_response"),
    "content-of-another-kind": ("stop", {"content": {"text": "hi"}}, "stop", "empty_response"),
}


@pytest.mark.parametrize(("reason", "message", "kind", "stop"), TABLE.values(), ids=TABLE)
def test_every_combination_has_one_verdict(
    reason: str | None, message: dict[str, Any], kind: str, stop: str | None
) -> None:
    """The table of the module."""
    found = verdict(reason, **message)
    assert (found.kind, found.stop) == (kind, stop)


@pytest.mark.parametrize("reason", sorted(TOOL_REASONS))
def test_aliases_of_tool_calls_are_taken(reason: str) -> None:
    """Calls are handled."""
    assert verdict(reason, tool_calls=[CALL]).kind == "calls"


@pytest.mark.parametrize("reason", sorted(LENGTH_REASONS | FILTER_REASONS))
def test_aliases_of_cuts_and_filters_run_nothing(reason: str) -> None:
    """Whatever the message holds."""
    assert verdict(reason, tool_calls=[CALL]).kind == "stop"


@pytest.mark.parametrize("reason", sorted(STOP_REASONS))
def test_aliases_of_stop_are_final(reason: str) -> None:
    """With a text."""
    assert verdict(reason, content="hi") == Verdict(kind="final", text="hi")


@pytest.mark.parametrize(
    ("cap", "output", "kind"),
    [(5, 5, "stop"), (5, 6, "stop"), (5, 4, "calls"), (None, 5, "calls"), (5, None, "stop")],
)
def test_calls_that_break_off_at_the_cap_were_cut(cap: int | None, output: int | None, kind: str) -> None:
    """Whatever the finish reason says; below the cap they are only malformed, which the validator tells the model."""
    found = verdict("tool_calls", cap=cap, output=output, tool_calls=[CUT])
    assert found.kind == kind
    assert (Anomaly.HIDDEN_TRUNCATION in found.anomalies) == (kind == "stop")


def test_a_contradiction_keeps_the_text_and_names_the_option() -> None:
    """What a user can do about a server that always answers so."""
    found = verdict("stop", content="I will", tool_calls=[CALL])
    assert found.text == "I will"
    assert "tolerate" in found.detail


@given(
    st.none() | st.text() | st.sampled_from(["stop", "length", "tool_calls"]),
    st.dictionaries(
        st.sampled_from(["content", "tool_calls", "refusal"]),
        st.recursive(st.none() | st.text() | st.integers(), lambda v: st.lists(v) | st.dictionaries(st.text(), v)),
    ),
)
def test_any_message_has_a_verdict(reason: str | None, message: dict[str, Any]) -> None:
    """A stop has a reason, an answer has a text."""
    found = verdict(reason, **message)
    assert (found.kind == "stop") == (found.stop is not None)
    assert found.kind != "final" or found.text


@pytest.mark.parametrize("kind", [["text"], {"a": 1}, None, 5], ids=repr)
def test_a_part_of_an_odd_kind_is_no_text_and_no_crash(kind: Any) -> None:
    """What a provider sends decides nothing by raising."""
    message = {"role": "assistant", "content": [{"type": kind, "text": "a"}, {"type": "text", "text": "b"}]}

    verdict = judge(ModelAnswer(message=message, finish_reason="stop"), RepairedMessage(message=message), (), None)

    assert (verdict.kind, verdict.text) == ("final", "b")
