"""What an answer means: calls to handle, a final answer, or a reason to stop. Decided by what is there.

calls      finish reason                     verdict
yes        tool_calls and its aliases        handle them, unless the last one breaks off at the output limit
yes        length and its aliases            truncated_response, none runs
yes        content_filter and its aliases    content_filtered, none runs
yes        stop                              inconsistent_response, or handled where that is tolerated
yes        none, or any other word           inconsistent_response, none runs
no         stop, with text                   final answer, marked where the text is a call that nobody read
no         stop, blank                       refused where the provider says so, else empty_response
no         tool_calls                        inconsistent_response, the text is kept
no         length, content_filter            truncated_response, content_filtered
no         none, or any other word           inconsistent_response, the text is kept

``completed`` stands for both, calls and a text: the Responses API has no other word for an answer that is whole.
"""

from collections.abc import Collection
from typing import Final, Literal

from traced_loop.argument_text import is_unterminated
from traced_loop.closed_words import Anomaly
from traced_loop.frozen_value import frozen_value
from traced_loop.json_shapes import as_list, as_object, as_text
from traced_loop.messages import ModelAnswer
from traced_loop.outcomes import StopReason
from traced_loop.rules.call_as_text import is_written_call
from traced_loop.rules.call_repair import RepairedMessage

TOOL_REASONS: Final = frozenset({"tool_calls", "tool_call", "function_call", "tool_use"})
STOP_REASONS: Final = frozenset({"stop", "end_turn", "eos", "stop_sequence", "complete"})
WHOLE_REASONS: Final = frozenset({"completed"})
LENGTH_REASONS: Final = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "incomplete"})
FILTER_REASONS: Final = frozenset(
    {"content_filter", "content_filtered", "safety", "refusal", "recitation", "blocklist", "prohibited_content", "spii"}
)


@frozen_value
class Verdict:
    """What to do with an answer.

    Attributes:
        kind: ``calls``, ``final`` or ``stop``.
        text: what the model said, or None.
        stop: why to stop; None unless the kind is ``stop``.
        detail: a short sentence without content.
        anomalies: what was odd.
    """

    kind: Literal["calls", "final", "stop"]
    text: str | None = None
    stop: StopReason | None = None
    detail: str = ""
    anomalies: tuple[Anomaly, ...] = ()


def judge(
    answer: ModelAnswer,
    repaired: RepairedMessage,
    tolerate: Collection[str],
    cap: int | None,
    tools: Collection[str] = (),
) -> Verdict:
    """Decide what an answer means.

    Args:
        answer: without an ``error``.
        repaired: its message and calls.
        tolerate: quirks that are accepted.
        cap: the output cap that was sent, the caller's or ours, or None.
        tools: names of the tools that were offered.
    """
    text, refusal = text_of(repaired.message.get("content")), as_text(repaired.message.get("refusal"))
    reason = (answer.finish_reason or "").lower()
    if reason in LENGTH_REASONS:
        return _stop(StopReason.TRUNCATED_RESPONSE, text, "the answer was cut at the output limit")
    if reason in FILTER_REASONS:
        return _stop(StopReason.CONTENT_FILTERED, text, "the provider withheld the answer")
    if Anomaly.ITEM_INCOMPLETE in answer.anomalies:
        return _stop(StopReason.TRUNCATED_RESPONSE, text, "a part of the answer says that it is not complete")
    if repaired.malformed:
        return _malformed(repaired, text)
    if repaired.calls:
        return _with_calls(answer, repaired, text, tolerate, cap)
    ended = reason in STOP_REASONS or reason in WHOLE_REASONS
    if refusal and ended:
        return _stop(StopReason.REFUSED, refusal, "the model declined to answer")
    if ended:
        if text and text.strip():
            return Verdict(kind="final", text=text, anomalies=_written(text, tools))
        return _stop(StopReason.EMPTY_RESPONSE, None, "the answer holds neither text nor calls")
    return _without_calls(reason, text, tools)


def _malformed(repaired: RepairedMessage, text: str | None) -> Verdict:
    said = "a call that is no function call"
    if Anomaly.CALL_DEPRECATED in repaired.anomalies:
        said = "a call in the field function_call, which the protocol gave up: it is not run"
    return _stop(StopReason.INCONSISTENT_RESPONSE, text, said)


def _with_calls(
    answer: ModelAnswer, repaired: RepairedMessage, text: str | None, tolerate: Collection[str], cap: int | None
) -> Verdict:
    reason = (answer.finish_reason or "").lower()
    if _cut_unsaid(answer, repaired, cap):
        said = "the calls break off at the output limit, though the finish reason does not say so"
        return _stop(StopReason.TRUNCATED_RESPONSE, text, said, Anomaly.HIDDEN_TRUNCATION)
    if reason in TOOL_REASONS or reason in WHOLE_REASONS:
        return Verdict(kind="calls", text=text)
    if reason in STOP_REASONS:
        if "stop_with_tool_calls" in tolerate:
            return Verdict(kind="calls", text=text, anomalies=(Anomaly.STOP_WITH_TOOL_CALLS,))
        said = (
            "finish reason stop beside tool calls; if this server always answers so, accept it with"
            ' OpenAIModel(tolerate={"stop_with_tool_calls"}) or --tolerate stop_with_tool_calls'
        )
        return _stop(StopReason.INCONSISTENT_RESPONSE, text, said, Anomaly.STOP_WITH_TOOL_CALLS)
    if not reason:
        said = "tool calls without a finish reason"
        return _stop(StopReason.INCONSISTENT_RESPONSE, text, said, Anomaly.FINISH_REASON_MISSING)
    said = "the finish reason contradicts the tool calls"
    return _stop(StopReason.INCONSISTENT_RESPONSE, text, said, Anomaly.FINISH_REASON_CONTRADICTS_CALLS)


def _without_calls(reason: str, text: str | None, tools: Collection[str]) -> Verdict:
    if reason in TOOL_REASONS:
        said, written = "finish reason tool_calls without a call", _written(text or "", tools)
        if written:
            said = f"{said}: it is written as text, which the server should have read (vLLM: --tool-call-parser)"
        return _stop(StopReason.INCONSISTENT_RESPONSE, text, said, Anomaly.TOOL_CALLS_MISSING, *written)
    if not reason:
        said = "the answer has no finish reason"
        return _stop(StopReason.INCONSISTENT_RESPONSE, text, said, Anomaly.FINISH_REASON_MISSING)
    said = "the finish reason is none that is known"
    return _stop(StopReason.INCONSISTENT_RESPONSE, text, said, Anomaly.FINISH_REASON_UNKNOWN)


def _written(text: str, tools: Collection[str]) -> tuple[Anomaly, ...]:
    """The mark of a text that is a call: nothing runs from it, and whoever reads it learns why it is no prose."""
    return (Anomaly.CALL_AS_TEXT,) if is_written_call(text, tools) else ()


def _cut_unsaid(answer: ModelAnswer, repaired: RepairedMessage, cap: int | None) -> bool:
    """Unterminated arguments of an answer that is as long as it may be, or whose length nobody knows."""
    if not is_unterminated(repaired.calls[-1].arguments):
        return False
    return cap is not None and (answer.usage.output is None or answer.usage.output >= cap)


def text_of(content: object) -> str | None:
    """The text of a message's content, a string or the text parts of a list; None where there is none."""
    if isinstance(content, str):
        return content
    parts = [as_object(part) or {} for part in as_list(content) or []]
    texts = [as_text(part.get("text")) for part in parts if as_text(part.get("type")) in {"text", "output_text"}]
    return "".join(text for text in texts if text) or None


def _stop(stop: StopReason, text: str | None, detail: str, *anomalies: Anomaly) -> Verdict:
    return Verdict(kind="stop", text=text, stop=stop, detail=detail, anomalies=anomalies)
