"""The facts of a run in a few lines."""

from dataclasses import replace
from typing import Any

from traced_loop import names
from traced_loop.read.local_store import StoredRun
from traced_loop.read.run_entry import RunEntry, from_trace
from traced_loop.read.span_tree import build
from traced_loop.read.trace import Problem, ProblemKind, StoredSpan
from traced_loop.views.header import header, problems

SECOND = 1_000_000_000
BEGUN = 1_790_000_000 * SECOND
ROOT: dict[str, Any] = {
    names.GEN_AI_OPERATION: names.INVOKE_AGENT,
    names.GEN_AI_AGENT_NAME: "support",
    names.GEN_AI_REQUEST_MODEL: "gpt-5-mini",
    f"{names.BUDGET_PREFIX}steps.limit": 8.0,
    f"{names.BUDGET_PREFIX}seconds.limit": 300.0,
    f"{names.BUDGET_PREFIX}cost_usd.limit": 0.5,
}
END: dict[str, Any] = {
    names.RUN_STOP_REASON: "max_steps_exceeded",
    names.RUN_STOP_DETAIL: "8 of 8 steps",
    names.RUN_STEPS: 8,
    names.RUN_MODEL_REQUESTS: 9,
    names.RUN_TOOL_CALLS: 7,
    names.RUN_FAILED_TOOL_CALLS: 2,
    names.RUN_TOKENS: 1284,
    names.RUN_INPUT_TOKENS: 1204,
    names.RUN_OUTPUT_TOKENS: 80,
    names.RUN_CACHED_TOKENS: 800,
    names.RUN_COST_MICROUSD: 1200,
    names.RUN_COST_SOURCE: "price_table",
    names.BUDGET_NEXT: "steps",
    f"{names.BUDGET_PREFIX}steps.used": 8.0,
    f"{names.BUDGET_PREFIX}seconds.used": 12.5,
    f"{names.BUDGET_PREFIX}cost_usd.used": 0.0012,
    names.RECEIPT_STARTED: 3,
    names.RECEIPT_TRUNCATED: 0,
    names.RECEIPT_REDACTED: 1,
    names.RUN_REPETITIONS: 1,
}


def span(span_id: str, parent: str, start: float, attributes: dict[str, Any], **more: Any) -> StoredSpan:
    """One second long, begun so many seconds after the run."""
    start_ns = BEGUN + int(start * SECOND)
    times = {"start_ns": start_ns, "end_ns": start_ns + SECOND, **more}
    name = str(attributes.get("name", "invoke_agent support"))
    return StoredSpan(
        trace_id="a" * 32, span_id=span_id, parent_id=parent, attributes=attributes, **{"name": name, **times}
    )


def stored(*spans: StoredSpan, **entry: Any) -> StoredRun:
    """A run of these spans."""
    trace = build(spans)
    return StoredRun(entry=replace(from_trace("run-1", trace), **entry), trace=trace)


def plain(run: StoredRun, **options: Any) -> list[str]:
    """The lines without colour."""
    return [line.plain for line in header(run, **options)]


def test_an_ended_run_says_why_and_what_and_how_far() -> None:
    """Unknown is said, a bar that is full is full, and missing spans are counted."""
    assert plain(stored(span("1", "", 0, {**ROOT, **END}))) == [
        "run        run-1",
        f"trace      {'a' * 32}",
        "agent      support  model gpt-5-mini",
        "stopped    max_steps_exceeded: 8 of 8 steps",
        "began      2026-09-21 14:13:20 UTC  took 1 s",
        "used       8 steps, 9 requests, 7 tool calls, 2 failed",
        "tokens     1,284: 1,204 in (800 cached), 80 out",
        "cost       $0.0012  (price_table)",
        "budget     steps       [################]  8 of 8  next limit",
        "           seconds     [#...............]  12.5 s of 5 min",
        "           cost_usd    [#...............]  $0.0012 of $0.5000",
        "spans      3 started, 1 here  2 missing  0 values cut, 1 masked",
        "repeated   1 call repeated one of the step before",
    ]


OPEN: dict[str, Any] = {"end_ns": 0, "is_open": True}
TOOL = {names.GEN_AI_OPERATION: names.EXECUTE_TOOL, names.GEN_AI_TOOL_CALL_ID: "call_1", "name": "execute_tool slow"}
UNENDED = (
    span("1", "", 0, ROOT, **OPEN),
    span("2", "1", 1, TOOL, **OPEN),
    span("3", "1", 2, {"name": "chat m", names.GEN_AI_OPERATION: names.CHAT}),
)


def test_a_dead_run_says_what_it_was_doing() -> None:
    """When the process died is not known; the last sign of life is."""
    lines = plain(stored(*UNENDED, state="died"))

    assert lines[3:] == [
        "state      died: no end is recorded, and the process is gone",
        "began      2026-09-21 14:13:20 UTC  took at least 3 s",
        "was doing  execute_tool slow (call_1)  begun 1 s into the run  still at it 2 s later",
        "last sign  2026-09-21 14:13:23 UTC, 3 s into the run; nothing was recorded after it",
        "used       0 steps, 1 request, 1 tool call  so far",
        "tokens     unknown: unknown in, unknown out",
        "cost       unknown",
        "budget     steps       [................]  0 of 8",
        "           seconds     [................]  unknown of 5 min",
        "           cost_usd    [................]  unknown of $0.5000",
        "spans      3 here",
    ]


def test_a_write_of_which_nobody_knows_is_in_the_header() -> None:
    """One that ended unknown, and one in which the process died; a read that was cut off changed nothing."""
    write = {**TOOL, names.EFFECT: "write"}
    ended = span("2", "1", 1, {**write, names.CALL_OUTCOME: "unknown"})
    cut_off = [span("1", "", 0, ROOT, **OPEN), span("2", "1", 1, write, **OPEN)]

    of_an_ended = plain(stored(span("1", "", 0, ROOT), ended))
    of_a_dead = plain(stored(*cut_off, state="died"))
    of_a_running = plain(stored(*cut_off, state="running"))
    of_a_dead_read = plain(stored(*UNENDED, state="died"))

    said = "unknown    execute_tool slow (call_1) may have been applied"
    found = [said in lines for lines in (of_an_ended, of_a_dead, of_a_running, of_a_dead_read)]
    assert found == [True, True, False, False]


def test_a_request_under_way_has_no_known_cost() -> None:
    """Not zero tokens and not zero dollars."""
    chat = {"name": "chat m", names.GEN_AI_OPERATION: names.CHAT}

    lines = plain(stored(span("1", "", 0, ROOT, **OPEN), span("2", "1", 1, chat, **OPEN), state="running"))

    assert "tokens     unknown: unknown in, unknown out" in lines
    assert "cost       unknown" in lines


def test_a_running_run_says_for_how_long() -> None:
    """By the clock that the caller gives."""
    lines = plain(stored(*UNENDED, state="running"), now_ns=BEGUN + 61 * SECOND)

    assert "is doing   execute_tool slow (call_1)  begun 1 s into the run  for 1 min now" in lines


def test_lines_fit_a_terminal_of_80_cells() -> None:
    """Long details go on below."""
    run = stored(span("1", "", 0, {**ROOT, **END, names.RUN_STOP_DETAIL: "word " * 40}))

    assert max(map(len, plain(run, width=80))) <= 80


def test_a_caller_outside_of_the_store_is_named() -> None:
    """An application's own span is the parent."""
    lines = plain(stored(span("1", "f" * 16, 0, {**ROOT, **END})))

    assert f"called by  span {'f' * 16} of the same trace, outside of this store" in lines


def test_a_run_of_which_nothing_is_known_says_unknown() -> None:
    """No spans, no row."""
    lines = plain(StoredRun(entry=RunEntry(run_id="run-1"), trace=build([])))

    assert lines[1:5] == [
        "trace      unknown",
        "agent      unknown",
        "state      no end is recorded; whether its process still runs is not known",
        "began      unknown",
    ]


def test_problems_are_listed_and_the_rest_counted() -> None:
    """All of them with ``full``."""
    found = tuple(Problem(kind=ProblemKind.ORPHAN, text=f"span {n}\x1b") for n in range(12))

    lines = [line.plain for line in problems(found)]

    assert lines[0] == "problem    orphan: span 0\\x1b"
    assert lines[-1] == "           2 more problems; --full shows all"
    assert len(problems(found, full=True)) == 12


def test_a_run_that_was_nudged_says_so() -> None:
    """How often."""
    nudged = {"name": names.APPEND_RESULTS, names.NUDGED: True}
    lines = plain(stored(span("1", "", 0, ROOT), span("2", "1", 1, nudged), span("3", "1", 2, nudged)))
    assert lines[-1] == "nudged     2 times"


def test_what_was_odd_is_said_once_with_what_was_done() -> None:
    """In the line of the table; a word that is none of ours is left out."""
    chat = span("2", "1", 1, {"name": "chat m", names.ANOMALIES: "id_synthesized,call_echo"})
    call = span("3", "1", 2, {"name": names.VALIDATE_CALL, names.ANOMALIES: "id_synthesized,hostile\x1b[2J"})
    lines = [line.plain for line in header(stored(span("1", "", 0, ROOT | END), chat, call))]
    odd = lines[next(n for n, line in enumerate(lines) if line.startswith("odd")) :]
    assert odd == [
        "odd        call_echo: the same call twice under one id: run once, kept once",
        "           id_synthesized: a call without a usable id: it got one before it was stored",
    ]


def test_a_limit_that_no_call_was_under_says_so() -> None:
    """A tool with a timeout of its own may have run long all the same."""
    each = {f"{names.BUDGET_PREFIX}{name}.limit": 30.0 for name in ("tool_seconds", "request_seconds")}
    used = {f"{names.BUDGET_PREFIX}tool_seconds.used": 0.0, f"{names.BUDGET_PREFIX}request_seconds.used": 2.0}
    lines = plain(stored(span("1", "", 0, {**ROOT, **END, **each, **used})))

    assert any(line.endswith("tool_seconds     [................]  no call under its 30 s") for line in lines)
    assert any(line.endswith("2 s of 30 s") for line in lines)


def test_the_spans_of_a_resumed_run_are_told_from_those_of_its_last_part() -> None:
    """Its receipt counts its own trace only."""
    first = span("1", "", 0, {**ROOT, **END})
    lines = plain(
        stored(first, replace(span("2", "", 9, {**ROOT, **END, names.RECEIPT_STARTED: 1}), trace_id="b" * 32))
    )

    assert any("2 here in 2 traces; of the last 1 started, 1 here" in line for line in lines)
