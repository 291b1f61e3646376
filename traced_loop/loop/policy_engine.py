"""Whether a valid call may run: rules in order, the first opinion wins, then the defaults. Trusts no prompt.

Defaults, where no rule has an opinion: a tool off the run's allow-list is denied, a read is allowed, a write needs a
confirmation. Opens one ``traced_loop.authorize_call`` span per decision, and another one where the decision is taken up
again later: when a person was asked, or when the call's turn never came.
"""

import copy
import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from traced_loop import names
from traced_loop.closed_words import ConfirmationState
from traced_loop.errors import UsageError
from traced_loop.given_values import words
from traced_loop.loop.bounded_wait import TimedOut, within
from traced_loop.loop.daemon_threads import DaemonThreads
from traced_loop.loop.validator import ValidCall
from traced_loop.outcomes import Decision, Effect, Outcome, Risk, StopReason
from traced_loop.run_result import Pending
from traced_loop.telemetry.clock import Clock
from traced_loop.telemetry.spans import Telemetry


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """On whose behalf a run acts. Only the id reaches a span."""

    id: str
    roles: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Keep the roles as a set.

        Raises:
            UsageError: ``roles`` is no collection of names.
        """
        object.__setattr__(self, "roles", words("roles", self.roles, of="Identity"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """What a rule sees of a call: validated, and nothing of the conversation."""

    tool: str
    effect: Effect
    risk: Risk
    arguments: Mapping[str, Any]
    identity: Identity | None
    run_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Opinion:
    """What a rule says. ``rule`` and ``reason`` are short words for the trace: no content."""

    decision: Decision
    rule: str
    reason: str = ""

    def __post_init__(self) -> None:
        """Keep a decision, also where its word was given: what is none of the three must never allow anything.

        Raises:
            UsageError: no decision.
        """
        try:
            object.__setattr__(self, "decision", Decision(self.decision))
        except ValueError:
            known = ", ".join(Decision)
            raise UsageError(f"Opinion(decision={self.decision!r}): write one of {known}") from None


T = TypeVar("T")

Rule = Callable[[Proposal], Opinion | Decision | Awaitable[Opinion | Decision | None] | None]
"""A rule: an opinion, or None. A rule that raises denies, and so does an asynchronous one that takes all the time that
the run has left. A synchronous one runs on the event loop and cannot be bounded: it must be quick."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Approved:
    """A person's yes, with a name for the trace."""

    by: str


Answer = bool | Approved | None
"""True or ``Approved`` runs the call, False rejects it, None leaves it pending."""

Approver = Callable[[Pending], Answer | Awaitable[Answer]]
"""Asked about one call; sync or async. Any other answer is refused: a text that somebody typed is no yes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """The rules of a loop.

    Attributes:
        rules: asked in order.
        allow: names of the tools that this loop may run; None for all that are registered.
        confirm: asked where a decision is ``needs_confirmation``; None pauses the run instead.
        on_deny: ``stop`` ends the run, ``report`` tells the model.
    """

    rules: Sequence[Rule] = ()
    allow: Collection[str] | None = None
    confirm: Approver | None = None
    on_deny: Literal["stop", "report"] = "stop"

    def __post_init__(self) -> None:
        """Refuse words that mean nothing.

        Raises:
            UsageError: ``on_deny`` is neither of its two words, or ``allow`` is no collection of names.
        """
        if self.allow is not None:
            object.__setattr__(self, "allow", words("allow", self.allow, of="Policy"))
        if self.on_deny not in {"stop", "report"}:
            raise UsageError(f'Policy(on_deny={self.on_deny!r}): write "stop" or "report"')


@dataclass(frozen=True, kw_only=True, slots=True)
class Confirmation:
    """What came of asking: ``approved``, ``rejected`` or ``pending``, and how long it took in seconds."""

    state: ConfirmationState
    waited: float


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
        self, valid: ValidCall, identity: Identity | None, run_id: str, seconds: float | None = None
    ) -> Opinion:
        """Decide about one call; an asynchronous rule gets ``seconds`` at most, or with None as long as it takes."""
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
            opinion = await self._opinion(proposal, seconds)
            span.set(_shown(opinion))
            if opinion.decision is Decision.DENY:
                stop = StopReason.TOOL_NOT_ALLOWED if self.stops_on_deny else None
                span.set({names.CALL_OUTCOME: Outcome.DENIED, names.RUN_STOP_REASON: stop})
        return opinion

    async def confirm(
        self, valid: ValidCall, opinion: Opinion, identity: Identity | None, clock: Clock
    ) -> Confirmation:
        """Ask about one call at its turn; without an approver it stays pending."""
        with self._telemetry.span(names.AUTHORIZE_CALL, _start(valid, identity)) as span:
            span.set(_shown(opinion))
            begun = clock.seconds()
            answer = await self._ask(valid, opinion)
            waited = clock.seconds() - begun
            state: ConfirmationState = "pending" if answer is None else "approved" if answer else "rejected"
            span.set({names.CONFIRMATION_STATE: state, names.CONFIRMATION_WAIT_MS: round(waited * 1000)})
            if isinstance(answer, Approved):
                span.set({names.CONFIRMATION_BY: answer.by})
            if state == "rejected":
                span.set({names.CALL_OUTCOME: Outcome.CONFIRMATION_REJECTED})
            if state == "pending":
                span.set({names.CALL_OUTCOME: Outcome.CONFIRMATION_REQUIRED})
                span.set({names.RUN_STOP_REASON: StopReason.CONFIRMATION_REQUIRED})
        return Confirmation(state=state, waited=waited)

    def withdraw(
        self, valid: ValidCall, identity: Identity | None, outcome: Outcome, stop: StopReason | None = None
    ) -> None:
        """Record that an authorised call did not run after all; ``stop`` when that is what ends the run."""
        start = {**_start(valid, identity), names.CALL_OUTCOME: outcome, names.RUN_STOP_REASON: stop}
        with self._telemetry.span(names.AUTHORIZE_CALL, start, brief=True):
            pass

    async def _opinion(self, proposal: Proposal, seconds: float | None) -> Opinion:
        allow = self._policy.allow
        if allow is not None and proposal.tool not in allow:
            return Opinion(decision=Decision.DENY, rule="allow_list", reason="not on this run's list")
        for rule in self._policy.rules:
            name = getattr(rule, "__name__", type(rule).__name__)
            try:
                said = rule(proposal)
                given = await _decided(said, seconds) if inspect.isawaitable(said) else said
                if given is not None:
                    return given if isinstance(given, Opinion) else Opinion(decision=Decision(given), rule=name)
            except TimedOut:
                return Opinion(decision=Decision.DENY, rule=name, reason="the rule did not decide in time")
            except Exception as error:  # noqa: BLE001 - a rule that cannot decide must not allow
                return Opinion(decision=Decision.DENY, rule=name, reason=f"the rule raised {type(error).__name__}")
        if proposal.effect == "read":
            return Opinion(decision=Decision.ALLOW, rule="default_read")
        return Opinion(decision=Decision.NEEDS_CONFIRMATION, rule="default_write", reason="writes are confirmed")

    async def _ask(self, valid: ValidCall, opinion: Opinion) -> Answer:
        """Put the question.

        Raises:
            UsageError: the approver's answer is none: what might be a no must never run a write.
        """
        approver = self._policy.confirm
        if approver is None:
            return None
        asked = pending(valid, opinion)
        # A person may take minutes: in a thread, so that no other run of this event loop waits for them.
        said, error = (
            (approver(asked), None)
            if inspect.iscoroutinefunction(approver)
            else await self._threads.run(lambda: approver(asked))
        )
        if error is not None:
            raise error
        answer: object = await said if inspect.isawaitable(said) else said
        if answer is None or isinstance(answer, (bool, Approved)):
            return answer
        raise UsageError(
            f"confirm= answered with a {type(answer).__name__}: return True, Approved(by=...), False,"
            " or None to leave the call pending"
        )


async def _decided(said: Awaitable[T], seconds: float | None) -> T:
    async def decide() -> T:
        return await said

    return await decide() if seconds is None else await within(decide(), seconds)


def pending(valid: ValidCall, opinion: Opinion) -> Pending:
    """The call as a person is shown it."""
    reason = opinion.reason or opinion.rule
    return Pending(call=valid.call, tool=valid.tool.name, arguments=copy.deepcopy(valid.json_arguments), reason=reason)


def _start(valid: ValidCall, identity: Identity | None) -> dict[str, Any]:
    return {
        names.CALL_ID: valid.call.id,
        names.CALL_TOOL: valid.tool.name,
        **valid.marks,
        names.IDENTITY: identity.id if identity else None,
        names.EFFECT: valid.tool.effect,
        names.RISK: valid.tool.risk,
    }


def _shown(opinion: Opinion) -> dict[str, Any]:
    return {
        names.POLICY_RULE: opinion.rule,
        names.POLICY_DECISION: opinion.decision,
        names.POLICY_REASON: opinion.reason or None,
    }
