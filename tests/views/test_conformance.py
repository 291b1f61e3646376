"""A line per violation, then how many there are and what was not checked."""

from traced_loop.diagnose.conformance import Conformance, Rule, Violation
from traced_loop.views.conformance import MAX_LINES, conformance_json, conformance_lines

BROKEN = Violation(rule=Rule.ONE_OUTCOME, text="the call \x1bc has 2 outcomes", span_ids=("a" * 16,))


def shown(*found: Conformance) -> list[str]:
    """The lines without colour."""
    return [line.plain for line in conformance_lines(found)]


def test_a_violation_is_a_line_with_rule_and_span() -> None:
    """Text of the trace is safe."""
    lines = shown(Conformance(run_id="run-1", violations=(BROKEN,)), Conformance(run_id="run-2"))
    assert lines == [
        f"run-1  one_outcome  the call \\x1bc has 2 outcomes  {'a' * 16}",
        "1 violation in 1 of 2 runs",
    ]


def test_many_violations_are_counted() -> None:
    """The report stays short."""
    lines = shown(Conformance(run_id="run-1", violations=(BROKEN,) * (MAX_LINES + 2)))
    assert lines[-2:] == ["2 more; --json has all", f"{MAX_LINES + 2} violations in 1 of 1 run"]


def test_what_was_not_checked_is_said() -> None:
    """Of other dialects."""
    lines = shown(Conformance(run_id="t", not_checked=(Rule.ONE_RESULT, Rule.SUMS_TRUE)))
    assert lines == [
        "0 violations in 0 of 1 run",
        "not checked in 1 run of another dialect:  one_result  sums_true",
    ]


def test_json_has_every_violation() -> None:
    """With its rule, text and spans."""
    value = conformance_json(Conformance(run_id="run-1", violations=(BROKEN,)))
    assert value == {
        "id": "run-1",
        "violations": [{"rule": "one_outcome", "text": BROKEN.text, "span_ids": ["a" * 16]}],
        "not_checked": [],
        "running": False,
    }
