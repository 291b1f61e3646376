"""Values of a run without the process's own credentials."""

from decimal import Decimal

import pytest

from traced_loop.events import CallFinished, RunEnded
from traced_loop.messages import ToolCall, ToolResult
from traced_loop.outcomes import Outcome, StopReason
from traced_loop.redaction.held_secrets import hold_secret
from traced_loop.run_result import RunResult, Usage
from traced_loop.web.shown_values import shown, shown_so_far

KEY = "zQ4-typed-for-one-run"
OWN = "[REDACTED:own_credential]"


def test_it_is_masked_at_any_depth_and_the_rest_stays() -> None:
    """In events, messages, names of fields; numbers, closed words and kinds are what they were."""
    call = ToolCall(id="c", index=0, name="echo", arguments=f'{{"say": "{KEY}"}}')
    finished = CallFinished(step=1, result=ToolResult(call=call, outcome=Outcome.OK, content=f"<{KEY}>"))
    result = RunResult(
        answer=f"it is {KEY}",
        stop_reason=StopReason.FINAL_ANSWER,
        messages=({"role": "user", "content": [{KEY: KEY}], "n": 1.5, "none": None},),
        usage=Usage(cost_usd=Decimal("0.5")),
        run_id="r",
        trace_id="t",
    )
    let_go = hold_secret(KEY)
    event, ended = shown(finished), shown(RunEnded(result=result))
    let_go()
    assert event.result.content == f"<{OWN}>"
    assert event.result.outcome is Outcome.OK
    assert event.result.call.arguments == f'{{"say": "{OWN}"}}'
    assert ended.result.answer == f"it is {OWN}"
    assert ended.result.messages == ({"role": "user", "content": [{OWN: OWN}], "n": 1.5, "none": None},)
    assert ended.result.stop_reason is StopReason.FINAL_ANSWER
    assert ended.result.usage == result.usage


@pytest.mark.parametrize("size", range(1, 30))
def test_a_text_that_is_being_written_never_shows_a_part_of_it(size: int) -> None:
    """Wherever a piece ends."""
    text = f"so {KEY} it is"
    let_go = hold_secret(KEY)
    seen = shown_so_far(text[:size])
    let_go()
    assert "zQ4"[:1] not in seen
    assert text.startswith(seen.partition("[")[0])
