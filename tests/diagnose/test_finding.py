"""Evidence is bounded, and costs in different units compare by their part of the run."""

from decimal import Decimal

from traced_loop.diagnose.finding import (
    MAX_EVIDENCE,
    Finding,
    FindingKind,
    Severity,
    Totals,
    call_text,
    indexes,
    of_calls,
    span_ids,
    untold,
)
from traced_loop.read.agent_run import AgentRun, Gap, StoredCall
from traced_loop.read.span_tree import build
from traced_loop.read.trace import StoredSpan


def test_evidence_is_bounded_and_names_each_span_once() -> None:
    """What has no id is left out."""
    keys = [("t", "a"), None, ("t", ""), ("t", "a"), *(("t", f"s{n}") for n in range(50))]
    calls = [StoredCall(index=n, spans=(("t", f"c{n}"),)) for n in range(50)]

    assert span_ids(keys)[:2] == ("a", "s0")
    assert len(span_ids(keys)) == len(of_calls(calls)) == len(indexes(calls)) == MAX_EVIDENCE
    assert of_calls([StoredCall(index=0)]) == ()


def test_a_share_is_the_largest_part_of_what_is_known() -> None:
    """Unknown totals count nothing; nothing is more than the whole."""
    finding = Finding(
        kind=FindingKind.FAT_RESULT,
        severity=Severity.WASTE,
        title="",
        cost_ns=10,
        cost_usd=Decimal("0.5"),
        cost_tokens=300,
    )
    assert Totals().share(finding) == 0
    assert Totals(duration_ns=100, cost_usd=Decimal(1), tokens=400).share(finding) == 0.75
    assert Totals(duration_ns=100, cost_usd=Decimal(1)).share(finding) == 0.5
    assert Totals(duration_ns=5).share(finding) == 1


def test_a_call_is_named_by_its_tool_and_its_id() -> None:
    """As far as they are known."""
    assert call_text(StoredCall(index=0, tool="look", call_id="c1")) == "look (c1)"
    assert call_text(StoredCall(index=0, tool="look")) == "look"
    assert call_text(StoredCall(index=0)) == "a tool"


def test_only_what_the_run_cannot_tell_is_said_to_be_untold() -> None:
    """In the order that was asked for."""
    run = AgentRun(id="r", dialect="gen_ai", trace=build([]), gaps=frozenset({Gap.NO_USAGE, Gap.NO_PRICES}))
    assert untold(run, Gap.NO_PRICES, Gap.NO_TIMES, Gap.NO_USAGE) == (Gap.NO_PRICES, Gap.NO_USAGE)


def test_an_id_that_is_none_is_cut_where_it_is_shown() -> None:
    """A whole one has 16 digits; a stranger's can be as long as a secret, or a book."""
    assert span_ids([("t", "x" * 5000)]) == ("x" * 32,)
    [problem] = build([StoredSpan(trace_id="t", span_id="x" * 5000, parent_id="y" * 5000, name="n")]).problems
    assert (len(problem.text) < 200, problem.span_ids) == (True, ("x" * 32, "y" * 32))
