"""The answers of a stored run: its transcript joined with its chat spans.

The transcript has the messages whole, unknown fields included; the spans have finish reasons, token counts, ids, prices
and failed tries. The message that answers a request is the one after what was sent. What neither has is not made up:
an error's own text is content, and stands in neither.
"""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Final

from traced_loop import names
from traced_loop.closed_words import Anomaly
from traced_loop.errors import UsageError
from traced_loop.messages import Message, ModelAnswer, TokenUsage
from traced_loop.models.error_kinds import kind_named, kind_of_words
from traced_loop.models.recorded_request import ALL_TOOLS, RecordedError, RecordedRequest, Recording
from traced_loop.outcomes import StopReason
from traced_loop.read.agent_run import AgentRun, StoredAttempt, StoredRequest
from traced_loop.read.local_store import LAST, LocalStore
from traced_loop.read.our_run import our_run
from traced_loop.rules.model_error_kinds import KIND_RULES
from traced_loop.rules.price_table import TablePrice
from traced_loop.rules.pricing import Pricing

PROVIDER: Final = "replay"
"""``gen_ai.provider.name`` of a replay: what it counts was billed once already."""
_LEFT: Final = frozenset({"CancelledError", "KeyboardInterrupt", "SystemExit"})
"""``error.type`` of a request that was left before it was answered."""
_BLANK: Final[Message] = {"role": "assistant", "content": None}
"""An answer that says nothing is in no transcript: no provider takes it back."""


def recording_of_run(run: str, store: Path | str | None = None) -> Recording:
    """The recording of one run of a store.

    Args:
        run: its id, the beginning of one, or ``last``: the newest that is no replay itself.
        store: a folder; None for the default one.

    Raises:
        UsageError: there is no such run, or it has no transcript or no request.
    """
    with LocalStore.open(store) as opened:
        run_id = opened.find(run)
        stored = our_run(opened.trace(run_id))
        if run == LAST and _is_replay(stored):  # whoever replays twice means the same run twice
            others = map(our_run, map(opened.trace, opened.run_ids()))
            stored = next((found for found in others if not _is_replay(found)), stored)
            run_id = stored.id
        told = opened.messages(run_id)
    if not told.messages:
        why = "".join(f": {problem.text}" for problem in told.problems[:1])
        raise UsageError(f"the run {run_id} has no transcript to replay{why}; traced-loop show {run_id} has its spans")
    if not stored.requests:
        raise UsageError(f"the run {run_id} made no request, so there is no answer to give again")
    return _recording(stored, told.messages)


def _is_replay(run: AgentRun) -> bool:
    return any(request.provider == PROVIDER for request in run.requests)


def _recording(run: AgentRun, messages: Sequence[Message]) -> Recording:
    offered = _offered(run)
    found: list[RecordedRequest] = []
    for request in run.requests:
        sent = _sent(request, messages)
        before = len(found[-1].sent) if found else 0
        tries = _tries(request)
        last = _last(request, sent, messages)
        for outcome in (*tries, last):
            kept = min(before, sent) if found else 0
            found.append(replace(outcome, sent=messages[:sent], kept=kept, tools=offered))
            before = sent
    accepted = run.stop_reason != StopReason.INCONSISTENT_RESPONSE
    quirk = Anomaly.STOP_WITH_TOOL_CALLS.value
    is_tolerant = accepted and any(quirk in request.anomalies for request in run.requests)
    return Recording(
        source=f"the run {run.id}",
        model=run.requests[0].model or run.model,
        requests=found,
        prices=_prices(run.requests),
        tolerate=frozenset({quirk}) if is_tolerant else frozenset(),
        end="" if run.stop_reason is None else f"where it stopped with {run.stop_reason}",
    )


def _offered(run: AgentRun) -> dict[str, str] | None:
    root = next((span for span in run.trace.spans if span.key == run.run_span), None)
    tools = None if root is None else root.text(names.TOOLS_VERSION)
    return None if tools is None else {ALL_TOOLS: tools}


def _sent(request: StoredRequest, messages: Sequence[Message]) -> int:
    """How many messages the request sent: as the spans tell; of a run's only request, all but its answer."""
    if request.history_messages is not None:
        return min(request.history_messages, len(messages))
    is_answered = not request.is_open and messages[-1].get("role") == "assistant"
    return len(messages) - 1 if is_answered else len(messages)


def _tries(request: StoredRequest) -> list[RecordedRequest]:
    """The failed tries before the last one."""
    # Of a cost without rates only the sum over all tries is known: the last one has it.
    free = None if request.price is not None or request.cost_usd is None else Decimal(0)
    return [_try(attempt, free) for attempt in request.attempts[:-1]]


def _try(attempt: StoredAttempt, cost: Decimal | None) -> RecordedRequest:
    error_type = attempt.error_type or "_OTHER"
    if attempt.input_tokens is not None or attempt.output_tokens is not None:
        # An error inside of a response that was billed.
        usage = TokenUsage(
            input=attempt.input_tokens,
            output=attempt.output_tokens,
            cached=attempt.cached_tokens,
            total=(attempt.input_tokens or 0) + (attempt.output_tokens or 0),
            source="provider",
            cost_usd=cost,
        )
        text = f"the recorded try failed: {error_type}"
        answer = ModelAnswer(
            message=None,
            finish_reason=None,
            usage=usage,
            error=text,
            error_code=error_type,
            error_kind=kind_named(attempt.error_kind),
        )
        return RecordedRequest(sent=(), answer=answer)
    kind = kind_named(attempt.error_kind)
    error = RecordedError(error_type=error_type, status=attempt.http_status, retryable=True, kind=kind)
    return RecordedRequest(sent=(), error=error)


def _last(request: StoredRequest, sent: int, messages: Sequence[Message]) -> RecordedRequest:
    """What became of the request in the end."""
    if request.is_open:
        return RecordedRequest(sent=(), gap="the run died while it waited for it")
    if (request.error_type or "").rpartition(".")[2] in _LEFT:
        return RecordedRequest(sent=(), gap="the run was cancelled while it waited for it")
    found = messages[sent] if sent < len(messages) and messages[sent].get("role") == "assistant" else None
    if found is None and request.call_ids:
        return RecordedRequest(sent=(), gap="the transcript lacks the answer")
    code, usage = request.error_type, _usage(request)
    kind = kind_named(request.error_kind)
    may_pass = code is not None and KIND_RULES[kind or kind_of_words([code])].again
    if code is not None and found is None and (usage.source == "missing" or may_pass):
        return RecordedRequest(sent=(), error=RecordedError(error_type=code, status=request.http_status, kind=kind))
    message = found if found is not None or code is not None else _BLANK
    known = {str(word): word for word in Anomaly if word is not Anomaly.REPLAY_DIVERGED}
    answer = ModelAnswer(
        message=None if message is None else dict(message),
        finish_reason=_finish_reason(request),
        usage=usage,
        response_id=request.response_id or None,
        response_model=request.response_model or None,
        anomalies=tuple(known[word] for word in request.anomalies if word in known),
        error=None if code is None else f"the recorded answer was an error: {code}",
        error_code=code,
        error_kind=kind,
    )
    return RecordedRequest(sent=(), answer=answer)


def _finish_reason(request: StoredRequest) -> str | None:
    """The provider's word; ``error`` is ours where there was an error and no word."""
    word = request.finish_reasons[0] if request.finish_reasons else None
    return None if word == "error" and request.error_type is not None else word


def _usage(request: StoredRequest) -> TokenUsage:
    """The counts of the last try: those of the span are of all tries together."""
    if request.usage_source not in {"provider", "estimated"}:
        return TokenUsage()
    tries = request.attempts
    given = _less(request.input_tokens, sum(attempt.input_tokens or 0 for attempt in tries))
    got = _less(request.output_tokens, sum(attempt.output_tokens or 0 for attempt in tries))
    total = given + got if given is not None and got is not None else None
    if total is None and request.usage_source == "provider":
        total = request.settled_tokens  # only the sum was told
    if given is None and got is None and total is None:
        return TokenUsage()
    return TokenUsage(
        input=given,
        output=got,
        cached=max(0, (request.cached_tokens or 0) - sum(attempt.cached_tokens for attempt in tries)),
        reasoning=request.reasoning_tokens or 0,
        cache_write=request.cache_write_tokens or 0,
        input_audio=request.input_audio_tokens or 0,
        output_audio=request.output_audio_tokens or 0,
        total=total,
        source="provider",
        cost_usd=request.cost_usd if request.price is None else None,
    )


def _less(count: int | None, tries: int) -> int | None:
    return None if count is None else max(0, count - tries)


def _prices(requests: Sequence[StoredRequest]) -> dict[str, Pricing]:
    """By the model that answered; the requested one has the first of them, for what is reserved before a request."""
    found: dict[str, Pricing] = {}
    for request in requests:
        if request.price is not None:
            table = request.price_table
            price = TablePrice(price=request.price, table=table) if table else request.price
            found.setdefault(request.response_model or request.model, price)
    answered = {request.response_model or request.model for request in requests}
    asked = requests[0].model
    return {asked: next(iter(found.values())), **found} if found and asked not in answered else found
