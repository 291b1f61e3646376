"""The calls that a run's model asked for, with what it was told of each: out of answers, and out of later histories.

Where an answer is not in the trace, the history of the next request has the calls that it asked for. Ids are used again
by some servers, so equal ids are counted, not looked up.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from traced_loop.read.span_facts import AskedCall, RequestFacts, SaidMessage

_MADE: Final = "#"
"""Begins the ids made here, for calls without any, by their order in the conversation."""


@dataclass(kw_only=True, slots=True)
class Asked:
    """One call.

    Attributes:
        request: place of the request that asked for it, 0-based.
        call: as it was asked for; its id is the provider's, or ``""``.
        told: what the model was told of it; None for unknown.
    """

    request: int
    call: AskedCall
    told: str | None = None


@dataclass(kw_only=True, slots=True)
class _Conversation:
    """What is known of one agent's conversation so far."""

    asked: list[Asked] = field(default_factory=list["Asked"])
    by_id: dict[str, list[Asked]] = field(default_factory=dict[str, list["Asked"]])
    past: Counter[str] = field(default_factory=Counter[str])
    unnamed: int = 0
    last: int | None = None


def asked_calls(requests: Sequence[RequestFacts], agents: Sequence[str]) -> list[Asked]:
    """The calls of a run in the order in which they were asked for.

    Args:
        requests: of the run, by start.
        agents: who made each.
    """
    conversations: dict[str, _Conversation] = {}
    for place, (request, agent) in enumerate(zip(requests, agents, strict=True)):
        conversation = conversations.setdefault(agent, _Conversation())
        if request.history is not None:
            _read_history(conversation, request.history)
        conversation.last = place
        for call in request.asked or ():
            _ask(conversation, place, call)
    found = [asked for conversation in conversations.values() for asked in conversation.asked]
    found.sort(key=lambda asked: asked.request)  # stable: calls of one answer stay in its order
    return found


def user_messages(history: Sequence[SaidMessage]) -> int:
    """How many messages of a user there are; one that carries results is not a user's."""
    return sum(1 for message in history if message.role == "user" and not message.results)


def _ask(conversation: _Conversation, place: int, call: AskedCall) -> None:
    key = call.call_id
    if not key:
        conversation.unnamed += 1
        key = f"{_MADE}{conversation.unnamed}"
    asked = Asked(request=place, call=call)
    conversation.asked.append(asked)
    conversation.by_id.setdefault(key, []).append(asked)


def _read_history(conversation: _Conversation, history: Sequence[SaidMessage]) -> None:
    """Take from a history the calls that no answer showed, and the results."""
    named = _with_ids(history)
    calls = [call for message in named for call in message.calls]
    if conversation.last is None:
        # What the first request sends was asked for before the run.
        conversation.past.update(call.call_id for call in calls)
    else:
        _recover(conversation, calls)
    told: dict[str, list[str | None]] = {}
    for message in named:
        for call_id, text in message.results:
            told.setdefault(call_id, []).append(text)
    for call_id, texts in told.items():
        of_the_run = texts[conversation.past[call_id] :]
        for asked, text in zip(conversation.by_id.get(call_id, ()), of_the_run, strict=False):
            asked.told = text if asked.told is None else asked.told


def _recover(conversation: _Conversation, calls: Sequence[AskedCall]) -> None:
    """The calls that only the history has, as the last request's: those with new ids, and no more than are too many.

    Some write other ids into a history than into the answer, so a new id alone is no new call.
    """
    seen: Counter[str] = Counter()
    new: list[AskedCall] = []
    for call in calls:
        seen[call.call_id] += 1
        if seen[call.call_id] > len(conversation.by_id.get(call.call_id, ())) + conversation.past[call.call_id]:
            new.append(call)
    missing = len(calls) - len(conversation.asked) - conversation.past.total()
    for call in new[max(0, len(new) - missing) :] if missing > 0 else ():
        is_made = call.call_id.startswith(_MADE)
        asked = Asked(request=conversation.last or 0, call=replace(call, call_id="") if is_made else call)
        conversation.asked.append(asked)
        conversation.by_id.setdefault(call.call_id, []).append(asked)
        conversation.unnamed += is_made


def _with_ids(history: Sequence[SaidMessage]) -> Sequence[SaidMessage]:
    """Calls and results without ids get one by their order."""
    if all(call.call_id for m in history for call in m.calls) and all(i for m in history for i, _ in m.results):
        return history
    found: list[SaidMessage] = []
    calls = results = 0
    for message in history:
        named: list[AskedCall] = []
        for call in message.calls:
            calls += not call.call_id
            named.append(call if call.call_id else replace(call, call_id=f"{_MADE}{calls}"))
        told: list[tuple[str, str | None]] = []
        for call_id, text in message.results:
            results += not call_id
            told.append((call_id or f"{_MADE}{results}", text))
        found.append(replace(message, calls=tuple(named), results=tuple(told)))
    return found
