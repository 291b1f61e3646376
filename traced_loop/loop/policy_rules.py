"""Ready-made rules: allow, deny or ask, by tool, effect, risk, identity, role and arguments.

    Policy(rules=[
        deny_when("refund", lambda arguments: arguments["cents"] > 50_000, name="refund_limit"),
        deny_when(risk="high", without_role="support"),
        allow_when("create_ticket", role="support"),
        confirm_when(risk="high"),
    ])

All that a rule names must hold for it to have its opinion. A rule of your own is a plain function; see ``Rule``.
"""

import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, TypedDict, get_args

from typing_extensions import Unpack

from traced_loop.errors import UsageError
from traced_loop.frozen_value import frozen_value
from traced_loop.given_values import words
from traced_loop.loop.policy import Opinion, Proposal
from traced_loop.outcomes import Decision, Effect, Risk

Predicate = Callable[[Mapping[str, Any]], bool | Awaitable[bool]]
"""Asked about the validated arguments, as plain JSON values without the defaults of what was left out. It answers True
or False, sync or async; whatever else it gives or raises denies the call."""

_VERBS: Mapping[Decision, str] = {
    Decision.ALLOW: "allow",
    Decision.DENY: "deny",
    Decision.NEEDS_CONFIRMATION: "confirm",
}


@frozen_value
class When:
    """One ready-made rule; what is None holds for every call.

    Attributes:
        decision: its opinion.
        tools: names of tools.
        effect: ``read`` or ``write``.
        risk: ``low`` or ``high``.
        identity: ids of which the run's must be one; a run without an identity has none.
        role: roles of which the run's identity has at least one.
        without_role: roles of which it has none; holds for a run without an identity.
        arguments: what must be true of the arguments; asked last.
        name: the rule's name in the trace.
        reason: short words for the trace and the model.
    """

    decision: Decision
    tools: frozenset[str] | None
    effect: Effect | None
    risk: Risk | None
    identity: frozenset[str] | None
    role: frozenset[str] | None
    without_role: frozenset[str] | None
    arguments: Predicate | None
    name: str
    reason: str

    def __call__(self, proposal: Proposal) -> Opinion | Awaitable[Opinion | None] | None:
        """The opinion about one call, or None; to be awaited where the predicate is asynchronous.

        Raises:
            TypeError: the predicate answered with something else than True or False.
        """
        if not self._concerns(proposal):
            return None
        answer = True if self.arguments is None else self.arguments(proposal.arguments)
        return self._later(answer) if inspect.isawaitable(answer) else self._opinion(answer)

    async def _later(self, answer: Awaitable[bool]) -> Opinion | None:
        return self._opinion(await answer)

    def _opinion(self, answer: object) -> Opinion | None:
        if not isinstance(answer, bool):
            raise TypeError("a predicate of arguments answers True or False")
        return Opinion(decision=self.decision, rule=self.name, reason=self.reason) if answer else None

    @property
    def __name__(self) -> str:
        return self.name

    def _concerns(self, proposal: Proposal) -> bool:
        who = proposal.identity
        roles = who.roles if who else frozenset[str]()
        return (
            (self.tools is None or proposal.tool in self.tools)
            and self.effect in {None, proposal.effect}
            and self.risk in {None, proposal.risk}
            and (self.identity is None or (who is not None and who.id in self.identity))
            and (self.role is None or bool(roles & self.role))
            and (self.without_role is None or not roles & self.without_role)
        )


class Criteria(TypedDict, total=False):
    """What a rule may ask for beside tool and arguments; see ``When``."""

    effect: Effect
    risk: Risk
    identity: str | Collection[str]
    role: str | Collection[str]
    without_role: str | Collection[str]
    name: str
    reason: str


def allow_when(
    tool: str | Collection[str] | None = None, arguments: Predicate | None = None, **criteria: Unpack[Criteria]
) -> When:
    """A rule that allows, a write too, without asking anybody.

    Args:
        tool: name of a tool, or names.
        arguments: see ``Predicate``.
        criteria: see ``When``; without a ``name`` one is made of what the rule asks for, without roles and ids.

    Raises:
        UsageError: it asks for nothing, or for what there is not.
    """
    return _when(Decision.ALLOW, tool, arguments, criteria)


def deny_when(
    tool: str | Collection[str] | None = None, arguments: Predicate | None = None, **criteria: Unpack[Criteria]
) -> When:
    """A rule that denies; see ``allow_when``.

    Raises:
        UsageError: likewise.
    """
    return _when(Decision.DENY, tool, arguments, criteria)


def confirm_when(
    tool: str | Collection[str] | None = None, arguments: Predicate | None = None, **criteria: Unpack[Criteria]
) -> When:
    """A rule that has a person asked, about a read too; see ``allow_when``.

    Raises:
        UsageError: likewise.
    """
    return _when(Decision.NEEDS_CONFIRMATION, tool, arguments, criteria)


def _when(
    decision: Decision, tool: str | Collection[str] | None, arguments: Predicate | None, criteria: Criteria
) -> When:
    of = f"{_VERBS[decision]}_when"
    known = Criteria.__annotations__
    if unknown := sorted(set(criteria) - set(known)):
        raise UsageError(f"{of}({unknown[0]}=...): it asks for {', '.join(known)}")
    if arguments is not None and not callable(arguments):
        raise UsageError(f"{of}: arguments must be a function of the arguments, as lambda given: given['cents'] > 100")
    for name, words_there_are in (("effect", get_args(Effect)), ("risk", get_args(Risk))):
        if criteria.get(name, words_there_are[0]) not in words_there_are:
            raise UsageError(f"{of}({name}={criteria.get(name)!r}): write {' or '.join(map(repr, words_there_are))}")
    sets = {name: _names(of, name, criteria.get(name)) for name in ("identity", "role", "without_role")}
    tools = _names(of, "tool", tool)
    asked = _asked_for(tools, arguments, criteria)
    if not asked:
        raise UsageError(f"{of}() would hold for every call: say for which, as {of}(effect='write')")
    return When(
        decision=decision,
        tools=tools,
        effect=criteria.get("effect"),
        risk=criteria.get("risk"),
        arguments=arguments,
        name=criteria.get("name") or f"{of}({','.join(asked)})",
        reason=criteria.get("reason", ""),
        **sets,
    )


def _asked_for(tools: frozenset[str] | None, arguments: Predicate | None, criteria: Criteria) -> list[str]:
    """What a rule asks for, in words that may stand in a trace: the ids and roles of people may not."""
    asked = [] if tools is None else ["|".join(sorted(tools))]
    asked += [str(criteria.get(name)) for name in ("effect", "risk") if name in criteria]
    asked += [name for name in ("identity", "role", "without_role") if name in criteria]
    return asked if arguments is None else [*asked, "arguments"]


def _names(of: str, name: str, given: object) -> frozenset[str] | None:
    if given is None:
        return None
    found = frozenset({given}) if isinstance(given, str) else words(name, given, of=of)
    if not found:
        raise UsageError(f"{of}({name}=[]) would hold for no call: name one")
    return found
