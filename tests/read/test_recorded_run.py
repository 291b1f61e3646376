"""What the spans of a run without an end say beside its line in the index."""

from __future__ import annotations

from decimal import Decimal

from traced_loop import names
from traced_loop.read.recorded_run import as_recorded, recorded_run
from traced_loop.read.run_entry import RunEntry
from traced_loop.read.span_tree import build
from traced_loop.read.trace import StoredSpan

ROOT = StoredSpan(
    trace_id="1",
    span_id="1",
    name="invoke_agent a",
    start_ns=1,
    is_open=True,
    attributes={names.GEN_AI_OPERATION: names.INVOKE_AGENT},
)
STEP = StoredSpan(trace_id="1", span_id="2", parent_id="1", name=names.STEP, start_ns=2, is_open=True)
CHAT = StoredSpan(
    trace_id="1",
    span_id="3",
    parent_id="2",
    name="chat m",
    start_ns=3,
    end_ns=4,
    attributes={
        names.GEN_AI_OPERATION: names.CHAT,
        names.GEN_AI_INPUT_TOKENS: 5,
        names.GEN_AI_OUTPUT_TOKENS: 6,
        names.COST_USD: 0.25,
    },
)
CALL = StoredSpan(
    trace_id="1",
    span_id="4",
    parent_id="2",
    name="execute_tool look",
    start_ns=5,
    is_open=True,
    attributes={names.GEN_AI_OPERATION: names.EXECUTE_TOOL},
)
ASKED = StoredSpan(
    trace_id="1", span_id="5", parent_id="2", name=names.VALIDATE_CALL, attributes={names.CALL_TOOL: "look"}
)
RUNNING = RunEntry(run_id="r", state="running")


def test_a_run_that_goes_on_has_what_it_is_at_and_what_it_spent_so_far() -> None:
    """Its innermost open span, and sums of what has been answered."""
    found = recorded_run(build([ROOT, STEP, CHAT, CALL, ASKED]))
    entry = as_recorded(RUNNING, found)

    assert (entry.state, entry.open_span) == ("running", CALL)
    assert (entry.steps, entry.tool_calls, entry.tokens, entry.cost_usd) == (1, 1, 11, Decimal("0.25"))
    assert found.tools == {"look"}


def test_a_run_whose_end_the_index_missed_has_ended() -> None:
    """Its own span says how."""
    whole = StoredSpan(
        trace_id="1",
        span_id="1",
        name=ROOT.name,
        start_ns=1,
        end_ns=9,
        attributes={**ROOT.attributes, names.RUN_STOP_REASON: "cancelled"},
    )
    entry = as_recorded(RUNNING, recorded_run(build([whole])))
    assert (entry.state, entry.stop_reason, entry.open_span) == ("ended", "cancelled", None)


def test_an_entry_that_has_ended_is_as_it_is() -> None:
    """Whatever its spans say."""
    ended = RunEntry(run_id="r", state="ended", stop_reason="refused")
    assert as_recorded(ended, recorded_run(build([ROOT, STEP]))) is ended


def test_a_run_without_any_span_is_as_the_index_has_it() -> None:
    """Nothing is made up."""
    assert as_recorded(RUNNING, recorded_run(build([]))) == RUNNING
