"""Promise 1: one outcome and one message for each call, in call order, before the next request, on every way out."""

import json
from collections.abc import Iterator
from typing import Any

from traced_loop import Outcome
from traced_loop.rules.pairing import pairing_problems

from .playing import Left
from .trace_facts import TraceFacts, asked_ids

DONE = {Outcome.OK, Outcome.REPLAYED}
"""Outcomes of which the model is told a result."""


def broken(left: Left, facts: TraceFacts) -> Iterator[str]:
    """What breaks the promise, one sentence each."""
    for problem in pairing_problems(left.result.messages):
        yield f"the history that is left cannot be replayed: {problem}"
    for number, messages in enumerate(left.requests, 1):
        for problem in pairing_problems(messages):
            yield f"request {number} was sent with a history that cannot be replayed: {problem}"
        if list(messages) != list(left.result.messages[: len(messages)]):
            yield f"the history of request {number} is not the beginning of the one that is left"
    yield from _outcomes(left, facts)


def _outcomes(left: Left, facts: TraceFacts) -> Iterator[str]:
    """Spans against messages, step by step: ids may come again in a later one."""
    turns = _turns(left.result.messages)
    asking = [(step, asked) for step in facts.steps for chat in facts.named("chat", step) if (asked := asked_ids(chat))]
    if [ids for _, ids in asking] != [list(turn) for turn in turns]:
        yield f"spans say that {[ids for _, ids in asking]} were asked for, messages {[list(turn) for turn in turns]}"
        return
    for (step, ids), turn in zip(asking, turns, strict=True):
        found = facts.outcomes(step)
        for identifier in ids:
            said = [outcome for each, outcome in found if each == identifier]
            if len(said) != 1:
                yield f"call {identifier} has {len(said)} outcomes"
                continue
            told = turn[identifier]
            if told is not None and told != ("completed" if said[0] in DONE else said[0]):
                yield f"call {identifier} ended {said[0]}, and the model was told {told}"
        if extra := {each for each, _ in found} - {*ids}:
            yield f"nobody asked for the calls {sorted(extra)}"


def _turns(messages: Any) -> list[dict[str, str | None]]:
    """Per answer with calls: what each call was said to be, None where its message is missing."""
    turns: list[dict[str, str | None]] = []
    for message in messages:
        if message["role"] == "assistant" and message.get("tool_calls"):
            turns.append({call["id"]: None for call in message["tool_calls"]})
        elif message["role"] == "tool" and turns:
            said = json.loads(message["content"])
            turns[-1][message["tool_call_id"]] = said["status"] if said["status"] == "completed" else said["type"]
    return turns
