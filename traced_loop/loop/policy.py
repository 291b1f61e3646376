"""What users say about which calls may run: rules and their opinions, lists of tools, who is asked, on whose behalf.

Values only; ``policy_engine`` decides with them, and ``policy_rules`` makes rules.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, cast

from traced_loop.errors import UsageError
from traced_loop.frozen_value import frozen_value
from traced_loop.given_values import amount, words
from traced_loop.outcomes import Decision, Effect, Risk
from traced_loop.run_result import Pending


@frozen_value
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


@frozen_value
class Proposal:
    """What a rule sees of a call: validated, and nothing of the conversation."""

    tool: str
    effect: Effect
    risk: Risk
    arguments: Mapping[str, Any]
    identity: Identity | None
    run_id: str


@frozen_value
class Opinion:
    """What a rule says. ``rule`` and ``reason`` are short words for the trace and the model: no content."""

    decision: Decision
    rule: str
    reason: str = ""

    def __post_init__(self) -> None:
        """Keep a decision, also where its word was given: what is none of the three must never allow anything.

        Raises:
            UsageError: no decision, or a name or reason that is no text.
        """
        try:
            object.__setattr__(self, "decision", Decision(self.decision))
        except ValueError:
            known = ", ".join(Decision)
            raise UsageError(f"Opinion(decision={self.decision!r}): write one of {known}") from None
        for name in ("rule", "reason"):
            if not isinstance(getattr(self, name), str):
                raise UsageError(f"Opinion({name}=...) is a {type(getattr(self, name)).__name__}: write a short text")


Rule = Callable[[Proposal], Opinion | Decision | Awaitable[Opinion | Decision | None] | None]
"""A rule: an opinion, or None. A rule that raises denies, and so does an asynchronous one that takes all the time that
the run has left. A synchronous one runs on the event loop and cannot be bounded: it must be quick. Its function's name
stands in the trace; a lambda is ``rules[0]``, by its place."""


@frozen_value
class Approved:
    """A person's yes, with a name for the trace.

    Attributes:
        by: who said it.
        fingerprint: the ``Pending.fingerprint`` that the person was shown. A yes to other arguments than the call's
            is no answer, and the call stays pending. None where the approver answers about what it was given.
    """

    by: str
    fingerprint: str | None = None


@frozen_value
class Rejected:
    """A person's no, with a name for the trace. It needs no fingerprint: a no runs nothing, whatever it was about.

    Attributes:
        by: who said it.
    """

    by: str


@frozen_value
class NotTaken:
    """A yes that was given and does not hold: the call stays pending, as without an answer. Approvers do not give it.

    Attributes:
        why: one sentence for people, which may stand on a span: no content.
    """

    why: str


Answer = bool | Approved | Rejected | None
"""True or ``Approved`` runs the call, False or ``Rejected`` rejects it, None leaves it pending."""

Approver = Callable[[Pending], Answer | Awaitable[Answer]]
"""Asked about one call; sync or async. Any other answer is refused: a text that somebody typed is no yes."""


@frozen_value
class Policy:
    """The rules of a loop.

    Attributes:
        rules: asked in order; the first opinion decides.
        allow: names of the tools that this loop may run; None for all that are registered.
        deny: names of the tools that it may not run, also where ``allow`` names them or a rule would allow them.
        confirm: asked where a decision is ``needs_confirmation``; None pauses the run instead.
        confirm_seconds: how long ``confirm`` may take for one call; after that there is no answer, and the run pauses.
            None waits as long as it takes: people are not the run's time.
        on_deny: ``stop`` ends the run, ``report`` tells the model.
    """

    rules: Sequence[Rule] = ()
    allow: Collection[str] | None = None
    deny: Collection[str] = ()
    confirm: Approver | None = None
    confirm_seconds: float | None = None
    on_deny: Literal["stop", "report"] = "stop"

    def __post_init__(self) -> None:
        """Refuse what means nothing, before it fails to refuse a call.

        Raises:
            UsageError: the message says what to write instead.
        """
        given = cast("object", self.rules)
        if callable(given) or not isinstance(given, Iterable):
            raise UsageError("Policy(rules=...) wants a list: rules=[my_rule]")
        object.__setattr__(self, "rules", tuple(self.rules))
        for rule in (*self.rules, *(() if self.confirm is None else (self.confirm,))):
            if not callable(rule):
                raise UsageError(f"Policy: {rule!r} is no function")
        if self.allow is not None:
            object.__setattr__(self, "allow", words("allow", self.allow, of="Policy"))
        object.__setattr__(self, "deny", words("deny", self.deny, of="Policy"))
        amount("confirm_seconds", self.confirm_seconds, of="Policy", or_none=True)
        if self.on_deny not in {"stop", "report"}:
            raise UsageError(f'Policy(on_deny={self.on_deny!r}): write "stop" or "report"')

    @property
    def named_tools(self) -> Mapping[str, frozenset[str]]:
        """The tools that it names, by where: a name that is no tool's would deny nothing, unseen."""
        by_rules = frozenset(name for rule in self.rules for name in getattr(rule, "tools", None) or ())
        return {"allow": frozenset(self.allow or ()), "deny": frozenset(self.deny), "rules": by_rules}
