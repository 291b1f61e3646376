"""Where a request differs from the recorded one. Pure: what was sent then and now in, the differences out.

| what is compared | word | how |
|---|---|---|
| definitions of the tools | ``tools`` | by digest, each by its name where the recording has them one by one |
| tool results | ``results`` | equal, or equal without times, ids and the like that differ each time |
| calls of an assistant message | ``messages`` | ids, names, arguments; of a recorded answer the names alone |
| instructions | ``messages`` | text, without times and ids likewise |
| everything else: roles, order, what users and the model say | ``messages`` | exactly |

Only what is new since the request before is compared, so that one difference is told once.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from traced_loop.canonical_json import canonical
from traced_loop.frozen_value import frozen_value
from traced_loop.json_shapes import as_list, as_object, as_text
from traced_loop.messages import Message
from traced_loop.models.recorded_request import ALL_TOOLS, RecordedRequest, all_tools_digest, tool_digests
from traced_loop.rules.normalised_result import normalised
from traced_loop.rules.volatile_text import mask_volatile

DivergenceKind = Literal["tools", "results", "messages"]
"""What differs."""

_SHOWN: Final = 40
"""Characters of each text that are shown, from a little before the first difference."""
_BEFORE: Final = 10
_TOLD_RESULT: Final = '{"status":"completed","result":'


@frozen_value
class Divergence:
    """One difference.

    Attributes:
        kind: what differs.
        request: 1-based, tries counted.
        message: 1-based place in the history that is sent now; None for the tools.
        where: what stands there: ``tool result of call_2, multiply``.
        recorded: how it was; short, not redacted.
        now: how it is.
    """

    kind: DivergenceKind
    request: int
    message: int | None
    where: str
    recorded: str
    now: str

    @property
    def place(self) -> str:
        """Where it is, without anything that was said."""
        at = "" if self.message is None else f" at message {self.message}"
        return f"request {self.request} differs from the recording{at} ({self.where})"

    @property
    def text(self) -> str:
        """Where it is, and what was and is there."""
        return f"{self.place}: recorded {self.recorded}, now {self.now}"


def divergences(
    number: int,
    recorded: RecordedRequest,
    messages: Sequence[Message],
    tools: Sequence[Mapping[str, Any]],
    *,
    seen: int,
    masked: Callable[[Message], Message],
) -> Iterator[Divergence]:
    """The differences of one request, in the order of the request.

    Args:
        number: of the request, 1-based.
        recorded: how it was.
        messages: the history that is sent now.
        tools: the definitions that are offered now.
        seen: how many of the messages were in the request before.
        masked: the form of a message that is compared.
    """
    if not recorded.kept:
        yield from _tools(number, recorded.tools, tools)
    then = recorded.sent[recorded.kept :]
    now = [masked(message) for message in messages[seen:]]
    given = recorded.kept > 0 and bool(then) and bool(now)
    # An id that the loop repaired is another one each time.
    same_id = dict(zip(_call_ids(now[0]), _call_ids(then[0]), strict=False)) if given else {}
    for place, (before, after) in enumerate(zip(then, now, strict=False)):
        found = _difference(before, after, same_id, is_own=given and place == 0)
        if found is not None:
            kind, one, other = found
            yield Divergence(
                kind=kind,
                request=number,
                message=seen + place + 1,
                where=_where(before, [*recorded.sent, *now]),
                recorded=one,
                now=other,
            )
        if before.get("role") != after.get("role"):
            return  # what follows stands beside something else
    if len(then) != len(now):
        yield _length_difference(number, recorded.sent, then, now, seen)


def _length_difference(
    number: int, sent: Sequence[Message], then: Sequence[Message], now: Sequence[Message], seen: int
) -> Divergence:
    """The first message that one side has and the other has not."""
    place, is_gone = min(len(then), len(now)), len(then) > len(now)
    more = (then if is_gone else now)[place]
    return Divergence(
        kind="messages",
        request=number,
        message=seen + place + 1,
        where=_where(more, [*sent, *now]),
        recorded=_role(more) if is_gone else "nothing more",
        now="nothing more" if is_gone else _role(more),
    )


def _tools(number: int, recorded: Mapping[str, str] | None, tools: Sequence[Mapping[str, Any]]) -> Iterator[Divergence]:
    if recorded is None:
        return
    if ALL_TOOLS in recorded:
        before, after = recorded[ALL_TOOLS], all_tools_digest(tools)
        if before != after:
            offered = ", ".join(_word(name) for name in tool_digests(tools)) or "no tools"
            now_is = f"definitions {after[:8]} of {offered}"
            yield _tool_difference(number, "the tools offered", f"definitions {before[:8]}", now_is)
        return
    now = tool_digests(tools)
    for name in sorted({*recorded, *now}):
        sides = recorded.get(name), now.get(name)
        if sides[0] != sides[1]:
            shown = [f"definition {digest[:8]}" if digest else "not offered" for digest in sides]
            yield _tool_difference(number, f"the tool {_word(name)}", *shown)


def _tool_difference(number: int, where: str, recorded: str, now: str) -> Divergence:
    return Divergence(kind="tools", request=number, message=None, where=where, recorded=recorded, now=now)


def _difference(
    before: Message, after: Message, same_id: Mapping[str, str], *, is_own: bool
) -> tuple[DivergenceKind, str, str] | None:
    """The kind of difference and both sides, cut to where they differ; None where they say the same."""
    role = str(before.get("role"))
    if before.get("role") != after.get("role"):
        return "messages", _role(before), _role(after)
    if role == "tool":
        if _id(before) != same_id.get(_id(after), _id(after)):
            return "messages", f"that of {_id(before)}", f"that of {_id(after)}"
        return _text_difference("results", before, after, lambda text: normalised(text).text)
    if role == "assistant":
        calls = [_calls(message, only_names=is_own) for message in (before, after)]
        if calls[0] != calls[1]:
            return "messages", *_shown(*calls)
    plain = mask_volatile if role in {"system", "developer"} else str
    return _text_difference("messages", before, after, plain)


def _text_difference(
    kind: DivergenceKind, before: Message, after: Message, plain: Callable[[str], str]
) -> tuple[DivergenceKind, str, str] | None:
    one, other = _text(before.get("content")), _text(after.get("content"))
    if one == other or plain(one) == plain(other):
        return None
    return kind, *_shown(_result(one), _result(other))


def _result(text: str) -> str:
    """A tool's result without the envelope in which the loop tells it."""
    return text[len(_TOLD_RESULT) : -1] if text.startswith(_TOLD_RESULT) and text.endswith("}") else text


def _shown(one: str, other: str) -> tuple[str, str]:
    """Both texts from a little before they begin to differ."""
    same = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    start = max(0, same - _BEFORE)
    return _cut(one, start), _cut(other, start)


def _cut(text: str, start: int) -> str:
    shown = text[start : start + _SHOWN]
    return f"{'...' if start else ''}{shown}{'...' if start + _SHOWN < len(text) else ''}" or "nothing"


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    return "" if content is None else canonical(content)


def _call_ids(message: Message) -> list[str]:
    return [str((as_object(call) or {}).get("id")) for call in as_list(message.get("tool_calls")) or []]


def _calls(message: Message, *, only_names: bool) -> str:
    """The calls of a message as one text; equal arguments are equal however they are written."""
    told: list[str] = []
    for call in map(as_object, as_list(message.get("tool_calls")) or []):
        function = as_object((call or {}).get("function")) or {}
        given = f"({_plain_arguments(function.get('arguments'))})"
        told.append(
            f"{function.get('name')}" if only_names else f"{(call or {}).get('id')} {function.get('name')}{given}"
        )
    return ", ".join(told) or "no call"


def _plain_arguments(given: object) -> str:
    try:
        return canonical(json.loads(given)) if isinstance(given, str) else canonical(given)
    except (ValueError, RecursionError):
        return str(given)


def _where(message: Message, around: Sequence[Message]) -> str:
    role = message.get("role")
    if role == "tool":
        name = _call_names(around).get(_id(message), "")
        return f"tool result of {_word(_id(message))}{f', {_word(name)}' if name else ''}"
    return {"system": "instructions", "developer": "instructions", "assistant": "answer of the model"}.get(
        str(role), f"{_word(str(role))} message"
    )


def _call_names(messages: Sequence[Message]) -> dict[str, str]:
    found: dict[str, str] = {}
    for message in messages:
        for call in map(as_object, as_list(message.get("tool_calls")) or []):
            name = as_text((as_object((call or {}).get("function")) or {}).get("name"))
            if call is not None and name:
                found[str(call.get("id"))] = name
    return found


def _role(message: Message) -> str:
    return f"a message of {_word(str(message.get('role')))}"


def _id(message: Message) -> str:
    return str(message.get("tool_call_id"))


def _word(text: str) -> str:
    """An id or a name as it may stand beside what is no content; a text in its place is content."""
    plain = text.replace("_", "").replace("-", "").replace(".", "")
    return text if len(text) <= 64 and plain.isascii() and plain.isalnum() else "<text>"
