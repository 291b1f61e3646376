"""The output items of one answer of the Responses API: what they say, and which of them wait for a result."""

from collections.abc import Mapping
from typing import Any, Final

from traced_loop.frozen_value import frozen_value
from traced_loop.json_shapes import as_list, as_object, as_text

FUNCTION_CALL: Final = "function_call"
_WAITING: Final = frozenset({"mcp_approval_request"})
"""Items without a ``call_id`` that the client has to answer all the same."""
_UNFINISHED: Final = frozenset({"in_progress", "incomplete"})


@frozen_value
class Output:
    """The items of one answer, read.

    Attributes:
        items: every one that is an object, in order, whatever its type.
        text: of all messages together, or None.
        refusal: of all messages together, or None.
        calls: positions of the function calls that wait for a result.
        unanswerable: positions of other items that wait for a result: the loop has none to give.
        unfinished: whether a message or a function call says that it is not complete.
    """

    items: tuple[dict[str, Any], ...]
    text: str | None
    refusal: str | None
    calls: tuple[int, ...]
    unanswerable: tuple[int, ...]
    unfinished: bool


def read_output(raw: object) -> Output:
    """Read a list of items; what is no object in it is left out, and whatever the shape, it does not raise."""
    items = tuple(dict(fields) for item in as_list(raw) or () if (fields := as_object(item)) is not None)
    answered = [item.get("call_id") for item in items if _kind(item).endswith("_output")]
    waiting = [at for at, item in enumerate(items) if _waits(item) and item.get("call_id") not in answered]
    parts = [part for item in items if _kind(item) == "message" for part in _parts(item)]
    return Output(
        items=items,
        text=_joined(parts, "output_text", "text"),
        refusal=_joined(parts, "refusal", "refusal"),
        calls=tuple(at for at in waiting if _kind(items[at]) == FUNCTION_CALL),
        unanswerable=tuple(at for at in waiting if _kind(items[at]) != FUNCTION_CALL),
        unfinished=any(
            as_text(item.get("status")) in _UNFINISHED for item in items if _kind(item) in {"message", FUNCTION_CALL}
        ),
    )


def _kind(item: Mapping[str, Any]) -> str:
    return as_text(item.get("type")) or ""


def _waits(item: Mapping[str, Any]) -> bool:
    """What a server runs by itself has an ``id`` and no ``call_id``, or its result beside it."""
    kind = _kind(item)
    if kind == FUNCTION_CALL or kind in _WAITING:
        return True
    return as_text(item.get("call_id")) is not None and not kind.endswith("_output")


def _parts(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "output_text", "text": content}]
    return [fields for part in as_list(content) or () if (fields := as_object(part)) is not None]


def _joined(parts: list[Mapping[str, Any]], kind: str, field: str) -> str | None:
    texts = [text for part in parts if part.get("type") == kind and (text := as_text(part.get(field)))]
    return "".join(texts) or None
