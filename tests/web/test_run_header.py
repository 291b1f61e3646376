"""The facts of a run for the top of its page."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from traced_loop import Loop, Pending, Policy, ScriptedModel, names, tool
from traced_loop.read.local_store import LocalStore, StoredRun
from traced_loop.read.run_entry import RunState, from_trace
from traced_loop.read.span_tree import build
from traced_loop.read.trace import StoredSpan
from traced_loop.records.store import store_folder
from traced_loop.testing import calls
from traced_loop.web.run_header import MAX_SHOWN, RunHeader, commands, run_header

if TYPE_CHECKING:
    from pathlib import Path

SECOND = 1_000_000_000
BEGUN = 1_790_000_000 * SECOND
NOW = BEGUN + 90 * SECOND
MODEL = "--model gpt-5-mini"
ROOT: dict[str, Any] = {
    names.GEN_AI_REQUEST_MODEL: "gpt-5-mini",
    names.GEN_AI_OPERATION: names.INVOKE_AGENT,
    names.RUN_ID: "run-1",
    f"{names.BUDGET_PREFIX}steps.limit": 8,
    f"{names.BUDGET_PREFIX}seconds.limit": 300.0,
    f"{names.BUDGET_PREFIX}shared.tokens.limit": 1_000,
    f"{names.BUDGET_PREFIX}tool_seconds.limit": 30.0,
}
END: dict[str, Any] = {
    names.RUN_STEPS: 7,
    names.BUDGET_NEXT: "steps",
    f"{names.BUDGET_PREFIX}steps.used": 7,
    f"{names.BUDGET_PREFIX}steps.remaining": 1,
    f"{names.BUDGET_PREFIX}seconds.used": 12.5,
    f"{names.BUDGET_PREFIX}seconds.remaining": 287.5,
    f"{names.BUDGET_PREFIX}shared.tokens.remaining": 0,
    f"{names.BUDGET_PREFIX}tool_seconds.used": 2.0,
}


@tool(effect="write")
def save() -> str:
    """Save something."""
    return "saved"


def span(span_id: str, attributes: dict[str, Any], parent: str = "", **more: Any) -> StoredSpan:
    """One second of the only trace."""
    values = {"trace_id": "a" * 32, "start_ns": BEGUN, "end_ns": BEGUN + SECOND, "name": "invoke_agent x", **more}
    return StoredSpan(span_id=span_id, parent_id=parent, attributes=attributes, **values)


def stored(*spans: StoredSpan, state: RunState | None = None) -> StoredRun:
    """A run of these spans."""
    trace = build(spans)
    entry = from_trace("run-1", trace)
    return StoredRun(entry=entry if state is None else replace(entry, state=state), trace=trace)


def ended(stop: str, *more: StoredSpan) -> RunHeader:
    """The facts of a run that stopped."""
    return run_header(stored(span("1", {**ROOT, **END, names.RUN_STOP_REASON: stop}), *more), NOW)


def opened(attributes: dict[str, Any], state: RunState, *more: StoredSpan) -> RunHeader:
    """The facts of a run without an end."""
    return run_header(stored(span("1", attributes, end_ns=0, is_open=True), *more, state=state), NOW)


def typed(header: RunHeader) -> list[str]:
    """What to type where the run is in the store that commands take by themselves."""
    return list(commands(header, store_folder(None)))


def test_every_limit_has_a_bar_with_what_is_used_and_left() -> None:
    """Near, reached and free are told apart; the next one is marked; of a shared one only what is left is known."""
    bars = ended("final_answer").bars

    assert [(bar.name, bar.used, bar.limit, bar.left, bar.level) for bar in bars] == [
        ("steps", "7", "8", "1", "near"),
        ("seconds", "12.5 s", "5 min", "4 min 48 s", "free"),
        ("tokens", "1,000", "1,000", "0", "reached"),
        ("tool_seconds", "2 s", "30 s", "28 s", "free"),
    ]
    assert [bar.is_next for bar in bars] == [True, False, False, False]
    assert [bar.is_shared for bar in bars] == [False, False, True, False]
    assert bars[3].is_each


def test_a_run_that_goes_on_has_used_the_time_since_it_began() -> None:
    """What it does is told with when that began."""
    leaf = span(
        "2", {names.CALL_ID: "c1"}, "1", end_ns=0, is_open=True, name="execute_tool slow", start_ns=BEGUN + SECOND
    )
    header = opened(ROOT, "running", leaf)

    assert [bar.used for bar in header.bars if bar.name == "seconds"] == ["1 min 30 s"]
    [doing] = header.doing
    assert (doing.span_id, doing.into_ns, doing.start_ns) == ("2", SECOND, BEGUN + SECOND)
    assert header.last_sign is None
    assert header.spent.so_far


def test_the_time_of_a_run_that_goes_on_is_known_with_its_begin_so_that_a_page_can_count_on() -> None:
    """Of one that has ended it stands."""
    going_on, over = opened(ROOT, "running").bars, ended("final_answer").bars

    assert [(bar.since_ns, bar.limit_ms) for bar in going_on if bar.name == "seconds"] == [(BEGUN, 300_000)]
    assert {(bar.since_ns, bar.limit_ms) for bar in over} == {(None, 0)}


def test_a_limit_that_no_call_was_under_is_told_from_one_of_which_nothing_is_known() -> None:
    """Calls of tools with a timeout of their own may have taken long all the same."""
    unused = {**ROOT, **END, f"{names.BUDGET_PREFIX}tool_seconds.used": 0.0}
    [none] = [bar for bar in run_header(stored(span("1", unused)), NOW).bars if bar.name == "tool_seconds"]
    [unknown] = [bar for bar in opened(ROOT, "running").bars if bar.name == "tool_seconds"]
    [some] = [bar for bar in ended("final_answer").bars if bar.name == "tool_seconds"]

    assert [bar.is_unused for bar in (none, unknown, some)] == [True, False, False]


@pytest.mark.parametrize(
    "other",
    [
        span("2", {names.CONFIRMATION_STATE: "approved"}, "1", name=names.AUTHORIZE_CALL),
        span("2", {}, "1", name=names.AUTHORIZE_CALL, end_ns=0, is_open=True),
        span("9", ROOT, trace_id="b" * 32, end_ns=BEGUN + SECOND),
    ],
    ids=["a person was waited for", "a person is waited for", "it was resumed"],
)
def test_time_that_may_not_count_is_not_known(other: StoredSpan) -> None:
    """A deadline counts neither a person's time nor what lay between two processes."""
    header = opened(ROOT, "running", other)

    assert [bar.used for bar in header.bars if bar.name == "seconds"] == [None]
    assert [bar.part for bar in header.bars if bar.name == "seconds"] == [0.0]


def test_a_dead_run_says_its_last_sign_and_how_to_end_it() -> None:
    """One of which nothing says whether its process lives is ended by the word of a person."""
    died, unknown = opened(ROOT, "died"), opened(ROOT, "unknown")

    assert died.last_sign is not None
    assert typed(died) == ["traced-loop recover run-1", f"traced-loop resume run-1 {MODEL}"]
    assert typed(unknown) == ["traced-loop recover run-1 --dead"]


@pytest.mark.parametrize(
    ("stop", "told"),
    [
        ("max_steps_exceeded", [f"traced-loop resume run-1 --add steps=5 {MODEL}"]),
        ("token_budget_exceeded", [f"traced-loop resume run-1 --add tokens=50000 {MODEL}"]),
        ("deadline_exceeded", [f"traced-loop resume run-1 --add seconds=300 {MODEL}"]),
        ("confirmation_required", [f"traced-loop resume run-1 --confirm CALL {MODEL}"]),
        ("final_answer", []),
        ("model_error", []),
    ],
)
def test_each_stop_says_what_can_be_done(stop: str, told: list[str]) -> None:
    """Nothing where there is nothing."""
    assert typed(ended(stop)) == told


def test_a_write_in_doubt_comes_before_everything_else() -> None:
    """The command names the call, as one word."""
    write = {
        names.GEN_AI_OPERATION: names.EXECUTE_TOOL,
        names.CALL_OUTCOME: "unknown",
        names.GEN_AI_TOOL_CALL_ID: "c 1",
    }
    header = ended("max_steps_exceeded", span("2", write, "1", name="execute_tool refund"))

    assert [each.span_id for each in header.doubtful] == ["2"]
    assert typed(header) == ["traced-loop ledger run-1", "traced-loop resolve run-1 'c 1' --done"]


def test_a_run_that_waits_for_a_person_names_the_calls_that_do() -> None:
    """Each can be decided about by its command."""
    asked = {names.CALL_ID: "c1", names.CALL_TOOL: "save", names.CALL_OUTCOME: "confirmation_required"}
    header = ended("confirmation_required", span("2", asked, "1", name=names.AUTHORIZE_CALL))

    assert header.waiting == ("c1",)
    assert typed(header) == [f"traced-loop resume run-1 --confirm c1 {MODEL} --tools MODULE:save"]


def test_a_command_names_every_tool_that_the_run_needs() -> None:
    """However many there are: with one missing the run would go on without it."""
    asked = [
        span(str(n), {names.CALL_TOOL: f"tool_{n}"}, "1", name=names.VALIDATE_CALL) for n in range(2, MAX_SHOWN + 7)
    ]
    [command] = typed(ended("max_steps_exceeded", *asked))

    assert command.count("MODULE:tool_") == MAX_SHOWN + 5


def test_a_resumed_run_has_the_traces_of_all_its_processes() -> None:
    """The newest first."""
    later = span("9", {**ROOT, names.RUN_STOP_REASON: "final_answer"}, trace_id="b" * 32, start_ns=BEGUN + SECOND)

    assert ended("max_steps_exceeded", later).trace_ids == ("b" * 32, "a" * 32)


def test_many_open_spans_are_cut_and_counted() -> None:
    """A page names the first of them."""
    leaves = [span(str(n), {}, "1", end_ns=0, is_open=True) for n in range(2, MAX_SHOWN + 7)]
    header = opened(ROOT, "running", *leaves)

    assert (len(header.doing), header.left_out) == (MAX_SHOWN, 5)


@pytest.mark.parametrize(("seconds", "told"), [(None, ""), (0.01, "save waits for a confirmation: nobody answered")])
def test_that_a_call_waits_is_not_told_twice(home: Path, seconds: float | None, told: str) -> None:
    """What is said beside it is, as why nobody has answered; and the details of other stops."""

    async def nobody(_pending: Pending) -> None:
        await asyncio.Event().wait()

    policy = Policy(confirm=None if seconds is None else nobody, confirm_seconds=seconds)
    result = Loop(ScriptedModel([calls(("save", {}))]), [save], policy=policy).run("Go.")
    with LocalStore.open(home) as store:
        header = run_header(store.run(result.run_id), NOW)
        assert (header.entry.stop_detail or "").startswith("save waits for a confirmation")
    assert header.detail.startswith(told)
    assert bool(header.detail) is bool(told)
