"""A random run, played to its end whatever that is, and what it left."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from traced_loop import (
    Budget,
    Loop,
    Policy,
    Price,
    RetryPolicy,
    RunResult,
    ScriptedModel,
    SharedBudget,
    partial_result,
)
from traced_loop.events import Event
from traced_loop.setup import Wiring
from traced_loop.testing import Spans

from ..skipping_time import SkippingLoop, skipping
from .scenarios import Break, Rules, Scenario
from .world import Ran, World


@dataclass(frozen=True)
class Left:
    """What a run left behind, as the oracle reads it.

    Attributes:
        result: the result, also where an exception left the run.
        raised: that exception, or None.
        events: what a callback was told.
        spans: every span.
        requests: the history of each request, as it was sent.
        proposed: calls of the script that can be read and are right: tool and argument.
        ran: executions as the tools saw them.
        undone: compensations as they saw them: the key of what was undone.
        approved: what a person said yes to: tool and argument.
        rules: the policy in words.
        budget: the run's limits.
        shared: the budget that it shared with nobody, or None.
        tolerates: whether calls under ``stop`` are accepted.
    """

    result: RunResult
    raised: BaseException | None
    events: Sequence[Event]
    spans: Spans
    requests: Sequence[Sequence[Any]]
    proposed: frozenset[tuple[str, int]]
    ran: Sequence[Ran]
    undone: Sequence[str]
    approved: Sequence[tuple[str, int]]
    rules: Rules
    budget: Budget
    shared: SharedBudget | None
    tolerates: bool


class Breaker:
    """Breaks a run off from outside."""

    def __init__(self, broken: Break, loop: SkippingLoop, events: list[Event]) -> None:
        self._broken = broken
        self._events = events
        self._task = asyncio.current_task()
        if broken.how == "cancelled_after":
            loop.call_later(broken.at, self._cancel)

    def __call__(self, event: Event) -> None:
        """An event."""
        self._events.append(event)
        if len(self._events) != self._broken.at:
            return
        if self._broken.how == "callback_raises":
            raise ZeroDivisionError
        if self._broken.how == "cancelled_at_event":
            self._cancel()

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()


def policy_of(rules: Rules, world: World) -> Policy:
    """The policy, with the person who notes what was approved."""
    return Policy(
        allow=rules.allow,
        deny=rules.deny,
        rules=[world.rule(word) for word in rules.rules],
        on_deny=rules.on_deny,
        confirm=None if rules.person is None else world.person(rules.person),
        confirm_seconds=100,
    )


def played(scenario: Scenario) -> Left:
    """The run, played to its end."""
    world = World(scenario.manners, scenario.stays_done)
    lines = [answer.line() for answer in scenario.script]
    price = Price(input=1, output=2) if scenario.priced else None
    model = ScriptedModel([*lines, "the end", "the very end"], price=price, tolerate=scenario.tolerate)
    budget = Budget(**scenario.budget)
    shared = None if scenario.shared is None else SharedBudget(**scenario.shared)
    ended: list[RunResult] = []
    events: list[Event] = []

    async def run(wiring: Wiring, skipping_loop: SkippingLoop) -> None:
        breaker = Breaker(scenario.broken, skipping_loop, events)
        loop = Loop(
            model,
            world.tools(),
            budget=budget,
            shared_budget=shared,
            policy=policy_of(scenario.rules, world),
            retry=RetryPolicy(attempts=3, first_delay=0.5),
            on_event=breaker,
            wiring=wiring,
            **scenario.options,
        )
        ended.append(await loop.arun("Go."))

    raised: BaseException | None = None
    try:
        skipping(run, world.spans)
    except BaseException as error:  # noqa: BLE001 - what leaves a run carries its result
        raised = error
    finally:
        world.released.set()
    result = ended[0] if ended else partial_result(raised) if raised is not None else None
    assert result is not None, repr(raised)
    return Left(
        result=result,
        raised=None if ended else raised,
        events=tuple(events),
        spans=world.spans,
        requests=[request.messages for request in model.requests],
        proposed=frozenset(call for answer in scenario.script for call in answer.right_calls()),
        ran=tuple(world.ran),
        undone=tuple(world.undone),
        approved=tuple(world.approved),
        rules=scenario.rules,
        budget=budget,
        shared=shared,
        tolerates=bool(scenario.tolerate),
    )
