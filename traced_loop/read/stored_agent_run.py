"""A run of a store that is open: its spans, what its ledger has added, and whether one without an end still lives."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from traced_loop.read.agent_run import AgentRun
from traced_loop.read.local_store import LocalStore
from traced_loop.read.run_entry import RunState
from traced_loop.read.settled_write import SettledWrite
from traced_loop.read.trace import SpanKey, StoredTrace


def stored_agent_run(
    store: LocalStore,
    run_id: str,
    our_run: Callable[[StoredTrace], AgentRun],
    now_ns: Callable[[], int] = time.time_ns,
) -> AgentRun:
    """One run, by its full id.

    A run whose process lives lasts until now. One that ends between two looks at its files is read once more.

    Args:
        store: where it is.
        run_id: whose spans.
        our_run: makes a run of a trace.
        now_ns: nanoseconds since 1970.
    """
    run = our_run(store.trace(run_id))
    if run.is_open:
        state = store.state(run_id)
        run = our_run(store.trace(run_id)) if state == "ended" else as_seen(run, state, now_ns())
    return with_settled(run, store.settled(run_id, run.trace))


def with_settled(run: AgentRun, settled: Mapping[SpanKey, SettledWrite]) -> AgentRun:
    """A run with what the ledger knows by now of its writes.

    Args:
        run: as its spans tell it.
        settled: by each span of their calls.
    """
    if not settled:
        return run
    calls = tuple(
        replace(call, settled=found) if call.spans and (found := settled.get(call.spans[-1])) is not None else call
        for call in run.calls
    )
    return replace(run, calls=calls)


def as_seen(run: AgentRun, state: RunState, now_ns: int) -> AgentRun:
    """A run with what is known of its process; one that lives lasts until now.

    Args:
        run: as its spans tell it.
        state: of a run without an end, as the store tells it.
        now_ns: nanoseconds since 1970.
    """
    if not run.is_open or state == "ended":
        return run
    return replace(run, state=state, end_ns=max(run.end_ns, now_ns) if state == "running" else run.end_ns)
