"""Runs of every kind that a page has to show, each recorded by the real loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from traced_loop import Budget, Loop, ModelError, Policy, Price, ScriptedModel, allow_when, tool
from traced_loop.testing import calls

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from traced_loop import RunResult

HOSTILE = "<script>document.title='taken'</script><img src=x onerror=alert(1)>\x1b[31mred\u202egnp.exe\u2066 {{7*7}}"
"""Markup, a script, a terminal's colour, text that turns round, a template."""
LARGE = 5_000_000


@tool(effect="read")
def search(query: str) -> str:
    """Search the documentation."""
    return f"found {query} " * 60


@tool(effect="read", max_result_bytes=20_000_000)
def page(name: str) -> str:
    """Read a page of somebody else's."""
    return HOSTILE + "W" * LARGE if name == "large" else HOSTILE


@tool(effect="write", key=lambda order_id, **_: f"refund:{order_id}")
def refund(order_id: str) -> str:
    """Refund an order."""
    if order_id == "lost":
        raise ConnectionError("the line is gone")
    return "refunded"


def busy() -> ModelError:
    """A server that can be asked again."""
    return ModelError("busy", error_type="503", retryable=True, status=503)


def stored(home: Path, lines: Sequence[Any], prompt: str = "Do it", **how: Any) -> RunResult:
    """A run of a script in a store; writes of refunds are allowed, and there may be ``more`` tools."""
    model = ScriptedModel(lines, price=Price(input=2, output=8))
    policy = Policy(rules=[allow_when("refund")])
    tools = [search, page, refund, *how.pop("more", ())]
    return Loop(model, tools=tools, store=home, policy=policy, **how).run(prompt)


def plain_run(home: Path) -> RunResult:
    """A search, and an answer."""
    return stored(home, [calls(("search", {"query": "a"})), "done"], name="plain")


def hostile_run(home: Path) -> RunResult:
    """Whoever answers here wants to take over the page of who looks."""
    lines = [calls(("page", {"name": HOSTILE}), ("page", {"name": "large"}), text=HOSTILE), HOSTILE]
    return stored(home, lines, HOSTILE, name="hostile", session_id=HOSTILE[:40], budget=Budget(tokens=10**9))


def doubtful_run(home: Path) -> RunResult:
    """One refund is done, of another nobody knows."""
    return stored(home, [calls(("refund", {"order_id": "A1"}), ("refund", {"order_id": "lost"}))], name="refunds")


def repeating_run(home: Path) -> RunResult:
    """The same again and again."""
    return stored(home, [calls(("search", {"query": "a"}))] * 9, name="loops")


def large_run(home: Path, steps: int) -> RunResult:
    """Of 15 spans a step, about."""
    lines = [calls(*(("search", {"query": f"{n}-{m}"}) for m in range(3))) for n in range(steps)]
    budget = Budget(steps=steps + 1, tool_calls=steps * 3, tokens=10**12, seconds=600)
    return stored(home, [*lines, "done"], budget=budget, name="large")
