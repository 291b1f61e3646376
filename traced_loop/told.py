"""What the model is told about a call: compact JSON, short, in the words of the outcomes."""

import json
from typing import Any, Final

from traced_loop.messages import ToolCall, ToolResult
from traced_loop.outcomes import Outcome
from traced_loop.telemetry.attributes import cut

MAX_ERROR_BYTES: Final = 2_000
"""An error longer than this says less, not more."""

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def told_result(serialised: str) -> str:
    """A completed call; ``serialised`` is the JSON text of its result."""
    return f'{{"status":"completed","result":{serialised}}}'


def told_error(outcome: Outcome, message: str, **more: Any) -> str:
    """A call that did not complete; the message says what to do and is cut to ``MAX_ERROR_BYTES``."""
    return _encode({"status": "error", "type": outcome.value, "message": cut(message, MAX_ERROR_BYTES), **more})


def error_result(call: ToolCall, outcome: Outcome, message: str) -> ToolResult:
    """The result of a call that did not complete."""
    return ToolResult(call=call, outcome=outcome, content=told_error(outcome, message))


def told_more(told: str, **more: Any) -> str:
    """What was told, one of the two above, and more fields behind."""
    return f"{told[:-1]},{_encode(more)[1:]}" if more else told


def resolved_result(result: str | None, by: str) -> str:
    """What the model is told of a write of which a person has said that it was done."""
    value = "null" if result is None else json.dumps(result, ensure_ascii=False)
    return told_more(told_result(value), message=f"It was done, as {by} found out.")
