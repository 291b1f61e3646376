"""A stored trace as a tree."""

from typing import Any

import pytest

from traced_loop import names
from traced_loop.read.span_tree import build
from traced_loop.read.trace import StoredSpan
from traced_loop.views.tree import tree

MS = 1_000_000


def span(n: int, parent: int, name: str, attributes: dict[str, Any], *, took: int = 10, **more: Any) -> StoredSpan:
    """Begins after ``n`` milliseconds and takes ``took``."""
    start = 1_790_000_000_000 * MS + n * MS
    times = {"start_ns": start, "end_ns": start + took * MS, **more}
    return StoredSpan(
        trace_id="a" * 32,
        span_id=f"{n:016x}",
        parent_id=f"{parent:016x}" if parent else "",
        name=name,
        attributes=attributes,
        **times,
    )


ROOT = {
    names.GEN_AI_OPERATION: names.INVOKE_AGENT,
    names.RUN_STOP_REASON: "tool_timeout",
    names.RUN_TOKENS: 1284,
    names.RUN_COST_MICROUSD: 1200,
}
CHAT = {
    names.GEN_AI_OPERATION: names.CHAT,
    names.GEN_AI_FINISH_REASONS: ("tool_calls",),
    names.GEN_AI_INPUT_TOKENS: 1204,
    names.GEN_AI_OUTPUT_TOKENS: 80,
    names.COST_USD: 0.0012,
    names.USAGE_SOURCE: "provider",
}
REJECTED = {
    names.CALL_ID: "c2",
    names.CALL_TOOL: "refund",
    names.VALIDATION_OUTCOME: "rejected",
    names.VALIDATION_ERROR_CODE: "wrong_type",
    names.VALIDATION_ERROR_PATHS: "cents,<extra>",
    names.CALL_OUTCOME: "invalid",
}
TOOL = {
    names.GEN_AI_OPERATION: names.EXECUTE_TOOL,
    names.GEN_AI_TOOL_CALL_ID: "c1",
    names.CALL_OUTCOME: "timed_out",
    names.RUN_STOP_REASON: "tool_timeout",
    names.ERROR_TYPE: "timeout",
    names.ARGS_SUMMARY: '{"order_id":"A100"}',
}
RUN = [
    span(1, 0, "invoke_agent support", ROOT, took=2500, is_error=True),
    span(2, 1, names.CHECK_BUDGET, {names.BUDGET_PHASE: "request", names.BUDGET_OUTCOME: "ok"}, took=0),
    span(3, 1, names.STEP, {names.STEP_INDEX: 1, names.STEP_OUTCOME: "stopped"}, took=2400),
    span(4, 3, "chat m", CHAT, took=640),
    span(5, 3, names.VALIDATE_CALL, REJECTED),
    span(6, 3, names.AUTHORIZE_CALL, {names.CALL_TOOL: "slow", names.POLICY_DECISION: "allow", names.POLICY_RULE: "r"}),
    span(7, 3, "execute_tool slow", TOOL, took=1000, is_error=True, status_message="no result within 1 s"),
    span(8, 3, names.APPEND_RESULTS, {names.RESULTS_COUNT: 1, names.RESULTS_BYTES: 90}),
]


def test_a_run_reads_as_a_tree_with_its_verdicts() -> None:
    """Times first, then the spans by parent, each with how it ended, what it cost and whom it stopped."""
    assert [line.plain for line in tree(build(RUN))] == [
        "      at     took",
        "     0 s    2.5 s invoke_agent support  tool_timeout  ERROR  1,284 tokens  $0.0012",
        "    1 ms      0 s   check_budget request  ok",
        "    2 ms    2.4 s   step 1  stopped",
        "    3 ms   640 ms     chat m  tool_calls  1,204 in, 80 out  $0.0012",
        "    4 ms    10 ms     validate_call refund  rejected  wrong_type: cents, <extra>  invalid  c2",
        "    5 ms    10 ms     authorize_call slow  allow  (r)",
        "    6 ms      1 s     execute_tool slow  timed_out  ERROR timeout: no result within 1 s"
        '  stops the run: tool_timeout  c1  {"order_id":"A100"}',
        "    7 ms    10 ms     append_results  1 result  90 bytes",
    ]


LATER = [
    span(
        1,
        0,
        names.REPLAY,
        {
            names.CALL_ID: "c3",
            names.CALL_TOOL: "refund",
            names.CALL_OUTCOME: "replayed",
            names.REPLAY_AGE_S: 60.5,
            names.REPETITION_KIND: "identical_call",
            names.REPETITION_COUNT: 2,
        },
    ),
    span(
        2,
        0,
        names.AUTHORIZE_CALL,
        {
            names.COMPENSATION_CALL_ID: "c1",
            names.CALL_TOOL: "cancel",
            names.POLICY_DECISION: "allow",
            names.POLICY_RULE: "compensation",
        },
    ),
    span(
        3,
        0,
        "execute_tool cancel",
        {
            names.GEN_AI_OPERATION: names.EXECUTE_TOOL,
            names.COMPENSATION_CALL_ID: "c1",
            names.COMPENSATION_OUTCOME: "unknown",
            names.SCHEDULE_QUEUED_MS: 2000,
            names.SCHEDULE_WAITED_MS: 5000,
        },
    ),
    span(
        4,
        0,
        names.APPEND_RESULTS,
        {
            names.RESULTS_COUNT: 3,
            names.RESULTS_BYTES: 90,
            names.RESULTS_OUTCOMES: "ok:2,error:1",
            names.RESULTS_COMPENSATED: 2,
        },
    ),
    span(
        5,
        0,
        names.LATE_COMPLETION,
        {names.CALL_ID: "c4", names.CALL_TOOL: "slow", names.LATE_OUTCOME: "ok", names.LATE_SECONDS: 3.0},
    ),
]


def test_what_was_replayed_undone_or_late_is_said_in_words() -> None:
    """Nothing ran; which call is undone, and whether it is; how a batch came out; how late an end was."""
    assert [line.plain[18:] for line in tree(build(LATER))[1:]] == [
        "replay refund  replayed  c3  result of 1 min ago, not run again  identical_call x2",
        "authorize_call cancel  allow  (compensation)  undoes c1",
        "execute_tool cancel  unknown  undoes c1  queued 2 s  after 5 s for people",
        "append_results  3 results  ok 2, error 1  2 undone  90 bytes",
        "late_completion slow  ok  3 s late",
    ]


def test_a_batch_that_went_well_is_not_broken_down() -> None:
    """Only what is not plain is said."""
    fine = {names.RESULTS_COUNT: 2, names.RESULTS_BYTES: 9, names.RESULTS_OUTCOMES: "ok:2"}
    (_, line) = tree(build([span(1, 0, names.APPEND_RESULTS, fine)]))
    assert line.plain.endswith("append_results  2 results  9 bytes")


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """What does not fit stands below; nothing is left out."""
    lines = tree(build(RUN), width=width)

    assert max(line.cell_len for line in lines) <= width
    assert " ".join(" ".join(line.plain for line in lines).split()) == " ".join(
        " ".join(line.plain for line in tree(build(RUN))).split()
    )


def test_unknown_amounts_are_called_unknown() -> None:
    """An answer without usage and price is not free."""
    (_, line) = tree(build([span(1, 0, "chat m", {names.GEN_AI_OPERATION: names.CHAT})]))

    assert line.plain.endswith("chat m  tokens unknown  cost unknown")


def test_an_open_span_says_so() -> None:
    """Its duration is not zero."""
    (_, line) = tree(build([span(1, 0, "execute_tool slow", {}, end_ns=0, is_open=True)]))

    assert line.plain == "     0 s     open execute_tool slow  still open"


def test_a_recovered_span_took_longer_than_its_last_sign() -> None:
    """What a recovery has ended was open when the process died."""
    ended = [span(n, 0, "x", {"traced_loop.recovered": True}, took=took) for n, took in ((1, 3), (2, 0))]

    times = [line.plain.split(" x")[0].strip() for line in tree(build(ended))[1:]]

    assert [time.endswith(least) for time, least in zip(times, (">3 ms", "unknown"), strict=True)] == [True, True]


def test_names_and_values_of_a_trace_cannot_move_the_cursor() -> None:
    """Nor change colours, nor begin markup."""
    hostile = "\x1b[2Jx\r\n[red]"
    damage = {names.GEN_AI_OPERATION: names.EXECUTE_TOOL, names.CALL_OUTCOME: hostile, names.ERROR_TYPE: hostile}

    (_, line) = tree(build([span(1, 0, hostile, damage, is_error=True, status_message=hostile)]))

    assert line.plain.isprintable()
    assert line.plain.count("[red]") == 4


def test_long_texts_are_cut_unless_the_whole_is_asked_for() -> None:
    """A summary can have thousands of characters."""
    trace = build([span(1, 0, "execute_tool x", {**TOOL, names.ARGS_SUMMARY: "y" * 900})])

    assert "y" * 61 not in tree(trace)[1].plain
    assert "y" * 900 in tree(trace, full=True)[1].plain


def test_a_chain_of_twenty_thousand_spans_stays_readable() -> None:
    """Deep lines say their depth instead of moving right without end."""
    chain = [span(n, n - 1, "link", {}) for n in range(1, 20_001)]

    lines = tree(build(chain), width=80)

    assert len(lines) == 20_001
    assert "[depth 19999] link" in lines[-1].plain
    assert max(line.cell_len for line in lines) <= 80


def test_a_run_without_spans_says_so() -> None:
    """Nothing is not an empty page."""
    assert [line.plain for line in tree(build([]))] == ["no spans are stored for this run"]


def test_every_span_of_ours_and_of_others_has_its_words() -> None:
    """Attempts, confirmations, repetitions and cut results say what happened."""
    spans = [
        span(1, 0, names.ATTEMPT, {names.ATTEMPT_NUMBER: 2, names.ATTEMPT_DELAY_MS: 500, names.HTTP_STATUS: 429}),
        span(
            2,
            0,
            names.AUTHORIZE_CALL,
            {
                names.CALL_TOOL: "refund",
                names.POLICY_DECISION: "needs_confirmation",
                names.POLICY_RULE: "default_write",
                names.POLICY_REASON: "writes are confirmed",
                names.CONFIRMATION_STATE: "approved",
                names.CONFIRMATION_WAIT_MS: 2000,
                names.CONFIRMATION_BY: "ada",
            },
        ),
        span(
            3,
            0,
            "execute_tool q",
            {
                names.GEN_AI_OPERATION: names.EXECUTE_TOOL,
                names.CALL_OUTCOME: "ok",
                names.SCHEDULE_QUEUED_MS: 30,
                names.RESULT_TRUNCATED: True,
                names.RESULT_BYTES: 90_000,
                names.REPETITION_KIND: "identical_call",
                names.REPETITION_COUNT: 2,
            },
        ),
        span(4, 0, names.CHECK_BUDGET, {names.BUDGET_OUTCOME: "exceeded", names.BUDGET_EXCEEDED: "steps"}),
        span(4, 0, names.CHECK_BUDGET, {names.BUDGET_OUTCOME: "ok", names.REPETITION_STREAK: 1}),
        span(
            4,
            0,
            names.CHECK_BUDGET,
            {
                names.BUDGET_OUTCOME: "ok",
                names.REPETITION_VERDICT: "nudge",
                names.REPETITION_KIND: "cycle",
                names.REPETITION_TOOL: "q",
                names.REPETITION_COUNT: 3,
                names.REPETITION_PERIOD: 2,
                names.REPETITION_STREAK: 2,
            },
        ),
        span(4, 0, names.APPEND_RESULTS, {names.RESULTS_COUNT: 2, names.RESULTS_BYTES: 90, names.NUDGED: True}),
        span(5, 0, "GET /orders", {"http.route": "/orders"}),
    ]

    assert [line.plain[18:] for line in tree(build(spans))[1:]] == [
        "attempt 2  after waiting 500 ms  HTTP 429",
        "authorize_call refund  needs_confirmation  (default_write: writes are confirmed)  approved  by ada after 2 s",
        "execute_tool q  ok  queued 30 ms  result cut, 90,000 bytes  identical_call x2",
        "check_budget  exceeded  steps",
        "check_budget  ok  nothing new x1",
        "check_budget  ok  nudge: q cycle x3 every 2 steps",
        "append_results  2 results  90 bytes  nudge",
        "GET /orders",
    ]


def test_a_step_that_an_engine_had_kept_is_said_by_its_name() -> None:
    """Of a request and of a call; neither was sent or run by this process."""
    model = span(1, 0, names.REPLAY, {names.REPLAY_STEP: "model.1"})
    call = {names.CALL_ID: "c1", names.CALL_TOOL: "look", names.CALL_OUTCOME: "ok", names.REPLAY_STEP: "tool.1.0.look"}
    lines = tree(build([model, span(2, 0, names.REPLAY, call)]))
    assert [line.plain[18:] for line in lines[1:]] == [
        "replay  model.1 was kept by the engine, not done again",
        "replay look  ok  c1  tool.1.0.look was kept by the engine, not done again",
    ]
