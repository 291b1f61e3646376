"""A diagnosis as people read it: one line for a healthy run, a page for another one, an overview of many."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from traced_loop.diagnose.diagnosis import Diagnosis, diagnose
from traced_loop.diagnose.finding import Finding, FindingKind, Severity
from traced_loop.diagnose.time_books import TimeBooks, TimeKind
from traced_loop.diagnose.token_books import TokenBooks
from traced_loop.read.agent_run import AgentRun, Gap
from traced_loop.read.span_tree import build
from traced_loop.read.trace import StoredSpan
from traced_loop.views.diagnosis import MAX_FINDINGS, MAX_PAGES, diagnosis_json, diagnosis_lines
from traced_loop.views.diagnosis_overview import MAX_RUNS

from ..diagnose.test_injected_faults import answer, diagnosed

FOUND = Finding(
    kind=FindingKind.SLOW_TOOL,
    severity=Severity.WASTE,
    title="look\x1b[31m took 40 s (98 % of the run)",
    evidence=("a" * 16, "b" * 16, "c" * 16, "d" * 16, "e" * 16),
    calls=(7,),
    numbers={"wall_ns": 40_001_000_000, "cost_usd": Decimal("0.00120"), "part": 0.98},
    cost_ns=40_001_000_000,
    cost_usd=Decimal("0.0012"),
    prevent="timeout=10",
)


def diagnosis(*findings: Finding, run_id: str = "run-1") -> Diagnosis:
    """A run of 41 seconds."""
    run = AgentRun(id=run_id, dialect="traced_loop", trace=build([]), stop_reason="final_answer")
    wall = {**dict.fromkeys(TimeKind, 0), TimeKind.TOOL: 40_001_000_000, TimeKind.MODEL: 999_000_000}
    return Diagnosis(
        run=run,
        time=TimeBooks(duration_ns=41_000_000_000, wall_ns=wall),
        tokens=TokenBooks(input_tokens=100, output_tokens=5, tables=("genai-prices 1.2",)),
        cost_usd=Decimal("0.0123"),
        findings=findings,
        gaps=(Gap.NO_FIRST_TOKEN,),
    )


def shown(*diagnoses: Diagnosis, width: int | None = None) -> list[str]:
    """The lines without colour."""
    return [line.plain for line in diagnosis_lines(diagnoses, width=width)]


def test_a_healthy_run_is_one_line() -> None:
    """With its stop, size, cost and longest wait."""
    [line] = shown(diagnosed(["42"]))
    assert line.startswith("healthy  run-1  final_answer  1 step  ")
    assert "longest wait 1 ms: model, step 1" in line


def test_a_run_that_died_has_no_shares() -> None:
    """What ended before is no part of a time that nobody knows; what was open then is said instead."""
    done = diagnosis()
    open_one = StoredSpan(trace_id="t", span_id="2", name="execute_tool slow", start_ns=1, is_open=True)
    run = replace(done.run, trace=build([open_one]), is_open=True, state="died", stop_reason=None)
    died = replace(done, run=run, time=replace(done.time, is_whole=False), findings=(FOUND,))

    page = shown(died)

    assert "took at least 41 s" in page[0]
    assert page[1] == "time       tool 40 s  model 999 ms  then execute_tool slow, nobody knows how long"
    told = diagnosis_json(died)
    assert (told["duration_ns"], told["duration_at_least_ns"]) == (None, 41_000_000_000)


def test_a_finding_has_its_change_evidence_and_numbers() -> None:
    """Numbers are exact, text of the trace is safe, and what is left out is counted."""
    assert shown(diagnosis(FOUND)) == [
        "run        run-1  final_answer  0 steps  41 s  100 in, 5 out tokens  cost $0.0123 (genai-prices 1.2)",
        "time       tool 40 s (98 %)  model 999 ms (2 %)",
        "not told   no first token",
        "1 waste    slow_tool: look\\x1b[31m took 40 s (98 % of the run)",
        "  prevent  timeout=10",
        f"  evidence {'a' * 16}  {'b' * 16}  {'c' * 16}  {'d' * 16}  and 1 more  call 7",
        "  numbers  wall_ns 40001000000  cost_usd 0.0012  part 0.98",
    ]


def test_lines_fit_the_terminal() -> None:
    """Nothing is lost."""
    narrow = shown(diagnosis(FOUND), width=40)
    assert max(map(len, narrow)) <= 40
    assert "".join("".join(narrow).split()) == "".join("".join(shown(diagnosis(FOUND))).split())


def test_a_run_of_notes_is_healthy_all_the_same() -> None:
    """They are shown below."""
    lines = shown(diagnosis(replace(FOUND, severity=Severity.NOTE)))
    assert lines[0].startswith("healthy    run-1")
    assert lines[3].startswith("1 note     slow_tool")


def test_many_findings_are_counted() -> None:
    """The report stays short."""
    lines = shown(diagnosis(*[FOUND] * (MAX_FINDINGS + 3)))
    assert lines[-1] == "3 more; --json has all"


def test_many_runs_are_an_overview() -> None:
    """Counts, then one line per run that is not healthy, the gravest first; what is left out is counted."""
    grave = replace(FOUND, severity=Severity.ERROR, kind=FindingKind.STOPPED)
    many = [diagnosis(FOUND, run_id=f"run-{n}") for n in range(MAX_RUNS + 2)]

    lines = shown(*many, diagnosis(grave, FOUND, run_id="run-x"), diagnosis(run_id="run-y"))

    assert lines[0] == f"{MAX_RUNS + 4} runs: 1 healthy, {MAX_RUNS + 3} not"
    assert lines[1] == f"found      slow_tool {MAX_RUNS + 3}  stopped 1"
    assert lines[2].startswith("run-x  stopped: ")
    assert lines[2].endswith("and 1 more")
    assert lines[-1] == "3 more runs; --json has all, --run ID shows one"
    assert len(lines) == MAX_RUNS + 3


def test_few_runs_are_pages() -> None:
    """With a blank line between them."""
    lines = shown(*[diagnosis(FOUND)] * MAX_PAGES)
    assert lines.count("") == MAX_PAGES - 1


def test_json_has_id_and_findings_first() -> None:
    """Each finding with its kind, severity, evidence and what is to be done."""
    value = diagnosis_json(diagnosis(replace(FOUND, at_call=7, reaction="stop")))

    assert list(value)[:2] == ["id", "findings"]
    [found] = value["findings"]
    assert (found["kind"], found["severity"], found["at_call"], found["reaction"]) == ("slow_tool", "waste", 7, "stop")
    assert found["numbers"] == {"wall_ns": 40_001_000_000, "cost_usd": 0.0012, "part": 0.98}
    assert value["time_ns"]["tool"] == 40_001_000_000
    assert (value["cost_usd"], value["healthy"], value["untold"]) == (0.0123, False, ["no_first_token"])


def test_the_dearest_steps_are_named() -> None:
    """Where there are more steps than that; programs get all of them."""
    script = [answer(tools=[f"t{n}"], tokens=(1_000 * n, 10), cached=900 if n == 2 else 0) for n in (1, 4, 2, 3)]
    found = diagnosed([*script, answer("done", tokens=(500, 5))])

    [row] = [line for line in shown(found) if line.startswith("dearest")]
    assert row == (
        "dearest    step 2: $0.0040 4,000 in, 10 out  step 4: $0.0030 3,000 in, 10 out"
        "  step 3: $0.0012 2,000 in (900 cached), 10 out"
    )
    steps = diagnosis_json(found)["steps"]
    assert [step["input_tokens"] for step in steps] == [1_000, 4_000, 2_000, 3_000, 500]
    assert steps[2] == {
        "step": 3,
        "input_tokens": 2_000,
        "cached_tokens": 900,
        "output_tokens": 10,
        "cost_usd": 0.00123,
    }


def test_an_empty_run_is_shown_too() -> None:
    """Nothing is known of it, so nobody says that it is healthy, and nothing is divided by it."""
    assert shown(diagnose(AgentRun(id="", dialect="gen_ai", trace=build([]))))[0].startswith("no fault  ")
