"""What is measured: each cell is an agent under a choice and a behaviour of the collector, in a process of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.benchmarks.step.agent_choice import Choice, Form
from tests.benchmarks.step.servers import Behaviour


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """One row of a table.

    Attributes:
        table: `cost`, `length`, `at once` or `collector`.
        label: the agent and what is special about it.
        choice: what runs.
        collector: how it behaves meanwhile.
        once: in the first repetition only, for it takes half a minute to exit.
    """

    table: str
    label: str
    choice: Choice
    collector: Behaviour = "healthy"
    once: bool = False

    @property
    def key(self) -> str:
        """What names it in one run of the benchmark."""
        choice = self.choice
        shape = f"{choice.form}, {choice.rounds} rounds, {choice.at_once} at once"
        return f"{self.table}: {self.label}, {shape}, {self.collector}"


FLOOR = Choice(agent="floor", export="none", store=False)
BARE = Choice(agent="bare")
OURS = Choice(agent="ours")
UNTRACED = replace(OURS, store=False, export="none")
VARIANTS = {
    "floor": FLOOR,
    "bare": BARE,
    "bare, content": replace(BARE, content=True),
    "ours": OURS,
    "ours, content": replace(OURS, content=True),
    "ours untraced": UNTRACED,
    "ours, no store": replace(OURS, store=False),
    "ours, store only": replace(OURS, export="none"),
    "ours, app's provider": replace(OURS, export="application"),
    "ours, app's, content": replace(OURS, export="application", content=True),
}
QUICK = ("floor", "bare", "ours", "ours untraced")
FAULTS: tuple[Behaviour, ...] = ("healthy", "slow", "hung", "refusing", "down")


def cells(*, quick: bool) -> list[Cell]:
    """All of them, or those that a minute is enough for."""
    if quick:
        return [
            *(Cell(table="cost", label=name, choice=replace(VARIANTS[name], runs=30)) for name in QUICK),
            Cell(table="at once", label="floor", choice=_together(FLOOR, "async", runs=50)),
            Cell(table="at once", label="ours", choice=_together(OURS, "async", runs=50)),
            Cell(table="collector", label="ours", choice=replace(OURS, runs=30), collector="down"),
        ]
    return [*_cost(), *_length(), *_at_once(), *_collector()]


def _cost() -> list[Cell]:
    forms: tuple[Form, ...] = ("sync", "async")
    return [
        Cell(table="cost", label=name, choice=replace(choice, form=form))
        for form in forms
        for name, choice in VARIANTS.items()
    ]


def _length() -> list[Cell]:
    found: list[Cell] = []
    for name in ("floor", "bare, content", "ours", "ours, content"):
        # The floor walks over its whole history at each request: at 200 rounds one run takes ten seconds.
        runs = {5: 30, 50: 4, 200: 1 if name in {"floor", "bare, content"} else 3}
        found += [
            Cell(table="length", label=name, choice=replace(VARIANTS[name], rounds=rounds, runs=count))
            for rounds, count in runs.items()
        ]
    return found


def _at_once() -> list[Cell]:
    forms: tuple[Form, ...] = ("sync", "async")
    return [
        Cell(table="at once", label=name, choice=_together(VARIANTS[name], form, runs=200))
        for form in forms
        for name in QUICK
    ]


def _together(choice: Choice, form: Form, *, runs: int) -> Choice:
    return replace(choice, form=form, at_once=50, runs=runs)


def _collector() -> list[Cell]:
    found = [Cell(table="collector", label="ours", choice=OURS, collector=how) for how in FAULTS]
    return found + [Cell(table="collector", label="bare", choice=BARE, collector=how, once=True) for how in FAULTS]
