"""What of a run's last answer is to be taken up again when it goes on.

Calls without a result are, those that wait for a person, those of which nobody knew what came of them, and where the
run was interrupted those that had not run by then. What else was told stands.
"""

from collections.abc import Collection
from typing import Final

from traced_loop import names
from traced_loop.earlier_run import EarlierRun, is_whole, outcome_told
from traced_loop.json_shapes import as_text
from traced_loop.loop.continued_run import OpenStep
from traced_loop.messages import ToolCall, ToolResult
from traced_loop.outcomes import UNKNOWN_OUTCOMES, Outcome, StopReason
from traced_loop.rules.budget import STOP_OF
from traced_loop.rules.call_repair import repair
from traced_loop.rules.seen_call import SeenCall

_ALWAYS: Final = UNKNOWN_OUTCOMES | {Outcome.CONFIRMATION_REQUIRED}
_NOT_RUN: Final = frozenset({Outcome.SKIPPED_STOP, Outcome.SKIPPED_BUDGET, Outcome.CANCELLED})
_INTERRUPTED: Final = frozenset(
    {
        *STOP_OF.values(),
        StopReason.CONFIRMATION_REQUIRED,
        StopReason.CANCELLED,
        StopReason.HARNESS_ERROR,
        StopReason.OUTCOME_UNKNOWN,
        StopReason.UNKNOWN_AFTER_CRASH,
    }
)
"""Stops that say nothing of the calls that had not run by then: they may run when the run goes on."""


def open_step(earlier: EarlierRun, number: int, rejected: Collection[str]) -> OpenStep | None:
    """The step that is taken up; None where all of the last answer stands.

    Args:
        earlier: the run.
        number: of its last step.
        rejected: ids of calls that a person has rejected meanwhile.
    """
    place = earlier.last_answer
    if place is None or not earlier.messages[place].get("tool_calls"):
        return None
    calls = repair(earlier.messages[place], lambda: "").calls
    told = earlier.messages[place + 1 :]
    if any(message.get("role") != "tool" for message in told):
        return None  # something was said after all of its results
    results = {as_text(message.get("tool_call_id")): message.get("content") for message in told}
    kept = {n: call for n, call in enumerate(calls) if call.id in results and _stands(earlier, results[call.id])}
    if len(kept) == len(calls):
        return None
    ran = {call.call_id for call in earlier.run.calls if call.ran and call.step == number}
    return OpenStep(
        calls=calls,
        kept={n: _result(call, str(results[call.id])) for n, call in kept.items()},
        seen=_seen(earlier, number, {call.id: n for n, call in kept.items()}),
        first=place + 1,
        begun=frozenset(n for n, call in enumerate(calls) if call.id in ran),
        rejected=frozenset(n for n, call in enumerate(calls) if call.id in rejected),
        is_suspect=any(call.id not in results for call in calls) and not _shows_whole(earlier, calls),
    )


def _seen(earlier: EarlierRun, number: int, places: dict[str, int]) -> dict[int, SeenCall]:
    """What the repetition rules saw of the calls whose results stand, by their places."""
    return {
        places[call.call_id]: shown
        for step in earlier.steps()
        if step.number == number
        for call, shown in zip(step.calls, step.seen, strict=True)
        if call.call_id in places
    }


def _stands(earlier: EarlierRun, content: object) -> bool:
    """Whether a result is the last word about its call."""
    outcome = outcome_told(content)
    if outcome in _ALWAYS:
        return False
    chat = earlier.last_request
    said_last = chat is not None and chat.attributes.get(names.LAST_REQUEST) is True
    return outcome not in _NOT_RUN or earlier.stop_reason not in _INTERRUPTED or said_last


def _shows_whole(earlier: EarlierRun, calls: tuple[ToolCall, ...]) -> bool:
    """Whether the spans show that the answer with these calls was whole: no suspect call ever runs."""
    chat = earlier.last_request
    listed = "" if chat is None else chat.text(names.CALL_IDS) or ""
    return is_whole(chat) and listed.split(",") == [call.id for call in calls[: names.MAX_CALL_IDS]]


def _result(call: ToolCall, content: str) -> ToolResult:
    return ToolResult(call=call, outcome=outcome_told(content) or Outcome.OK, content=content)
