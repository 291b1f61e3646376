"""A transcript put together: each message with its texts, each call with its results beside it.

Results are joined by call id to the calls of the assistant message before them: servers use ids again later.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from traced_loop.frozen_value import frozen_value
from traced_loop.json_shapes import as_list, as_object, as_text
from traced_loop.messages import RESPONSE_FIELD, Message, response_reasoning

_KNOWN: Final = frozenset({"role", "content", "tool_calls", "tool_call_id", "name", RESPONSE_FIELD})


@frozen_value
class JoinedResult:
    """What the model was told about one call.

    Attributes:
        place: of the message in the transcript, 1-based.
        texts: at least one, which may be ``""``.
    """

    place: int
    texts: tuple[str, ...]


@frozen_value
class JoinedCall:
    """One call of a message.

    Attributes:
        call_id: ``""`` for none.
        name: as the model wrote it.
        arguments: likewise; what is no text as JSON.
        results: one, unless the transcript is broken.
    """

    call_id: str
    name: str
    arguments: str
    results: tuple[JoinedResult, ...] = ()


@frozen_value
class JoinedMessage:
    """One message, results that belong to a call left out.

    Attributes:
        place: in the transcript, 1-based.
        is_message: whether it has the form of one; else its text is all that is known.
        role: ``""`` for none.
        answers: of a result that nothing before it asked for, the id that it names; else None.
        texts: of the content, one for each part.
        calls: in order.
        others: what else it holds, by the field's name; ``reasoning`` and ``items`` are of the Responses API.
    """

    place: int
    is_message: bool = True
    role: str = ""
    answers: str | None = None
    texts: tuple[str, ...] = ()
    calls: tuple[JoinedCall, ...] = ()
    others: tuple[tuple[str, str], ...] = ()


def joined_history(stored: Sequence[Message]) -> Iterator[JoinedMessage]:
    """The messages of a transcript in order, each made when its turn comes.

    Args:
        stored: as it was recorded; entries of any shape.
    """
    results = _results(stored)
    joined = {n for calls in results.values() for found in calls.values() for n in found}
    for n, raw in enumerate(stored):
        if n in joined:
            continue  # stands beside its call
        message = as_object(raw)
        if message is None:
            yield JoinedMessage(place=n + 1, is_message=False, texts=(str(raw),))
            continue
        role = as_text(message.get("role")) or ""
        calls = [as_object(call) or {} for call in as_list(message.get("tool_calls")) or []]
        yield JoinedMessage(
            place=n + 1,
            role=role,
            answers=str(message.get("tool_call_id")) if role == "tool" else None,
            texts=tuple(_texts(message.get("content"))),
            calls=tuple(_call(call, results.get(n, {}), stored) for call in calls),
            others=tuple(_others(message)),
        )


def _call(call: Mapping[str, Any], results: Mapping[str, list[int]], stored: Sequence[Message]) -> JoinedCall:
    function = as_object(call.get("function")) or {}
    call_id, arguments = as_text(call.get("id")) or "", function.get("arguments")
    found = [(n, tuple(_texts(stored[n].get("content")))) for n in results.get(call_id, [])]
    return JoinedCall(
        call_id=call_id,
        name=str(function.get("name")),
        arguments=arguments if isinstance(arguments, str) else _compact(arguments),
        results=tuple(JoinedResult(place=n + 1, texts=texts or ("",)) for n, texts in found),
    )


def _results(stored: Sequence[Message]) -> dict[int, dict[str, list[int]]]:
    """Position of an assistant message → call id → positions of the results."""
    found: dict[int, dict[str, list[int]]] = {}
    asked: dict[str, list[int]] = {}
    for n, raw in enumerate(stored):
        message = as_object(raw) or {}
        role = message.get("role")
        if role == "assistant":
            calls = [as_object(call) or {} for call in as_list(message.get("tool_calls")) or []]
            asked = found[n] = {call_id: [] for call in calls if (call_id := as_text(call.get("id")))}
        elif role == "tool":
            answered = as_text(message.get("tool_call_id"))
            if answered in asked:
                asked[answered].append(n)
    return found


def _texts(content: object) -> Iterator[str]:
    """The texts of a content: itself, or those of its parts, other parts as JSON."""
    if isinstance(content, str):
        yield content
        return
    for part in as_list(content) or ([] if content is None else [content]):
        text = (as_object(part) or {}).get("text")
        yield text if isinstance(text, str) else _compact(part)


def _others(message: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What the Responses API sent beside text and calls (reasoning in words, the rest by its kind); other fields."""
    for text in response_reasoning(message):
        yield "reasoning", text
    if RESPONSE_FIELD in message:
        held = as_object(message.get(RESPONSE_FIELD)) or {}
        kinds = [str((as_object(item) or {}).get("type")) for item in as_list(held.get("output")) or []]
        yield "items", ", ".join(kinds) or "none"
    for key, value in message.items():
        if key not in _KNOWN and value not in (None, "", [], {}):
            yield key, value if isinstance(value, str) else _compact(value)


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
