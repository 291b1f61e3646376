"""A run out of spans of no dialect that is known: what has tokens is a request, and nothing else is guessed."""

from collections.abc import Iterator
from typing import Final

from traced_loop import names
from traced_loop.read.agent_run import AgentRun, Gap, StoredRequest
from traced_loop.read.trace import StoredSpan, StoredTrace

_INPUT: Final = (names.GEN_AI_INPUT_TOKENS, "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
_OUTPUT: Final = (names.GEN_AI_OUTPUT_TOKENS, "gen_ai.usage.completion_tokens", "llm.token_count.completion")


def plain_run(trace: StoredTrace) -> AgentRun:
    """The run of a trace: from its first to its last sign of life."""
    requests = tuple(_requests(trace))
    gaps = {Gap.NO_STOP_REASON, Gap.NO_TOOLS, Gap.NO_FIRST_TOKEN}
    if any(request.input_tokens is None or request.output_tokens is None for request in requests):
        gaps.add(Gap.NO_USAGE)
    return AgentRun(
        id=next((span.trace_id for span in trace.spans if span.trace_id), ""),
        dialect="gen_ai",
        trace=trace,
        model=requests[0].model if requests else "",
        start_ns=trace.begun_ns,
        end_ns=trace.last_ns,
        is_open=any(span.is_open for span in trace.spans),
        requests=requests,
        gaps=frozenset(gaps if requests else {*gaps, Gap.NO_REQUESTS}),
        problems=trace.problems,
    )


def _requests(trace: StoredTrace) -> Iterator[StoredRequest]:
    """The lowest spans with tokens: a parent with tokens is a sum."""
    with_tokens = [n for n, span in enumerate(trace.spans) if _count(span, _INPUT + _OUTPUT) is not None]
    above: set[int] = set()
    for n in with_tokens:
        at = trace.parents[n]
        while at is not None and at not in above:
            above.add(at)
            at = trace.parents[at]
    lowest = sorted((n for n in with_tokens if n not in above), key=lambda n: (trace.spans[n].start_ns, n))
    for step, n in enumerate(lowest, 1):
        span = trace.spans[n]
        yield StoredRequest(
            span=span.key,
            step=step,
            model=span.text(names.GEN_AI_REQUEST_MODEL) or "",
            response_model=span.text(names.GEN_AI_RESPONSE_MODEL) or "",
            response_id=span.text(names.GEN_AI_RESPONSE_ID) or "",
            provider=span.text(names.GEN_AI_PROVIDER) or "",
            start_ns=span.start_ns,
            end_ns=span.end_ns,
            input_tokens=_count(span, _INPUT),
            output_tokens=_count(span, _OUTPUT),
            cached_tokens=span.count(names.GEN_AI_CACHED_TOKENS),
            reasoning_tokens=span.count(names.GEN_AI_REASONING_TOKENS),
            error_type=span.text(names.ERROR_TYPE),
            is_open=span.is_open,
        )


def _count(span: StoredSpan, keys: tuple[str, ...]) -> int | None:
    return next((found for key in keys if (found := span.count(key)) is not None), None)
