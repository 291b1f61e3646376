"""Which agent a process runs, and how: what `session` tells `agent`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

Form = Literal["sync", "async"]
Name = Literal["floor", "bare", "ours"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """One process.

    Attributes:
        agent: the floor, the same loop with spans by hand, or ours.
        form: `run`, of as many threads as there are runs at once; or `arun`, of as many tasks.
        rounds: tool calls before the final text, so a run has one step more.
        at_once: runs at the same time.
        runs: how many are measured; as many as are at once come before them, and one more that is.
        content: messages, arguments and results are on the spans.
        store: ours keeps its local store.
        export: `own` is the exporter of ours, `application` is the application's provider, `none` sends nothing.
        model_url: the model's.
        traces: the collector's.
        folder: of the store.
    """

    agent: Name
    form: Form = "sync"
    rounds: int = 5
    at_once: int = 1
    runs: int = 60
    content: bool = False
    store: bool = True
    export: Literal["own", "application", "none"] = "own"
    model_url: str = ""
    traces: str = ""
    folder: str = ""

    @property
    def model(self) -> str:
        """What the scripted server is to do."""
        return f"rounds-{self.rounds}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Agent:
    """An agent that is ready to run: each call is one conversation, and gives its final text."""

    run: Callable[[], str]
    arun: Callable[[], Awaitable[str]]
    spans: Callable[[], int] = lambda: 0
    """How many were started so far."""
