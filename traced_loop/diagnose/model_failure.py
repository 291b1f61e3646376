"""Why a request to a model failed for good, and what to do about it: one sentence for each kind of failure."""

from collections.abc import Mapping
from typing import Final

from traced_loop.diagnose.cause import Cause, Ended
from traced_loop.diagnose.finding import span_ids
from traced_loop.read.agent_run import StoredRequest

_OVERLOADED: Final = 500
_BY_STATUS: Final[Mapping[int, str]] = {
    400: "the server did not take the request: see what it said about it in the log of the server or the run's error",
    401: "check the key (OPENAI_API_KEY): the server does not know it",
    402: "the account has no credit left: pay, or use another key",
    403: "check the key and what it may do: the server does not allow it this model",
    404: "check the model's name and the address (OPENAI_BASE_URL): the server has no such thing",
    408: "the server did not answer in time: try again later",
    413: "send less: the request is larger than the server takes",
    422: "the server did not take the request: see what it said about it in the log of the server or the run's error",
    429: "send less at a time or ask for a higher limit; RetryPolicy(attempts=...) waits as Retry-After says",
}
_BY_WORD: Final[Mapping[str, str]] = {
    "connection": "see whether the server runs and the address (OPENAI_BASE_URL) is right; RetryPolicy(attempts=...)"
    " outlasts a short outage",
    "timeout": "the server did not answer in time: raise request_seconds= where answers take long",
    "stalled": "the server, or a proxy before it, went silent in the middle of an answer: look there; raise"
    " stall_seconds= where answers pause for long",
    "invalid_response": "the address (OPENAI_BASE_URL) does not speak this API, or a proxy answers for it",
    "invalid_request": "mend what was given to be sent: it cannot be written as JSON",
}
_OF_SERVER: Final = "the server failed: try again later; RetryPolicy(attempts=...) outlasts a short outage"
_ELSE: Final = "look at the last request of the run: `traced-loop show RUN --messages`"


def by_model(ended: Ended) -> Cause:
    """The last request, how it failed, and how often it was tried."""
    request = ended.last_request
    if request is None:
        return Cause()
    tries = [str(attempt.http_status or attempt.error_type or "") for attempt in request.attempts]
    after = f" after {len(tries)} tries ({', '.join(dict.fromkeys(filter(None, tries)))})" if tries else ""
    return Cause(
        said=f"the request of step {request.step} failed with {request.error_type or 'an error'}{after}",
        evidence=span_ids([request.span, *(attempt.span for attempt in request.attempts)]),
        prevent=advice(request),
    )


def advice(request: StoredRequest) -> str:
    """What to do about a request that failed: by the status of its last answer, else by the word of its error."""
    statuses = [attempt.http_status for attempt in request.attempts[-1:] if attempt.http_status]
    word = request.error_type or ""
    status = statuses[0] if statuses else int(word) if word.isascii() and word.isdigit() and len(word) == 3 else 0
    if status:
        return _BY_STATUS.get(status, _OF_SERVER if status >= _OVERLOADED else _ELSE)
    return _BY_WORD.get(word, _ELSE)
