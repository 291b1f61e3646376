"""Whole runs: those that go round in circles are seen in time, and those that work are left alone."""

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traced_loop.rules.repetition_rules import RepetitionRules
from traced_loop.rules.seen_call import SeenCall

from ..nightly import examples
from .repeating import USER, acts, all_found, seen, watch

A, B, C, D = (seen(f"look {name}", name) for name in "abcd")
EDITS = [seen(f"edit {n}", "", empty="silent", effect="write") for n in range(30)]
NOTHING = [seen(f"find {n}", "[]", empty="nothing", characters=2) for n in range(30)]
FAILING_TEST = seen("test", "!1 failed")

STUCK: dict[str, tuple[list[Any], list[tuple[int, str, str]]]] = {
    "one call": ([A] * 5, [(3, "equal_steps", "nudge"), (4, "equal_steps", "stop")]),
    "one failing call": ([seen("read a", "!too large")] * 4, [(3, "deterministic_error", "stop")]),
    "two in turn": ([A, B] * 4, [(5, "cycle", "nudge"), (6, "cycle", "stop")]),
    "three in turn": ([A, B, C] * 4, [(7, "cycle", "nudge"), (8, "cycle", "stop")]),
    "four, in any order": ([A, B, C, D, B, A, D, C, A, B, D, C], [(9, "cycle", "nudge"), (10, "cycle", "stop")]),
    "one pair at a time": ([[A, B]] * 5, [(3, "equal_steps", "nudge"), (4, "equal_steps", "stop")]),
    "two failing calls in turn": (
        [seen("run a", "!x"), seen("run b", "!y")] * 3,
        [(5, "deterministic_error", "stop"), (6, "deterministic_error", "stop")],
    ),
    "a failing call across messages": (
        [FAILING_TEST, USER, FAILING_TEST, USER, FAILING_TEST],
        [(5, "deterministic_error", "stop")],
    ),
    "a failing call with thoughts between": (
        [FAILING_TEST, seen("think", None), FAILING_TEST, seen("think", None), FAILING_TEST],
        [(5, "deterministic_error", "stop")],
    ),
    "a failing call with searches that find nothing": (
        [FAILING_TEST, NOTHING[0], FAILING_TEST, NOTHING[1], FAILING_TEST],
        [(5, "deterministic_error", "stop")],
    ),
    "a server that stays busy": ([seen("get", "~503")] * 8, [(6, "transient_error", "stop")]),
    "one error about everything": (
        [seen(f"steal {n}", "!no such tool") for n in range(9)],
        [(5, "same_error", "nudge"), (8, "same_error", "stop")],
    ),
    "a write with a fresh id each time": (
        [seen("send a", f"sent {n}", masked="sent", trend="up", effect="write") for n in range(4)],
        [(3, "repeated_write", "stop")],
    ),
    "one long page for every question": (
        [seen(f"search {n}", "cookie wall", characters=900) for n in range(5)],
        [(3, "known_answer", "nudge"), (4, "known_answer", "stop")],
    ),
    "numbers that wander": (
        [seen("load", f"{n} KB/s", masked="KB/s", trend="mixed") for n in (9, 7, 8, 6)],
        [(3, "equal_steps", "nudge"), (4, "equal_steps", "stop")],
    ),
    "a poll that says nothing new for too long": (
        [seen("state j", "queued", poll=4)] * 8,
        [(5, "poll_exhausted", "nudge"), (6, "poll_exhausted", "stop")],
    ),
}

HEALTHY: dict[str, list[Any]] = {
    "edit, then test again": [step for edit in EDITS[:8] for step in (edit, FAILING_TEST)],
    "edit, read again, test again": [step for edit in EDITS[:8] for step in (edit, A, seen("test", "!2 failed"))],
    "three checks after every edit": [step for edit in EDITS[:8] for step in (edit, A, B, FAILING_TEST)],
    "a backup restored before every edit": [
        step for edit in EDITS[:9] for step in (seen("copy back", "", empty="silent", effect="write"), edit)
    ],
    "pages": [seen(f"list {n}", f"rows {n}") for n in range(12)],
    "pages whose cursor is in the result": [seen("next", f"rows {n}") for n in range(12)],
    "a job that moves on": [seen("state j", f"{n} %", masked="%", trend="up" if n else None) for n in range(12)],
    "a job that waits, as declared": [seen("state j", "queued", poll=20)] * 20,
    "a busy server, then its answer": [seen("get", "~503")] * 4 + [A, seen("get", "ok"), B],
    "several busy calls": [seen(f"get {n % 4}", "~503") for n in range(4)] + [seen(f"get {n}", "ok") for n in range(4)],
    "read again after each message": [step for _ in range(7) for step in (A, USER)],
    "looked up twice to make sure": [A, A, B, B, C, C],
    "dates without flights": NOTHING[:19],
    "ten creations with the same answer": [seen(f"create {n}", "ok", effect="write") for n in range(10)],
    "eight equal answers in one response": [[seen(f"size {n}", "0") for n in range(8)]],
    "the same call six times in one response": [[A] * 6, B],
    "three errors on the way to the right query": [seen(f"query {n}", f"!no column {n}") for n in range(9)],
    "the same error about a few arguments": [seen(f"query {n}", "!no such column") for n in range(4)] + [A],
    "a build that is declared repeatable": [seen("build", f"{n}", effect="write", repeatable=True) for n in range(9)],
    "calls that did not run": [seen("look a", None)] * 9,
}


@pytest.mark.parametrize(("steps", "expected"), STUCK.values(), ids=STUCK)
def test_a_run_that_goes_in_circles_is_seen(steps: list[Any], expected: list[tuple[int, str, str]]) -> None:
    """At the step that the rules say, with the kind of the circle; told first where one more step does no harm."""
    assert [each for each in acts(steps) if each[0] <= expected[-1][0]] == expected


@pytest.mark.parametrize("steps", HEALTHY.values(), ids=HEALTHY)
def test_a_run_that_works_is_left_alone(steps: list[Any]) -> None:
    """However often it makes the same call."""
    assert acts(steps) == []


def test_what_is_found_is_in_numbers() -> None:
    """Count and threshold, streak, period, and the flat index of the first and of the last call."""
    [nudge, stop] = all_found([[A, seen("think", None)], B, A, B, A, B])
    assert (nudge.count, nudge.threshold, nudge.streak, nudge.period) == (3, 3, 2, 2)
    assert (nudge.first, nudge.at, nudge.tool) == (0, 5, "look")
    assert (stop.count, stop.threshold, stop.streak, stop.first, stop.at) == (4, 4, 3, 2, 6)


@pytest.mark.parametrize(
    ("reaction", "expected"),
    [("stop", ["nudge", "stop"]), ("nudge", ["nudge", "nudge"]), ("observe", ["observe", "observe"])],
)
def test_nothing_is_done_beyond_the_reaction(reaction: Any, expected: list[str]) -> None:
    """What was due is known all the same."""
    found = all_found([A] * 5, RepetitionRules(reaction=reaction))
    assert [each.reaction for each in found] == expected
    assert [each.due for each in found] == ["nudge", "stop"]


def test_of_several_findings_the_gravest_comes_first() -> None:
    """It decides what is done about the step."""
    step = [seen("send", "ok", effect="write"), seen("read", "!gone")]
    found = watch([step] * 3)
    kinds = [(each.kind, each.reaction) for each in found[2].found]
    assert kinds == [("repeated_write", "stop"), ("deterministic_error", "stop"), ("equal_steps", "nudge")]
    gravest = found[2].gravest
    assert gravest is not None
    assert gravest.reaction == "stop"


def test_a_second_write_is_shown_and_nothing_else() -> None:
    """It may be wanted."""
    [found] = all_found([seen("send", f"id {n}", effect="write", masked="id", trend="up") for n in range(2)])
    assert (found.kind, found.reaction, found.due, found.count) == ("repeated_write", "observe", "observe", 2)


def test_twenty_empty_answers_are_a_warning_only() -> None:
    """Told once."""
    [found] = all_found(NOTHING)
    assert (found.kind, found.reaction, found.due, found.count) == ("empty_answers", "observe", "observe", 20)


CALLS = [
    A,
    B,
    seen("read c", "!gone"),
    seen("get d", "~503"),
    seen("send e", "sent 1", masked="sent", trend="up", effect="write"),
    seen("think", None),
    seen("page f", "a long text", characters=400),
    seen("page g", "a long text", characters=400),
    seen("find h", "[]", empty="nothing"),
    seen("state i", "queued", poll=2),
]
STEPS = st.lists(st.lists(st.sampled_from(CALLS), min_size=1, max_size=3) | st.just(USER), max_size=40)


def numbers(steps: list[Any], agents: Any = ()) -> list[Any]:
    """What each step showed, without the places of its calls."""
    found = watch(steps, agents=agents)
    return [(step.streak, sorted((e.kind, e.due, e.count, e.period or 0) for e in step.found)) for step in found]


@settings(max_examples=examples(150))
@given(STEPS, st.randoms(use_true_random=False))
def test_the_order_inside_of_a_response_does_not_matter(steps: list[Any], chance: random.Random) -> None:
    """One response is one step."""
    shuffled = [step if step == USER else chance.sample(step, len(step)) for step in steps]
    assert numbers(shuffled) == numbers(steps)


@settings(max_examples=examples(150))
@given(STEPS)
def test_only_what_is_equal_matters(steps: list[Any]) -> None:
    """Other names for the same things give the same verdicts: fingerprints do as well as texts."""

    def renamed(call: SeenCall) -> SeenCall:
        return replace(
            call, call=f"#{hash(call.call)}", result=call.result and f"#{hash(call.result)}", error=f"#{call.error}"
        )

    other = [step if step == USER else [renamed(call) for call in step] for step in steps]
    assert numbers(other) == numbers(steps)


@settings(max_examples=examples(150))
@given(st.lists(st.lists(st.sampled_from(CALLS), min_size=1, max_size=3), max_size=30), st.data())
def test_two_agents_do_not_see_one_another(steps: list[Any], data: st.DataObject) -> None:
    """However their steps lie between one another, each has the verdicts that it has alone."""
    agents = data.draw(st.lists(st.sampled_from("xy"), min_size=len(steps), max_size=len(steps)))
    together = numbers(steps, agents)
    for agent in "xy":
        own = [step for step, whose in zip(steps, agents, strict=True) if whose == agent]
        assert [found for found, whose in zip(together, agents, strict=True) if whose == agent] == numbers(own)


@settings(max_examples=examples(150))
@given(st.integers(1, 5), st.integers(0, 4))
def test_a_circle_of_any_length_is_stopped_in_its_second_round(length: int, before: int) -> None:
    """Three stale steps after the round that may be made once again for free."""
    news = [seen(f"first {n}", str(n)) for n in range(before)]
    circle = [seen(f"look {n}", str(n)) for n in range(length)]
    stops = [step for step, _, reaction in acts(news + circle * 8) if reaction == "stop"]
    assert stops == [before + length + (length - 1) + 3]


@settings(max_examples=examples(150))
@given(STEPS)
def test_news_in_every_step_is_never_a_repetition(steps: list[Any]) -> None:
    """Whatever else happens in it, a step that brings an answer nobody had seen is no stale one."""
    fresh = [step if step == USER else [*step, seen(f"new {n}", str(n))] for n, step in enumerate(steps)]
    assert all(step.streak == 0 for step in watch(fresh))
