"""One detector for live runs, stored spans without content, and logs of messages."""

import json
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from traced_loop import Budget, Loop, Policy, RepetitionRules, RunResult, ScriptedModel, names
from traced_loop.canonical_json import canonical
from traced_loop.diagnose.repetition import repetitions
from traced_loop.read.messages_log import messages_run
from traced_loop.repetition_verdict import Repetition
from traced_loop.rules.repetition_detector import RepetitionDetector
from traced_loop.rules.seen_call import seen_call
from traced_loop.rules.undeclared_tools import named_effect, named_neutral
from traced_loop.testing import Spans, calls, counted_wiring
from traced_loop.tool_registry import ToolDefinition, raw_tool

LABELLED = Path(__file__).parents[2].parent / "shared" / "loops" / "dev.jsonl"
RUNS: list[dict[str, Any]] = (
    [json.loads(line) for line in LABELLED.read_text(encoding="utf-8").splitlines()] if LABELLED.exists() else []
)
OBSERVED = RepetitionRules(reaction="observe")
NO_LIMITS = Budget(steps=None, tool_calls=None, tokens=None, seconds=None)


class Stubs:
    """Tools that answer as the log says, whatever they are asked."""

    def __init__(self, messages: Sequence[Mapping[str, Any]]) -> None:
        self.script: list[Any] = []
        self._answers: dict[str, deque[str]] = defaultdict(deque)
        self._names: dict[str, None] = {}
        self._read(messages)

    def _read(self, messages: Sequence[Mapping[str, Any]]) -> None:
        for place, message in enumerate(messages):
            asked = message.get("tool_calls") or []
            answers = {}
            for after in messages[place + 1 :]:
                if after["role"] != "tool":
                    break
                answers.setdefault(after["tool_call_id"], after["content"] or "")
            answered = [call for call in asked if call["id"] in answers]
            for call in answered:
                name, arguments = call["function"]["name"], call["function"]["arguments"]
                self._names[name] = None
                self._answers[f"{name} {canonical(json.loads(arguments))}"].append(answers[call["id"]])
            if answered:
                self.script.append(calls(*((c["function"]["name"], c["function"]["arguments"]) for c in answered)))
        self.script.append("done")

    def tools(self) -> list[ToolDefinition]:
        """One for each name of the log."""
        return [self._tool(name) for name in self._names]

    def _tool(self, name: str) -> ToolDefinition:
        async def answer(**arguments: Any) -> Any:
            text = self._answers[f"{name} {canonical(arguments)}"].popleft()
            try:
                parsed = json.loads(text)
            except ValueError:
                return text
            return parsed if isinstance(parsed, (dict, list)) else text

        schema = {"type": "object", "properties": {}, "additionalProperties": True}
        effect = named_effect(name) or "read"
        return raw_tool(answer, name=name, schema=schema, effect=effect, neutral=named_neutral(name))


def play_through(messages: Sequence[Mapping[str, Any]]) -> tuple[RunResult, Spans]:
    """The log's calls and results through the real loop, without content."""
    stubs, spans = Stubs(messages), Spans()
    loop = Loop(
        ScriptedModel(stubs.script),
        stubs.tools(),
        wiring=counted_wiring(spans),
        budget=NO_LIMITS,
        policy=Policy(confirm=lambda _: True),
        repetition=OBSERVED,
        content="none",
    )
    return loop.run("Go."), spans


def from_spans(spans: Spans, user_messages: Sequence[int] = ()) -> tuple[Repetition, ...]:
    """The verdicts from the exported attributes alone."""
    detector, index = RepetitionDetector(OBSERVED), 0
    waiting, found = list(user_messages), list[Repetition]()
    for step in spans.named(names.STEP):
        ended = [s.attributes for s in spans.ended_spans if s.parent_id == step.span_id]
        ended = [each for each in json.loads(json.dumps(ended)) if names.CALL_OUTCOME in each]
        ended.sort(key=lambda each: each[names.CALL_INDEX])
        while waiting and waiting[0] <= index:
            waiting.pop(0)
            detector.user_message()
        seen = [seen_call(attributes, index + place) for place, attributes in enumerate(ended)]
        found += detector.step(seen, number=step.attributes[names.STEP_INDEX]).found
        index += len(seen)
    return tuple(found)


def without_steps(found: Sequence[Repetition]) -> list[Repetition]:
    """A log counts answers without calls as steps, too; a run of these calls alone does not have them."""
    return [replace(each, step=0) for each in found]


@pytest.mark.skipif(not RUNS, reason=f"no labelled runs: put them at {LABELLED}")
@pytest.mark.parametrize("row", RUNS, ids=lambda row: f"{row['source']}-{row['ann']['kind']}")
def test_spans_without_content_tell_what_messages_tell(row: dict[str, Any]) -> None:
    """For every labelled run: the same verdicts, with the same numbers, and the live ones are those of its spans."""
    log = messages_run(row["messages"], row["id"])
    result, spans = play_through(row["messages"])

    users = [index for index in log.user_messages if index <= len(log.calls)]
    assert without_steps(from_spans(spans, users)) == without_steps(repetitions(log, OBSERVED))
    assert from_spans(spans) == result.repetitions
