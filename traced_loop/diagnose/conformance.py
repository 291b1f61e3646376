"""The promises about a run, checked on its stored trace: each break is a value with the rule's name and the spans.

A trace of ours is held to all rules, another one to those that make sense for any: the rest is told as not checked.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Final

from traced_loop.diagnose.doubles import doubles
from traced_loop.diagnose.finding import span_ids
from traced_loop.diagnose.our_promises import OUR_CHECKS
from traced_loop.diagnose.promised_run import Broken, stored_promises
from traced_loop.frozen_value import frozen_value
from traced_loop.read.agent_run import AgentRun
from traced_loop.read.trace import ProblemKind


class Rule(StrEnum):
    """What a trace is held to."""

    SPANS_READABLE = "spans_readable"
    """Every line and value of the input can be read."""
    PARENTS_EXIST = "parents_exist"
    """The parent of every span is there, and no span is its own ancestor."""
    IDS_UNIQUE = "ids_unique"
    """No span id stands for two different spans."""
    TIMES_ORDERED = "times_ordered"
    """No span ends before it starts, or starts before its parent."""
    SPANS_ENDED = "spans_ended"
    """Every span that was started has ended."""
    USAGE_ONCE = "usage_once"
    """The tokens of a request stand on one span."""
    HISTORY_PAIRED = "history_paired"
    """Every call in a history has its result, and every result its call."""
    RUN_ENDED_ONCE = "run_ended_once"
    """One span of the run, one stop reason of the closed list, and no other one; of a resumed run so in each trace."""
    ONE_OUTCOME = "one_outcome"
    """Every call that a model asked for has exactly one outcome."""
    ONE_RESULT = "one_result"
    """The results of every batch went into the history once, one per call, in call order."""
    CHECKED_BEFORE_RUN = "checked_before_run"
    """What ran was valid and allowed, or confirmed, and from an answer that was not suspect."""
    WRITTEN_ONCE = "written_once"
    """No two executions under one idempotency key succeeded, unless a person approved the second one."""
    STATUS_TRUE = "status_true"
    """Status ERROR stands on what failed, and on nothing else."""
    SUMS_TRUE = "sums_true"
    """What the run says that it used is what its spans say."""
    LIMITS_HELD = "limits_held"
    """Steps and tool calls are within the limits that the run says it had."""
    NAMES_KNOWN = "names_known"
    """Span names and keys are ours or the conventions', and ``gen_ai`` keys stand on the standard spans only."""
    WORDS_KNOWN = "words_known"
    """Where a closed list belongs, one of its words stands."""
    RUN_ID_EVERYWHERE = "run_id_everywhere"
    """Every span of the run has its id, and there is one."""
    SPANS_WHOLE = "spans_whole"
    """As many spans are there as the run's receipt counted, and none has more attributes than allowed."""


@frozen_value
class Violation:
    """One promise that a trace breaks.

    Attributes:
        rule: which.
        text: one sentence; it may hold names of the trace, so it must be escaped before it is shown.
        span_ids: where, at most ``MAX_EVIDENCE``.
    """

    rule: Rule
    text: str
    span_ids: tuple[str, ...] = ()


@frozen_value
class Conformance:
    """What came of checking one run.

    Attributes:
        run_id: of the run.
        violations: in the order of the rules.
        not_checked: rules that this trace cannot be held to.
        is_running: the run has not ended, and its process lives: what is promised of ends is not checked yet.
    """

    run_id: str
    violations: tuple[Violation, ...] = ()
    not_checked: tuple[Rule, ...] = ()
    is_running: bool = False


def conform(run: AgentRun) -> Conformance:
    """Check every rule that applies to a run."""
    ours = run.dialect == "traced_loop"
    promises = stored_promises(run) if ours else None
    skipped = tuple(rule for rule in Rule if (not ours and rule not in _ANY) or _comes_later(rule, run))
    found: list[Violation] = []
    for rule in Rule:
        if rule in skipped:
            continue
        if rule in _ANY:
            found += [_violation(rule, broken) for broken in _ANY[rule](run)]
        elif promises is not None:
            found += [_violation(rule, broken) for broken in OUR_CHECKS[rule](promises)]
    return Conformance(run_id=run.id, violations=tuple(found), not_checked=skipped, is_running=run.state == "running")


_OF_ENDS: Final = frozenset(
    {
        Rule.SPANS_ENDED,
        Rule.RUN_ENDED_ONCE,
        Rule.ONE_OUTCOME,
        Rule.ONE_RESULT,
        Rule.SUMS_TRUE,
        Rule.SPANS_WHOLE,
    }
)
"""Rules that a run can keep only when it has ended."""


def _comes_later(rule: Rule, run: AgentRun) -> bool:
    return run.state == "running" and rule in _OF_ENDS


def _violation(rule: Rule, broken: Broken) -> Violation:
    return Violation(rule=rule, text=broken.text, span_ids=broken.span_ids)


def _told_by(*kinds: ProblemKind) -> Callable[[AgentRun], Iterator[Broken]]:
    def broken(run: AgentRun) -> Iterator[Broken]:
        for problem in run.problems:
            if problem.kind in kinds:
                yield Broken(text=problem.text, span_ids=problem.span_ids)

    return broken


def _open(run: AgentRun) -> Iterator[Broken]:
    for span in run.trace.spans:
        if span.is_open:
            yield Broken(text=f"the span {span.name} has no end", span_ids=span_ids([span.key]))


def _doubled(run: AgentRun) -> Iterator[Broken]:
    for double in doubles(run):
        what = "repeats the sum of the requests below it" if double.is_roll_up else "shows a request again"
        said = f"the span {double.span[1]} {what}: {double.input_tokens} tokens in, {double.output_tokens} out"
        yield Broken(text=said, span_ids=span_ids((double.span, *double.of)))


_ANY: Final[Mapping[Rule, Callable[[AgentRun], Iterator[Broken]]]] = {
    Rule.SPANS_READABLE: _told_by(
        ProblemKind.UNREADABLE_LINE, ProblemKind.TORN_LINE, ProblemKind.ODD_VALUE, ProblemKind.FILE_UNREADABLE
    ),
    Rule.PARENTS_EXIST: _told_by(ProblemKind.ORPHAN, ProblemKind.CYCLE),
    Rule.IDS_UNIQUE: _told_by(ProblemKind.CONFLICT),
    Rule.TIMES_ORDERED: _told_by(ProblemKind.NEGATIVE_DURATION, ProblemKind.STARTS_BEFORE_PARENT),
    Rule.SPANS_ENDED: _open,
    Rule.USAGE_ONCE: _doubled,
    Rule.HISTORY_PAIRED: _told_by(ProblemKind.UNANSWERED_CALL, ProblemKind.STRAY_RESULT),
}
"""Rules that any trace can be held to."""
