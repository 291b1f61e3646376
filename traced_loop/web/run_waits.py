"""What a run without an end is at, or was when its process died: the open span in the words of a list."""

from traced_loop import names
from traced_loop.closed_words import WaitsFor
from traced_loop.frozen_value import frozen_value
from traced_loop.outcomes import Decision
from traced_loop.read.trace import StoredSpan
from traced_loop.views.span_words import doing


@frozen_value
class RunWait:
    """One wait.

    Attributes:
        kind: what is waited for.
        subject: the name of the model or the tool, or ``""``; a text of the trace.
        since_ns: nanoseconds since 1970; 0 for unknown.
        exact: the span in words, ``execute_tool slow_tool (call_1)``; a text of the trace.
    """

    kind: WaitsFor
    subject: str
    since_ns: int
    exact: str


def wait_of(span: StoredSpan) -> RunWait:
    """The wait that an open span is."""
    tool = span.text(names.GEN_AI_TOOL_NAME) or span.text(names.CALL_TOOL)
    model = span.text(names.ATTEMPT_MODEL) or span.text(names.GEN_AI_REQUEST_MODEL)
    kind = _kind(span)
    subject = {"model": model, "tool": tool, "confirmation": tool, "policy": tool}.get(kind)
    return RunWait(kind=kind, subject=subject or "", since_ns=span.start_ns, exact=doing(span))


def _kind(span: StoredSpan) -> WaitsFor:
    tried = span.text(names.ATTEMPT_KIND)
    if span.name == names.AUTHORIZE_CALL:
        asks = span.text(names.POLICY_DECISION) == Decision.NEEDS_CONFIRMATION
        return "confirmation" if asks else "policy"
    if span.operation == names.EXECUTE_TOOL or tried == "tool":
        return "tool"
    return "model" if span.operation == names.CHAT or tried == "model" else "loop"
