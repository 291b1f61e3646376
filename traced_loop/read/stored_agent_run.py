"""A run of a store that is open: its spans, and of one without an end whether its process still lives."""

import time
from collections.abc import Callable
from dataclasses import replace

from traced_loop.read.agent_run import AgentRun
from traced_loop.read.local_store import LocalStore
from traced_loop.read.run_entry import RunState
from traced_loop.read.trace import StoredTrace


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
    if not run.is_open:
        return run
    state = store.state(run_id)
    return our_run(store.trace(run_id)) if state == "ended" else as_seen(run, state, now_ns())


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
