"""The oracle can fail: a run that kept its promises, and everything that it could have left if it had not."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from traced_loop import SharedBudget, StopReason, names
from traced_loop.rules.budget import Reserve
from traced_loop.run_result import Usage
from traced_loop.telemetry.spans import SpanRecord
from traced_loop.testing import Spans

from .answers import GOOD, TOOLS, Answer, body
from .oracle import broken_promises
from .playing import Left, played
from .scenarios import Break, Rules, Scenario
from .world import Ran


def asking(*calls: tuple[str, str, Any]) -> Answer:
    """An answer with these calls: id, tool, arguments."""
    entries = [{"id": i, "function": {"name": name, "arguments": arguments}} for i, name, arguments in calls]
    usage = {"prompt_tokens": 50, "completion_tokens": 20}
    return Answer(body({"content": None, "tool_calls": entries}, "tool_calls", usage))


def kept(**changed: Any) -> Left:
    """A run of two steps with calls and an answer, which kept its promises."""
    script = (
        asking(("c1", "read", '{"a":1}'), ("c2", "save", '{"a":2}'), ("c3", "read", '{"a":"x"}')),
        asking(("c1", "pay", {"a": 3}), ("c2", "later", GOOD[3])),
    )
    budget = {"steps": 3, "tool_calls": 6, "tokens": 100_000, "cost_usd": "1"}
    given: dict[str, Any] = {
        "script": script,
        "manners": dict.fromkeys(TOOLS, ("ok",)),
        "rules": Rules(),
        "budget": budget,
        "shared": {"steps": 9, "tokens": 90_000},
        "broken": Break(),
        "options": {},
        "priced": True,
        "tolerate": frozenset[str](),
    }
    return played(Scenario(**{**given, **changed}))


@pytest.fixture(scope="module")
def run() -> Left:
    """The run, to be copied before it is changed."""
    return kept()


def test_a_run_that_kept_its_promises_is_let_pass(run: Left) -> None:
    """With something of everything in it."""
    assert broken_promises(run) == []
    assert [ran.tool for ran in run.ran] == ["read", "save", "pay", "later"]
    assert run.result.stop_reason is StopReason.FINAL_ANSWER


def messages(change: Callable[[list[Any]], Any]) -> Callable[[Left], Left]:
    """The same run with another history."""

    def changed(left: Left) -> Left:
        found = list(copy.deepcopy(left.result.messages))
        change(found)
        return replace(left, result=replace(left.result, messages=tuple(found)))

    return changed


def spans(change: Callable[[list[SpanRecord]], Any]) -> Callable[[Left], Left]:
    """The same run with other spans."""

    def changed(left: Left) -> Left:
        change(left.spans.ended_spans)
        return left

    return changed


def one(found: list[SpanRecord], name: str, number: int = 0, **attributes: Any) -> SpanRecord:
    """The n-th span of that name, from 0, with these attributes (``a_b`` for ``traced_loop.a.b``)."""
    wanted = {f"traced_loop.{key.replace('__', '.')}": value for key, value in attributes.items()}
    those = [s for s in found if s.name.split()[0] == name and wanted.items() <= s.attributes.items()]
    return sorted(those, key=lambda span: span.start_ns)[number]


def setting(name: str, number: int, key: str, value: Any, **which: Any) -> Callable[[Left], Left]:
    """The same run with another attribute on one span."""
    return spans(lambda found: one(found, name, number, **which).attributes.update({key: value}))


def usage(**changed: Any) -> Callable[[Left], Left]:
    """The same run with other counts."""
    return lambda left: replace(left, result=replace(left.result, usage=replace(left.result.usage, **changed)))


def lasting(name: str, seconds: float) -> Callable[[list[SpanRecord]], None]:
    """Let a span end later, and all around it."""

    def change(found: list[SpanRecord]) -> None:
        begun = one(found, name).start_ns
        for span in found:
            if span.end_ns > begun:
                span.end_ns += round(seconds * 1e9)
            if span.start_ns > begun:
                span.start_ns += round(seconds * 1e9)

    return change


def repeated(found: list[SpanRecord], name: str, apart_ns: int, number: int = 0) -> None:
    """A second span beside the n-th of that name, so much later."""
    again = copy.deepcopy(one(found, name, number))
    again.span_id, again.start_ns, again.end_ns = 9_999, again.start_ns + apart_ns, again.end_ns + apart_ns
    found.append(again)


def over(found: list[SpanRecord]) -> None:
    """Nearly all was spent in the first step."""
    one(found, names.CHECK_BUDGET, budget__phase="step").attributes[names.BUDGET_SETTLED_TOKENS] = 99_999


def still_reserved(left: Left) -> Left:
    """Something of the shared budget was not given back."""
    assert left.shared is not None
    left.shared.share().hold(Usage(), Reserve(tokens=5))
    return left


EXECUTE, CHECK, VALIDATE, AUTHORIZE = names.EXECUTE_TOOL, names.CHECK_BUDGET, names.VALIDATE_CALL, names.AUTHORIZE_CALL
OUTCOME, STOP = names.CALL_OUTCOME, names.RUN_STOP_REASON
FORGED: dict[str, tuple[str, Callable[[Left], Left]]] = {
    "a_result_is_missing": ("1: the history that is left", messages(lambda found: found.pop(3))),
    "a_result_comes_twice": ("1: the history that is left", messages(lambda found: found.insert(3, found[2]))),
    "results_out_of_order": ("1: the history that is left", messages(lambda found: found.insert(2, found.pop(3)))),
    "a_request_before_its_results": (
        "1: request 2 was sent with a history",
        lambda left: replace(left, requests=[left.requests[0], left.requests[1][:3], left.requests[2]]),
    ),
    "a_history_that_was_rewritten": (
        "1: the history of request 1",
        lambda left: replace(left, requests=[[{"role": "user", "content": "Stop."}], *left.requests[1:]]),
    ),
    "a_call_with_two_outcomes": ("1: call c1 has 2", setting(VALIDATE, 0, OUTCOME, "ok")),
    "a_call_without_an_outcome": (
        "1: call c1 has 0",
        spans(lambda found: one(found, EXECUTE).attributes.pop(OUTCOME)),
    ),
    "an_outcome_that_nobody_was_told": ("1: call c2 ended error", setting(EXECUTE, 1, OUTCOME, "error")),
    "calls_that_only_spans_know": ("1: spans say", setting("chat", 0, names.CALL_IDS, "c1,c2")),
    "an_outcome_of_no_call": (
        "1: nobody asked for",
        spans(lambda f: one(f, names.APPEND_RESULTS).attributes.update({OUTCOME: "ok", names.CALL_ID: "c9"})),
    ),
    "a_cut_answer_that_ran": (
        "2: calls ran from an answer",
        setting("chat", 0, names.GEN_AI_FINISH_REASONS, ["length"]),
    ),
    "refused_arguments_that_ran": (
        "2: call c1 ran, and its",
        setting(VALIDATE, 0, names.VALIDATION_OUTCOME, "rejected"),
    ),
    "a_call_that_nobody_decided": ("2: call c1 of read ran without", spans(lambda f: f.remove(one(f, AUTHORIZE)))),
    "a_write_that_nobody_confirmed": (
        "2: call c2 of save ran without",
        setting(AUTHORIZE, 0, names.CONFIRMATION_STATE, "pending", confirmation__state="approved"),
    ),
    "a_decision_after_the_fact": (
        "2: call c1 ran before",
        spans(lambda found: setattr(one(found, AUTHORIZE), "start_ns", one(found, EXECUTE).end_ns)),
    ),
    "an_execution_that_was_skipped": ("2: call c1 ran and ended", setting(EXECUTE, 0, OUTCOME, "skipped_stop")),
    "an_execution_without_a_span": (
        "2: pay was called 2",
        lambda left: replace(left, ran=[*left.ran, Ran("pay", 3)]),
    ),
    "a_span_without_an_execution": ("2: save was called 0", lambda left: replace(left, ran=left.ran[:1])),
    "another_argument": ("2: read(7) ran, which", lambda left: replace(left, ran=[Ran("read", 7), *left.ran[1:]])),
    "a_denied_tool": (
        "2: read(1) ran, and the rules say deny",
        lambda left: replace(left, rules=Rules(deny=frozenset({"read"}))),
    ),
    "a_write_without_a_yes": ("2: save(2) ran, and the rules say needs", lambda left: replace(left, approved=[])),
    "a_write_that_was_tried_again": (
        "2: the write save was tried 2",
        spans(lambda found: [found.append(attempt(one(found, EXECUTE, 1), n)) for n in (1, 2)]),
    ),
    "a_span_that_never_ends": ("3: chat scripted was started", lambda left: left_open(left)),
    "a_second_root": ("3: there are other roots", spans(lambda found: setattr(one(found, "chat"), "parent_id", 77))),
    "another_reason_on_the_root": ("3: the root says", setting(names.INVOKE_AGENT, 0, STOP, "refused")),
    "another_reason_on_the_way": ("3: spans give several", setting("chat", 0, STOP, "refused")),
    "a_failed_run_without_an_error": (
        "3: the root of a run that ended final_answer has error=True",
        spans(lambda found: setattr(one(found, names.INVOKE_AGENT), "error", True)),
    ),
    "an_answer_that_is_gone": (
        "3: a run that ended final_answer has the answer None",
        lambda left: replace(left, result=replace(left.result, answer=None)),
    ),
    "an_exception_that_no_reason_tells": (
        "3: KeyError() left a run",
        lambda left: replace(left, raised=KeyError(), events=[]),
    ),
    "a_span_that_outlives_its_parent": (
        "3: chat scripted is not inside",
        spans(lambda found: setattr(one(found, "chat"), "end_ns", one(found, names.INVOKE_AGENT).end_ns + 1)),
    ),
    "a_prompt_that_is_gone": ("3: the prompt is not kept", messages(lambda found: found.pop(0))),
    "a_request_that_is_not_counted": ("3: 3 requests were sent", usage(model_requests=2)),
    "other_counts_on_the_root": (
        "3: traced_loop.run.usage.tokens is",
        setting(names.INVOKE_AGENT, 0, names.RUN_TOKENS, 1),
    ),
    "a_failure_that_is_not_counted": ("3: 0 calls failed, and 1", usage(failed_tool_calls=1)),
    "a_span_that_the_receipt_does_not_know": (
        "3: the receipt counts",
        spans(lambda found: repeated(found, names.APPEND_RESULTS, 0)),
    ),
    "a_step_too_many": ("4: 4 steps of 3", usage(steps=4)),
    "calls_too_many": ("4: 4 calls of 3", lambda left: replace(left, budget=replace(left.budget, tool_calls=3))),
    "a_call_that_is_not_counted": ("4: 4 calls ran, and 3", usage(tool_calls=3)),
    "a_request_over_its_tokens": ("4: a request was sent with 99999", spans(over)),
    "a_request_over_its_cost": (
        "4: a request was sent with",
        lambda left: replace(left, budget=replace(left.budget, cost_usd="0.0001")),
    ),
    "a_refused_request_that_was_sent": (
        "4: a request was sent that no",
        setting(CHECK, 0, names.BUDGET_OUTCOME, "exceeded"),
    ),
    "a_refused_batch_that_ran": (
        "4: 2 calls ran that no check",
        setting(CHECK, 0, names.BUDGET_OUTCOME, "exceeded", budget__phase="batch"),
    ),
    "more_calls_than_were_admitted": (
        "4: 2 calls ran, and 1",
        setting(CHECK, 0, names.BUDGET_RESERVED_CALLS, 1, budget__phase="batch"),
    ),
    "a_run_that_outlives_its_deadline": ("4: the run took 301", usage(seconds=301.0)),
    "a_request_that_outlives_its_time": ("4: a request took", spans(lasting("chat", 121))),
    "a_call_that_outlives_its_time": ("4: read took", spans(lasting(EXECUTE, 31))),
    "what_is_still_reserved": ("4: Reserve", still_reserved),
    "a_shared_budget_that_counts_otherwise": ("4: the shared budget counts", usage(tokens=1)),
    "a_shared_budget_that_is_passed": (
        "4: 9 of 2 shared steps",
        lambda left: replace(left, shared=spent_by_others()),
    ),
    "a_shared_admission_that_does_not_fit": (
        "4: a request was admitted with",
        setting(CHECK, 0, f"{names.BUDGET_SHARED_PREFIX}tokens.used", 90_000),
    ),
    "a_write_that_raised_and_is_no_unknown": (
        "5: nobody can know what became of 1 executions of save",
        lambda left: replace(left, ran=[replace(r, manner="connection") if r.tool == "save" else r for r in left.ran]),
    ),
    "a_key_that_was_used_again": (
        "5: pay was done 2 times under one key",
        spans(lambda found: repeated(found, EXECUTE, 0, number=2)),
    ),
    "a_key_that_a_tool_saw_again": (
        "5: pay was called 2 times with the key",
        lambda left: replace(left, ran=[*left.ran, left.ran[2]]),
    ),
    "a_replay_of_nothing": (
        "5: a result was replayed",
        spans(lambda found: setattr(one(found, names.APPEND_RESULTS), "name", names.REPLAY)),
    ),
    "an_undoing_of_nothing": (
        "5: something was undone",
        spans(lambda found: one(found, EXECUTE, 1).attributes.update({names.COMPENSATION_CALL_ID: "c2"})),
    ),
    "a_compensation_without_a_span": (
        "5: 1 compensations ran, and spans show 0",
        lambda left: replace(left, undone=["save:2"]),
    ),
    "two_writes_at_once": (
        "5: two writes ran at the same time",
        spans(lambda found: setattr(one(found, EXECUTE, 1), "end_ns", one(found, EXECUTE, 2).end_ns)),
    ),
    "an_execution_after_an_unknown_write": ("5: something ran after", setting(EXECUTE, 1, OUTCOME, "unknown")),
    "a_request_after_an_unknown_write": ("5: the model was asked again", setting(EXECUTE, 1, OUTCOME, "unknown")),
    "an_unknown_write_that_stops_nothing": ("5: a write may have happened", setting(EXECUTE, 2, OUTCOME, "unknown")),
}


def attempt(execution: SpanRecord, number: int) -> SpanRecord:
    """A try of an execution."""
    made = copy.deepcopy(execution)
    made.name, made.span_id, made.parent_id, made.attributes = names.ATTEMPT, 8_000 + number, execution.span_id, {}
    return made


def left_open(left: Left) -> Left:
    """A request whose span has not ended."""
    left.spans.open.append(one(left.spans.ended_spans, "chat"))
    return left


def spent_by_others() -> SharedBudget:
    """Nine steps of two."""
    budget = SharedBudget(steps=2)
    budget.share().settle(Usage(steps=9))
    return budget


def copied_spans(spans: Spans) -> Spans:
    """Spans that can be changed."""
    made = Spans()
    made.ended_spans = copy.deepcopy(spans.ended_spans)
    return made


@pytest.mark.parametrize(("sentence", "forge"), FORGED.values(), ids=FORGED)
def test_a_forged_run_is_refused(run: Left, sentence: str, forge: Callable[[Left], Left]) -> None:
    """With a sentence that says which promise was broken, and how."""
    copied = replace(run, spans=copied_spans(run.spans), shared=SharedBudget(steps=9, tokens=90_000))
    assert copied.shared is not None
    copied.shared.share().settle(run.result.usage)
    assert broken_promises(copied) == []

    found = broken_promises(forge(copied))

    assert [said for said in found if said.startswith(sentence)], found
