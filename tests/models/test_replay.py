"""Recorded answers to the same requests; one that differs is refused, accepted by name, or followed and marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from traced_loop import (
    Budget,
    Loop,
    Policy,
    Price,
    ReplayModel,
    ScriptedModel,
    StopReason,
    UsageError,
    deny_when,
    names,
    tool,
)
from traced_loop.models.scripted import calls
from traced_loop.outcomes import EXIT_CODES
from traced_loop.redaction import register_secret
from traced_loop.testing import Spans, counted_wiring
from traced_loop.tools import multiply

if TYPE_CHECKING:
    from pathlib import Path

    from traced_loop.run_result import RunResult

TWICE = [calls(("multiply", {"a": 6, "b": 7})), calls(("multiply", {"a": 6, "b": 8})), "42 and 48."]


@tool(effect="read", name="multiply")
def multiply_off_by_one(a: int, b: int) -> int:
    """Multiply two integers."""
    return a * b + 1


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with one run of two multiplications."""
    model = ScriptedModel(TWICE, price=Price(input=1, output=4))
    Loop(model, [multiply], instructions="Use the tool. It is 10:00.", store=tmp_path).run("6 * 7, and 6 * 8?")
    return tmp_path


def played(model: ReplayModel, tools: Any = (multiply,), **options: Any) -> tuple[RunResult, Spans]:
    """The replay as a run, and its spans."""
    spans = Spans()
    options = {"messages": model.messages, **options}
    messages = options.pop("messages")
    return Loop(model, tools, wiring=counted_wiring(spans), **options).run(messages=messages), spans


def test_another_result_is_refused_with_its_place(store: Path) -> None:
    """The span has the place, the result what was said: results are content."""
    model = ReplayModel.of_run(store=store, ignore={"tools"})

    result, spans = played(model, [multiply_off_by_one])

    place = "request 2 differs from the recording at message 4 (tool result of call_1, multiply)"
    assert (result.stop_reason, EXIT_CODES[result.stop_reason]) == (StopReason.MODEL_ERROR, 6)
    assert result.stop_detail == place
    assert result.error == f"{place}: recorded 42, now 43; ignore={{'results'}} (--accept results) accepts it"
    chat = spans.named("chat")[1]
    assert (chat.attributes[names.ERROR_TYPE], chat.error) == ("replay_diverged", True)
    assert not any("recorded 42" in str(value) for span in spans.ended_spans for value in span.attributes.values())


def test_another_result_is_accepted_by_name_and_marked(store: Path) -> None:
    """Each answer to a changed request has the anomaly; each difference is told once."""
    model = ReplayModel.of_run(store=store, ignore={"results", "tools"})

    result, spans = played(model, [multiply_off_by_one])

    assert (result.answer, model.left) == ("42 and 48.", 0)
    assert [(found.kind, found.request, found.message) for found in model.divergences] == [
        ("tools", 1, None),
        ("results", 2, 4),
        ("results", 3, 6),
    ]
    marks = [span.attributes.get(names.ANOMALIES) for span in spans.named("chat")]
    assert marks == ["replay_diverged"] * 3
    assert [span.attributes[names.COST_SOURCE] for span in spans.named("chat")] == ["declared"] * 3


def test_a_changed_definition_is_refused_before_anything_runs(store: Path) -> None:
    """The model was asked something else."""
    result, spans = played(ReplayModel.of_run(store=store), [multiply_off_by_one])

    assert result.stop_detail == "request 1 differs from the recording (the tools offered)"
    assert spans.named("execute_tool") == []


def test_another_prompt_is_another_question(store: Path) -> None:
    """It cannot be accepted by name, only followed."""
    model = ReplayModel.of_run(store=store, ignore={"results", "tools"})
    changed = [*model.messages[:1], {"role": "user", "content": "6 * 7, and 6 * 9?"}]

    refused, _ = played(model, messages=changed)
    followed = ReplayModel.of_run(store=store, on_divergence="follow")
    result, _ = played(followed, messages=changed)

    assert refused.stop_detail == "request 1 differs from the recording at message 2 (user message)"
    assert refused.error == f"{refused.stop_detail}: recorded ..., and 6 * 8?, now ..., and 6 * 9?"
    assert (result.answer, [found.message for found in followed.divergences]) == ("42 and 48.", [2])


def test_instructions_that_tell_another_time_are_the_same(store: Path) -> None:
    """What differs each time and says nothing is no difference; other words are one."""
    model = ReplayModel.of_run(store=store)

    def told(text: str) -> RunResult:
        model.rewind()
        history = [{"role": "system", "content": text}, *model.messages[1:]]
        return played(model, messages=history)[0]

    assert told("Use the tool. It is 10:00.").answer == "42 and 48."
    assert told("Use the tool. It is 2026-11-30T11:22:33Z.").stop_reason is StopReason.MODEL_ERROR
    other = told("Use no tool. It is 10:00.")
    assert other.stop_detail == "request 1 differs from the recording at message 1 (instructions)"


def test_a_result_that_tells_another_time_is_the_same(tmp_path: Path) -> None:
    """Its times, ids and durations are masked for the comparison."""
    clock = iter(["2026-11-30T10:00:00Z", "2026-12-01T23:11:12Z"])

    @tool(effect="read")
    def status() -> dict[str, str]:
        """Tell the status."""
        return {"state": "ready", "at": next(clock)}

    Loop(ScriptedModel([calls(("status", {})), "Ready."]), [status], store=tmp_path).run("Ready?")
    model = ReplayModel.of_run(store=tmp_path)

    assert played(model, [status])[0].answer == "Ready."
    assert model.divergences == []


def test_a_changed_policy_shows_as_another_result(store: Path) -> None:
    """A denial is what the model would have been told."""
    policy = Policy(rules=[deny_when(["multiply"], name="no_multiplying")])
    model = ReplayModel.of_run(store=store, ignore={"results"})

    result, _ = played(model, policy=policy, messages=model.messages)

    assert result.stop_reason is StopReason.TOOL_NOT_ALLOWED


def test_another_number_of_messages_is_told(store: Path) -> None:
    """What is missing, or too much, has a place too, and what comes after it is not compared with something else."""
    model = ReplayModel.of_run(store=store)

    less, _ = played(model, messages=model.messages[1:])
    model.rewind()
    more, _ = played(model, messages=[*model.messages, {"role": "user", "content": "Please."}])

    assert less.error == (
        "request 1 differs from the recording at message 1 (instructions):"
        " recorded a message of system, now a message of user"
    )
    assert more.error == (
        "request 1 differs from the recording at message 3 (user message): recorded nothing more, now a message of user"
    )


def test_secrets_in_a_difference_are_masked(tmp_path: Path) -> None:
    """What is told on the terminal is no place for them."""
    register_secret("hunter2-hunter2-hunter2")
    secrets = iter(["nothing", "hunter2-hunter2-hunter2"])

    @tool(effect="read")
    def look() -> str:
        """Look."""
        return next(secrets)

    Loop(ScriptedModel([calls(("look", {})), "Done."]), [look], store=tmp_path).run("Look.")

    result, _ = played(ReplayModel.of_run(store=tmp_path), [look])

    assert "hunter2" not in str(result.error)
    assert "REDACTED" in str(result.error)


def test_the_last_run_is_the_last_that_was_no_replay(store: Path) -> None:
    """Whoever replays again means the same run; a replay can be named by its id."""
    model = ReplayModel.of_run(store=store)
    replayed = Loop(model, [multiply], store=store).run(messages=model.messages)

    again, named = ReplayModel.of_run(store=store), ReplayModel.of_run(replayed.run_id, store=store)

    assert (again.source, named.source) == (model.source, f"the run {replayed.run_id}")
    assert again.source != named.source


def test_it_is_for_one_run_until_it_is_rewound(store: Path) -> None:
    """A second run is not answered with what is left."""
    model = ReplayModel.of_run(store=store)

    first, second = played(model)[0], played(model)[0]
    model.rewind()
    third, _ = played(model)

    assert (first.answer, third.answer) == ("42 and 48.", "42 and 48.")
    assert (second.stop_reason, "request 4 was made" in second.stop_detail) == (StopReason.MODEL_ERROR, True)


def test_a_declared_price_replaces_the_recorded_one(store: Path) -> None:
    """To see what the same tokens cost elsewhere; a limit on cost needs one."""
    free, _ = played(ReplayModel.of_run(store=store, price=Price.free()), budget=Budget(cost_usd=1))

    assert (free.cost, free.usage.cost_source) == (0, "declared")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ignore": {"messages"}}, "ignore holds 'messages'; known are results, tools"),
        ({"ignore": "results"}, "is one text"),
        ({"on_divergence": "warn"}, "write 'refuse' or 'follow'"),
    ],
)
def test_another_word_is_refused(store: Path, options: dict[str, Any], said: str) -> None:
    """With those there are."""
    with pytest.raises(UsageError, match=said):
        ReplayModel.of_run(store=store, **options)
