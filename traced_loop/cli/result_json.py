"""A run's result as JSON: what ``--json`` writes."""

from decimal import Decimal
from typing import Any

from traced_loop.repetition_verdict import Repetition
from traced_loop.run_result import RunResult


def result_json(result: RunResult) -> dict[str, Any]:
    """A run's result for machines; unknown is null."""
    usage = result.usage
    return {
        "run_id": result.run_id,
        "trace_id": result.trace_id,
        "stop_reason": result.stop_reason.value,
        "stop_detail": result.stop_detail,
        "answer": result.answer,
        "partial": result.partial,
        "error": result.error,
        "steps": usage.steps,
        "tool_calls": usage.tool_calls,
        "tokens": usage.tokens,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "seconds": round(usage.seconds, 6),
        "cost_usd": _number(usage.cost_usd),
        "cost_is_upper_bound": usage.cost_is_upper_bound,
        "headroom": {name: room.remaining for name, room in result.headroom.items()},
        "next_limit": result.next_limit,
        "last_request": result.last_request,
        "pending": [{"tool": p.tool, "call_id": p.call.id, "reason": p.reason} for p in result.pending],
        "repetitions": [repetition_json(each) for each in result.repetitions],
    }


def repetition_json(found: Repetition) -> dict[str, Any]:
    """One repetition for machines."""
    return {
        "kind": found.kind.value,
        "reaction": found.reaction,
        "due": found.due,
        "tool": found.tool,
        "step": found.step,
        "count": found.count,
        "threshold": found.threshold,
        "streak": found.streak,
        "period": found.period,
        "first_call": found.first,
        "at_call": found.at,
    }


def _number(value: Decimal | None) -> float | None:
    return None if value is None else float(value)
