"""Tokens that stand in a trace more than once are counted once, and told."""

from __future__ import annotations

from dataclasses import replace

from traced_loop import names
from traced_loop.diagnose.doubles import counts, double_findings, doubles
from traced_loop.diagnose.finding import FindingKind
from traced_loop.read.agent_run import AgentRun, StoredRequest
from traced_loop.read.span_tree import build
from traced_loop.read.trace import StoredSpan

TRACE = "a" * 32
KEYS = (
    (names.GEN_AI_INPUT_TOKENS, names.GEN_AI_OUTPUT_TOKENS),
    ("gen_ai.usage.prompt_tokens", "gen_ai.usage.completion_tokens"),
    ("llm.token_count.prompt", "llm.token_count.completion"),
)


def span(number: int, parent: int = 0, tokens: tuple[int, int] | None = None, answer: str = "") -> StoredSpan:
    """A span with tokens, and an answer's id, or without."""
    given = {} if tokens is None else dict(zip(KEYS[0], tokens, strict=True))
    return StoredSpan(
        trace_id=TRACE,
        span_id=f"{number:016x}",
        parent_id=f"{parent:016x}" if parent else "",
        start_ns=number,
        end_ns=100 - number,
        attributes={**given, **({names.GEN_AI_RESPONSE_ID: answer} if answer else {})},
    )


def run_of(spans: list[StoredSpan], requests: list[int]) -> AgentRun:
    """A run in which these spans are read as requests."""
    shown = [s for s in spans if int(s.span_id, 16) in requests]
    return AgentRun(
        id="r",
        dialect="gen_ai",
        trace=build(spans),
        requests=[
            StoredRequest(
                span=s.key,
                step=n,
                response_id=s.text(names.GEN_AI_RESPONSE_ID) or "",
                input_tokens=(counts(s) or (0, 0))[0],
                output_tokens=(counts(s) or (0, 0))[1],
            )
            for n, s in enumerate(shown, 1)
        ],
    )


def test_tokens_are_found_in_every_spelling() -> None:
    """Old and new conventions, and OpenInference."""
    for given, got in KEYS:
        assert counts(replace(span(1), attributes={given: 3, got: 4})) == (3, 4)
    assert counts(replace(span(1), attributes={KEYS[0][1]: 4})) == (0, 4)
    assert counts(span(1)) is None


def test_each_request_once_is_no_double() -> None:
    """A parent without tokens repeats nothing."""
    assert doubles(run_of([span(1), span(2, 1, (5, 1)), span(3, 1, (7, 1))], [2, 3])) == ()


def test_a_parent_with_the_sum_is_a_roll_up() -> None:
    """At any height; each of several."""
    run = run_of([span(1, 0, (12, 2)), span(2, 1, (12, 2)), span(3, 2, (5, 1)), span(4, 2, (7, 1))], [3, 4])

    found = doubles(run)

    assert [(d.span[1][-1], d.is_roll_up) for d in found] == [("1", True), ("2", True)]
    assert all(len(double.of) == 2 for double in found)
    assert {finding.kind for finding in double_findings(run, found)} == {FindingKind.ROLL_UP}


def test_a_span_that_no_reader_takes_for_a_request_can_show_one_again() -> None:
    """Below it, beside it with its answer, or as the reader says."""
    spans = [span(1, 0, (5, 1), "resp_1"), span(2, 1, (5, 1)), span(3, 0, (5, 1), "resp_1"), span(4, 0, (5, 1))]
    run = run_of(spans, [1])
    told = replace(run, requests=[replace(run.requests[0], doubled=(spans[3].key,))])

    assert [(d.span[1][-1], d.of[0][1][-1]) for d in doubles(told)] == [("2", "1"), ("3", "1"), ("4", "1")]
    assert [d.span[1][-1] for d in doubles(run)] == ["2", "3"]
