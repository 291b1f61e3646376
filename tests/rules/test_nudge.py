"""What a model is told that repeats itself."""

import pytest

from traced_loop import Repetition
from traced_loop.closed_words import RepetitionKind
from traced_loop.rules.nudge import is_nudge, nudge


def found(kind: RepetitionKind) -> Repetition:
    """A repetition of that kind."""
    return Repetition(kind=kind, due="nudge", tool="look_it_up", count=7919, threshold=7919, first=0, at=3)


@pytest.mark.parametrize("kind", RepetitionKind)
def test_a_nudge_says_what_to_try_and_shows_no_call(kind: RepetitionKind) -> None:
    """Neither the tool nor a number, which would keep the loop in mind."""
    message = nudge(found(kind))
    assert set(message) == {"role", "content"}
    assert message["role"] == "user"
    assert "look_it_up" not in message["content"]
    assert "7919" not in message["content"]
    assert any(word in message["content"] for word in ("answer", "Answer"))
    assert len(message["content"]) < 320


def test_a_nudge_is_known_again_and_nothing_else_is() -> None:
    """A person's message is theirs, whatever is quoted in it."""
    message = nudge(found(RepetitionKind.CYCLE))
    assert is_nudge(message)
    assert not is_nudge({**message, "role": "assistant"})
    assert not is_nudge({"role": "user", "content": f"You said: {message['content']}"})
    assert not is_nudge({"role": "user", "content": [{"type": "text", "text": "Go on."}]})
