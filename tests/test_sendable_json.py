"""What a caller gives for the provider is JSON, or is refused with what is wrong and where."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from traced_loop import Loop, ScriptedModel, UsageError
from traced_loop.sendable_json import sendable
from traced_loop.testing import play
from traced_loop.tool_registry import raw_tool


def holding_itself() -> list[Any]:
    """A list without an end."""
    found: list[Any] = []
    found.append(found)
    return found


FAULTS: dict[str, tuple[Any, str]] = {
    "nan": ({"temperature": float("nan")}, r"request\['temperature'\] is nan, a number that JSON does not have"),
    "infinity": ({"a": [1, float("-inf")]}, r"request\['a'\]\[1\] is -inf"),
    "set": ({"stop": {"END"}}, r"request\['stop'\] is a set, which has no JSON form"),
    "bytes": ({"a": {"b": b"x"}}, r"request\['a'\]\['b'\] is a bytes"),
    "date": ({"a": datetime(2026, 1, 1, tzinfo=UTC)}, "is a datetime"),
    "decimal": ({"temperature": Decimal(1)}, "is a Decimal"),
    "key": ({"logit_bias": {("a",): 1}}, r"request\['logit_bias'\] has the key \('a',\), which is no text"),
    "itself": ({"a": holding_itself()}, "nests deeper than 128, or holds itself"),
}


@pytest.mark.parametrize(("given", "said"), FAULTS.values(), ids=FAULTS)
def test_what_json_cannot_hold_is_named_with_its_place(given: Any, said: str) -> None:
    """Before anything is sent: a client would fail on it in the middle of a run."""
    with pytest.raises(UsageError, match=said):
        Loop(ScriptedModel([]), request=given)


MISTAKES: dict[str, tuple[Any, str]] = {
    "messages": (
        lambda: Loop(ScriptedModel([])).run(messages=[{"role": "user", "content": {1}}]),
        r"messages\[0\]\['content'\] is a set",
    ),
    "tool_choice": (lambda: Loop(ScriptedModel([]), tool_choice={"a": b""}), r"tool_choice\['a'\] is a bytes"),
    "instructions": (lambda: Loop(ScriptedModel([]), instructions=b"x"), "instructions is a bytes"),  # type: ignore[arg-type]
    "prompt": (lambda: Loop(ScriptedModel([])).run(7), "prompt is a int"),  # type: ignore[arg-type]
    "schema": (
        lambda: Loop(ScriptedModel([]), [raw_tool(print, name="p", effect="read", schema={"default": {1}})]),
        r"tool 'p'.*is a set",
    ),
}


@pytest.mark.parametrize(("give", "said"), MISTAKES.values(), ids=MISTAKES)
def test_everything_that_goes_to_the_provider_is_looked_at(give: Any, said: str) -> None:
    """Before the run, wherever it comes from."""
    with pytest.raises(UsageError, match=said):
        give()


def test_half_characters_are_replaced_wherever_they_stand() -> None:
    """In instructions and histories as in the prompt: no encoder takes them."""
    history = [{"role": "user", "content": [{"type": "text", "text": "a\ud83e"}]}]

    played = play(["done"], prompt="c\ud83e", messages=history, instructions="b\ud83e", request={"user": "d\ud83e"})

    sent = played.model.requests[0]
    assert [m["content"] for m in sent.messages] == ["b\ufffd", [{"type": "text", "text": "a\ufffd"}], "c\ufffd"]
    assert sent.parameters == {"user": "d\ufffd"}


def test_what_can_be_sent_is_not_copied() -> None:
    """A long history is looked at and given on."""
    history = [{"role": "user", "content": "漢"}]

    assert sendable("messages", history) is history
