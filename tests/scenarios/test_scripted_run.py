"""The runs that `demo` and `sandbox` play: each ends as it says, and shows what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import pytest

from traced_loop import StopReason, names
from traced_loop.errors import ScriptError
from traced_loop.models.scripted import calls
from traced_loop.read.local_store import LocalStore
from traced_loop.rules.pairing import pairing_problems
from traced_loop.scenarios.demo_runs import demo_runs
from traced_loop.scenarios.sandbox_runs import ASKED, Mode, sandbox_run
from traced_loop.scenarios.scripted_run import ScriptedRun
from traced_loop.tools import multiply

if TYPE_CHECKING:
    from pathlib import Path

    from traced_loop.read.trace import StoredSpan

DEMO = {run.name: run for run in demo_runs()}
SANDBOX = {mode: sandbox_run(mode) for mode in get_args(Mode)}
ALL = [*DEMO.values(), *SANDBOX.values()]


def spans_of(run: ScriptedRun, store: Path) -> list[StoredSpan]:
    """The stored spans of one playing of a run."""
    result = run.play(store)
    with LocalStore.open(store) as opened:
        return [span for _, span in opened.run(result.run_id).trace.walk()]


def outcomes(spans: list[StoredSpan]) -> list[object]:
    """The call outcomes, in order."""
    return [span.attributes[names.CALL_OUTCOME] for span in spans if names.CALL_OUTCOME in span.attributes]


@pytest.mark.parametrize("run", ALL, ids=[*DEMO, *SANDBOX])
def test_a_run_ends_as_told_and_is_recorded(tmp_path: Path, run: ScriptedRun) -> None:
    """The stop reason is the expected one, the history replayable, every span in the store."""
    result = run.play(tmp_path)
    assert result.stop_reason is run.expected
    assert pairing_problems(result.messages) == []
    assert result.receipt.spans_recorded == result.receipt.spans_started == result.receipt.spans_ended
    with LocalStore.open(tmp_path) as store:
        found = store.run(result.run_id)
    assert (found.entry.stop_reason, found.entry.agent, found.problems) == (run.expected, run.name, ())
    assert len(list(found.trace.walk())) == result.receipt.spans_started


@pytest.mark.parametrize("run", ALL, ids=[*DEMO, *SANDBOX])
def test_a_run_costs_a_made_up_price(tmp_path: Path, run: ScriptedRun) -> None:
    """So that cost can be seen where nothing is billed."""
    assert (run.play(tmp_path).cost or 0) > 0


def test_a_run_can_be_played_again(tmp_path: Path) -> None:
    """Each playing is a run of its own."""
    run = DEMO["correction"]
    assert run.play(tmp_path).run_id != run.play(tmp_path).run_id


def test_a_script_that_is_not_used_up_is_an_error(tmp_path: Path) -> None:
    """A story that no longer plays as it was written is noticed."""
    run = ScriptedRun(
        name="x",
        title="x",
        shows="x",
        prompt="Go.",
        script=["done", "never said"],
        tools=[multiply],
        expected=StopReason.FINAL_ANSWER,
    )
    with pytest.raises(ScriptError):
        run.play(tmp_path)


def test_a_script_that_is_too_short_is_an_error(tmp_path: Path) -> None:
    """A loop that asks more often than was written is noticed."""
    script = [calls(("multiply", {"a": 1, "b": 2}))]
    run = ScriptedRun(
        name="x", title="x", shows="x", prompt="Go.", script=script, tools=[multiply], expected=StopReason.FINAL_ANSWER
    )
    with pytest.raises(ScriptError):
        run.play(tmp_path)


def test_the_first_story_runs_two_reads_together(tmp_path: Path) -> None:
    """Each call id has one outcome, and both ran in one parallel group."""
    spans = spans_of(DEMO["two-calls"], tmp_path)
    assert outcomes(spans) == ["ok", "ok"]
    executed = [span for span in spans if span.name.startswith("execute_tool")]
    assert [span.attributes[names.SCHEDULE_MODE] for span in executed] == ["parallel", "parallel"]


def test_the_second_story_refuses_before_it_runs(tmp_path: Path) -> None:
    """Nothing is coerced: the text "62" is no number, the field is named, and the next call runs."""
    spans = spans_of(DEMO["correction"], tmp_path)
    assert outcomes(spans) == ["invalid", "ok"]
    refused = next(span for span in spans if span.name == names.VALIDATE_CALL)
    assert refused.attributes[names.VALIDATION_ERROR_CODE] == "wrong_type"
    assert "a" in str(refused.attributes[names.VALIDATION_ERROR_PATHS])


def test_the_third_story_refuses_the_fourth_request(tmp_path: Path) -> None:
    """Three requests are sent; the check before the fourth stops the run; the repetition is flagged, then nudged."""
    spans = spans_of(DEMO["limit"], tmp_path)
    assert sum(span.name.startswith("chat ") for span in spans) == 3
    last = [span for span in spans if span.name == names.CHECK_BUDGET][-1]
    assert last.attributes[names.RUN_STOP_REASON] == "max_steps_exceeded"
    flagged = [span.name for span in spans if names.REPETITION_KIND in span.attributes]
    assert sorted(flagged) == ["execute_tool query_order", "execute_tool query_order", names.CHECK_BUDGET]


def test_the_fourth_story_does_not_write(tmp_path: Path) -> None:
    """The read before the write ran, the write did not, and the run says what waits."""
    result = DEMO["confirmation"].play(tmp_path)
    assert [pending.tool for pending in result.pending] == ["create_ticket"]
    assert result.usage.tool_calls == 1


def test_the_sandbox_stops_at_a_tool_that_is_not_registered(tmp_path: Path) -> None:
    """Nothing was executed, and the call was answered all the same."""
    result = SANDBOX["unknown_tool"].play(tmp_path)
    assert (result.usage.tool_calls, result.messages[-1]["role"]) == (0, "tool")


def test_the_sandbox_ends_what_never_ends(tmp_path: Path) -> None:
    """Told at the third step, stopped at the fourth, with every call answered."""
    result = SANDBOX["loop_forever"].play(tmp_path)
    assert (result.usage.steps, result.usage.tool_calls) == (ASKED, ASKED)
