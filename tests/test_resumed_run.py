"""A run that stopped goes on: same id, same history, what was done stays done, what waits is decided."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from traced_loop import (
    Approved,
    Budget,
    Loop,
    ModelError,
    Policy,
    ScriptedModel,
    SharedBudget,
    StopReason,
    UsageError,
    allow_when,
    names,
    tool,
)
from traced_loop.diagnose.conformance import conform
from traced_loop.diagnose.repetition import repetitions
from traced_loop.read.local_store import LocalStore
from traced_loop.read.our_run import our_run
from traced_loop.records.index_reader import IndexReader
from traced_loop.records.store import Store
from traced_loop.records.write_rows import events_of_run
from traced_loop.testing import calls

if TYPE_CHECKING:
    from pathlib import Path

    from traced_loop.read.local_store import StoredRun
    from traced_loop.run_result import Pending, RunResult


class Shop:
    """Counts what is really done."""

    def __init__(self) -> None:
        self.paid: list[int] = []
        self.hangs = False

        @tool(effect="read")
        def look(n: int) -> str:
            """Look."""
            return f"seen {n}"

        @tool(effect="write")
        def pay(cents: int) -> str:
            """Pay."""
            self.paid.append(cents)
            if self.hangs:
                raise TimeoutError
            return f"paid {cents}"

        self.tools = [look, pay]

    def loop(self, *script: Any, **options: Any) -> Loop:
        """A loop of its own each time, as another process would have it."""
        return Loop(ScriptedModel(list(script)), self.tools, **options)


PAY = calls(("look", {"n": 1}), ("pay", {"cents": 5}), ("look", {"n": 2}))
LOOK = calls(("look", {"n": 1}))


def stored(run_id: str) -> StoredRun:
    """A run of the default store."""
    with LocalStore.open() as reader:
        return reader.run(run_id)


def tree(run_id: str, trace: int) -> list[str]:
    """The lines of one trace of a run, the calls with what became of them."""
    run = stored(run_id)
    ids = list(dict.fromkeys(span.trace_id for _, span in run.trace.walk()))
    keys = (names.CALL_OUTCOME, names.CONFIRMATION_STATE, names.RUN_STOP_REASON, names.STEP_OUTCOME)
    found: list[str] = []
    for depth, span in run.trace.walk():
        if span.trace_id == ids[trace]:
            word = next((f" -> {text}" for key in keys if (text := span.text(key))), "")
            found.append(f"{'  ' * depth}{span.name.removeprefix('traced_loop.')}{word}")
    return found


def told(result: RunResult) -> list[str]:
    """What the model was told of its calls, in a word or in the result."""
    contents = [json.loads(m["content"]) for m in result.messages if m["role"] == "tool"]
    return [content.get("type") or str(content["result"]) for content in contents]


def assert_whole(run_id: str) -> None:
    """Every promise is kept, over all traces of the run."""
    assert [each.text for each in conform(our_run(stored(run_id).trace)).violations] == []


def test_a_paused_call_is_confirmed_and_the_run_goes_on(home: Path) -> None:
    """The call and those behind it run in a step of the same number, and their results take the place of the old."""
    shop = Shop()
    first = shop.loop(PAY).run("Go.")
    assert (first.stop_reason, told(first)) == (
        "confirmation_required",
        ["seen 1", "confirmation_required", "skipped_stop"],
    )

    result = shop.loop("done").resume(first.run_id, confirm=["call_2"], by="ann")

    assert (result.answer, result.run_id, told(result)) == ("done", first.run_id, ["seen 1", "paid 5", "seen 2"])
    assert (shop.paid, result.usage.steps, result.usage.tool_calls) == ([5], 2, 3)
    assert tree(first.run_id, 1) == [
        "invoke_agent agent -> final_answer",
        "  step -> calls_handled",
        "    validate_call",
        "    validate_call",
        "    authorize_call",
        "    authorize_call",
        "    check_budget",
        "    authorize_call -> approved",
        "    execute_tool pay -> ok",
        "    execute_tool look -> ok",
        "    append_results",
        "    check_budget",
        "  check_budget",
        "  step -> final",
        "    chat scripted",
        "    check_budget",
    ]
    roots = [span for span in stored(first.run_id).trace.spans if span.is_run]
    assert [(link.trace_id, link.span_id) for link in roots[1].links] == [roots[0].key]
    assert roots[1].count(names.RUN_RESUMED) == 1
    events = events_of_run(IndexReader(home / "store.db"), first.run_id)
    assert [(event.event, event.by) for event in events] == [
        ("approved", "ann"),
        ("running", "loop"),
        ("succeeded", "loop"),
    ]
    assert_whole(first.run_id)


def test_a_rejected_call_never_runs_whatever_the_policy_says_by_now(home: Path) -> None:
    """The model is told, and what was behind it runs."""
    shop = Shop()
    first = shop.loop(PAY).run("Go.")

    allowing = Policy(rules=[allow_when(["pay"])])
    result = shop.loop("done", policy=allowing).resume(first.run_id, reject=["call_2"], by="ann")

    assert (shop.paid, told(result)) == ([], ["seen 1", "confirmation_rejected", "seen 2"])
    decided = [span for span in stored(first.run_id).trace.spans if span.text(names.CONFIRMATION_STATE) == "rejected"]
    assert [span.text(names.CONFIRMATION_BY) for span in decided] == ["ann"]
    events = events_of_run(IndexReader(home / "store.db"), first.run_id)
    assert [(event.event, event.by) for event in events] == [("rejected", "ann")]
    assert_whole(first.run_id)


def test_a_run_that_has_its_answer_gives_it_again(home: Path) -> None:
    """Nothing is asked of the model, and not a byte of the store changes."""
    shop = Shop()
    first = shop.loop(PAY).run("Go.")
    result = shop.loop("done").resume(first.run_id, confirm=["call_2"])
    before = stored(first.run_id)

    again = shop.loop().resume(first.run_id)

    assert (again.answer, again.messages, again.stop_reason) == ("done", result.messages, StopReason.FINAL_ANSWER)
    assert again.usage.steps == 2
    assert stored(first.run_id) == before
    assert shop.paid == [5]


def test_a_yes_to_other_tools_is_no_yes(home: Path) -> None:
    """A tool that has changed since a person saw the call is asked about anew; the second yes is to what it is now."""
    shop = Shop()
    first = shop.loop(PAY).run("Go.")

    @tool(effect="write")
    def pay(cents: int) -> str:
        """Pay somebody else."""
        shop.paid.append(-cents)
        return "paid"

    changed = [shop.tools[0], pay]
    asked = Loop(ScriptedModel([]), changed).resume(first.run_id, confirm=["call_2"])
    assert (asked.stop_reason, shop.paid) == ("confirmation_required", [])
    assert "the yes was not taken, because the question was put with other tools" in asked.stop_detail

    result = Loop(ScriptedModel(["done"]), changed).resume(first.run_id, confirm=["call_2"])
    assert (result.answer, shop.paid) == ("done", [-5])
    assert_whole(first.run_id)


@pytest.mark.parametrize(
    ("said", "stop"), [(True, "final_answer"), (None, "confirmation_required")], ids=["yes", "nothing"]
)
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_where_a_yes_is_not_taken_the_approver_of_the_loop_is_asked(
    home: Path, said: bool | None, stop: str, is_async: bool
) -> None:
    """With why there is a question; where it says nothing, the result has why the yes was none."""
    shop = Shop()
    first = shop.loop(PAY).run("Go.")
    shown: list[str] = []

    def ask(pending: Pending) -> bool | None:
        shown.append(pending.reason)
        return said

    async def ask_later(pending: Pending) -> bool | None:
        return ask(pending)

    @tool(effect="read")
    def another() -> str:
        """Read."""
        return ""

    policy = Policy(confirm=ask_later if is_async else ask)
    loop = Loop(ScriptedModel(["done"]), [*shop.tools, another], policy=policy)
    result = loop.resume(first.run_id, confirm=["call_2"])

    assert (result.stop_reason, len(shown)) == (stop, 1)
    assert shown[0].startswith("writes are confirmed; the yes was not taken, because")
    assert ("the yes was not taken" in result.stop_detail) is (said is None)
    assert_whole(first.run_id)


def test_a_tool_that_is_gone_is_an_unknown_tool(home: Path) -> None:
    """The call is refused, and the run goes on."""
    shop = Shop()
    first = shop.loop(PAY).run("Go.")
    result = Loop(ScriptedModel(["done"]), shop.tools[:1]).resume(first.run_id)
    assert (result.answer, told(result)) == ("done", ["seen 1", "unknown_tool", "seen 2"])
    assert_whole(first.run_id)


def test_the_approver_of_the_loop_is_asked_where_nothing_was_said(home: Path) -> None:
    """As for any call."""
    shop = Shop()
    first = shop.loop(PAY).run("Go.")
    asking = Policy(confirm=lambda pending: Approved(by="ann", fingerprint=pending.fingerprint))
    assert shop.loop("done", policy=asking).resume(first.run_id).answer == "done"
    assert shop.paid == [5]


@pytest.mark.parametrize(
    ("confirm", "reject", "said"),
    [
        (["call_9"], [], "no call 'call_9' of the run .* waits for a person: what waits: call_2"),
        (["call_3"], [], "no call 'call_3'"),
        (["call_2"], ["call_2"], "is confirmed and rejected"),
    ],
)
def test_a_word_about_what_does_not_wait_is_refused(
    home: Path, confirm: list[str], reject: list[str], said: str
) -> None:
    """And the run is left as it is."""
    shop = Shop()
    first = shop.loop(PAY).run("Go.")
    before = stored(first.run_id)
    with pytest.raises(UsageError, match=said):
        shop.loop().resume(first.run_id, confirm=confirm, reject=reject)
    assert stored(first.run_id) == before


def test_an_exhausted_run_says_what_to_add_and_goes_on_with_it(home: Path) -> None:
    """Its own limits hold, whatever the loop's are now; steps go on counting."""
    shop = Shop()
    first = shop.loop(LOOK, calls(("look", {"n": 2})), budget=Budget(steps=2)).run("Go.")
    assert first.stop_reason == "max_steps_exceeded"
    before = stored(first.run_id)

    with pytest.raises(UsageError, match=r"within its limit steps=2 \(2 used\): add to it, for example --add steps=5"):
        shop.loop("done", budget=Budget(steps=50)).resume(first.run_id)
    assert stored(first.run_id) == before

    result = shop.loop("done").resume(first.run_id, add={"steps": 1})
    assert (result.answer, result.usage.steps, result.headroom["steps"].limit) == ("done", 3, 3)
    assert_whole(first.run_id)


def test_what_a_limit_kept_from_running_runs_when_it_is_raised(home: Path) -> None:
    """The batch that did not fit is taken up, and no new answer is asked for before."""
    shop = Shop()
    first = shop.loop(calls(("look", {"n": 1}), ("look", {"n": 2})), budget=Budget(tool_calls=1)).run("Go.")
    assert told(first) == ["skipped_budget", "skipped_budget"]
    result = shop.loop("done").resume(first.run_id, add={"tool_calls": 1})
    assert (result.answer, told(result)) == ("done", ["seen 1", "seen 2"])
    assert_whole(first.run_id)


@pytest.mark.parametrize(
    ("add", "said"),
    [({"stairs": 1}, "no limit 'stairs'"), ({"cost_usd": 1}, "has no limit cost_usd"), ({"steps": 0}, "steps")],
)
def test_what_cannot_be_added_is_refused(home: Path, add: dict[str, float], said: str) -> None:
    """With the name of the limit."""
    shop = Shop()
    first = shop.loop(LOOK, budget=Budget(steps=1)).run("Go.")
    with pytest.raises(UsageError, match=said):
        shop.loop("done").resume(first.run_id, add=add)


def test_an_unknown_write_waits_for_what_a_person_finds_out(home: Path) -> None:
    """Until then the run stops again and nothing runs; what was done is then told with its result, once."""
    shop = Shop()
    shop.hangs = True
    allowing = Policy(rules=[allow_when(["pay"])])
    first = shop.loop(PAY, policy=allowing).run("Go.")
    assert (first.stop_reason, shop.paid) == ("outcome_unknown", [5])
    shop.hangs = False

    again = shop.loop(policy=allowing).resume(first.run_id)
    assert (again.stop_reason, shop.paid, told(again)[1]) == ("outcome_unknown", [5], "unknown")

    from .command_line import traced_loop

    assert traced_loop("resolve", first.run_id, "call_2", "--done", "--result", "paid 5").code == 0
    result = shop.loop("done", policy=allowing).resume(first.run_id)
    assert (result.answer, shop.paid, told(result)) == ("done", [5], ["seen 1", "paid 5", "seen 2"])
    assert_whole(first.run_id)


def test_a_failed_request_is_made_again(home: Path) -> None:
    """A run that ends with a message to the model goes on with it."""
    shop = Shop()
    first = shop.loop(LOOK, ModelError("no", error_type="404", status=404)).run("Go.")
    assert first.stop_reason == "model_error"
    result = shop.loop("done").resume(first.run_id)
    assert (result.answer, told(result), result.usage.steps) == ("done", ["seen 1"], 3)
    assert_whole(first.run_id)


def test_where_the_model_has_spoken_last_a_person_has_to_say_something(home: Path) -> None:
    """A cut answer is no answer; the run goes on with a prompt."""
    shop = Shop()
    cut = {
        "model": "scripted",
        "choices": [{"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": "It is"}}],
    }
    first = shop.loop(cut).run("Go.")
    assert first.stop_reason == "truncated_response"
    with pytest.raises(UsageError, match=r"stopped with truncated_response after an answer of the model.*--prompt"):
        shop.loop("done").resume(first.run_id)
    result = shop.loop("done").resume(first.run_id, prompt="Shorter.")
    assert [message["content"] for message in result.messages] == ["Go.", "It is", "Shorter.", "done"]
    assert_whole(first.run_id)


def test_repetitions_are_found_as_if_the_run_had_not_stopped(home: Path) -> None:
    """The same call for the third time is nudged and for the fourth stops the run, wherever it was interrupted."""
    shop = Shop()
    whole = shop.loop(LOOK, LOOK, LOOK, LOOK).run("Go.")
    assert whole.stop_reason == "repetition_detected"

    parts = shop.loop(LOOK, LOOK, budget=Budget(steps=2)).run("Go.")
    result = shop.loop(LOOK, LOOK).resume(parts.run_id, add={"steps": 6})

    assert result.stop_reason == "repetition_detected"
    shown = [(each.kind, each.due, each.step, each.count) for each in whole.repetitions]
    assert [(each.kind, each.due, each.step, each.count) for each in result.repetitions] == shown
    found = repetitions(our_run(stored(parts.run_id).trace))
    assert [(each.kind, each.due, each.step, each.count) for each in found] == shown
    assert_whole(parts.run_id)


def test_what_a_person_says_begins_the_count_anew_live_and_in_the_trace(home: Path) -> None:
    """Also where the step after it came to nothing, and the run was resumed once more."""
    shop = Shop()
    first = shop.loop(*[LOOK] * 3, budget=Budget(steps=3)).run("Go.")
    failing = shop.loop(ModelError("no", error_type="400", status=400))
    failed = failing.resume(first.run_id, add={"steps": 5}, prompt="Look once more.")

    result = shop.loop(*[LOOK] * 3, "Seen.").resume(first.run_id)

    assert (failed.stop_reason, result.stop_reason) == ("model_error", "final_answer")
    found = repetitions(our_run(stored(first.run_id).trace))
    shown = [(each.kind, each.due, each.step, each.count) for each in result.repetitions]
    assert [(each.kind, each.due, each.step, each.count) for each in found] == shown
    assert not any(each.due == "stop" for each in found)
    assert conform(our_run(stored(first.run_id).trace)).violations == ()


def test_the_same_write_in_a_later_step_is_another_one_also_after_a_resume(home: Path) -> None:
    """What the run did before it stopped is not taken for what it does now, and a person is asked."""
    shop = Shop()
    again = calls(("pay", {"cents": 5}))
    yes = Policy(confirm=lambda _: True)
    first = shop.loop(again, again).run("Go.")
    assert first.stop_reason == "confirmation_required"
    second = shop.loop(again).resume(first.run_id, confirm=["call_1"])
    assert (second.stop_reason, second.pending[0].rule, shop.paid) == ("confirmation_required", "repeated_write", [5])
    result = shop.loop("done", policy=yes).resume(first.run_id)
    assert (result.answer, shop.paid) == ("done", [5, 5])
    assert_whole(first.run_id)


def test_a_shared_budget_counts_only_what_is_spent_from_now_on(home: Path) -> None:
    """What the run had spent before was counted then."""
    shop, shared = Shop(), SharedBudget(name="team", tool_calls=10)
    first = shop.loop(PAY, shared_budget=shared).run("Go.")
    assert shared.spent.tool_calls == 1
    shop.loop("done", shared_budget=shared).resume(first.run_id, confirm=["call_2"])
    assert shared.spent.tool_calls == 3


def test_a_run_that_lives_or_is_not_there_is_refused(home: Path) -> None:
    """And says so."""
    shop = Shop()
    seen: list[str] = []

    def during(event: Any) -> None:
        if type(event).__name__ == "StepStarted":
            with pytest.raises(UsageError, match="still runs"):
                shop.loop().resume("last")
            seen.append("refused")

    shop.loop("done", on_event=during).run("Go.")
    assert seen == ["refused"]
    with pytest.raises(UsageError, match="there is no run"):
        shop.loop().resume("nothing")


def test_a_session_goes_on_over_several_runs(home: Path) -> None:
    """Each begins with the messages of the last; one that waits has to be resumed first."""
    shop = Shop()
    shop.loop("Hello.").run("Hi.", session_id="s1", continue_session=True)
    second = shop.loop(PAY).run("Pay.", session_id="s1", continue_session=True)
    assert [message.get("content") for message in second.messages][:3] == ["Hi.", "Hello.", "Pay."]
    with pytest.raises(UsageError, match=f"first `traced-loop resume {second.run_id}`"):
        shop.loop("no").run("More.", session_id="s1", continue_session=True)
    shop.loop("Paid.").resume(second.run_id, confirm=["call_2"])
    third = shop.loop("Bye.").run("Bye.", session_id="s1", continue_session=True)
    assert [message.get("content") for message in third.messages][-3:] == ["Paid.", "Bye.", "Bye."]
    with pytest.raises(UsageError, match="needs a session_id"):
        shop.loop("no").run("More.", continue_session=True)
    assert Store.open().read("SELECT count(*) FROM runs WHERE session_id = 's1'") == [(3,)]
