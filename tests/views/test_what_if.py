"""What other limits would have done: sums first, then the runs that they change."""

from dataclasses import replace
from decimal import Decimal

from traced_loop.diagnose.whatif import WhatIf
from traced_loop.outcomes import StopReason
from traced_loop.read.agent_run import AgentRun, Gap, StoredRequest
from traced_loop.read.span_tree import build
from traced_loop.rules.limit_replay import Replay, ReplayedStop
from traced_loop.views.what_if import MAX_LINES, what_if_json, what_if_lines

STOP = ReplayedStop(step=3, phase="request", reason=StopReason.MAX_STEPS_EXCEEDED, spent=False)


def run(run_id: str, stop_reason: str | None = "final_answer") -> AgentRun:
    """A run of four steps."""
    requests = [StoredRequest(step=n) for n in range(1, 5)]
    return AgentRun(id=run_id, dialect="traced_loop", trace=build([]), stop_reason=stop_reason, requests=requests)


CUT = WhatIf(
    run=run("run-1"),
    replay=Replay(stop=STOP),
    saved_usd=Decimal("0.02"),
    saved_requests=2,
    saved_tokens=1_234,
    saved_ns=5_000_000_000,
)
SAVED = WhatIf(
    run=run("run-2", "max_steps_exceeded"),
    replay=Replay(stop=STOP),
    saved_usd=None,
    saved_requests=1,
    saved_tokens=10,
    untold=(Gap.NO_PRICES,),
)
LATE = WhatIf(run=run("run-3"), replay=Replay(shortened=(4,)))
SAME = WhatIf(run=run("run-4"), replay=Replay())


def shown(*found: WhatIf) -> list[str]:
    """The lines without colour."""
    return [line.plain for line in what_if_lines(found)]


def test_sums_come_first_and_good_runs_that_are_cut_before_others() -> None:
    """What is not known is said."""
    assert shown(SAVED, SAME, LATE, CUT) == [
        "4 runs  2 would have stopped sooner  2 of 3 good runs cut  saved $0.0200 (and the unknown cost of 1 run)"
        "  3 requests  1,244 tokens  5 s  not told in 1 run: no prices",
        "run-1  final_answer  -> max_steps_exceeded in step 3, request  saves 2 requests, $0.0200, 1,234 tokens, 5 s"
        "  cuts a good run",
        "run-3  final_answer  the answer of step 4 would have been shorter or late  cuts a good run",
        "run-2  max_steps_exceeded  -> max_steps_exceeded in step 3, request  saves 1 request, unknown cost, 10 tokens,"
        " 0 s",
    ]


def test_a_log_that_has_neither_tokens_nor_times_saves_requests() -> None:
    """Nothing is a zero that is not known, and where no run would have stopped it is one."""
    log = replace(SAVED, run=run("run-5", None), saved_tokens=None, saved_ns=None, untold=())
    assert shown(log) == [
        "1 run  1 would have stopped sooner  0 of 0 good runs cut  saved unknown cost  1 request  unknown tokens"
        "  unknown time",
        "run-5  stop reason unknown  -> max_steps_exceeded in step 3, request  saves 1 request, unknown cost,"
        " unknown tokens, unknown time",
    ]
    assert shown(SAME) == ["1 run  0 would have stopped sooner  0 of 1 good run cut  saved $0"]


def test_many_runs_are_counted() -> None:
    """The report stays short."""
    assert shown(*[CUT] * (MAX_LINES + 5))[-1] == "5 more; --json has all"


def test_json_says_where_a_run_would_have_stopped() -> None:
    """Null where it would have ended as it did."""
    value = what_if_json(CUT)
    assert (value["id"], value["stop"]) == (
        "run-1",
        {"reason": "max_steps_exceeded", "step": 3, "phase": "request"},
    )
    assert (value["saved_usd"], value["saved_ns"], value["cuts_a_good_run"]) == (0.02, 5_000_000_000, True)
    assert what_if_json(SAME)["stop"] is None
    assert what_if_json(SAVED)["saved_usd"] is None
    assert what_if_json(SAVED)["saved_requests"] == 1
