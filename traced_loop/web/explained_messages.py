"""The messages of a stored run, one by one, with what each is and which spans it made; every span belongs to one.

Meant for short runs that are told in full. Ids of runs and spans, times and fingerprints are left out, so that two
playings of one script are explained alike.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Final, Literal

from traced_loop import names
from traced_loop.frozen_value import frozen_value
from traced_loop.json_shapes import as_list, as_object
from traced_loop.messages import Message
from traced_loop.read.trace import StoredSpan, StoredTrace
from traced_loop.rules.nudge import is_nudge

Kind = Literal["instructions", "question", "notice", "calls", "decisions", "result", "refusal", "answer", "end"]
"""What can be told, each with words of its own on the page."""

_OF_DECISIONS: Final = frozenset({names.VALIDATE_CALL, names.AUTHORIZE_CALL})
_DECIDED: Final = (
    names.CALL_ID,
    names.CALL_TOOL,
    names.VALIDATION_OUTCOME,
    names.VALIDATION_ERROR_CODE,
    names.EFFECT,
    names.RISK,
    names.POLICY_DECISION,
    names.POLICY_RULE,
    names.CALL_OUTCOME,
)
_ENDED: Final = (names.RUN_STOP_REASON, names.RUN_STEPS, names.RUN_MODEL_REQUESTS, names.RUN_TOOL_CALLS)

_Owner = tuple[str, int, str]
"""What a span belongs to: kind, step, call id."""


@frozen_value
class ToldSpan:
    """A span by its name, and what it is about: a call's id, a phase, or nothing."""

    name: str
    about: str = ""


@frozen_value
class Explained:
    """One message, or what the loop did between two.

    Attributes:
        kind: what it is.
        raw: as JSON text: the message as it went, or attributes of the spans where it is none.
        values: what the words for it name.
        spans: that it made, in their order.
    """

    kind: Kind
    raw: str
    values: Mapping[str, object] = field(default_factory=dict[str, object])
    spans: tuple[ToldSpan, ...] = ()


def explained(messages: Sequence[Message], trace: StoredTrace) -> tuple[Explained, ...]:
    """The messages in their order, each step's decisions behind its calls, the end last."""
    return tuple(_Told(trace).all_of(messages))


class _Told:
    def __init__(self, trace: StoredTrace) -> None:
        self._spans = [span for _, span in trace.walk()]
        self._step = 0
        self._owned: dict[_Owner, list[ToldSpan]] = {}
        self._asked: dict[str, int] = {}
        for span in self._spans:
            self._give(span)

    def all_of(self, messages: Sequence[Message]) -> Iterator[Explained]:
        step = 0
        for place, message in enumerate(messages):
            role, calls = message.get("role"), as_list(message.get("tool_calls")) or []
            last_of_step = place + 1 == len(messages) or messages[place + 1].get("role") != "tool"
            if role == "system":
                yield self._message("instructions", message)
            elif role == "user":
                yield self._message("notice" if is_nudge(message) else "question", message, *self._of_question(message))
            elif role == "assistant":
                step += 1
                self._asked = {_id(call): number for number, call in enumerate(calls, 1)}
                owners = [("asked", step, "")] if calls else [("asked", step, ""), ("handled", step, "")]
                yield self._message(
                    "calls" if calls else "answer", message, *owners, count=len(calls), **self._reason(step)
                )
                if calls:
                    yield self._decisions(step)
            elif role == "tool":
                yield self._result(message, step, is_last=last_of_step)
        yield self._end()

    def _message(self, kind: Kind, message: Message, *owners: _Owner, **values: object) -> Explained:
        raw = json.dumps(message, ensure_ascii=False, indent=2)
        return Explained(kind=kind, raw=raw, values=values, spans=self._taken(*owners))

    def _of_question(self, message: Message) -> list[_Owner]:
        return [] if is_nudge(message) else [("run", 0, "")]

    def _reason(self, step: int) -> dict[str, object]:
        chats = (span for span in self._spans if span.operation == names.CHAT and span.count(names.STEP_INDEX) == step)
        reasons = [reason for span in chats for reason in span.texts(names.GEN_AI_FINISH_REASONS)]
        return {"finish_reason": ", ".join(reasons)}

    def _decisions(self, step: int) -> Explained:
        owner = ("decided", step, "")
        by_call: dict[str, dict[str, Any]] = {}
        for number, span in self._numbered():
            if number == step and span.name in _OF_DECISIONS:
                found = by_call.setdefault(span.text(names.CALL_ID) or "", {})
                found.update({key: span.attributes[key] for key in _DECIDED if key in span.attributes})
        allowed = sum(each.get(names.POLICY_DECISION) == "allow" for each in by_call.values())
        raw = json.dumps(list(by_call.values()), ensure_ascii=False, indent=2)
        values = {"count": len(by_call), "allowed": allowed}
        return Explained(kind="decisions", raw=raw, values=values, spans=self._taken(owner))

    def _result(self, message: Message, step: int, *, is_last: bool) -> Explained:
        call_id = str(message.get("tool_call_id"))
        owners = [("result", step, call_id), *([("handled", step, "")] if is_last else [])]
        is_done = (as_object(_parsed(message.get("content"))) or {}).get("status") == "completed"
        values = {"call_id": call_id, "number": self._asked.get(call_id, 0)}
        return self._message("result" if is_done else "refusal", message, *owners, **values)

    def _end(self) -> Explained:
        run = next((span for span in self._spans if span.is_run), None)
        attributes = {} if run is None else {key: run.attributes[key] for key in _ENDED if key in run.attributes}
        raw = json.dumps(attributes, ensure_ascii=False, indent=2)
        return Explained(
            kind="end",
            raw=raw,
            values={"stop_reason": attributes.get(names.RUN_STOP_REASON, ""), "spans": len(self._spans)},
            spans=self._taken(*list(self._owned)),
        )

    def _taken(self, *owners: _Owner) -> tuple[ToldSpan, ...]:
        return tuple(span for owner in owners for span in self._owned.pop(owner, []))

    def _numbered(self) -> Iterator[tuple[int, StoredSpan]]:
        step = 0
        for span in self._spans:
            step += span.name == names.STEP
            yield step, span

    def _give(self, span: StoredSpan) -> None:
        """Put a span to what it belongs to; a request's check comes before the step that it lets begin."""
        phase, about = span.text(names.BUDGET_PHASE) or "", span.text(names.CALL_ID) or ""
        self._step += span.name == names.STEP
        owner: _Owner = ("handled", self._step, "")
        if span.is_run:
            owner = ("run", 0, "")
        elif phase == "request":
            owner, about = ("asked", self._step + 1, ""), phase
        elif span.name == names.STEP or span.operation == names.CHAT:
            owner = ("asked", self._step, "")
        elif span.name in _OF_DECISIONS or phase == "batch":
            owner, about = ("decided", self._step, ""), about or phase
        elif span.operation == names.EXECUTE_TOOL or span.name == names.REPLAY:
            about = span.text(names.GEN_AI_TOOL_CALL_ID) or about
            owner = ("result", self._step, about)
        self._owned.setdefault(owner, []).append(ToldSpan(name=span.name, about=about or phase))


def _id(call: object) -> str:
    return str((as_object(call) or {}).get("id"))


def _parsed(content: object) -> object:
    try:
        value: object = json.loads(content) if isinstance(content, str) else None
    except ValueError:
        return None
    return value
