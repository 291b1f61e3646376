"""One span in words: what it is called, and what is worth saying about it. Text of the trace comes out safe."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from rich.text import Text

from traced_loop import names
from traced_loop.amount_text import cost_text, count_text, counted, seconds_text, tokens_text
from traced_loop.outcomes import Decision, Outcome, StopReason
from traced_loop.read.span_tree import call_id
from traced_loop.read.spending import cost_of, run_cost
from traced_loop.read.trace import StoredSpan
from traced_loop.views.lines import BAD, GOOD, ODD, QUIET, word
from traced_loop.views.visible import cut

SUMMARY_CHARACTERS: Final = 60
"""Characters of an arguments summary or an error text, unless the whole is asked for."""

_GOOD: Final = frozenset(
    {Outcome.OK, Decision.ALLOW, "valid", "final", "calls_handled", "approved", StopReason.FINAL_ANSWER}
)
_ODD: Final = frozenset(
    {
        Outcome.REPLAYED,
        Outcome.CONFIRMATION_REQUIRED,
        Outcome.SKIPPED_BUDGET,
        Outcome.SKIPPED_STOP,
        Outcome.SKIPPED_TRUNCATED,
        Decision.NEEDS_CONFIRMATION,
        "repaired",
        "warning",
        "pending",
    }
)


def style_of(text: str) -> str:
    """The style of a closed word of the trace: good, odd, or bad, which every other word is."""
    return GOOD if text in _GOOD else ODD if text in _ODD else BAD


def verdict(text: str) -> Text:
    """A closed word of the trace in the colour of what it means; the word itself says it all without colour."""
    return word(text, style_of(text))


def title(span: StoredSpan) -> str:
    """The span's name as people say it: without our prefix, with what tells it from its siblings."""
    short = span.name.removeprefix(f"{names.SCOPE}.")
    told_by = _SUBJECT.get(span.name)
    subject = span.attributes.get(told_by) if told_by else None
    return short if subject is None else f"{short} {subject}"


def doing(span: StoredSpan) -> str:
    """What an open span stands for, in words: ``execute_tool slow_tool (call_1)``."""
    undone = span.text(names.COMPENSATION_CALL_ID)
    call = f"undoes {undone}" if undone else call_id(span)
    return f"{title(span)} ({call})" if call else title(span)


def described(span: StoredSpan, *, full: bool = False) -> list[Text]:
    """Everything said behind the title. ``full`` cuts nothing."""
    limit = None if full else SUMMARY_CHARACTERS
    said = _SAID.get(span.operation)
    words = list(said(span, limit)) if said is not None else []
    if span.is_open:
        words.insert(0, word("still open", ODD))
    alarms = [_error(span, limit)] if span.is_error else []
    stop = span.text(names.RUN_STOP_REASON)
    if stop and not span.is_run:
        alarms.append(word(f"stops the run: {stop}", style_of(stop)))
    return [*words[:1], *alarms, *words[1:]]


def _run(span: StoredSpan, _limit: int | None) -> Iterator[Text]:
    if stop := span.text(names.RUN_STOP_REASON):
        yield verdict(stop)
    if (tokens := span.count(names.RUN_TOKENS)) is not None:
        yield word(tokens_text(tokens, requests=span.count(names.RUN_MODEL_REQUESTS)))
    if not span.is_open:
        cost = run_cost(span)
        yield word("cost unknown", QUIET) if cost is None else word(cost_text(cost))


def _step(span: StoredSpan, _limit: int | None) -> Iterator[Text]:
    yield from _verdict_of(span, names.STEP_OUTCOME)


def _chat(span: StoredSpan, _limit: int | None) -> Iterator[Text]:
    if reasons := span.texts(names.GEN_AI_FINISH_REASONS):
        yield word(", ".join(reasons))
    if not span.is_open:
        yield word(_tokens(span))
        yield word(cost_text(cost) if (cost := cost_of(span)) is not None else "cost unknown")
    if cached := span.count(names.GEN_AI_CACHED_TOKENS):
        yield word(f"{count_text(cached)} cached", QUIET)
    if (source := span.text(names.USAGE_SOURCE)) and source != "provider":
        yield word(f"usage {source}", ODD)
    if fallback := span.text(names.FALLBACK_MODEL):
        yield word(f"answered by {fallback}", ODD)
    yield from _failure(span)
    if anomalies := span.text(names.ANOMALIES):
        yield word(anomalies.replace(",", ", "), ODD)


def _validate(span: StoredSpan, limit: int | None) -> Iterator[Text]:
    yield from _verdict_of(span, names.VALIDATION_OUTCOME)
    code, paths = span.text(names.VALIDATION_ERROR_CODE), span.text(names.VALIDATION_ERROR_PATHS)
    if code:
        yield word(f"{code}: {paths.replace(',', ', ')}" if paths else code, BAD)
    yield from _call(span)
    if code:
        yield from _arguments(span, limit)


def _authorize(span: StoredSpan, _limit: int | None) -> Iterator[Text]:
    rule, reason = span.text(names.POLICY_RULE), span.text(names.POLICY_REASON)
    yield from _verdict_of(span, names.POLICY_DECISION)
    if rule:
        yield word(f"({rule}: {reason})" if reason else f"({rule})", QUIET)
    if state := span.text(names.CONFIRMATION_STATE):
        waited = span.number(names.CONFIRMATION_WAIT_MS)
        by = span.text(names.CONFIRMATION_BY)
        yield verdict(state)
        yield word(f"{f'by {by} ' if by else ''}after {seconds_text(None if waited is None else waited / 1000)}")
    yield from _call(span)


def _execute(span: StoredSpan, limit: int | None) -> Iterator[Text]:
    yield from _call(span)
    yield from _arguments(span, limit)
    queued = span.number(names.SCHEDULE_QUEUED_MS)
    if queued is not None and queued >= 1:
        yield word(f"queued {seconds_text(queued / 1000)}", QUIET)
    if waited := span.number(names.SCHEDULE_WAITED_MS):
        yield word(f"after {seconds_text(waited / 1000)} for people", QUIET)
    if span.attributes.get(names.RESULT_TRUNCATED) is True:
        yield word(f"result cut, {count_text(span.count(names.RESULT_BYTES))} bytes", ODD)
    if kind := span.text(names.REPETITION_KIND):
        yield word(f"{kind} x{count_text(span.count(names.REPETITION_COUNT))}", ODD)


def _replay(span: StoredSpan, _limit: int | None) -> Iterator[Text]:
    yield from _call(span)
    if (age := span.number(names.REPLAY_AGE_S)) is not None:
        yield word(f"result of {seconds_text(age)} ago, not run again", ODD)
    if step := span.text(names.REPLAY_STEP):
        yield word(f"{step} was kept by the engine, not done again", ODD)
    if kind := span.text(names.REPETITION_KIND):
        yield word(f"{kind} x{count_text(span.count(names.REPETITION_COUNT))}", ODD)


def _append(span: StoredSpan, _limit: int | None) -> Iterator[Text]:
    yield word(counted(span.count(names.RESULTS_COUNT), "result"))
    outcomes = span.text(names.RESULTS_OUTCOMES)
    if outcomes and not _all_ok(outcomes):
        yield word(outcomes.replace(":", " ").replace(",", ", "), ODD)
    if (undone := span.count(names.RESULTS_COMPENSATED)) is not None:
        yield word(f"{count_text(undone)} undone", ODD)
    yield word(f"{count_text(span.count(names.RESULTS_BYTES))} bytes", QUIET)
    if span.attributes.get(names.NUDGED) is True:
        yield word("nudge", ODD)


def _budget(span: StoredSpan, _limit: int | None) -> Iterator[Text]:
    outcome = span.text(names.BUDGET_OUTCOME)
    if outcome:
        yield word(outcome) if outcome == Outcome.OK else verdict(outcome)
    if exceeded := span.text(names.BUDGET_EXCEEDED):
        yield word(exceeded, BAD)
    elif following := span.text(names.BUDGET_NEXT):
        yield word(f"next {following}", QUIET)
    yield from _repetition(span)


def _repetition(span: StoredSpan) -> Iterator[Text]:
    """What a check after a step found, else how long nothing has been new."""
    if found := span.text(names.REPETITION_VERDICT):
        kind, count = span.text(names.REPETITION_KIND), span.count(names.REPETITION_COUNT)
        tool = span.text(names.REPETITION_TOOL)
        period = span.count(names.REPETITION_PERIOD)
        every = f" every {period} steps" if period is not None and period > 1 else ""
        yield word(f"{found}: {tool} {kind} x{count_text(count)}{every}", BAD if found == "stop" else ODD)
    elif streak := span.count(names.REPETITION_STREAK):
        yield word(f"nothing new x{count_text(streak)}", QUIET)


def _failure(span: StoredSpan) -> Iterator[Text]:
    """Why a request or one try of it failed, and how long the server asked to wait."""
    if kind := span.text(names.MODEL_ERROR_KIND):
        yield word(kind, BAD)
    if wait := span.number(names.MODEL_ERROR_RETRY_AFTER_MS):
        yield word(f"asks to wait {seconds_text(wait / 1000)}", QUIET)


def _attempt(span: StoredSpan, _limit: int | None) -> Iterator[Text]:
    if delay := span.number(names.ATTEMPT_DELAY_MS):
        yield word(f"after waiting {seconds_text(delay / 1000)}", QUIET)
    if model := span.text(names.ATTEMPT_MODEL):
        yield word(model)
    if (status := span.count(names.HTTP_STATUS)) is not None:
        yield word(f"HTTP {status}")
    yield from _failure(span)


def _late(span: StoredSpan, _limit: int | None) -> Iterator[Text]:
    yield from _verdict_of(span, names.LATE_OUTCOME)
    if (seconds := span.number(names.LATE_SECONDS)) is not None:
        yield word(f"{seconds_text(seconds)} late", QUIET)


def _all_ok(outcomes: str) -> bool:
    return outcomes.rpartition(":")[0] == Outcome.OK


def _reconcile(span: StoredSpan, _limit: int | None) -> Iterator[Text]:
    if answer := span.text(names.RECONCILIATION_ANSWER):
        yield word(answer, BAD if answer in {"unknown", "failed"} else "")
    if cause := span.text(names.RECONCILIATION_CAUSE):
        yield word(f"asked after {'an earlier call' if cause == 'earlier' else f'its {cause}'}", QUIET)


def _call(span: StoredSpan) -> Iterator[Text]:
    yield from _verdict_of(span, names.CALL_OUTCOME)
    yield from _verdict_of(span, names.COMPENSATION_OUTCOME)
    if undone := span.text(names.COMPENSATION_CALL_ID):
        yield word(f"undoes {undone}", ODD)
    if call := call_id(span):
        yield word(call, QUIET)


def _verdict_of(span: StoredSpan, key: str) -> Iterator[Text]:
    if found := span.text(key):
        yield verdict(found)


def _arguments(span: StoredSpan, limit: int | None) -> Iterator[Text]:
    if summary := span.text(names.ARGS_SUMMARY):
        yield word(cut(summary, limit), QUIET)


def _tokens(span: StoredSpan) -> str:
    sent, got = span.count(names.GEN_AI_INPUT_TOKENS), span.count(names.GEN_AI_OUTPUT_TOKENS)
    if sent is None and got is None:
        return "tokens unknown"
    return f"{count_text(sent)} in, {count_text(got)} out"


def _error(span: StoredSpan, limit: int | None) -> Text:
    kind = span.text(names.ERROR_TYPE)
    message = "" if span.is_run else span.status_message  # the header has the run's
    parts = ["ERROR", *([kind] if kind and kind != span.text(names.RUN_STOP_REASON) else [])]
    text = " ".join(parts)
    if message:
        text = f"{text}: {cut(message, limit)}"
    return word(text, BAD)


_Said = Callable[[StoredSpan, int | None], Iterator[Text]]

_SAID: Final[Mapping[str, _Said]] = {
    names.INVOKE_AGENT: _run,
    names.STEP: _step,
    names.CHAT: _chat,
    names.VALIDATE_CALL: _validate,
    names.AUTHORIZE_CALL: _authorize,
    names.EXECUTE_TOOL: _execute,
    names.REPLAY: _replay,
    names.RECONCILE: _reconcile,
    names.APPEND_RESULTS: _append,
    names.CHECK_BUDGET: _budget,
    names.ATTEMPT: _attempt,
    names.LATE_COMPLETION: _late,
}

_SUBJECT: Final[Mapping[str, str]] = {
    names.STEP: names.STEP_INDEX,
    names.VALIDATE_CALL: names.CALL_TOOL,
    names.AUTHORIZE_CALL: names.CALL_TOOL,
    names.REPLAY: names.CALL_TOOL,
    names.RECONCILE: names.CALL_TOOL,
    names.CHECK_BUDGET: names.BUDGET_PHASE,
    names.ATTEMPT: names.ATTEMPT_NUMBER,
    names.LATE_COMPLETION: names.CALL_TOOL,
}
