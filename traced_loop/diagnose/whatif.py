"""What other limits and another reaction to repetition would have done to stored runs: what they save and cut."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from traced_loop.diagnose.repetition import repetitions
from traced_loop.diagnose.request_cost import cost_of_request, rates_of
from traced_loop.frozen_value import frozen_value
from traced_loop.outcomes import Decision, StopReason
from traced_loop.read.agent_run import AgentRun, Gap, StoredCall, StoredRequest
from traced_loop.read.spending import limits
from traced_loop.rules.budget import Budget
from traced_loop.rules.limit_replay import RecordedCall, RecordedStep, Replay, ReplayedStop, replay
from traced_loop.rules.repetition_rules import RepetitionRules

_TOOL_SECONDS: Final = 30.0
"""What a write may take where the run does not say: the default of ``Budget``."""


@frozen_value
class WhatIf:
    """One run under other limits.

    Attributes:
        run: the run, without its spans.
        replay: where they would have stopped it.
        saved_usd: what the requests that would not have been made cost; None where that is not known.
        saved_requests: how many these are.
        saved_tokens: their tokens, likewise.
        saved_ns: wall time after that stop, or after the deadline in the middle of what was waited for; None where the
            trace has no times.
        untold: what the trace cannot tell, of what the limits ask.
    """

    run: AgentRun
    replay: Replay
    saved_usd: Decimal | None = Decimal(0)
    saved_requests: int = 0
    saved_tokens: int | None = 0
    saved_ns: int | None = 0
    untold: tuple[Gap, ...] = ()

    @property
    def stop(self) -> ReplayedStop | None:
        """Where the run would have stopped; None where it would have ended as it did."""
        return self.replay.stop

    @property
    def cuts_a_good_run(self) -> bool:
        """The run had its answer, and would not have had it, or not whole, or too late."""
        good = self.run.stop_reason == StopReason.FINAL_ANSWER
        last = max((request.step for request in self.run.requests), default=0)
        return good and (self.stop is not None or last in self.replay.shortened)


def what_if(run: AgentRun, budget: Budget, *, repetition: RepetitionRules | None = None) -> WhatIf:
    """Ask these limits over one run.

    Args:
        run: as it was.
        budget: the limits; None in it means none, whatever the run had.
        repetition: the rules by which a repetition would have stopped it; None for none.
    """
    requests = [request for request in run.requests if not request.is_last]
    steps = _recorded(run, requests, repetition=repetition)
    found = replay(budget, steps)
    untold = _untold(run, budget, requests)
    if found.stop is None:
        return WhatIf(run=run.without_spans(), replay=found, untold=untold)
    stop = found.stop
    unmade = [r for r in run.requests if r.step > stop.step or (r.step == stop.step and not stop.spent)]
    costs = [cost_of_request(request) for request in unmade]
    known = [cost for cost in costs if cost is not None]
    is_counted = all(_tokens(request) for request in unmade)
    return WhatIf(
        run=run.without_spans(),
        replay=found,
        saved_usd=sum(known, Decimal(0)) if len(known) == len(costs) else None,
        saved_requests=len(unmade),
        saved_tokens=sum(_tokens(request) for request in unmade) if is_counted else None,
        saved_ns=_saved_ns(run, requests, stop, budget.seconds),
        untold=untold,
    )


def _untold(run: AgentRun, budget: Budget, requests: Sequence[StoredRequest]) -> tuple[Gap, ...]:
    unknown = {
        Gap.NO_PRICES: budget.cost_usd is not None and any(cost_of_request(request) is None for request in requests),
        Gap.NO_USAGE: budget.tokens is not None and any(_tokens(request) == 0 for request in requests),
        Gap.NO_TIMES: budget.seconds is not None and not run.start_ns,
    }
    return tuple(gap for gap, is_so in unknown.items() if is_so)


def _recorded(
    run: AgentRun, requests: Sequence[StoredRequest], *, repetition: RepetitionRules | None
) -> list[RecordedStep]:
    calls: dict[int, list[StoredCall]] = {}
    for call in run.calls:
        calls.setdefault(call.step, []).append(call)
    repeats = frozenset[int]() if repetition is None else _repeating_steps(run, repetition)
    clock = _Active(run)
    limit = next((limit.limit for limit in limits(run.trace) if limit.name == "tool_seconds"), _TOOL_SECONDS)
    last = len(requests) - 1
    return [
        _step(request, calls.get(request.step, []), clock, limit, run.stop_reason if n == last else None, repeats)
        for n, request in enumerate(requests)
    ]


def _step(
    request: StoredRequest,
    calls: Sequence[StoredCall],
    clock: "_Active",
    write_timeout: float,
    stop: str | None,
    repeats: frozenset[int],
) -> RecordedStep:
    taken = [call for call in calls if call.has_run or call.asked_ns]
    taken.sort(key=lambda call: (_turn_ns(call), call.index))
    wanted = [call for call in calls if _may_run(call)]
    begun = min((call.start_ns for call in calls if call.start_ns), default=0)
    batch = request.batch_ns or (begun if wanted else 0)
    ended = request.settled_ns or max((call.end_ns for call in calls), default=0) or request.end_ns
    tokens = request.settled_tokens
    return RecordedStep(
        number=request.step,
        asked=clock.at(request.admitted_ns or request.start_ns),
        expected_tokens=(request.expected_tokens if request.expected_tokens is not None else request.input_tokens) or 0,
        tokens=_tokens(request) if tokens is None else tokens,
        output_tokens=request.output_tokens,
        cost_usd=cost_of_request(request) or Decimal(0),
        price=rates_of(request),
        answered=clock.at(request.end_ns),
        batch=clock.at(batch) if batch else None,
        wanted=len(wanted),
        calls=tuple(
            RecordedCall(
                begun=clock.at(_turn_ns(call)),
                write_timeout=(call.timeout or write_timeout) if call.effect == "write" else None,
                is_declared=call.timeout is not None,
                has_run=bool(call.has_run),
            )
            for call in taken
        ),
        ended=clock.at(ended),
        is_final=stop == StopReason.FINAL_ANSWER,
        stop=stop,
        repeats=request.step in repeats,
    )


def _turn_ns(call: StoredCall) -> int:
    """When it was asked whether the run has the time for a call."""
    return call.start_ns if call.has_run else call.asked_ns


def _may_run(call: StoredCall) -> bool:
    """Whether it was valid and not denied before its batch; in another dialect, whether it ran."""
    return call.has_run if call.policy_decision is None else call.policy_decision != Decision.DENY


def _repeating_steps(run: AgentRun, rules: RepetitionRules) -> frozenset[int]:
    return frozenset(
        run.calls[found.at].step
        for found in repetitions(run, rules)
        if found.reaction == "stop" and 0 <= found.at < len(run.calls)
    )


def _tokens(request: StoredRequest) -> int:
    if request.settled_tokens is not None:
        return request.settled_tokens
    return (request.input_tokens or 0) + (request.output_tokens or 0)


def _saved_ns(
    run: AgentRun, requests: Sequence[StoredRequest], stop: ReplayedStop, seconds: float | None
) -> int | None:
    if not run.start_ns or not run.end_ns:
        return None
    moment = _moment(run, requests, stop)
    if stop.reason == StopReason.DEADLINE_EXCEEDED and seconds is not None:
        # A deadline ends a wait where it falls, and not where the recorded wait ended.
        moment = min(moment, _Active(run).moment(seconds))
    return max(0, run.end_ns - moment)


def _moment(run: AgentRun, requests: Sequence[StoredRequest], stop: ReplayedStop) -> int:
    """When that check was made, in nanoseconds since 1970."""
    request = next(request for request in requests if request.step == stop.step)
    if stop.phase == "request":
        return request.admitted_ns or request.start_ns
    if stop.phase == "step":
        return request.settled_ns or request.end_ns
    return request.batch_ns or request.end_ns


class _Active:
    """Seconds of a run without the waits for people, as its deadline counts them."""

    def __init__(self, run: AgentRun) -> None:
        self._begun = run.start_ns
        self._waits = [(call.asked_ns + call.waited_ns, call.waited_ns) for call in run.calls if call.waited_ns]

    def at(self, moment_ns: int) -> float:
        """Active seconds at a moment; 0 for an unknown one."""
        if not moment_ns or not self._begun:
            return 0.0
        waited = sum(wait for end, wait in self._waits if end <= moment_ns)
        return max(0, moment_ns - self._begun - waited) / 1e9

    def moment(self, seconds: float) -> int:
        """When so many active seconds are over, in nanoseconds since 1970."""
        moment = self._begun + int(seconds * 1e9)
        for end, wait in sorted(self._waits):
            if end - wait <= moment:
                moment += wait
        return moment
