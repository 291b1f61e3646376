"""Small runs that tell whether this installation keeps its promises; no key, no network, nothing stored."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from traced_loop import names
from traced_loop.frozen_value import frozen_value
from traced_loop.models.scripted import calls
from traced_loop.outcomes import Outcome, StopReason
from traced_loop.rules.budget import Budget
from traced_loop.rules.pairing import pairing_problems
from traced_loop.testing import Played, play
from traced_loop.tools import multiply

NOT_CHECKED: Final = "not checked: your key, your network, any real model or server, the collector"

_SIX_BY_SEVEN: Final = {"a": 6, "b": 7}


@frozen_value
class SelfCheck:
    """One promise and the run that shows it; ``run`` gives what was wrong, or None."""

    promise: str
    run: Callable[[], str | None]


def self_checks() -> tuple[SelfCheck, ...]:
    """All checks, in the order in which they are reported."""
    return (
        SelfCheck(promise="a call runs and its result is answered", run=_success),
        SelfCheck(promise="a superfluous argument is refused", run=_superfluous),
        SelfCheck(promise="every call id is answered once, in order", run=_pairing),
        SelfCheck(promise="a truncated response is no final answer and runs nothing", run=_truncated),
        SelfCheck(promise="several calls in one response all run", run=_several),
        SelfCheck(promise="calls beside the finish reason stop are a contradiction, nothing runs", run=_contradiction),
        SelfCheck(promise="the limit on requests holds", run=_request_limit),
    )


def _success() -> str | None:
    played = play([calls(("multiply", _SIX_BY_SEVEN)), "42"], [multiply])
    return differences(
        (played.result.answer, "42"),
        (played.result.stop_reason, StopReason.FINAL_ANSWER),
        (_outcomes(played), [Outcome.OK]),
    )


def _superfluous() -> str | None:
    played = play([calls(("multiply", {**_SIX_BY_SEVEN, "c": 1})), "no"], [multiply])
    return differences((_outcomes(played), [Outcome.INVALID]), (len(played.spans.named(names.EXECUTE_TOOL)), 0))


def _pairing() -> str | None:
    proposed = (("multiply", _SIX_BY_SEVEN), ("divide", {"a": 1}), ("multiply", {"a": "x"}))
    played = play([calls(*proposed), "done"], [multiply])
    return differences(
        (pairing_problems(played.result.messages), []),
        (_outcomes(played), [Outcome.OK, Outcome.UNKNOWN_TOOL, Outcome.INVALID]),
    )


def _truncated() -> str | None:
    played = play([_answer("length", arguments='{"a": 6, "b": 7}')], [multiply])
    return differences(
        (played.result.stop_reason, StopReason.TRUNCATED_RESPONSE),
        (played.result.answer, None),
        (_outcomes(played), [Outcome.SKIPPED_TRUNCATED]),
    )


def _several() -> str | None:
    played = play([calls(*[("multiply", {"a": n, "b": n}) for n in range(4)]), "done"], [multiply])
    return differences((_outcomes(played), [Outcome.OK] * 4), (played.result.usage.tool_calls, 4))


def _contradiction() -> str | None:
    played = play([_answer("stop", arguments='{"a": 6, "b": 7}')], [multiply])
    return differences(
        (played.result.stop_reason, StopReason.INCONSISTENT_RESPONSE),
        (len(played.spans.named(names.EXECUTE_TOOL)), 0),
    )


def _request_limit() -> str | None:
    script = [calls(("multiply", {"a": n, "b": n})) for n in range(3)]
    played = play(script, [multiply], budget=Budget(steps=3))
    return differences(
        (played.result.stop_reason, StopReason.MAX_STEPS_EXCEEDED),
        (len(played.model.requests), 3),
        (played.result.usage.tool_calls, 3),
    )


def _answer(finish_reason: str, arguments: str) -> Mapping[str, Any]:
    """A raw response body with one call."""
    function = {"name": "multiply", "arguments": arguments}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
    }
    return {
        "choices": [{"index": 0, "finish_reason": finish_reason, "message": message}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20},
    }


def _outcomes(played: Played) -> list[str]:
    """The outcomes by call id; a call with none or with two makes the list too short or too long."""
    by_call = sorted(played.spans.outcomes().items())
    return [outcome for _, outcomes in by_call for outcome in outcomes]


def differences(*pairs: tuple[object, object]) -> str | None:
    """What was found instead of what was wanted, or None where every pair is equal."""
    wrong = [f"{found!r} instead of {wanted!r}" for found, wanted in pairs if found != wanted]
    return "; ".join(wrong) or None
