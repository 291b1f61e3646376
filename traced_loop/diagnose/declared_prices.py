"""Prices that somebody declares for a stored run: what its trace does not say that a request costs."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from traced_loop.diagnose.request_cost import is_counted, usage_of
from traced_loop.read.agent_run import AgentRun, Gap, StoredRequest
from traced_loop.rules.pricing import Price

ANY_MODEL: Final = ""
"""Stands for every model that has no price of its own."""


def with_prices(run: AgentRun, prices: Mapping[str, Price]) -> AgentRun:
    """The run with these prices, by the model that answered, where the trace knows no cost; none stays none.

    Args:
        run: of any dialect.
        prices: by model, ``ANY_MODEL`` for the others. What the trace says that a request cost is never changed.
    """
    if not prices:
        return run
    requests = tuple(_priced(request, prices) for request in run.requests)
    answered = [request for request in requests if not request.is_open and request.error_type is None]
    known = bool(answered) and all(request.cost_usd is not None for request in answered)
    return replace(run, requests=requests, gaps=run.gaps - {Gap.NO_PRICES} if known else run.gaps)


def _priced(request: StoredRequest, prices: Mapping[str, Price]) -> StoredRequest:
    price = prices.get(request.response_model or request.model) or prices.get(ANY_MODEL)
    if price is None or request.cost_usd is not None or not is_counted(request):
        return request
    return replace(request, price=price, price_table="", cost_usd=price.cost(usage_of(request)))
