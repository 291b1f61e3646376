"""A run out of a trace of our own dialect: exact, whole or damaged.

What belongs to one step is found by its parent's id, not by the parent: a step whose own span was lost still holds
together.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, cast, get_args

from traced_loop import names
from traced_loop.closed_words import UsageSource
from traced_loop.outcomes import Outcome
from traced_loop.read.agent_run import AgentRun, Gap, StoredAttempt, StoredCall, StoredRequest
from traced_loop.read.dialects.span_dialect import is_ours
from traced_loop.read.dialects.span_values import first_token_ns
from traced_loop.read.our_call import CallSpans, Place, spans_by_call, stored_call
from traced_loop.read.spending import cost_of
from traced_loop.read.trace import SpanKey, StoredSpan, StoredTrace
from traced_loop.rules.pricing import Price, read_price

_MS: Final = 1_000_000


def our_run(trace: StoredTrace) -> AgentRun:
    """The run of a trace of ours; of several spans of a run (it was resumed) the last to begin is its end."""
    spans = [span for span in trace.spans if is_ours(span)]
    steps = _Steps(spans)
    runs = sorted((span for span in spans if span.is_run), key=lambda span: span.start_ns)
    last = runs[-1] if runs else None
    requests = tuple(_request(span, steps) for span in steps.chats)
    calls = _calls(spans, steps)
    model = last.text(names.GEN_AI_REQUEST_MODEL) if last is not None else None
    is_open = last is None or last.is_open
    run = AgentRun(
        id=next((found for span in spans if (found := span.text(names.RUN_ID))), "") or _trace_id(trace),
        dialect="traced_loop",
        trace=trace,
        run_span=None if last is None else last.key,
        agents=_agents(runs),
        model=model or (requests[0].model if requests else ""),
        start_ns=runs[0].start_ns if runs else trace.begun_ns,
        end_ns=last.end_ns if last is not None and not last.is_open else trace.last_ns,
        is_open=is_open,
        stop_reason=None if last is None else last.text(names.RUN_STOP_REASON),
        stop_detail=None if last is None else last.text(names.RUN_STOP_DETAIL),
        session_id=None if last is None else last.text(names.SESSION_ID),
        requests=requests,
        calls=calls,
        user_messages=_user_messages(spans, calls),
        problems=trace.problems,
    )
    return replace(run, gaps=frozenset(_gaps(run)))


def _user_messages(spans: Sequence[StoredSpan], calls: Sequence[StoredCall]) -> tuple[int, ...]:
    """Before which calls a person spoke while the run was stopped; behind the last call the number of all."""
    prompted = [span.count(names.STEP_INDEX) for span in spans if span.attributes.get(names.STEP_PROMPTED) is True]
    steps = [number for number in prompted if number is not None]
    return tuple(next((call.index for call in calls if call.step >= step), len(calls)) for step in steps)


class _Steps:
    """What is known of the steps: their numbers, their checks, what was appended in them."""

    def __init__(self, spans: Sequence[StoredSpan]) -> None:
        ordered = sorted(spans, key=lambda span: span.start_ns)
        self.chats = [span for span in ordered if span.operation == names.CHAT]
        self.attempts: dict[SpanKey, list[StoredSpan]] = {}
        self.appends: dict[Place, StoredSpan] = {}
        self._numbers: dict[Place, int] = {}
        self._checks: dict[tuple[Place, str], StoredSpan] = {}
        self._admissions: list[StoredSpan] = []
        for span in ordered:
            self._sort_in(span)
        self._admitted_at = [span.start_ns for span in self._admissions]
        self._appended = {self.number(place): span for place, span in self.appends.items()}

    def _sort_in(self, span: StoredSpan) -> None:
        place, number = (span.trace_id, span.parent_id), span.count(names.STEP_INDEX)
        if number is not None:
            # A step tells its own number to what lies in it; a lost one is known by its request and executions.
            self._numbers[span.key if span.name == names.STEP else place] = number
        if span.name == names.ATTEMPT:
            self.attempts.setdefault(place, []).append(span)
        elif span.name == names.APPEND_RESULTS:
            self.appends[place] = span
        elif span.name == names.CHECK_BUDGET:
            phase = span.text(names.BUDGET_PHASE) or ""
            self._checks[place, phase] = span
            if phase == "request":
                self._admissions.append(span)

    def number(self, place: Place) -> int:
        """The step's number, 1-based; 0 for unknown."""
        return self._numbers.get(place, 0)

    def check(self, place: Place, phase: str) -> StoredSpan | None:
        """The check of a phase inside of a step."""
        return self._checks.get((place, phase))

    def admission(self, start_ns: int) -> StoredSpan | None:
        """The last check before a request that began then."""
        at = bisect_right(self._admitted_at, start_ns)
        return self._admissions[at - 1] if at else None

    def history(self, place: Place, number: int) -> int | None:
        """Messages that the request of a step sent: what was there when its results were appended, without those."""
        append = self.appends.get(place)
        after = append.count(names.TRANSCRIPT_MESSAGES) if append is not None else None
        results = append.count(names.RESULTS_COUNT) if append is not None else None
        if append is not None and after is not None and results is not None:
            nudges = 1 if append.attributes.get(names.NUDGED) is True else 0
            return after - results - nudges - 1
        before = self._appended.get(number - 1)
        return before.count(names.TRANSCRIPT_MESSAGES) if before is not None and number > 1 else None


def _request(span: StoredSpan, steps: _Steps) -> StoredRequest:
    place = span.trace_id, span.parent_id
    number = steps.number(place) or span.count(names.STEP_INDEX) or 0
    admission, batch, settled = (
        steps.admission(span.start_ns),
        steps.check(place, "batch"),
        steps.check(place, "step"),
    )
    source = span.text(names.USAGE_SOURCE)
    finish = tuple(span.texts(names.GEN_AI_FINISH_REASONS))
    return StoredRequest(
        span=span.key,
        step=number,
        model=span.text(names.GEN_AI_REQUEST_MODEL) or "",
        response_model=span.text(names.GEN_AI_RESPONSE_MODEL) or "",
        response_id=span.text(names.GEN_AI_RESPONSE_ID) or "",
        provider=span.text(names.GEN_AI_PROVIDER) or "",
        start_ns=span.start_ns,
        end_ns=span.end_ns,
        first_token_ns=first_token_ns(span, (names.GEN_AI_FIRST_CHUNK,), ()),
        finish_reasons=finish,
        input_tokens=span.count(names.GEN_AI_INPUT_TOKENS),
        output_tokens=span.count(names.GEN_AI_OUTPUT_TOKENS),
        cached_tokens=span.count(names.GEN_AI_CACHED_TOKENS),
        reasoning_tokens=span.count(names.GEN_AI_REASONING_TOKENS),
        cache_write_tokens=span.count(names.GEN_AI_CACHE_WRITE_TOKENS),
        input_audio_tokens=span.count(names.GEN_AI_AUDIO_INPUT_TOKENS),
        output_audio_tokens=span.count(names.GEN_AI_AUDIO_OUTPUT_TOKENS),
        usage_source=cast("UsageSource | None", source if source in get_args(UsageSource) else None),
        cost_usd=cost_of(span),
        price=_price(span),
        price_table=span.text(names.COST_TABLE) or "",
        error_type=span.text(names.ERROR_TYPE),
        error_kind=span.text(names.MODEL_ERROR_KIND) or "",
        asked_wait_ms=span.count(names.MODEL_ERROR_RETRY_AFTER_MS),
        http_status=span.count(names.HTTP_STATUS),
        is_open=span.is_open,
        attempts=_attempts(steps.attempts.get(span.key, ())),
        anomalies=_words(span.text(names.ANOMALIES)),
        call_ids=_words(span.text(names.CALL_IDS)),
        history_messages=steps.history(place, number),
        is_last=span.attributes.get(names.LAST_REQUEST) is True,
        admitted_ns=0 if admission is None else admission.start_ns,
        expected_tokens=None if admission is None else admission.count(names.BUDGET_EXPECTED_TOKENS),
        batch_ns=0 if batch is None else batch.start_ns,
        settled_ns=0 if settled is None else settled.start_ns,
        settled_tokens=None if settled is None else settled.count(names.BUDGET_SETTLED_TOKENS),
    )


def _price(span: StoredSpan) -> Price | None:
    """The rates behind the cost; that of cached input is not known where the cost is an upper bound."""
    price = read_price(span.text(names.COST_RATES) or "")
    is_upper = span.attributes.get(names.COST_UPPER_BOUND) is True
    return replace(price, cached_input=None) if price is not None and is_upper else price


def _calls(spans: Sequence[StoredSpan], steps: _Steps) -> tuple[StoredCall, ...]:
    found = spans_by_call(spans)
    undone = {_undone(span) for span in spans if span.text(names.COMPENSATION_OUTCOME) == Outcome.OK}
    # Each step's calls by their place in the answer; steps in the order of time.
    begun = {call.place: call.spans[0].start_ns for call in reversed(found)}
    found.sort(key=lambda call: (begun[call.place], call.place, _index(call)))
    return tuple(
        _told(
            stored_call(
                call,
                index=n,
                step=steps.number(call.place),
                undone=(call.place, call.call_id) in undone,
                appended=_appended(call, steps.appends.get(call.place)),
                attempts=[] if call.execution is None else _attempts(steps.attempts.get(call.execution.key, ())),
            ),
            steps.appends.get(call.place),
        )
        for n, call in enumerate(found)
    )


def _index(call: CallSpans) -> int:
    return call.count(names.CALL_INDEX) or 0


def _appended(call: CallSpans, append: StoredSpan | None) -> bool | None:
    """Whether its result went into the history; the list of ids is bounded, so beyond that it is not known."""
    if append is None:
        return None
    ids = _words(append.text(names.CALL_IDS))
    return True if call.call_id in ids else None if len(ids) >= names.MAX_CALL_IDS else False


def _undone(compensation: StoredSpan) -> tuple[Place, str]:
    """The step and the call that a compensation is of."""
    place = compensation.trace_id, compensation.parent_id
    return place, compensation.text(names.COMPENSATION_CALL_ID) or ""


def _told(call: StoredCall, append: StoredSpan | None) -> StoredCall:
    """The size of a lone result is that of its batch, where the call's own spans do not have it."""
    if call.told_bytes is not None or append is None or append.count(names.RESULTS_COUNT) != 1:
        return call
    return replace(call, told_bytes=append.count(names.RESULTS_BYTES))


def _attempts(spans: Sequence[StoredSpan]) -> tuple[StoredAttempt, ...]:
    return tuple(
        StoredAttempt(
            span=span.key,
            number=span.count(names.ATTEMPT_NUMBER) or n,
            start_ns=span.start_ns,
            end_ns=span.end_ns,
            delay_ns=(span.count(names.ATTEMPT_DELAY_MS) or 0) * _MS,
            error_type=span.text(names.ERROR_TYPE),
            error_kind=span.text(names.MODEL_ERROR_KIND) or "",
            http_status=span.count(names.HTTP_STATUS),
            input_tokens=span.count(names.ATTEMPT_INPUT_TOKENS),
            output_tokens=span.count(names.ATTEMPT_OUTPUT_TOKENS),
            cached_tokens=span.count(names.ATTEMPT_CACHED_TOKENS) or 0,
            model=span.text(names.ATTEMPT_MODEL) or "",
            price=read_price(span.text(names.COST_RATES) or ""),
        )
        for n, span in enumerate(spans, 1)
    )


def _agents(runs: Sequence[StoredSpan]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for span in runs if (name := span.text(names.GEN_AI_AGENT_NAME))))


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(filter(None, (text or "").split(",")))


def _trace_id(trace: StoredTrace) -> str:
    return next((span.trace_id for span in trace.spans if span.trace_id), "")


def _gaps(run: AgentRun) -> list[Gap]:
    answered = [r for r in run.requests if not r.is_open and r.error_type is None]
    ran = [call for call in run.calls if call.ran and not call.is_open]
    told: Mapping[Gap, bool] = {
        Gap.NO_TIMES: not run.start_ns,
        Gap.NO_REQUESTS: not run.requests,
        Gap.NO_FIRST_TOKEN: any(not request.first_token_ns for request in answered),
        Gap.NO_USAGE: any(request.input_tokens is None or request.output_tokens is None for request in answered),
        Gap.NO_PRICES: any(request.cost_usd is None for request in answered),
        Gap.NO_ARGUMENTS: any(call.identity is None for call in ran),
        Gap.NO_RESULTS: any(call.result is None and call.error is None for call in ran if call.outcome == "ok"),
        Gap.NO_STOP_REASON: run.stop_reason is None,
    }
    return [gap for gap, is_so in told.items() if is_so]
