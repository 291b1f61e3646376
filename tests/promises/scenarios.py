"""Whole random runs: a script, tools with manners, rules, a person, budgets, and a moment at which it is broken off."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from hypothesis import strategies as st

from traced_loop import Decision

from .answers import TOOLS, Answer, answers
from .world import GIVES, RAISES, WAITS

DENIES: Final = ("raises", "cancels", "nonsense", "hangs", "deny")


@dataclass(frozen=True)
class Break:
    """How a run is broken off from outside: at its n-th event, or after some seconds."""

    how: Literal["never", "callback_raises", "cancelled_at_event", "cancelled_after"] = "never"
    at: float = 0


@dataclass(frozen=True)
class Rules:
    """A policy in words."""

    allow: frozenset[str] | None = None
    deny: frozenset[str] = frozenset()
    rules: tuple[str, ...] = ()
    on_deny: Literal["stop", "report"] = "stop"
    person: tuple[Any, ...] | None = (True,)

    def decision(self, tool: str) -> Decision:
        """What it must come to, said here once more and apart from the policy engine."""
        if tool in self.deny or (self.allow is not None and tool not in self.allow):
            return Decision.DENY
        for word in self.rules:
            kind, _, name = word.partition(":")
            if name == tool:
                return Decision.DENY if kind in DENIES else Decision(kind)
        return Decision.NEEDS_CONFIRMATION if tool in {"save", "pay"} else Decision.ALLOW


@dataclass(frozen=True)
class Scenario:
    """All that makes one run different from another."""

    script: tuple[Answer, ...]
    manners: Mapping[str, tuple[str, ...]]
    rules: Rules
    budget: Mapping[str, Any]
    shared: Mapping[str, Any] | None
    broken: Break
    options: Mapping[str, Any]
    priced: bool
    tolerate: frozenset[str]
    stays_done: int = 0


MANNERS: Final = st.lists(st.sampled_from([*["ok"] * 6, *GIVES, *RAISES, *WAITS]), min_size=1, max_size=3).map(tuple)
NAMED: Final = st.sampled_from(TOOLS)
RULES: Final = st.builds(
    Rules,
    allow=st.sampled_from([None] * 12 + [frozenset(TOOLS) - {"later"}, frozenset({"read", "pay"}), frozenset[str]()]),
    deny=st.sampled_from([frozenset[str]()] * 12 + [frozenset({"save"}), frozenset({"read", "pay"})]),
    rules=st.lists(
        st.builds("{}:{}".format, st.sampled_from([*["allow", "needs_confirmation"] * 8, *DENIES]), NAMED), max_size=3
    ).map(tuple),
    on_deny=st.sampled_from(["report", "report", "report", "stop"]),
    person=st.one_of(
        st.just((True,)),
        st.none(),
        st.lists(st.sampled_from([*[True] * 6, False, None, "hangs", "raises", "other", "yes"]), min_size=1).map(tuple),
    ),
)
BUDGETS: Final = st.fixed_dictionaries(
    {
        "steps": st.sampled_from([8, 8, 5, 3, 2, 1, None]),
        "tool_calls": st.sampled_from([32, 32, 32, 12, 6, 2, None]),
        "tokens": st.sampled_from([None, None, None, 200_000, 200_000, 20_000, 2_000, 900]),
        "seconds": st.sampled_from([300.0, 300.0, 300.0, 300.0, 60.0, 60.0, 20.0, 5.0, 0.5]),
        "request_seconds": st.sampled_from([120.0, 10.0, 2.0]),
        "tool_seconds": st.sampled_from([30.0, 3.0, 0.25]),
        "warn_at": st.sampled_from([0.8, 0.1, None]),
        "last_request": st.booleans(),
    }
)
SHARED: Final = st.sampled_from(
    [
        *[None] * 8,
        {"steps": 20},
        {"steps": 3},
        {"steps": 1},
        {"tool_calls": 40, "tokens": 90_000},
        {"tool_calls": 6, "tokens": 40_000},
        {"tool_calls": 2, "tokens": 18_000},
        {"tokens": 2_000},
    ]
)
BREAKS: Final = st.sampled_from(
    [
        *[Break()] * 120,
        *[Break("callback_raises", at) for at in range(1, 25)],
        *[Break("cancelled_at_event", at) for at in range(1, 25)],
        *[Break("cancelled_after", at) for at in (0.0, 0.1, 0.6, 1.0, 4.0, 7.5, 31.0)] * 2,
    ]
)
OPTIONS: Final = st.fixed_dictionaries(
    {
        "unknown_tool": st.sampled_from(["report", "report", "report", "report", "stop"]),
        "on_tool_error": st.sampled_from(["report", "compensate", "compensate", "compensate", "stop"]),
        "on_timeout": st.sampled_from(["report", "stop"]),
        "max_parallel": st.sampled_from([8, 2, 1]),
    }
)


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """One run."""
    priced = draw(st.booleans())
    budget, shared = draw(BUDGETS), draw(SHARED)
    if priced:
        budget = {**budget, "cost_usd": draw(st.sampled_from([None, "0.05", "0.05", "0.05", "0.003"]))}
        shared = shared and {**shared, "cost_usd": draw(st.sampled_from([None, "0.02"]))}
    return Scenario(
        script=tuple(draw(st.lists(answers(), min_size=2, max_size=6))),
        manners=draw(st.fixed_dictionaries(dict.fromkeys(TOOLS, MANNERS))),
        rules=draw(RULES),
        budget=budget,
        shared=shared,
        broken=draw(BREAKS),
        options=draw(OPTIONS),
        priced=priced,
        stays_done=draw(st.sampled_from([0, 1, 2])),
        tolerate=draw(st.sampled_from([frozenset(), frozenset({"stop_with_tool_calls"})])),
    )
