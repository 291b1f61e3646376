"""A person who answers in time is no waste, and a run that waits for one is paused."""

from __future__ import annotations

from typing import Any

import pytest

from traced_loop import Policy, tool
from traced_loop.diagnose.diagnosis import Diagnosis, diagnose
from traced_loop.diagnose.finding import Finding, FindingKind, Severity
from traced_loop.testing import CountedClock, calls
from traced_loop.views.diagnosis import diagnosis_json, diagnosis_lines

from .stored_runs import played_run


@tool(effect="write")
async def reserve() -> str:
    """Is asked about."""
    return "reserved"


def asked(seconds: int, answer: bool | None) -> tuple[Diagnosis, list[Finding]]:
    """A run in which a person took that long; with what is found about the wait."""
    clock = CountedClock()

    def ask(_: object) -> Any:
        clock.advance(seconds)
        return answer

    script: list[Any] = [calls(("reserve", {})), *([] if answer is None else ["42"])]
    found = diagnose(played_run(script, [reserve], clock=clock, policy=Policy(confirm=ask)))
    return found, [finding for finding in found.findings if finding.kind is FindingKind.CONFIRMATION]


@pytest.mark.parametrize("answer", [True, False], ids=["yes", "no"])
def test_an_answer_within_a_minute_is_a_note_without_advice(answer: bool) -> None:
    """To ask is what the policy is for."""
    found, [wait] = asked(20, answer)

    assert (wait.severity, wait.prevent) == (Severity.NOTE, "")
    assert found.is_healthy


def test_an_answer_that_takes_longer_than_a_minute_is_waste() -> None:
    """No advice says that a rule should decide instead."""
    found, [wait] = asked(61, True)

    assert wait.severity is Severity.WASTE
    assert "confirm_seconds" in wait.prevent
    assert "allow_when" not in wait.prevent
    assert not found.is_healthy


def test_a_wait_that_came_to_no_answer_is_waste() -> None:
    """Somebody was asked, and the run stopped all the same."""
    _, [wait] = asked(20, None)

    assert wait.severity is Severity.WASTE


def test_a_run_that_waits_for_a_person_is_paused_and_not_healthy() -> None:
    """On its page, in an overview of many, and in JSON."""
    found = diagnose(played_run([calls(("reserve", {}))], [reserve]))
    page, many = diagnosis_lines([found]), diagnosis_lines([found] * 6)

    assert page[0].plain.startswith("paused")
    assert "waits for a person" in page[0].plain
    assert many[0].plain == "6 runs: 0 healthy, 6 paused, 0 not"
    assert (diagnosis_json(found)["healthy"], diagnosis_json(found)["paused"]) == (False, True)


def test_a_person_s_no_is_told_as_an_answer_and_not_as_a_rule_to_mend() -> None:
    """What a policy forbids is another finding, with another advice."""
    found, _ = asked(0, False)
    [denied] = [finding for finding in found.findings if finding.kind is FindingKind.DENIED]

    assert denied.title.startswith("a person said no to 1 call of reserve: it did not run")
    assert "change the rule" not in denied.prevent
    assert denied.prevent.startswith("nothing, if the no was meant")
    assert denied.numbers == {"rejected": 1}
