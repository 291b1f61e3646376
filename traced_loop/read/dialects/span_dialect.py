"""Whose words a span is written in, by what it holds: the same library writes different ones in different versions."""

from traced_loop import names
from traced_loop.read.dialects.gen_ai import gen_ai_facts
from traced_loop.read.dialects.openinference import openinference_facts
from traced_loop.read.dialects.openllmetry import is_openllmetry, openllmetry_facts
from traced_loop.read.dialects.vercel_ai import OPERATION, vercel_ai_facts
from traced_loop.read.span_facts import SpanFacts
from traced_loop.read.trace import StoredSpan


def is_ours(span: StoredSpan) -> bool:
    """Whether this package wrote it: spans of libraries in a run's tools can carry its id, too."""
    return span.text(names.RUN_ID) is not None and span.scope in ("", names.SCOPE)


def span_facts(span: StoredSpan) -> SpanFacts | None:
    """What a span of any dialect but ours is; None where it is no part of an agent's run that has a meaning."""
    if OPERATION in span.attributes:
        return vercel_ai_facts(span)
    if names.OPENINFERENCE_KIND in span.attributes:
        found = openinference_facts(span)
        # A kind that says nothing of these can stand beside an operation that does.
        return found if found is not None or names.GEN_AI_OPERATION not in span.attributes else gen_ai_facts(span)
    return openllmetry_facts(span) if is_openllmetry(span) else gen_ai_facts(span)
