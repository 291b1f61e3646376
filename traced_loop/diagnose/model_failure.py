"""Why a request to a model failed for good, and what to do about it: a sentence for each kind of failure."""

from typing import Final

from traced_loop.amount_text import seconds_text
from traced_loop.closed_words import ModelErrorKind
from traced_loop.diagnose.cause import Cause, Ended
from traced_loop.diagnose.finding import span_ids
from traced_loop.read.agent_run import StoredRequest
from traced_loop.rules.model_error_kinds import KIND_OF_OWN_WORD, KIND_RULES, kind_of_status

_TO_WAIT: Final = frozenset({ModelErrorKind.RATE_LIMITED, ModelErrorKind.OVERLOADED})


def by_model(ended: Ended) -> Cause:
    """The last request, how it failed, and how often it was tried."""
    request = ended.last_request
    if request is None:
        return Cause()
    tries = [str(attempt.http_status or attempt.error_type or "") for attempt in request.attempts]
    after = f" after {len(tries)} tries ({', '.join(dict.fromkeys(filter(None, tries)))})" if tries else ""
    kind = f": {request.error_kind}" if request.error_kind in list(ModelErrorKind) else ""
    return Cause(
        said=f"the request of step {request.step} failed with {request.error_type or 'an error'}{after}{kind}",
        evidence=span_ids([request.span, *(attempt.span for attempt in request.attempts)]),
        prevent=advice(request),
    )


def advice(request: StoredRequest) -> str:
    """What to do about a request that failed, by its kind."""
    kind = _kind(request)
    said = KIND_RULES[kind].advice
    if kind in _TO_WAIT and request.asked_wait_ms:
        said = f"{said}; the server asked for a wait of {seconds_text(request.asked_wait_ms / 1000)}"
    return said


def _kind(request: StoredRequest) -> ModelErrorKind:
    """As the trace says; else by the status of the last answer, else by the word of the error."""
    if request.error_kind in list(ModelErrorKind):
        return ModelErrorKind(request.error_kind)
    statuses = [attempt.http_status for attempt in request.attempts[-1:] if attempt.http_status]
    word = request.error_type or ""
    status = statuses[0] if statuses else int(word) if word.isascii() and word.isdigit() and len(word) == 3 else 0
    return kind_of_status(status) if status else KIND_OF_OWN_WORD.get(word, ModelErrorKind.OTHER)
