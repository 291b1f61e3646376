"""Thirty-two runs at once on one budget, in threads and tasks, with random costs, failures and cancellations."""

import asyncio
import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest

from traced_loop import (
    Loop,
    ModelError,
    Price,
    RetryPolicy,
    RunResult,
    ScriptedModel,
    SharedBudget,
    partial_result,
    tool,
)
from traced_loop.events import Event
from traced_loop.messages import ModelRequest
from traced_loop.rules.budget import NOTHING, Budget

from ..nightly import examples

RUNS = 32
LIMITS: dict[str, dict[str, Any]] = {
    "tokens": {"tokens": 20_000},
    "cost": {"cost_usd": "0.05"},
    "calls": {"tool_calls": 60},
    "steps": {"steps": 60},
    "all": {"tokens": 25_000, "cost_usd": "0.06", "tool_calls": 90, "steps": 80},
}


@tool(effect="read")
def multiply(a: int, b: int) -> int:
    """Multiply two integers."""
    if a == 3:
        raise ValueError("not three")
    return a * b


@tool(effect="read")
async def later(a: int) -> int:
    """Give it back, a turn later."""
    await asyncio.sleep(0)
    return a


@dataclass
class Chance:
    """What one run's model answers, and when it is broken off."""

    dice: random.Random
    task: "asyncio.Task[Any] | None" = None
    seen: int = 0
    breaks_at: int = field(init=False)

    def __post_init__(self) -> None:
        self.breaks_at = self.dice.choice([10**6, 10**6, self.dice.randint(1, 60)])

    def answer(self, request: ModelRequest) -> Any:
        """Calls without end; billed no more than was reserved, or a failure that may have been billed."""
        if self.dice.random() < 0.1:
            return ModelError("busy", error_type="503", retryable=True)
        names = [self.dice.choice(["multiply", "later", "nothing"]) for _ in range(self.dice.randint(1, 4))]
        calls = [self._call(name, number) for number, name in enumerate(names)]
        answer = self.dice.randint(1, min(40, request.output_cap or 40))
        # An input that grows by no more than is estimated: what nobody can know beforehand may pass a limit.
        usage = {"prompt_tokens": 10 * len(request.messages), "completion_tokens": answer}
        message = {"content": None, "tool_calls": calls}
        return {"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": usage}

    def _call(self, name: str, number: int) -> dict[str, Any]:
        given = {"multiply": f'{{"a":{self.dice.randint(1, 4)},"b":7}}', "later": f'{{"a":{number}}}'}.get(name, "{}")
        return {"id": f"c{number}", "function": {"name": name, "arguments": given}}

    def told(self, _: Event) -> None:
        """An event: at one of them the run is cancelled, or its callback raises where there is no task."""
        self.seen += 1
        if self.seen == self.breaks_at:
            if self.task is None:
                raise ZeroDivisionError
            self.task.cancel()

    def loop(self) -> Loop:
        """A loop of its own, with a price of its own."""
        price = Price(input=self.dice.randint(1, 20), output=self.dice.randint(1, 60))
        model = ScriptedModel([self.answer] * 200, price=price)
        retry = RetryPolicy(attempts=3, first_delay=0)
        budget = Budget(steps=40, tool_calls=None, tokens=None, last_request=self.dice.random() < 0.3)
        request = {"max_tokens": 40}
        return Loop(model, [multiply, later], request=request, retry=retry, budget=budget, store=None)


@dataclass
class Team:
    """The runs, their budget, and what was seen of it meanwhile."""

    budget: SharedBudget
    results: list[RunResult] = field(default_factory=list[RunResult])
    over: list[str] = field(default_factory=list[str])

    def in_a_thread(self, chance: Chance) -> None:
        """One run, waited for."""
        try:
            self.results.append(chance.loop().run("Go.", shared_budget=self.budget, on_event=chance.told))
        except ZeroDivisionError as error:
            self._keep(error)

    async def in_a_task(self, chance: Chance) -> None:
        """One run among others on an event loop."""
        chance.task = asyncio.current_task()
        try:
            self.results.append(await chance.loop().arun("Go.", shared_budget=self.budget, on_event=chance.told))
        except asyncio.CancelledError as error:
            self._keep(error)

    async def tasks(self, chances: Sequence[Chance]) -> None:
        """All of them."""
        await asyncio.gather(*[self.in_a_task(chance) for chance in chances], return_exceptions=True)

    def watch(self, ended: threading.Event) -> None:
        """Look at the budget again and again."""
        while not ended.wait(0.001):
            for name, held in self.budget.holdings().items():
                if held.used + held.reserved > held.limit + 1e-9:
                    self.over.append(f"{name}: {held}")

    def _keep(self, error: BaseException) -> None:
        left = partial_result(error)
        assert left is not None
        self.results.append(left)


@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize("seed", range(examples(2, 100)))
def test_runs_of_every_kind_never_pass_a_shared_budget(limits: dict[str, Any], seed: int) -> None:
    """Not while they run, not when all have ended; nothing stays reserved, and nothing is forgotten."""
    team = Team(SharedBudget(**limits, name="team"))
    chances = [Chance(random.Random(f"{seed}.{number}")) for number in range(RUNS)]
    ended = threading.Event()
    watching = threading.Thread(target=team.watch, args=(ended,))
    threads = [threading.Thread(target=team.in_a_thread, args=(chance,)) for chance in chances[: RUNS // 2]]
    threads.append(threading.Thread(target=lambda: asyncio.run(team.tasks(chances[RUNS // 2 :]))))
    watching.start()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ended.set()
    watching.join()

    assert (len(team.results), team.over, team.budget.reserved) == (RUNS, [], NOTHING)
    assert all(room.used <= room.limit for room in team.budget.headroom().values())
    spent = team.budget.spent
    assert spent.tokens == sum(each.usage.tokens for each in team.results)
    assert spent.steps == sum(each.usage.steps for each in team.results)
    assert spent.tool_calls == sum(each.usage.tool_calls for each in team.results)
    assert spent.cost_usd == sum((each.usage.charged_usd for each in team.results), Decimal(0))
    assert any("team" in each.stop_detail for each in team.results)
