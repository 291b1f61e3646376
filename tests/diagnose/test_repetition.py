"""One detector for live runs, stored spans without content, and logs of messages."""

import json
import random
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traced_loop import Budget, Loop, Policy, RepetitionRules, RunResult, ScriptedModel, names
from traced_loop.canonical_json import canonical
from traced_loop.diagnose.repetition import repetitions
from traced_loop.read.agent_run import AgentRun, StoredCall
from traced_loop.read.messages_log import messages_run
from traced_loop.read.trace import StoredSpan, StoredTrace
from traced_loop.repetition_verdict import Repetition
from traced_loop.rules.repetition_detector import RepetitionDetector
from traced_loop.rules.seen_call import seen_call
from traced_loop.rules.undeclared_tools import named_effect, named_neutral
from traced_loop.testing import Spans, calls, counted_wiring
from traced_loop.tool_registry import ToolDefinition, raw_tool

from ..nightly import examples

LABELLED = Path(__file__).parents[2].parent / "shared" / "loops" / "dev.jsonl"
RUNS: list[dict[str, Any]] = (
    [json.loads(line) for line in LABELLED.read_text(encoding="utf-8").splitlines()] if LABELLED.exists() else []
)
OBSERVED = RepetitionRules(reaction="observe")
LOOK = ("look", {"name": "a"}, "here")
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


Turn = tuple[str, list[tuple[str, dict[str, Any], str]]]
"""What began a turn (``""`` or what a person said), and its calls: tool, arguments, result."""
TURN = st.tuples(
    st.sampled_from(["", "", "", "Again."]),
    st.lists(
        st.sampled_from(
            [
                ("look", {"name": "a", "deep": [1, 2]}, "open since <time>"),
                ("look", {"name": "b", "deep": []}, "open since <time>"),
                ("read", {"path": "a", "from": 10}, "Error: no 'a' (request_id=<id>)"),
                ("get", {"url": "u", "tries": 3}, "Error: 503 Service Unavailable, request_id=<id>"),
                ("send_mail", {"to": "x", "text": "hi"}, '{"sent": true, "request_id": "<id>", "at": "<time>"}'),
                ("find", {"query": "q", "page": 1}, "[]"),
                ("think", {"thought": "hm", "n": 1}, ""),
            ]
        ),
        min_size=1,
        max_size=3,
    ),
)


def history(turns: Sequence[Turn], chance: random.Random | None) -> list[dict[str, Any]]:
    """The turns as messages; by chance with other spellings, ids and times, which say nothing."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Go."}]
    for number, (said, made) in enumerate(turns):
        if said:
            messages.append({"role": "user", "content": said})
        ids = [
            f"call_{place if chance and chance.random() < 0.5 else f'{number}_{place}'}" for place in range(len(made))
        ]
        asked = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": spelt(arguments, chance)}}
            for call_id, (name, arguments, _) in zip(ids, made, strict=True)
        ]
        messages.append({"role": "assistant", "content": None, "tool_calls": asked})
        told = [
            {"role": "tool", "tool_call_id": call_id, "content": stamped(result, chance)}
            for call_id, (_, _, result) in zip(ids, made, strict=True)
        ]
        messages += chance.sample(told, len(told)) if chance else told
    return messages


def spelt(arguments: Mapping[str, Any], chance: random.Random | None) -> str:
    """JSON text of the arguments, with their keys in any order and any white space."""
    if chance is None:
        return json.dumps(arguments)
    keys = chance.sample(list(arguments), len(arguments))
    return json.dumps({key: arguments[key] for key in keys}, indent=chance.choice([None, 1, 4]))


def stamped(result: str, chance: random.Random | None) -> str:
    """The result with a time and an id."""
    second, number = (chance.randrange(60), chance.getrandbits(60)) if chance else (0, 2**59)
    return result.replace("<time>", f"2026-11-30T08:00:{second:02d}Z").replace("<id>", f"req-{number:016x}a1")


def shown(messages: Sequence[Any]) -> list[Repetition]:
    """What a log shows."""
    return list(repetitions(messages_run(messages, "log"), OBSERVED))


@settings(max_examples=examples(150))
@given(st.lists(TURN, max_size=25), st.randoms(use_true_random=False))
def test_spelling_ids_and_times_say_nothing(turns: list[Turn], chance: random.Random) -> None:
    """Order of keys, white space, order of results, ids that are used again, other times and request ids."""
    assert shown(history(turns, chance)) == shown(history(turns, None))


def test_two_agents_in_one_trace_are_watched_apart() -> None:
    """Three sub-agents that each run the tests once go in no circle; one that runs them three times does."""

    def call(index: int, agent: str, step: int) -> StoredCall:
        return StoredCall(index=index, agent=agent, step=step, tool="test", identity="t", outcome="ok", result="passed")

    once = [call(n, agent, 1) for n, agent in enumerate("xyz")]
    mixed = [call(n, "xy"[n % 2], 1 + n // 2) for n in range(6)]
    assert repetitions(AgentRun(id="r", dialect="openinference", trace=StoredTrace(), calls=once)) == ()
    found = repetitions(AgentRun(id="r", dialect="openinference", trace=StoredTrace(), calls=mixed))
    assert [(each.count, each.step, each.first, each.at) for each in found] == [(3, 3, 0, 4), (3, 3, 1, 5)]


def test_our_own_spans_are_asked_themselves() -> None:
    """They say more than a neutral call does: a poll's allowance, a refusal's fields."""
    result, spans = play_through([{"role": "user", "content": "Go."}, *history([("", [LOOK])] * 4, None)[1:]])
    stored = [
        StoredSpan(trace_id=f"{s.trace_id:032x}", span_id=f"{s.span_id:016x}", attributes=dict(s.attributes))
        for s in spans.named(names.EXECUTE_TOOL)
    ]
    calls_of_run = [StoredCall(index=n, step=n + 1, spans=(span.key,)) for n, span in enumerate(stored)]
    run = AgentRun(id="r", dialect="traced_loop", trace=StoredTrace(spans=tuple(stored)), calls=calls_of_run)
    assert repetitions(run, OBSERVED) == result.repetitions != ()


def test_a_trace_without_arguments_or_results_tells_nothing() -> None:
    """Nothing is guessed, and nothing is found."""
    bare = [StoredCall(index=n, step=n, tool="look", outcome="ok") for n in range(9)]
    asked = [StoredCall(index=n, step=n, tool="look", identity="t") for n in range(9)]
    for calls_of_run in (bare, asked):
        assert repetitions(AgentRun(id="r", dialect="gen_ai", trace=StoredTrace(), calls=calls_of_run)) == ()


def test_fresh_keys_make_no_other_call_where_nobody_declares_anything() -> None:
    """A write with another idempotency key each time is the same write; another page is another call."""
    sent = [("send_mail", {"to": "x", "idempotency_key": f"k{n}"}, f"sent {n}") for n in range(3)]
    paged = [("list", {"page": n, "cursor": f"k{n}"}, "rows") for n in range(9)]
    assert [each.kind for each in shown(history([("", [each]) for each in sent], None))][-1] == "repeated_write"
    assert shown(history([("", [each]) for each in paged], None)) == []
