"""A run of a store knows whether its process lives, and lasts until now where it does."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from traced_loop import names
from traced_loop.read.local_store import LocalStore
from traced_loop.read.our_run import our_run
from traced_loop.read.stored_agent_run import stored_agent_run
from traced_loop.records.store import Store
from traced_loop.records.trace_store import TraceStore
from traced_loop.telemetry.spans import Telemetry
from traced_loop.testing import CountedClock

if TYPE_CHECKING:
    from pathlib import Path

    from traced_loop.read.agent_run import AgentRun
    from traced_loop.read.trace import StoredTrace

RUN = {names.GEN_AI_OPERATION: names.INVOKE_AGENT}
LATER = 10**18 * 4


def test_a_run_whose_process_lives_is_running_and_lasts_until_now(tmp_path: Path) -> None:
    """Its end, which it has not, is when somebody looked; when it has one, that is its end."""
    telemetry = Telemetry(clock=CountedClock(), sink=TraceStore(Store.open(tmp_path), {}))

    with telemetry.run(telemetry.scope("run-1"), "invoke_agent a", RUN), LocalStore.open(tmp_path) as store:
        live = stored_agent_run(store, "run-1", our_run, lambda: LATER)
    with LocalStore.open(tmp_path) as store:
        ended = stored_agent_run(store, "run-1", our_run, lambda: LATER)

    assert (live.is_open, live.state, live.end_ns) == (True, "running", LATER)
    assert (ended.is_open, ended.state) == (False, "unknown")
    assert 0 < ended.end_ns < LATER


def test_a_run_whose_process_is_gone_died_at_its_last_sign_of_life(tmp_path: Path) -> None:
    """Time that passes after that is no time of the run."""
    telemetry = Telemetry(clock=CountedClock(), sink=TraceStore(Store.open(tmp_path), {}))
    with telemetry.run(telemetry.scope("run-1"), "invoke_agent a", RUN), LocalStore.open(tmp_path) as store:
        with closing(sqlite3.connect(tmp_path / "store.db")) as index, index:
            index.execute("UPDATE runs SET process = '1:never'")
        found = stored_agent_run(store, "run-1", our_run, lambda: LATER)

    assert (found.is_open, found.state) == (True, "died")
    assert found.end_ns < LATER


def test_a_run_that_ends_between_two_looks_is_read_once_more(tmp_path: Path) -> None:
    """It is never a run that has ended in the index and is open in its files."""
    telemetry = Telemetry(clock=CountedClock(), sink=TraceStore(Store.open(tmp_path), {}))
    reads: list[AgentRun] = []
    run = telemetry.run(telemetry.scope("run-1"), "invoke_agent a", RUN)

    def ends_after_the_first(trace: StoredTrace) -> AgentRun:
        reads.append(our_run(trace))
        if len(reads) == 1:
            run.__exit__(None, None, None)
        return reads[-1]

    run.__enter__()
    with LocalStore.open(tmp_path) as store:
        found = stored_agent_run(store, "run-1", ends_after_the_first)

    assert [read.is_open for read in reads] == [True, False]
    assert not found.is_open
