"""Whether the answer to a poll says that nothing will change any more: nobody waits for a job that has failed."""

import json
from typing import Any, Final

from traced_loop.json_shapes import as_object
from traced_loop.late_pattern import late_pattern

_OVER: Final = frozenset(
    {
        "aborted", "canceled", "cancelled", "complete", "completed", "done", "error", "expired", "failed", "failure",
        "finished", "rejected", "skipped", "stopped", "succeeded", "success", "terminated",
    }
)  # fmt: skip
_FIELDS: Final = ("status", "state", "phase", "conclusion")
_MAX_TEXT: Final = 200
_LAST_WORD: Final = late_pattern(r"(?:^|(?:[:=]|\b(?:is|has|was|now)) ?)[('* ]*([A-Za-z]+)[)'*.! ]*$")
"""The only word of a text, or the last one behind a colon or a verb: ``job j1: failed``, ``the build is done``."""


def says_over(text: str) -> bool:
    """Whether a result, as JSON text or plain text, names a state that stays: in a field of its own, or at its end."""
    value = _parsed(text) if text[:1] == '"' else text
    if isinstance(value, str) and value[:1] == "{":
        value = _parsed(value)
    fields = as_object(value)
    if fields is not None:
        return any(str(fields.get(key)).lower() in _OVER for key in _FIELDS)
    if not isinstance(value, str) or len(value) > _MAX_TEXT:
        return False
    last = _LAST_WORD.search(value.strip())
    return last is not None and last[1].lower() in _OVER


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
