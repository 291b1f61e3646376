"""What a repetition cost: the requests that asked for the same again."""

from collections.abc import Collection
from dataclasses import replace
from decimal import Decimal

from traced_loop.diagnose.finding import Finding, Number
from traced_loop.diagnose.request_cost import cost_of_request
from traced_loop.read.agent_run import AgentRun


def with_cost(run: AgentRun, finding: Finding, steps: Collection[int], agent: str) -> Finding:
    """A finding about a repetition with its cost: that of the steps of an agent that repeated something."""
    again = [request for request in run.requests if request.agent == agent and request.step in steps]
    costs = [cost_of_request(request) for request in again]
    known = [cost for cost in costs if cost is not None]
    cost = sum(known, Decimal(0)) if known and len(known) == len(costs) else None
    numbers: dict[str, Number] = {**finding.numbers, "requests": len(again)}
    if cost is not None:
        numbers["cost_usd"] = cost
    tokens = sum((request.input_tokens or 0) + (request.output_tokens or 0) for request in again)
    return replace(finding, numbers=numbers, cost_usd=cost, cost_tokens=tokens or None)
