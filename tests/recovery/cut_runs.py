"""One scripted run, recorded event by event, and stores that hold its records up to any of them."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from traced_loop import Loop, Policy, ScriptedModel, tool
from traced_loop.models.scripted import calls
from traced_loop.records.store import Store
from traced_loop.records.trace_store import TraceStore
from traced_loop.setup import Wiring
from traced_loop.telemetry.fingerprint import Fingerprints
from traced_loop.telemetry.spans import SpanRecord, Telemetry
from traced_loop.testing import CountedClock, CountedIds

if TYPE_CHECKING:
    from pathlib import Path

RUN_ID = "run-1"


@tool(effect="read")
def look(n: int) -> str:
    """Look."""
    return f"seen {n}"


@tool(effect="write")
def pay(cents: int) -> str:
    """Pay."""
    return f"paid {cents}"


@dataclass
class RecordedEvents:
    """A sink that keeps what it is told, in order."""

    events: list[tuple[str, SpanRecord]] = field(default_factory=list)

    def started(self, span: SpanRecord) -> None:
        self.events.append(("started", copy.deepcopy(span)))

    def ended(self, span: SpanRecord) -> None:
        self.events.append(("ended", copy.deepcopy(span)))


def recorded_run() -> list[tuple[str, SpanRecord]]:
    """Reads beside each other, a write that a person confirms, a refused call, and the answer."""
    sink, ids = RecordedEvents(), CountedIds()
    telemetry = Telemetry(sink=sink, clock=CountedClock(), ids=ids)
    wiring = Wiring(telemetry=telemetry, fingerprints=Fingerprints(b"k" * 32))
    script = [
        calls(("look", {"n": 1}), ("look", {"n": 2})),
        calls(("pay", {"cents": 5}), ("nothing", {}), ("look", {"n": 3})),
        "done",
    ]
    policy = Policy(confirm=lambda _pending: True)
    Loop(ScriptedModel(script), [look, pay], policy=policy, wiring=wiring, ids=ids).run("go")
    return sink.events


def store_up_to(folder: Path, events: list[tuple[str, SpanRecord]]) -> Store:
    """A store as a process leaves it that is killed after the last of these events."""
    store = Store.open(folder)
    sink = TraceStore(store, {"service.name": "shop"})
    for kind, span in events:
        (sink.started if kind == "started" else sink.ended)(span)
    return store
