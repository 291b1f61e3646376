"""A real Prometheus reads a real process: a hung run is seen while it hangs, and sums are the loop's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .child_process import poll
from .metrics_process import running_workload
from .prometheus import PrometheusMissingError, find_program, running_prometheus

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real

try:
    find_program("prometheus")
except PrometheusMissingError as missing:
    pytestmark = [pytest.mark.real, pytest.mark.skip(reason=str(missing))]

HUNG = 'traced_loop_run_active{traced_loop_waits_for="tool", gen_ai_tool_name="hang"} == 1'
WAIT = 'traced_loop_run_longest_wait_seconds{gen_ai_tool_name="hang"}'


def test_a_hung_run_is_seen_while_it_hangs(tmp_path: Path) -> None:
    """What it waits for by name, and for longer and longer; beside it one that waits for a person, and no other."""
    with running_workload("good", tmp_path) as workload, running_prometheus(tmp_path, {"p": workload.port}) as seen:
        workload.hang()
        [first] = seen.wait_for(HUNG)
        assert first["metric"]["gen_ai_agent_name"] == "good"
        begun = seen.number(WAIT)
        poll(lambda: seen.number(WAIT) > begun + 0.5, within=60, otherwise=lambda: f"{seen.query(WAIT)}")
        workload.work()
        assert seen.number("sum(traced_loop_run_active)") == 2


def test_the_sums_are_the_loops_own(tmp_path: Path) -> None:
    """Runs by stop reason, steps, requests, calls, tokens and cost: as the results say, to the last one."""
    with running_workload("bad", tmp_path) as workload, running_prometheus(tmp_path, {"p": workload.port}) as seen:
        totals = workload.work()
        seen.wait_for(f"sum(traced_loop_run_count_total) == {sum(totals['runs'].values())}")
        by_reason = seen.query("sum by (traced_loop_run_stop_reason) (traced_loop_run_count_total) > 0")
        found = {each["metric"]["traced_loop_run_stop_reason"]: int(each["value"][1]) for each in by_reason}
        assert found == totals["runs"]
        sums = {
            "steps": "sum(traced_loop_run_steps_sum)",
            "requests": "sum(gen_ai_client_operation_duration_seconds_count)",
            "tool_calls": "sum(gen_ai_execute_tool_duration_seconds_count)",
            "input_tokens": 'sum(gen_ai_client_token_usage_sum{gen_ai_token_type="input"})',
            "output_tokens": 'sum(gen_ai_client_token_usage_sum{gen_ai_token_type="output"})',
        }
        assert {key: seen.number(expression) for key, expression in sums.items()} == {key: totals[key] for key in sums}
        for cost in ("sum(traced_loop_cost_USD_total)", "sum(traced_loop_run_cost_USD_sum)"):
            assert seen.number(cost) == pytest.approx(totals["cost_usd"])
