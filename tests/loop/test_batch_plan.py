"""What a loop would do with some calls, without doing any of it."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from traced_loop import Budget, Loop, Policy, ScriptedModel, deny_when, raw_tool, tool
from traced_loop.loop.batch_plan import Plan
from traced_loop.messages import ToolCall
from traced_loop.read.local_store import LocalStore
from traced_loop.read.stored_plan import stored_table
from traced_loop.rules.decision_table import DecisionTable, Row
from traced_loop.testing import calls
from traced_loop.tool_registry import ToolDefinition, ToolRegistry

RAN: list[str] = []


def definition(name: str, **options: Any) -> ToolDefinition:
    """A tool of that name with one optional integer."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}

    def run(n: int = 0) -> int:
        RAN.append(name)
        return n

    return raw_tool(run, name=name, schema=schema, **{"effect": "read", **options})


TOOLS = [
    definition("look"),
    definition("seek", serial_group="index"),
    definition("index", serial_group="index"),
    definition("sum_up", after={"look"}),
    definition("save", effect="write"),
    definition("drop", effect="write", risk="high"),
]


def proposed(*given: tuple[str, Any]) -> list[ToolCall]:
    """Calls of one answer."""
    return [
        ToolCall(id=f"call_{n}", index=n - 1, name=name, arguments=json.dumps(arguments))
        for n, (name, arguments) in enumerate(given, 1)
    ]


def planned(*given: tuple[str, Any], **options: Any) -> DecisionTable:
    """The table of some calls."""
    plan = Plan(registry=ToolRegistry(TOOLS), **options)
    return asyncio.run(plan.decide(proposed(*given)))


def turns(table: DecisionTable) -> list[tuple[int | None, str | None, str | None, tuple[str, ...]]]:
    """Turn, mode, reason and what is waited for, call by call."""
    return [(row.turn, row.mode, row.why, row.waits_for) for row in table.rows]


def test_the_order_is_told_before_anything_runs() -> None:
    """Reads together, the write alone, what follows it after it; nothing was called."""
    RAN.clear()
    table = planned(("look", {}), ("look", {"n": 1}), ("save", {}), ("look", {}))

    assert turns(table) == [
        (1, "parallel", "reads_together", ()),
        (1, "parallel", "reads_together", ()),
        (2, "barrier", "write", ("call_1", "call_2")),
        (3, "serial", "write", ("call_3",)),
    ]
    assert [row.asks for row in table.rows] == [False, False, True, False]
    assert (table.stop, RAN) == (None, [])


def test_a_refused_call_has_its_outcome_and_no_turn() -> None:
    """Its siblings have theirs."""
    table = planned(("look", {"n": "1"}), ("lok", {}), ("look", {}))

    assert [(row.tool, row.validation, row.problem, row.turn, row.outcome) for row in table.rows] == [
        ("look", "rejected", "wrong_type: n", None, "invalid"),
        ("_unknown", "rejected", "unknown_tool", None, "unknown_tool"),
        ("look", "valid", None, 1, None),
    ]


def test_a_denial_stops_all_or_is_told() -> None:
    """As the policy says."""
    rule = deny_when("drop", name="never_drop")
    stopped = planned(("look", {}), ("drop", {}), policy=Policy(rules=[rule]))
    told = planned(("look", {}), ("drop", {}), policy=Policy(rules=[rule], on_deny="report"))

    assert [row.outcome for row in stopped.rows] == ["skipped_stop", "denied"]
    assert (stopped.stop, stopped.detail) == ("tool_not_allowed", "drop was denied by the rule never_drop")
    assert [(row.rule, row.turn, row.outcome) for row in told.rows] == [
        ("default_read", 1, None),
        ("never_drop", None, "denied"),
    ]


@pytest.mark.parametrize(("limit", "outcomes"), [(2, [None, None]), (1, ["skipped_budget", "skipped_budget"])])
def test_a_batch_over_the_limit_runs_none_of_its_calls(limit: int, outcomes: list[str | None]) -> None:
    """The limit itself is inside."""
    table = planned(("look", {}), ("look", {"n": 1}), budget=Budget(tool_calls=limit))

    assert [row.outcome for row in table.rows] == outcomes
    assert table.stop == (None if limit == 2 else "tool_budget_exceeded")


def test_nobody_is_asked_to_confirm() -> None:
    """A plan is no question; rules decide, people do not."""

    def ask(_: object) -> bool:
        raise AssertionError("asked")

    table = planned(("save", {}), policy=Policy(confirm=ask))

    assert (table.rows[0].decision, table.rows[0].asks) == ("needs_confirmation", True)


def decided(table: DecisionTable) -> list[Row]:
    """The rows without what only a run can know."""
    return [
        Row(
            **{
                name: getattr(row, name)
                for name in Row.__dataclass_fields__
                if name not in {"confirmation", "outcome", "effect"}
            }
        )
        for row in table.rows
    ]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    given=st.lists(
        st.tuples(st.sampled_from([*(t.name for t in TOOLS), "lok"]), st.sampled_from([{}, {"n": 1}, {"n": "1"}])),
        min_size=1,
        max_size=7,
    ),
    denied=st.sampled_from([(), ("drop",)]),
)
def test_what_is_planned_is_what_a_run_does(tmp_path: Path, given: list[Any], denied: tuple[str, ...]) -> None:
    """The table of a plan, and the table of the stored step in which the same calls ran, are the same."""
    policy = Policy(deny=denied, on_deny="report", confirm=lambda _: True)
    loop = Loop(ScriptedModel([calls(*given), "done"]), TOOLS, policy=policy, store=tmp_path, max_parallel=2)
    run_id = loop.run("Go.").run_id
    with LocalStore.open(tmp_path) as opened:
        step, stored = stored_table(opened.trace(run_id))

    plan = planned(*given, policy=policy, max_parallel=2)
    assert step == 1
    assert decided(stored) == decided(plan)
    assert all(row.outcome for row in stored.rows)


def test_a_tool_that_is_planned_may_be_async() -> None:
    """Nothing of it is started, so nothing is left unawaited."""

    @tool(effect="read")
    async def later() -> int:
        """Read later."""
        raise AssertionError("ran")

    plan = Plan(registry=ToolRegistry([later]))
    assert asyncio.run(plan.decide(proposed(("later", {})))).rows[0].mode == "serial"
