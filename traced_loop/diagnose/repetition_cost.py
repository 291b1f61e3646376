"""What a repetition cost: the requests that asked for the same again."""

from dataclasses import replace
from decimal import Decimal

from traced_loop.diagnose.finding import Finding
from traced_loop.read.agent_run import AgentRun, StoredRequest


def with_cost(run: AgentRun, finding: Finding) -> Finding:
    """A finding about a repetition with its cost; its calls are the first occurrence and the one that completed it."""
    again = _again(run, finding)
    costs = [request.cost_usd for request in again]
    known = [cost for cost in costs if cost is not None]
    return replace(
        finding,
        numbers={**finding.numbers, "requests": len(again)},
        cost_usd=sum(known, Decimal(0)) if known and len(known) == len(costs) else None,
        cost_tokens=sum((r.input_tokens or 0) + (r.output_tokens or 0) for r in again) or None,
    )


def _again(run: AgentRun, finding: Finding) -> list[StoredRequest]:
    """The requests after the first occurrence's, up to the last one's."""
    calls = [run.calls[index] for index in finding.calls]
    if len(calls) != 2:
        return []
    first, last = calls
    return [r for r in run.requests if r.agent == last.agent and first.step < r.step <= last.step]
