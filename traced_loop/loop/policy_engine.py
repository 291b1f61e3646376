"""Whether a valid call may run: rules in order, the first opinion wins, then the defaults. Trusts no prompt.

Defaults, where no rule has an opinion: a tool off the run's allow-list is denied, a read is allowed, a write needs a
confirmation, a compensation is allowed as the call that it undoes was. Opens one ``traced_loop.authorize_call`` span
per decision, and another one where the decision is taken up again later: when a person was asked, or when the call's
turn never came.
"""

import asyncio
import copy
import inspect
from collections.abc import Awaitable, Mapping
from typing import Any, Final, TypeVar, cast

from traced_loop import names
from traced_loop.closed_words import ConfirmationState
from traced_loop.errors import UsageError
from traced_loop.frozen_value import frozen_value
from traced_loop.loop.bounded_wait import TimedOut, within
from traced_loop.loop.daemon_threads import DaemonThreads
from traced_loop.loop.policy import (
    Answer,
    Approved,
    Approver,
    Identity,
    NotTaken,
    Opinion,
    Policy,
    Proposal,
    Rejected,
    Rule,
)
from traced_loop.loop.validator import ValidCall
from traced_loop.outcomes import Decision, Outcome, StopReason
from traced_loop.run_result import Pending
from traced_loop.telemetry.clock import Clock
from traced_loop.telemetry.spans import Telemetry
from traced_loop.telemetry.type_names import class_name, type_name

T = TypeVar("T")
REPEATED_WRITE: Final = "repeated_write"
"""The rule by which a write without a key of its own is asked about when the run has done the same before."""
NO_SCHEDULE: Final[Mapping[str, Any]] = {}
"""Of a call whose turn is not known."""


@frozen_value
class Confirmation:
    """What came of asking.

    Attributes:
        state: ``approved``, ``rejected`` or ``pending``.
        waited: seconds that it took.
        detail: why there is no answer, where that is to be told, or ``""``.
        by: who decided, where the approver says so.
    """

    state: ConfirmationState
    waited: float
    detail: str = ""
    by: str | None = None


class PolicyEngine:
    """Decides about the calls of one loop."""

    def __init__(self, policy: Policy, telemetry: Telemetry, threads: DaemonThreads) -> None:
        self._threads = threads
        self._policy = policy
        self._telemetry = telemetry

    @property
    def stops_on_deny(self) -> bool:
        """Whether a denial ends the run."""
        return self._policy.on_deny == "stop"

    async def authorize(
        self,
        valid: ValidCall,
        identity: Identity | None,
        run_id: str,
        seconds: float | None = None,
        allowed: frozenset[str] | None = None,
    ) -> Opinion:
        """Decide about one call.

        Args:
            valid: the call, or a compensation, about which rules are asked as about any write.
            identity: on whose behalf the run acts.
            run_id: the run.
            seconds: what asynchronous rules get together at most; with None what they want.
            allowed: names of the tools that this run may use, beside the policy's own list; None for all.
        """
        proposal = Proposal(
            tool=valid.tool.name,
            effect=valid.tool.effect,
            risk=valid.tool.risk,
            # A copy for whoever looks: a rule that changes it must not change what is shown or run.
            arguments=copy.deepcopy(valid.json_arguments) if self._policy.rules else valid.json_arguments,
            identity=identity,
            run_id=run_id,
        )
        with self._telemetry.span(names.AUTHORIZE_CALL, _start(valid, identity)) as span:
            opinion = self._off_list(valid, allowed) or await self._opinion(proposal, seconds)
            opinion = _weighed(valid, opinion or _default(valid))
            span.set(_shown(opinion))
            if opinion.decision is Decision.DENY:
                stop = StopReason.TOOL_NOT_ALLOWED if self.stops_on_deny and valid.undoes is None else None
                span.set({valid.outcome_key: Outcome.DENIED, names.RUN_STOP_REASON: stop})
        return opinion

    async def confirm(
        self,
        valid: ValidCall,
        opinion: Opinion,
        identity: Identity | None,
        clock: Clock,
        schedule: Mapping[str, Any] = NO_SCHEDULE,
    ) -> Confirmation:
        """Ask about one call at its turn, which ``schedule`` shows; without an approver it stays pending."""
        with self._telemetry.span(names.AUTHORIZE_CALL, {**_start(valid, identity), **schedule}) as span:
            span.set(_shown(opinion))
            begun = clock.seconds()
            answer, detail = await self._ask(valid, opinion)
            waited = clock.seconds() - begun
            state = _state_of(answer)
            span.set({names.CONFIRMATION_STATE: state, names.CONFIRMATION_WAIT_MS: round(waited * 1000)})
            by = answer.by if isinstance(answer, (Approved, Rejected)) else None
            if by is not None:
                span.set({names.CONFIRMATION_BY: by})
            if state == "rejected":
                span.set({valid.outcome_key: Outcome.CONFIRMATION_REJECTED})
            if state == "pending":
                stop = StopReason.CONFIRMATION_REQUIRED if valid.undoes is None else None
                span.set({valid.outcome_key: Outcome.CONFIRMATION_REQUIRED, names.RUN_STOP_REASON: stop})
        return Confirmation(state=state, waited=waited, detail=detail, by=by)

    def withdraw(
        self, valid: ValidCall, identity: Identity | None, outcome: Outcome, stop: StopReason | None = None
    ) -> None:
        """Record that an authorised call did not run after all; ``stop`` when that is what ends the run."""
        start = {**_start(valid, identity), valid.outcome_key: outcome, names.RUN_STOP_REASON: stop}
        with self._telemetry.span(names.AUTHORIZE_CALL, start, brief=True):
            pass

    def _off_list(self, valid: ValidCall, allowed: frozenset[str] | None) -> Opinion | None:
        """The opinion of the lists: what may run by name. What undoes a call is not on the list of what models call."""
        name = valid.tool.name
        if name in self._policy.deny:
            return Opinion(decision=Decision.DENY, rule="deny_list", reason="on this run's list of what may not run")
        lists = (self._policy.allow, allowed)
        if valid.undoes is None and any(listed is not None and name not in listed for listed in lists):
            return Opinion(decision=Decision.DENY, rule="allow_list", reason="not on this run's list")
        return None

    async def _opinion(self, proposal: Proposal, seconds: float | None) -> Opinion | None:
        policy = self._policy
        ends = None if seconds is None else asyncio.get_running_loop().time() + seconds
        for place, rule in enumerate(policy.rules):
            left = None if ends is None else ends - asyncio.get_running_loop().time()
            given = await self._asked(rule, _name_of(rule, place), proposal, left)
            if given is not None:
                return given
        return None

    async def _asked(self, rule: Rule, name: str, proposal: Proposal, seconds: float | None) -> Opinion | None:
        """What one rule says; what cannot decide must not allow."""
        try:
            said = rule(proposal)
            given = cast("object", await _decided(said, seconds) if inspect.isawaitable(said) else said)
        except TimedOut:
            return Opinion(decision=Decision.DENY, rule=name, reason="the rule did not decide in time")
        except (Exception, asyncio.CancelledError) as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                raise  # the run's own; else the rule's, as any other error
            return Opinion(decision=Decision.DENY, rule=name, reason=f"the rule raised {type_name(error)}")
        if given is None or isinstance(given, Opinion):
            return given
        if isinstance(given, str) and given in {*Decision}:
            return Opinion(decision=Decision(given), rule=name)
        kind = class_name(type(given))
        return Opinion(decision=Decision.DENY, rule=name, reason=f"the rule gave no decision but a {kind}")

    async def _ask(self, valid: ValidCall, opinion: Opinion) -> tuple[Answer, str]:
        """Put the question; the answer, and why there is none where that is to be told.

        Raises:
            UsageError: the approver's answer is none: what might be a no must never run a write.
        """
        approver, seconds = self._policy.confirm, self._policy.confirm_seconds
        if approver is None:
            return None, ""
        asking = self._answer(approver, pending(valid, opinion))
        try:
            answer = await (asking if seconds is None else within(asking, seconds))
        except TimedOut:  # whatever is still said is an answer to nobody
            return None, f"nobody answered within {seconds:.3g} s"
        if isinstance(answer, NotTaken):
            return None, answer.why
        if isinstance(answer, Approved) and answer.fingerprint not in {None, valid.fingerprint}:
            return None, "the answer was about other arguments"
        if answer is None or isinstance(answer, (bool, Approved, Rejected)):
            return answer, ""
        raise UsageError(
            f"confirm= answered with a {type(answer).__name__}: return True or Approved(by=...), False or"
            " Rejected(by=...), or None to leave the call pending"
        )

    async def _answer(self, approver: Approver, asked: Pending) -> object:
        # A person may take minutes: in a thread, so that no other run of this event loop waits for them.
        said, error = (
            (approver(asked), None)
            if inspect.iscoroutinefunction(approver)
            else await self._threads.run(lambda: approver(asked))
        )
        if error is not None:
            raise error
        return await said if inspect.isawaitable(said) else said


def _state_of(answer: Answer) -> ConfirmationState:
    if answer is None:
        return "pending"
    return "approved" if answer is True or isinstance(answer, Approved) else "rejected"


def _default(valid: ValidCall) -> Opinion:
    """What holds where nobody has an opinion."""
    if valid.undoes is not None:
        return Opinion(decision=Decision.ALLOW, rule="compensation", reason="undoes a call that was authorised")
    if valid.tool.effect == "read":
        return Opinion(decision=Decision.ALLOW, rule="default_read")
    return Opinion(decision=Decision.NEEDS_CONFIRMATION, rule="default_write", reason="writes are confirmed")


def _weighed(valid: ValidCall, opinion: Opinion) -> Opinion:
    """A write that this run has done before is asked about, whoever would allow it."""
    if not valid.key.repeats or opinion.decision is Decision.DENY:
        return opinion
    said = (
        f"{valid.tool.name} was done with these arguments before; repeatable=True on the tool makes each call its own"
    )
    return Opinion(decision=Decision.NEEDS_CONFIRMATION, rule=REPEATED_WRITE, reason=said)


def rejected_meanwhile(opinion: Opinion) -> Opinion:
    """A person has said no to it since it was asked about: that is not for a rule to overrule."""
    if opinion.decision is not Decision.ALLOW:
        return opinion
    said = "a person has decided about it"
    return Opinion(decision=Decision.NEEDS_CONFIRMATION, rule="decided_meanwhile", reason=said)


def _name_of(rule: object, place: int) -> str:
    """A rule's name on a span: its own, that of the function in a partial, its class's; a lambda has its place only."""
    name = getattr(getattr(rule, "func", rule), "__name__", None) or type(rule).__name__
    return name if isinstance(name, str) and name != "<lambda>" else f"rules[{place}]"


async def _decided(said: Awaitable[T], seconds: float | None) -> T:
    async def decide() -> T:
        return await said

    return await decide() if seconds is None else await within(decide(), seconds)


def pending(valid: ValidCall, opinion: Opinion) -> Pending:
    """The call as a person is shown it."""
    return Pending(
        call=valid.call,
        tool=valid.tool.name,
        arguments=copy.deepcopy(valid.json_arguments),
        reason=opinion.reason or opinion.rule,
        rule=opinion.rule,
        effect=valid.tool.effect,
        risk=valid.tool.risk,
        fingerprint=valid.fingerprint,
    )


def _start(valid: ValidCall, identity: Identity | None) -> dict[str, Any]:
    return {
        valid.id_key: valid.call.id,
        names.CALL_TOOL: valid.tool.name,
        **valid.marks,
        names.IDENTITY: identity.id if identity else None,
        names.EFFECT: valid.tool.effect,
        names.RISK: valid.tool.risk,
        names.TOOL_TIMEOUT: valid.tool.timeout,
    }


def _shown(opinion: Opinion) -> dict[str, Any]:
    return {
        names.POLICY_RULE: opinion.rule,
        names.POLICY_DECISION: opinion.decision,
        names.POLICY_REASON: opinion.reason or None,
    }
