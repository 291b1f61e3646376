"""What a model is told that repeats itself: one message of the loop's own, after the results, with the user's role.

It says what to try and does not show the call again, which would keep it in mind. It is known by how it begins, so that
nobody takes it for a person's: it ends no streak.
"""

from collections.abc import Mapping
from typing import Any, Final

from traced_loop.closed_words import RepetitionKind
from traced_loop.repetition_verdict import Repetition

NUDGE_BEGINS: Final = "[automatic notice, not from the user] "
"""How every nudge begins."""

_TRY: Final[Mapping[RepetitionKind, str]] = {
    RepetitionKind.SAME_ERROR: "Work out from the error what is wrong before the next try, or look it up with another"
    " tool. If neither can be done, answer with what is known, and say what is missing.",
    RepetitionKind.DETERMINISTIC_ERROR: "It will come again. Use other arguments or another tool, or answer with what"
    " is known, and say what is missing.",
    RepetitionKind.TRANSIENT_ERROR: "It does not pass for now. Go on without it, or answer with what is known, and say"
    " what is missing.",
    RepetitionKind.REPEATED_WRITE: "It has been applied already. Go on with the next part of the task, or answer.",
    RepetitionKind.POLL_EXHAUSTED: "Nothing has changed. Do something else first, or answer with the state as it is.",
}
_ELSE: Final = (
    "Decide what is still unknown and take a different action that can tell it. If nothing can, answer now with what is"
    " known, and say what is missing."
)


def nudge(found: Repetition) -> dict[str, Any]:
    """The message."""
    begun = "The last steps brought nothing new."
    if found.kind in {RepetitionKind.SAME_ERROR, RepetitionKind.DETERMINISTIC_ERROR, RepetitionKind.TRANSIENT_ERROR}:
        begun = "The last steps met the same error."
    return {"role": "user", "content": f"{NUDGE_BEGINS}{begun} {_TRY.get(found.kind, _ELSE)}"}


def is_nudge(message: Mapping[str, Any]) -> bool:
    """Whether a message of a history is one of ours."""
    content = message.get("content")
    return message.get("role") == "user" and isinstance(content, str) and content.startswith(NUDGE_BEGINS)
