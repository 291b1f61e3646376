"""What a run spent, read from its spans: while it has no end, the sums are those that the run itself would tell."""

from dataclasses import replace
from pathlib import Path

from traced_loop import Loop, ModelError, Price, RetryPolicy, ScriptedModel, ToolError, Usage, names, tool
from traced_loop.models.scripted import Line, calls
from traced_loop.read.local_store import LocalStore
from traced_loop.read.span_tree import build
from traced_loop.read.spending import Spending, spending
from traced_loop.read.trace import StoredSpan, StoredTrace

BUSY = ModelError("busy", error_type="429", retryable=True, status=429)


@tool(effect="read")
def look_up(order_id: str) -> str:
    """Fails for one order."""
    if order_id == "lost":
        raise ToolError("no such order")
    return "shipped"


LOOK_UP = calls(("look_up", {"order_id": "lost"}), ("look_up", {"order_id": "A100"}), ("nothing", {}))


def body(**usage: object) -> dict[str, object]:
    """A raw final answer with these counts."""
    message = {"role": "assistant", "content": "done"}
    return {"choices": [{"index": 0, "finish_reason": "stop", "message": message}], "usage": usage}


def live_and_stored(folder: Path, script: list[Line]) -> tuple[Usage, Spending]:
    """A run's own numbers, and those of its spans without the end of the run, as a killed process leaves them."""
    model = ScriptedModel(script, price=Price(input=1, output=2))
    retry = RetryPolicy(attempts=3, first_delay=0)
    result = Loop(model, [look_up], store=folder, retry=retry).run("Go.")
    with LocalStore.open(folder) as store:
        spans = store.trace(result.run_id).spans
    return result.usage, spending(without_end(spans))


def without_end(spans: tuple[StoredSpan, ...]) -> StoredTrace:
    """The same spans, the run's own still open."""
    return build([replace(s, is_open=True, end_ns=0, attributes=started(s)) if s.is_run else s for s in spans])


def started(span: StoredSpan) -> dict[str, object]:
    """What a run's span says before its end."""
    return {names.GEN_AI_OPERATION: span.operation}


def test_the_sums_of_a_run_without_an_end_are_the_runs_own(tmp_path: Path) -> None:
    """Tries of a request, failed calls, cached and reasoning tokens, cost and its source, all counted as live."""
    details = {"prompt_tokens_details": {"cached_tokens": 3}, "completion_tokens_details": {"reasoning_tokens": 2}}
    usage, stored = live_and_stored(
        tmp_path, [LOOK_UP, BUSY, BUSY, body(prompt_tokens=10, completion_tokens=5, total_tokens=15, **details)]
    )

    assert stored == Spending(
        steps=usage.steps,
        model_requests=usage.model_requests,
        tool_calls=usage.tool_calls,
        failed_tool_calls=usage.failed_tool_calls,
        tokens=usage.tokens,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        cost_usd=usage.cost_usd,
        cost_source=usage.cost_source,
        cost_is_upper_bound=usage.cost_is_upper_bound,
        so_far=True,
        answers=2,
    )
    assert (stored.model_requests, stored.failed_tool_calls, stored.cached_tokens) == (4, 1, 3)


def test_a_request_that_nobody_answered_leaves_the_sums_known(tmp_path: Path) -> None:
    """It is counted as sent, and nothing is known to be billed for it."""
    usage, stored = live_and_stored(tmp_path, [LOOK_UP, ModelError("gone", error_type="500")])

    assert (stored.model_requests, stored.tokens, stored.cost_usd) == (2, usage.tokens, usage.cost_usd)


def test_a_run_without_any_answer_cost_an_unknown_amount(tmp_path: Path) -> None:
    """Not nothing, and not zero dollars."""
    usage, stored = live_and_stored(tmp_path, [ModelError("gone", error_type="500")])

    assert (usage.cost_usd, stored.cost_usd, stored.cost_source) == (None, None, None)
    assert spending(build([])).cost_usd is None


def test_a_failed_call_is_known_by_its_outcome() -> None:
    """Whatever the status of its span; a call that still runs has not failed."""
    tool_span = StoredSpan(trace_id="a" * 32, span_id="1", attributes={names.GEN_AI_OPERATION: names.EXECUTE_TOOL})
    told = replace(tool_span, attributes={**tool_span.attributes, names.CALL_OUTCOME: "tool_error"})
    fine = replace(tool_span, span_id="2", is_error=True, attributes={**told.attributes, names.CALL_OUTCOME: "ok"})
    running = replace(tool_span, span_id="3", is_open=True)

    found = spending(build([told, fine, running]))

    assert (found.tool_calls, found.failed_tool_calls) == (3, 1)


def test_what_undoes_a_call_is_no_call() -> None:
    """It counts against no limit, so it is in no sum either."""
    call = StoredSpan(trace_id="a" * 32, span_id="1", attributes={names.GEN_AI_OPERATION: names.EXECUTE_TOOL})
    undo = replace(call, span_id="2", attributes={**call.attributes, names.COMPENSATION_CALL_ID: "call_1"})

    assert spending(build([call, undo])).tool_calls == 1
