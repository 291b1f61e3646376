"""Spans of nobody known: what has tokens is a request, the lowest of them, and the rest is not guessed."""

from traced_loop import names
from traced_loop.read.agent_run import Gap
from traced_loop.read.plain_run import plain_run
from traced_loop.read.span_tree import build
from traced_loop.read.trace import StoredSpan


def span(number: int, parent: int = 0, **attributes: object) -> StoredSpan:
    """A span of one trace."""
    return StoredSpan(
        trace_id="a" * 32,
        span_id=f"{number:016x}",
        parent_id=f"{parent:016x}" if parent else "",
        start_ns=number,
        end_ns=10 * number,
        attributes=attributes,
    )


def test_the_lowest_spans_with_tokens_are_the_requests() -> None:
    """In the order of their start; a parent with tokens is a sum."""
    given = {names.GEN_AI_INPUT_TOKENS: 5, names.GEN_AI_OUTPUT_TOKENS: 1}
    run = plain_run(build([span(1, **given), span(3, 1, **given), span(2, 1, **{"llm.token_count.prompt": 7})]))

    assert [(r.step, r.span and r.span[1][-1], r.input_tokens, r.output_tokens) for r in run.requests] == [
        (1, "2", 7, None),
        (2, "3", 5, 1),
    ]
    assert (run.id, run.start_ns, run.end_ns) == ("a" * 32, 1, 30)
    assert {Gap.NO_USAGE, Gap.NO_STOP_REASON} <= run.gaps


def test_spans_without_tokens_have_no_request() -> None:
    """And it is said."""
    run = plain_run(build([span(1)]))
    assert (run.requests, Gap.NO_REQUESTS in run.gaps) == ((), True)
