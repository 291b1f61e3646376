"""A form holds for exactly what was shown, and says of each call what its reader said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.waiting_calls import WaitingCall, WaitingRun
from traced_loop.web.approved_form import BoundForms, answers_of

CALL = WaitingCall(
    id="c1",
    tool="pay",
    arguments={"cents": 5},
    fingerprint="f1",
    effect="write",
    risk="low",
    rule="default_write",
    reason="writes are confirmed",
    identity="ann",
    asked_ns=1,
)
NEXT = replace(CALL, id="c2", arguments={"cents": 7})
RUN = WaitingRun(run_id="r", trace_id="t", tools_version="v", model="m", answer=1, waiting=(CALL,), behind=(NEXT,))


@pytest.mark.parametrize(
    "other",
    [
        replace(RUN, run_id="q"),
        replace(RUN, trace_id="u"),
        replace(RUN, tools_version="w"),
        replace(RUN, answer=3),
        replace(RUN, behind=()),
        replace(RUN, waiting=(CALL, NEXT), behind=()),
        replace(RUN, waiting=(replace(CALL, arguments={"cents": 5.0}),)),
        replace(RUN, waiting=(replace(CALL, arguments={"cents": 5, "to": "x"}),)),
        replace(RUN, waiting=(replace(CALL, arguments=None),)),
        *(replace(RUN, waiting=(replace(CALL, **{name: "x"}),)) for name in ("id", "tool", "fingerprint", "effect")),
        *(replace(RUN, waiting=(replace(CALL, **{name: "x"}),)) for name in ("risk", "rule", "reason", "identity")),
    ],
)
def test_a_form_about_anything_else_is_not_accepted(other: WaitingRun) -> None:
    """Where the run stands, each call, its order and its arguments all count."""
    forms = BoundForms()
    digest = forms.digest(RUN, "tools")
    assert forms.accepts(digest, RUN, "tools")
    assert not forms.accepts(digest, other, "tools")
    assert not forms.accepts(digest, RUN, "other tools")
    assert not BoundForms().accepts(digest, RUN, "tools")


@given(st.text(), st.text())
def test_no_text_runs_over_into_the_next(first: str, second: str) -> None:
    """Two splits of one text are two forms."""
    forms = BoundForms()
    one = replace(RUN, waiting=(replace(CALL, id=first, tool=second),))
    other = replace(RUN, waiting=(replace(CALL, id=first + second, tool=""),))
    assert forms.accepts(forms.digest(one, ""), other, "") == (second == "")
    assert not forms.accepts(first, RUN, "")


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"act": "approve"}, {"c1": True, "c2": True}),
        ({"act": "reject"}, {"c1": False, "c2": False}),
        ({"act": "each", "call.0": "approve", "call.1": "reject"}, {"c1": True, "c2": False}),
        ({"act": "each", "call.0": "reject", "call.1": "leave"}, {"c1": False}),
        ({"act": "ask_again"}, {}),
    ],
)
def test_each_call_has_the_answer_that_was_chosen(form: dict[str, str], said: dict[str, bool]) -> None:
    """A call that is left has none."""
    answers = answers_of({**form, "by": "Ann"}, RUN, "user")
    assert answers is not None
    assert (answers.said, answers.by) == (said, "Ann")


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"act": "each"},
        {"act": "each", "call.0": "leave", "call.1": "approve"},
        {"act": "yes", "call.0": "true"},
        {"act": "Approve"},
    ],
)
def test_what_says_nothing_of_a_call_that_waits_is_no_answer(form: dict[str, str]) -> None:
    """Only the very words are a yes or a no."""
    assert answers_of(form, RUN, "user") is None


@pytest.mark.parametrize(
    ("given", "by"), [("", "user"), (" \n\t", "user"), ("A\x1b[31m\u202en", "A[31mn"), ("x" * 100, "x" * 64)]
)
def test_a_name_is_one_printable_line(given: str, by: str) -> None:
    """It goes into the trace and the ledger."""
    form: dict[str, Any] = {"act": "approve", "by": given}
    answers = answers_of(form, RUN, "user")
    assert answers is not None
    assert answers.by == by
