"""The rules that a trace of our own dialect is held to."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Final

from traced_loop import names
from traced_loop.amount_text import counted
from traced_loop.diagnose.allowed_words import (
    ALLOWED_LISTS,
    ALLOWED_WORDS,
    KNOWN_KEYS,
    KNOWN_PREFIXES,
    KNOWN_SPANS,
    NAMED_SPANS,
)
from traced_loop.diagnose.finding import span_ids
from traced_loop.diagnose.promised_run import Broken, Promises
from traced_loop.outcomes import LAST_REQUEST_STOPS, ORDERLY_STOPS, Decision, Outcome, StopReason
from traced_loop.read.spending import cost_of, counts_as_step, limits, run_cost
from traced_loop.read.trace import StoredSpan
from traced_loop.rules.pricing import microusd

MAX_ATTRIBUTES: Final = 60
"""Of one span."""
_COUNTED: Final = ("steps", "tool_calls")
"""Limits that cannot be passed at all: what others count is known only afterwards."""
_FAILED: Final = frozenset(
    {Outcome.ERROR, Outcome.TIMED_OUT, Outcome.UNKNOWN, Outcome.CANCELLED, Outcome.UNKNOWN_AFTER_CRASH}
)
_LEFT: Final = frozenset({StopReason.CANCELLED, StopReason.HARNESS_ERROR, StopReason.UNKNOWN_AFTER_CRASH})
"""Stops that every span shows that was open then: by an exception, or by the end of the process."""


_OVERTAKEN: Final = frozenset({StopReason.HARNESS_ERROR, StopReason.UNKNOWN_AFTER_CRASH})
"""A callback may raise, or the process end, after another stop was due and was shown."""


def _run_ended_once(given: Promises) -> Iterator[Broken]:
    found = given.roots
    if not found:
        yield Broken(text="0 spans of the run")
    for trace_id, roots in found.items():
        resumed = sum(names.RUN_RESUMED in root.attributes for root in roots)
        if len(roots) - resumed > 1 or (
            resumed and len({root.count(names.RUN_RESUMED) for root in roots}) < len(roots)
        ):
            yield Broken(text=f"{len(roots)} spans of the run", span_ids=_ids(roots))
        if any(not root.is_open and root.text(names.RUN_STOP_REASON) is None for root in roots):
            yield Broken(text="the run ended without a stop reason", span_ids=_ids(roots))
        yield from _other_reasons(given, trace_id, roots)


def _other_reasons(given: Promises, trace_id: str, roots: list[StoredSpan]) -> Iterator[Broken]:
    """Spans of a trace that say another stop reason than the run's own there."""
    reasons = {root.text(names.RUN_STOP_REASON) for root in roots}
    here = (span for span in given.spans if span.trace_id == trace_id)
    others = [span for span in here if span.text(names.RUN_STOP_REASON) not in {None, *reasons}]
    # Cancelled in its last request: then the limit that it is for was shown where an answer was cut by it.
    in_last = StopReason.CANCELLED in reasons and any(root.attributes.get(names.LAST_REQUEST) is True for root in roots)
    if in_last:
        others = [span for span in others if span.text(names.RUN_STOP_REASON) not in LAST_REQUEST_STOPS]
    if others and not reasons & _OVERTAKEN:
        told = ", ".join(sorted(str(reason or "nothing") for reason in reasons))
        said = ", ".join(sorted({str(span.text(names.RUN_STOP_REASON)) for span in others}))
        yield Broken(text=f"the run stopped with {told}, other spans say {said}", span_ids=_ids(others))


def _one_outcome(given: Promises) -> Iterator[Broken]:
    for call in given.calls:
        told = [span for span in call.spans if names.CALL_OUTCOME in span.attributes]
        if len(told) != 1 and (told or not given.is_cut_off(call.place[0])):
            words = ", ".join(str(span.text(names.CALL_OUTCOME)) for span in told) or "none"
            yield Broken(
                text=f"the call {call.call_id} has {len(told)} outcomes: {words}", span_ids=_ids(told or call.spans)
            )
    for chat in given.chats:
        known = {call.call_id for call in given.by_place.get((chat.trace_id, chat.parent_id), ())}
        missing = [call for call in _listed(chat) if call not in known]
        if missing and not given.is_cut_off(chat.trace_id):
            yield Broken(text=f"no span shows what became of the calls {', '.join(missing[:5])}", span_ids=_ids([chat]))


def _one_result(given: Promises) -> Iterator[Broken]:
    for place, calls in given.by_place.items():
        appends = given.appends.get(place, [])
        if not appends and given.is_cut_off(place[0]):
            continue
        if len(appends) != 1:
            said = f"the results of {counted(len(calls), 'call')} went into the history {len(appends)} times"
            yield Broken(text=said, span_ids=_ids(appends or (call.spans[-1] for call in calls)))
            continue
        ordered = sorted(calls, key=lambda call: call.count(names.CALL_INDEX) or 0)
        wanted = [call.call_id for call in ordered]
        count = appends[0].count(names.RESULTS_COUNT)
        if _listed(appends[0]) != wanted[: names.MAX_CALL_IDS] or count != len(wanted):
            said = f"{count} results for {len(wanted)} calls, or in another order: {', '.join(_listed(appends[0])[:5])}"
            yield Broken(text=said, span_ids=_ids(appends))
    for place, appends in given.appends.items():
        if place not in given.by_place:
            yield Broken(text="results went into the history without a call", span_ids=_ids(appends))


def _checked_before_run(given: Promises) -> Iterator[Broken]:
    suspect = {(chat.trace_id, chat.parent_id) for chat in given.chats if chat.text(names.RUN_STOP_REASON) is not None}
    for call in given.calls:
        execution = call.execution
        if execution is None:
            continue
        tool = execution.text(names.GEN_AI_TOOL_NAME)
        if call.text(names.VALIDATION_OUTCOME) not in {"valid", "repaired"}:
            yield Broken(text=f"{tool} ran without a valid call", span_ids=_ids(call.spans))
        confirmed = call.text(names.CONFIRMATION_STATE)
        decision = call.text(names.POLICY_DECISION)
        if decision != Decision.ALLOW and confirmed != "approved":
            said = f"{tool} ran although the policy said {decision or 'nothing'} and nobody approved it"
            yield Broken(text=said, span_ids=_ids(call.spans))
        if call.place in suspect:
            yield Broken(text=f"{tool} ran from an answer that stopped the run", span_ids=_ids([execution]))
    yield from _undone_unasked(given)


def _undone_unasked(given: Promises) -> Iterator[Broken]:
    """Compensations that ran although nobody allowed them."""
    allowed = {
        (span.trace_id, span.parent_id, span.text(names.COMPENSATION_CALL_ID))
        for span in given.spans
        if span.text(names.POLICY_DECISION) == Decision.ALLOW or span.text(names.CONFIRMATION_STATE) == "approved"
    }
    for span in given.compensations:
        if (span.trace_id, span.parent_id, span.text(names.COMPENSATION_CALL_ID)) not in allowed:
            said = f"{span.text(names.GEN_AI_TOOL_NAME)} undid a call, and nobody allowed it"
            yield Broken(text=said, span_ids=_ids([span]))


def _written_once(given: Promises) -> Iterator[Broken]:
    """What a person allows once more, and what is done again after it was undone, has another key."""
    done: dict[str, list[StoredSpan]] = {}
    for call in given.calls:
        span = call.execution
        key = None if span is None else span.text(names.IDEMPOTENCY_KEY_FINGERPRINT)
        if span is None or key is None or span.text(names.EFFECT) != "write":
            continue
        if span.text(names.CALL_OUTCOME) == Outcome.OK:
            done.setdefault(key, []).append(span)
    for key, spans in done.items():
        if len(spans) > 1:
            yield Broken(text=f"{len(spans)} writes under the key {key} succeeded", span_ids=_ids(spans))


def _status_true(given: Promises) -> Iterator[Broken]:
    for span in given.spans:
        root = given.root_of(span.trace_id)
        left = root is None or root.is_open or root.text(names.RUN_STOP_REASON) in _LEFT
        failed = _has_failed(span)
        if failed is False and span.is_error and not left:
            yield Broken(text=f"{span.name} has status ERROR and did not fail", span_ids=_ids([span]))
        if failed and not span.is_error:
            yield Broken(text=f"{span.name} failed and has no status ERROR", span_ids=_ids([span]))


def _has_failed(span: StoredSpan) -> bool | None:
    """Whether the operation of a span failed; None where the span does not say."""
    if span.is_open or span.name in {names.ATTEMPT, names.LATE_COMPLETION}:
        return None
    if span.name == names.RECONCILE:
        answer = span.text(names.RECONCILIATION_ANSWER)
        return None if answer is None else answer == "failed"
    if span.is_run:
        reason = span.text(names.RUN_STOP_REASON)
        return None if reason is None else reason not in ORDERLY_STOPS
    if span.operation == names.EXECUTE_TOOL:
        outcome = span.text(names.CALL_OUTCOME) or span.text(names.COMPENSATION_OUTCOME)
        return None if outcome is None else outcome in _FAILED
    if span.operation == names.CHAT:
        return None if span.text(names.RUN_STOP_REASON) == StopReason.MODEL_ERROR else "error" in _finish(span)
    return False


def _finish(span: StoredSpan) -> list[str]:
    return span.texts(names.GEN_AI_FINISH_REASONS)


def _sums_true(given: Promises) -> Iterator[Broken]:
    root = given.root
    if root is None or root.is_open or names.RUN_REPLAYED in root.attributes:  # the rest is in the trace before it
        return
    sums: list[tuple[str, int | None, int]] = [
        (key, root.count(key), sum(chat.count(each) or 0 for chat in given.chats)) for key, each in _SUMS.items()
    ]
    steps = [span for span in given.spans if counts_as_step(span)]
    failed = [span for span in given.executions if span.text(names.CALL_OUTCOME) != Outcome.OK]
    sums.append((names.RUN_STEPS, root.count(names.RUN_STEPS), len(steps)))
    sums.append((names.RUN_TOOL_CALLS, root.count(names.RUN_TOOL_CALLS), len(given.executions)))
    sums.append((names.RUN_FAILED_TOOL_CALLS, root.count(names.RUN_FAILED_TOOL_CALLS), len(failed)))
    # A callback that raises when a step begins leaves no span of it.
    spare = 1 if root.text(names.RUN_STOP_REASON) in _LEFT else 0
    for key, told, found in sums:
        if told is not None and told != found and not (key == names.RUN_STEPS and told == found + spare):
            yield Broken(text=f"{key} is {told}, the spans make it {found}", span_ids=_ids([root]))
    cost = run_cost(root)
    summed = sum((cost_of(chat) or Decimal(0) for chat in given.chats), Decimal(0))
    if cost is not None and abs(microusd(summed) - microusd(cost)) > 1:
        text = f"the run cost {microusd(cost)} millionths of a USD, its requests {microusd(summed)}"
        yield Broken(text=text, span_ids=_ids([root]))


_SUMS: Final = {
    names.RUN_INPUT_TOKENS: names.GEN_AI_INPUT_TOKENS,
    names.RUN_OUTPUT_TOKENS: names.GEN_AI_OUTPUT_TOKENS,
    names.RUN_CACHED_TOKENS: names.GEN_AI_CACHED_TOKENS,
    names.RUN_REASONING_TOKENS: names.GEN_AI_REASONING_TOKENS,
    names.RUN_CACHE_WRITE_TOKENS: names.GEN_AI_CACHE_WRITE_TOKENS,
    names.RUN_AUDIO_INPUT_TOKENS: names.GEN_AI_AUDIO_INPUT_TOKENS,
    names.RUN_AUDIO_OUTPUT_TOKENS: names.GEN_AI_AUDIO_OUTPUT_TOKENS,
}


def _limits_held(given: Promises) -> Iterator[Broken]:
    for limit in limits(given.run.trace):
        if limit.name in _COUNTED and limit.used is not None and limit.used > limit.limit:
            said = f"{limit.name}: {limit.used:.12g} of {limit.limit:.12g}"
            yield Broken(text=said, span_ids=_ids([given.root] if given.root is not None else []))


def _names_known(given: Promises) -> Iterator[Broken]:
    for span in given.spans:
        head = span.name.split(" ", 1)[0]
        standard = head in NAMED_SPANS
        if not standard and span.name not in KNOWN_SPANS:
            yield Broken(text=f"no span of ours is called {span.name}", span_ids=_ids([span]))
        unknown = [key for key in span.attributes if key not in KNOWN_KEYS and not key.startswith(KNOWN_PREFIXES)]
        if unknown:
            yield Broken(text=f"{span.name} has the unknown keys {', '.join(unknown[:5])}", span_ids=_ids([span]))
        if not standard and any(key.startswith("gen_ai.") for key in span.attributes):
            said = f"{span.name} has gen_ai keys: backends take it for a request, a tool or an agent"
            yield Broken(text=said, span_ids=_ids([span]))


def _words_known(given: Promises) -> Iterator[Broken]:
    for span in given.spans:
        for key, value in span.attributes.items():
            allowed = ALLOWED_WORDS.get(key) or ALLOWED_LISTS.get(key)
            words = [str(value)] if key in ALLOWED_WORDS else str(value).split(",")
            if allowed is not None and not allowed.issuperset(words):
                yield Broken(text=f"{key} is {str(value)[:40]!r}, no word of its list", span_ids=_ids([span]))


def _run_id_everywhere(given: Promises) -> Iterator[Broken]:
    ids = Counter(span.text(names.RUN_ID) for span in given.spans)
    if len(ids) > 1:
        yield Broken(text=f"{len(ids)} run ids in one run", span_ids=_ids(given.spans))
    lost = [s for s in given.run.trace.spans if s.scope == names.SCOPE and s.text(names.RUN_ID) is None]
    if lost:
        yield Broken(text=f"{len(lost)} spans of ours without the run's id", span_ids=_ids(lost))


def _spans_whole(given: Promises) -> Iterator[Broken]:
    for span in given.spans:
        if len(span.attributes) > MAX_ATTRIBUTES:
            yield Broken(text=f"{span.name} has {len(span.attributes)} attributes", span_ids=_ids([span]))
    for trace_id, roots in given.roots.items():
        counts = [root.count(names.RECEIPT_STARTED) for root in roots]
        here = sum(span.name != names.LATE_COMPLETION for span in given.spans if span.trace_id == trace_id)
        started = sum(count or 0 for count in counts)
        if None not in counts and here != started:
            yield Broken(text=f"the run started {started} spans, {here} are here", span_ids=_ids(roots))


def _listed(span: StoredSpan) -> list[str]:
    return [call for call in (span.text(names.CALL_IDS) or "").split(",") if call]


def _ids(spans: Iterable[StoredSpan]) -> tuple[str, ...]:
    return span_ids(span.key for span in spans)


OUR_CHECKS: Final[Mapping[str, Callable[[Promises], Iterator[Broken]]]] = {
    "run_ended_once": _run_ended_once,
    "one_outcome": _one_outcome,
    "one_result": _one_result,
    "checked_before_run": _checked_before_run,
    "written_once": _written_once,
    "status_true": _status_true,
    "sums_true": _sums_true,
    "limits_held": _limits_held,
    "names_known": _names_known,
    "words_known": _words_known,
    "run_id_everywhere": _run_id_everywhere,
    "spans_whole": _spans_whole,
}
"""By the rule's name in ``Rule``."""
