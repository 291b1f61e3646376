"""What is found in the runs that other packages recorded of one scenario, and what they cannot tell.

The truth about the scenario (``tests/read/recordings``): three requests that end with an answer, the second tool call
of three fails, and the provider's cache is lost in the third request. Nothing else is wrong with it; what a row lacks
of that its recording does not show, and what it has more is about how the package records.
"""

from __future__ import annotations

import pytest

from traced_loop.diagnose.conformance import conform
from traced_loop.diagnose.diagnosis import diagnose

from ..read.recorded import FIXTURES, recorded_run

ALL = {"no_stop_reason"}
"""No convention has a place for why a run stopped."""
USUAL = ALL | {"no_first_token"}
CLIENT = USUAL | {"no_tools"}
"""Of a model's client nobody sees the tools run; what was told of them stands in the next request."""
BARE = {"no_arguments", "no_results", "no_history"}
"""Without content."""
OFF = USUAL | BARE | {"no_call_ids"}
UNCOUNTED = {"no_usage", "no_prices"}

TOOL, CACHE = "failing_tool", "cache_break"
BOTH = {TOOL, CACHE}

RECORDED: dict[str, tuple[set[str], set[str]]] = {
    "langsmith-0.15.1": (BOTH, USUAL),
    "openinference-instrumentation-langchain-0.1.80": (BOTH, USUAL),
    "openinference-instrumentation-langchain-0.1.80-doubled": (BOTH | {"doubled"}, USUAL),
    "openinference-instrumentation-langchain-0.1.80-off": (BOTH, OFF),
    "openinference-instrumentation-openai-0.1.66": (BOTH, CLIENT),
    "openinference-instrumentation-openai-0.1.66-off": ({CACHE}, CLIENT | OFF),
    # Without the cached part of the input.
    "openinference-instrumentation-openai-agents-2.6.0": ({TOOL}, USUAL),
    "openinference-instrumentation-openai-agents-2.6.0-off": ({TOOL}, OFF),
    "openinference-instrumentation-openai-agents-2.6.0-responses": (BOTH, USUAL),
    "opentelemetry-instrumentation-genai-openai-1.3b0": (BOTH, CLIENT),
    "opentelemetry-instrumentation-genai-openai-1.3b0-off": ({CACHE}, CLIENT | OFF),
    "opentelemetry-instrumentation-genai-openai-agents-1.3b0": (BOTH, USUAL),
    "opentelemetry-instrumentation-genai-openai-agents-1.3b0-off": (BOTH, OFF),
    "opentelemetry-instrumentation-genai-openai-agents-1.3b0-responses": (BOTH, USUAL),
    "opentelemetry-instrumentation-langchain-0.62.4": (BOTH, USUAL),
    "opentelemetry-instrumentation-langchain-0.62.4-off": (BOTH, OFF),
    "opentelemetry-instrumentation-openai-0.40.5": (BOTH, CLIENT),
    "opentelemetry-instrumentation-openai-0.62.4": (BOTH, CLIENT),
    "opentelemetry-instrumentation-openai-0.62.4-off": ({CACHE}, CLIENT | OFF),
    # Without any tokens, on Chat Completions.
    "opentelemetry-instrumentation-openai-agents-0.62.4": ({TOOL, "uncounted"}, USUAL | UNCOUNTED),
    "opentelemetry-instrumentation-openai-agents-0.62.4-off": ({TOOL, "uncounted"}, OFF | UNCOUNTED),
    "opentelemetry-instrumentation-openai-agents-0.62.4-responses": (BOTH, USUAL),
    # Neither content nor the cached part: nothing is left to find.
    "opentelemetry-instrumentation-openai-v2-2.1b0": (set(), CLIENT | OFF),
    # A cached part only where there is one, so that it is not known that it was none in the third.
    "pydantic-ai-slim-1.0.0": ({TOOL, "roll_up"}, USUAL),
    "pydantic-ai-slim-1.0.0-off": ({TOOL, "roll_up"}, USUAL | {"no_arguments", "no_results"}),
    # Its sum stands under a key of its own.
    "pydantic-ai-slim-2.68.0": (BOTH, USUAL),
    "pydantic-ai-slim-2.68.0-off": (BOTH, USUAL | {"no_arguments", "no_results"}),
    "pydantic-ai-slim-2.68.0-doubled": (BOTH | {"doubled"}, USUAL),
    "vercel-ai-6.0.326": (BOTH, USUAL),
    "vercel-ai-6.0.326-off": (BOTH, USUAL | BARE),
    # Its own name stands where the provider's belongs, so that no price is known.
    "strands-agents-1.62.0": (BOTH | {"roll_up", "unpriced"}, ALL | {"no_prices"}),
}
"""The kinds of what is found, and what is said to be untold."""
IN_TRACES_OF_THEIR_OWN = {"openinference-instrumentation-langchain-0.1.80-doubled"}
"""Recordings whose second instrumentation does not know the first: no trace has a request twice."""


@pytest.mark.parametrize("name", RECORDED)
def test_what_a_recording_shows_is_found_and_what_it_lacks_is_said(name: str) -> None:
    """Each finding once, with spans as evidence; nobody calls a run healthy of which nothing says how it ended."""
    run = recorded_run(name)
    found = diagnose(run)

    kinds, untold = RECORDED[name]
    assert sorted(str(finding.kind) for finding in found.findings) == sorted(kinds)
    assert {str(gap) for gap in found.gaps} == untold
    doubled = {key[1] for request in run.requests for key in request.doubled}
    known = {span.span_id for span in run.trace.spans} | doubled
    assert all(finding.evidence and set(finding.evidence) <= known for finding in found.findings)
    assert sum(found.time.wall_ns.values()) == found.time.duration_ns == run.end_ns - run.start_ns


def test_every_recording_is_in_the_table() -> None:
    """A new one needs a row."""
    assert set(RECORDED) == {path.stem for path in FIXTURES.glob("*.json")}


@pytest.mark.parametrize("name", RECORDED)
def test_only_what_counts_tokens_twice_breaks_a_rule_for_all(name: str) -> None:
    """A sum on the agent's span, or a second instrumentation: everything else that is checked of any trace holds."""
    broken = {str(violation.rule) for violation in conform(recorded_run(name)).violations}

    twice = RECORDED[name][0] & {"roll_up", "doubled"} and name not in IN_TRACES_OF_THEIR_OWN
    assert broken == ({"usage_once"} if twice else set())
