"""The local store as a reader finds it: whole, damaged, and left behind by a killed process."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from traced_loop import names
from traced_loop.errors import UsageError
from traced_loop.read.local_store import LocalStore
from traced_loop.read.run_entry import utc
from traced_loop.read.spending import limits, spending
from traced_loop.read.trace import ProblemKind
from traced_loop.records.store import Store
from traced_loop.records.trace_store import TraceStore
from traced_loop.records.transcript import Transcript
from traced_loop.telemetry.spans import Telemetry

START = {
    names.GEN_AI_OPERATION: names.INVOKE_AGENT,
    names.GEN_AI_AGENT_NAME: "support",
    names.GEN_AI_REQUEST_MODEL: "gpt-5-mini",
    f"{names.BUDGET_PREFIX}steps.limit": 8.0,
}
END = {
    names.RUN_STOP_REASON: "final_answer",
    names.RUN_STEPS: 2,
    names.RUN_TOOL_CALLS: 1,
    names.RUN_TOKENS: 1200,
    names.RUN_COST_MICROUSD: 1234,
    names.RUN_FLAGGED: True,
    names.BUDGET_NEXT: "steps",
    f"{names.BUDGET_PREFIX}steps.used": 2.0,
}


class CountedClock:
    """One second a reading, from a day in 2026."""

    def __init__(self) -> None:
        self.read = 0

    def now_ns(self) -> int:
        """The next second."""
        self.read += 1
        return (1_790_000_000 + self.read) * 1_000_000_000

    def seconds(self) -> float:
        """The same in seconds."""
        return self.now_ns() / 1e9

    def ticks(self) -> int:
        """Telemetry costs nothing here."""
        return 0


@pytest.fixture
def record(tmp_path: Path) -> Callable[..., None]:
    """Records a run with one step through the real store."""
    clock = CountedClock()

    def run(run_id: str, *, ends: bool = True) -> None:
        store = Store.open(tmp_path)
        telemetry = Telemetry(sink=TraceStore(store, {}), clock=clock)
        root = telemetry.run(telemetry.scope(run_id), "invoke_agent support", START)
        root.__enter__()
        with telemetry.span(names.STEP, {names.STEP_INDEX: 1}):
            pass
        root.set(END)
        if not ends:
            store.close()  # what ends now cannot reach the index
        root.__exit__(None, None, None)
        store.close()

    return run


def test_runs_are_listed_newest_first_with_what_they_spent(tmp_path: Path, record: Callable[..., None]) -> None:
    """Costs are exact to a millionth."""
    record("run-1")
    record("run-2")

    with LocalStore.open(tmp_path) as store:
        newest, oldest = store.runs()

    assert (newest.run_id, oldest.run_id) == ("run-2", "run-1")
    assert (newest.state, newest.stop_reason, newest.steps, newest.tool_calls) == ("ended", "final_answer", 2, 1)
    assert (newest.tokens, newest.cost_usd, newest.flagged) == (1200, Decimal("0.001234"), True)
    assert newest.seconds == 3.0


def test_no_more_runs_are_listed_than_asked_for(tmp_path: Path, record: Callable[..., None]) -> None:
    """The newest are."""
    for n in range(3):
        record(f"run-{n}")

    with LocalStore.open(tmp_path) as store:
        assert [run.run_id for run in store.runs(2)] == ["run-2", "run-1"]


def test_ids_are_listed_newest_first_without_reading_a_run(tmp_path: Path, record: Callable[..., None]) -> None:
    """By the second in the id, then by the start; only what the index knows to be older is left out."""
    for run_id in ("20261130T080000-b", "20261130T080000-a", "20261130T070000-c"):
        record(run_id)
    (tmp_path / "spans" / "20261130T060000-d.otlp.jsonl").write_text("no line is read")

    with LocalStore.open(tmp_path) as store:
        [old] = [run.started_at for run in store.runs() if run.run_id == "20261130T080000-a"]
        assert store.run_ids() == ["20261130T080000-a", "20261130T080000-b", "20261130T070000-c", "20261130T060000-d"]
        assert old is not None
        later = int(old.timestamp() * 1e9) + 1_000_000
        assert store.run_ids(later) == ["20261130T070000-c", "20261130T060000-d"]
        assert store.problems == ()


def test_reading_makes_no_store(tmp_path: Path) -> None:
    """A mistyped folder stays a mistyped folder."""
    with LocalStore.open(tmp_path / "typo") as store:
        assert store.runs() == []

    assert list(tmp_path.iterdir()) == []


def test_a_run_is_found_by_a_beginning_that_fits_no_other(tmp_path: Path, record: Callable[..., None]) -> None:
    """Its own whole id wins over longer ones; a trace id finds it too."""
    record("run-1")
    record("run-10")
    record("other")

    with LocalStore.open(tmp_path) as store:
        trace_id = store.run("other").entry.trace_id
        assert [store.find(text) for text in ("oth", "run-1", "run-10", trace_id[:12])] == [
            "other",
            "run-1",
            "run-10",
            "other",
        ]


def test_a_beginning_that_fits_several_names_them(tmp_path: Path, record: Callable[..., None]) -> None:
    """So that the next try is right."""
    record("run-1")
    record("run-2")

    with LocalStore.open(tmp_path) as store, pytest.raises(UsageError, match="fits 2 runs: run-1, run-2"):
        store.find("run")


@pytest.mark.parametrize("text", ["gone", "", "%", "../run-1"])
def test_a_run_that_is_not_there_says_how_to_list_those_that_are(
    tmp_path: Path, record: Callable[..., None], text: str
) -> None:
    """Nothing in the text is a pattern or a path."""
    record("run-1")

    with LocalStore.open(tmp_path) as store, pytest.raises(UsageError, match="traced-loop runs"):
        store.find(text)


def test_a_damaged_index_is_said_and_the_span_files_are_read(tmp_path: Path, record: Callable[..., None]) -> None:
    """The list, the search and the run work without it."""
    record("run-1")
    (tmp_path / "store.db").write_bytes(b"this is no database " * 100)
    for leftover in ("store.db-wal", "store.db-shm"):
        (tmp_path / leftover).unlink(missing_ok=True)

    with LocalStore.open(tmp_path) as store:
        (entry,) = store.runs()
        run = store.run(store.find("run"))

    assert (entry.run_id, entry.stop_reason, entry.cost_usd) == ("run-1", "final_answer", Decimal("0.001234"))
    assert [problem.kind for problem in run.problems] == [ProblemKind.INDEX_DAMAGED]
    assert "is damaged" in run.problems[0].text


def test_an_index_that_fails_while_it_is_read_counts_as_damaged(tmp_path: Path, record: Callable[..., None]) -> None:
    """It was whole when it was opened: said once, and not asked again."""
    record("run-1")
    with LocalStore.open(tmp_path) as opened:
        store = Store.open(tmp_path)
        store.write("DROP TABLE runs", [()])
        store.close()

        (entry,) = opened.runs()
        run = opened.run(opened.find("run-1"))

    assert entry.stop_reason == run.entry.stop_reason == "final_answer"
    assert [problem.kind for problem in run.problems] == [ProblemKind.INDEX_DAMAGED]


def test_a_run_whose_own_span_is_missing_is_mostly_unknown(tmp_path: Path) -> None:
    """What its other spans tell is told; a time that no calendar holds is unknown."""
    (tmp_path / "spans").mkdir()
    line = {"traceId": "a" * 32, "spanId": "b" * 16, "name": "x", "startTimeUnixNano": "5", "endTimeUnixNano": "6"}
    request = {"resourceSpans": [{"scopeSpans": [{"spans": [line]}]}]}
    (tmp_path / "spans" / "run-1.otlp.jsonl").write_text(json.dumps(request))

    with LocalStore.open(tmp_path) as store:
        (entry,) = store.runs()

    assert (entry.run_id, entry.trace_id, entry.state, entry.stop_reason) == ("run-1", "a" * 32, "unknown", None)
    assert utc(2**200) is None


def test_a_run_that_the_index_lacks_is_found_and_listed(tmp_path: Path, record: Callable[..., None]) -> None:
    """The span files are the truth."""
    record("run-1")
    record("run-2")
    store = Store.open(tmp_path)
    store.write("DELETE FROM runs WHERE run_id = ?", [("run-1",)])
    store.close()

    with LocalStore.open(tmp_path) as opened:
        assert [run.run_id for run in opened.runs()] == ["run-2", "run-1"]
        run = opened.run(opened.find("run-1"))

    assert run.entry.stop_reason == "final_answer"
    assert [problem.kind for problem in run.problems] == [ProblemKind.NOT_INDEXED]


def test_an_end_that_the_index_missed_is_taken_from_the_spans(tmp_path: Path, record: Callable[..., None]) -> None:
    """The root was recorded; only its row was not."""
    record("run-1", ends=False)

    with LocalStore.open(tmp_path) as store:
        assert store.runs()[0].stop_reason == "final_answer"
        assert store.run("run-1").entry.state == "ended"


def test_messages_come_from_the_transcript(tmp_path: Path, record: Callable[..., None]) -> None:
    """As they were recorded."""
    record("run-1")
    store = Store.open(tmp_path)
    Transcript(store).append("run-1", 0, [{"role": "user", "content": "hi"}])
    store.close()

    with LocalStore.open(tmp_path) as opened:
        assert opened.messages("run-1").messages == ({"role": "user", "content": "hi"},)
        assert opened.messages("gone").messages == ()


def test_a_damaged_transcript_is_a_problem(tmp_path: Path, record: Callable[..., None]) -> None:
    """The spans are shown without it."""
    record("run-1")
    store = Store.open(tmp_path)
    store.write("INSERT INTO messages VALUES (?, ?, ?)", [("run-1", 0, "{torn")])
    store.close()

    with LocalStore.open(tmp_path) as opened:
        (problem,) = opened.messages("run-1").problems

    assert problem.kind is ProblemKind.MESSAGES_UNREADABLE


def test_what_an_ended_run_spent_stands_on_its_own_span(tmp_path: Path, record: Callable[..., None]) -> None:
    """Limits with what was used of them, in the order of the budget."""
    record("run-1")

    with LocalStore.open(tmp_path) as store:
        trace = store.trace("run-1")

    assert (spending(trace).tokens, spending(trace).cost_usd) == (1200, Decimal("0.001234"))
    assert [(limit.name, limit.used, limit.limit, limit.is_next) for limit in limits(trace)] == [
        ("steps", 2.0, 8.0, True)
    ]


KILLED = """
import sys
from traced_loop import names
from traced_loop.records.store import Store
from traced_loop.records.trace_store import TraceStore
from traced_loop.telemetry.spans import Telemetry

telemetry = Telemetry(sink=TraceStore(Store.open(sys.argv[1]), {}))
start = {names.GEN_AI_OPERATION: names.INVOKE_AGENT}
tool = {names.GEN_AI_OPERATION: names.EXECUTE_TOOL, names.GEN_AI_TOOL_CALL_ID: "call_1"}
with telemetry.run(telemetry.scope("run-1"), "invoke_agent support", start):
    with telemetry.span(names.STEP, {names.STEP_INDEX: 1}):
        with telemetry.span("chat m", {names.GEN_AI_OPERATION: names.CHAT}) as chat:
            chat.set({names.GEN_AI_INPUT_TOKENS: 10, names.GEN_AI_OUTPUT_TOKENS: 2, names.COST_USD: 0.5})
        with telemetry.span("execute_tool slow_tool", tool):
            print("ready", flush=True)
            sys.stdin.read()
"""


def test_a_killed_process_leaves_what_it_was_doing(tmp_path: Path) -> None:
    """First it is running; after the kill it died, with its open spans and the sums so far."""
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        with LocalStore.open(tmp_path) as store:
            assert store.runs()[0].state == "running"
        os.kill(process.pid, signal.SIGKILL)

    with LocalStore.open(tmp_path) as store:
        run = store.run("run-1")

    assert run.entry.state == "died"
    assert (run.entry.stop_reason, run.entry.tokens, run.entry.seconds) == (None, None, None)
    assert [span.name for span in run.trace.open_leaves()] == ["execute_tool slow_tool"]
    assert run.problems == ()
    so_far = spending(run.trace)
    assert (so_far.steps, so_far.tokens, so_far.cost_usd, so_far.so_far) == (1, 12, Decimal("0.5"), True)


@pytest.mark.parametrize("place", ["spans", "index"])
def test_a_pipe_in_place_of_a_file_is_not_waited_for(tmp_path: Path, place: str) -> None:
    """It is damage, and what else is there is shown."""
    (tmp_path / "spans").mkdir()
    os.mkfifo(tmp_path / ("store.db" if place == "index" else "spans/20261130T000000-aaaaaaaa.otlp.jsonl"))
    with LocalStore.open(tmp_path) as store:
        runs = store.runs()
        problems = [problem.kind for run in runs for problem in store.run(run.run_id).problems] or store.problems
    assert problems
