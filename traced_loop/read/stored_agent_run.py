"""A run of a store that is open: its spans, and of one without an end whether its process still lives."""

import time
from collections.abc import Callable
from dataclasses import replace

from traced_loop.read.agent_run import AgentRun
from traced_loop.read.local_store import LocalStore
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
    if state == "ended":
        return our_run(store.trace(run_id))
    if state == "running":
        return replace(run, state=state, end_ns=max(run.end_ns, now_ns()))
    return replace(run, state=state)
