"""What follows from each kind of failed request: another try, another model, what people are told to do.

One table, used while a run goes on and on its stored trace; ``models.error_kinds`` finds the kind of a response.
"""

from collections.abc import Mapping
from typing import Final

from traced_loop.closed_words import ModelErrorKind as Kind
from traced_loop.frozen_value import frozen_value


@frozen_value
class KindRule:
    """What follows from one kind.

    Attributes:
        again: whether the same request can be expected to work later.
        elsewhere: whether another model or server may take the request.
        advice: what people can do about it.
        said: what a stop says beside the status, or ``""`` where the status says it.
    """

    again: bool
    elsewhere: bool
    advice: str
    said: str = ""


_OUTLASTS: Final = "RetryPolicy(attempts=...) outlasts a short outage"
_REQUEST: Final = (
    "the server did not take the request: see what it said about it in the log of the server or the run's error"
)

KIND_RULES: Final[Mapping[Kind, KindRule]] = {
    Kind.CONNECTION: KindRule(
        again=True,
        elsewhere=True,
        advice=f"see whether the server runs and the address (OPENAI_BASE_URL) is right; {_OUTLASTS}",
    ),
    Kind.TIMEOUT: KindRule(
        again=True,
        elsewhere=True,
        advice="the server did not answer in time: raise request_seconds= where answers take long",
    ),
    Kind.STALLED: KindRule(
        again=True,
        elsewhere=True,
        advice="the server, or a proxy before it, went silent in the middle of an answer: look there; raise"
        " stall_seconds= where answers pause for long",
    ),
    Kind.CONFLICT: KindRule(
        again=True, elsewhere=True, advice=f"the server was busy with another request: try again later; {_OUTLASTS}"
    ),
    Kind.RATE_LIMITED: KindRule(
        again=True,
        elsewhere=True,
        advice="send less at a time or ask for a higher limit; RetryPolicy(attempts=...) waits as Retry-After says",
    ),
    Kind.QUOTA_EXHAUSTED: KindRule(
        again=False,
        elsewhere=True,
        advice="the account has no credit or quota left: pay, raise its limit, or use another key",
        said="the account has no credit or quota left",
    ),
    Kind.OVERLOADED: KindRule(
        again=True, elsewhere=True, advice=f"the server failed or takes no more for now: try again later; {_OUTLASTS}"
    ),
    Kind.SERVER_ERROR: KindRule(again=True, elsewhere=True, advice=f"the server failed: try again later; {_OUTLASTS}"),
    Kind.TOOL_USE_FAILED: KindRule(
        again=True,
        elsewhere=True,
        advice="the model wrote calls that the server cannot read: use a model that is better at calls, or describe the"
        " tools more simply",
        said="the model wrote a call that the server could not read",
    ),
    Kind.CONTEXT_TOO_LONG: KindRule(
        again=False,
        elsewhere=False,
        advice="the history is longer than the model's context: let tools return less (max_result_bytes=), begin a new"
        " history, or use a model with a longer context",
        said="the history is longer than the model's context; let tools return less, or begin a new history",
    ),
    Kind.REQUEST_TOO_LARGE: KindRule(
        again=False,
        elsewhere=True,
        advice="send less: the request is larger than the server takes",
        said="the request is larger than the server takes",
    ),
    Kind.AUTH: KindRule(
        again=False,
        elsewhere=True,
        advice="check the key (OPENAI_API_KEY, or that of the provider): the server does not know it",
    ),
    Kind.PERMISSION: KindRule(
        again=False,
        elsewhere=True,
        advice="check the key and what it may do: the server does not allow it this model",
    ),
    Kind.NOT_FOUND: KindRule(
        again=False,
        elsewhere=True,
        advice="check the model's name and the address (OPENAI_BASE_URL): the server has no such thing",
    ),
    Kind.REDIRECTED: KindRule(
        again=False,
        elsewhere=True,
        advice="write the address (OPENAI_BASE_URL) that the server points to: a redirect is not followed, since it"
        " would hand the conversation to a host that nobody named",
        said="the server points to another address, where nothing is sent",
    ),
    Kind.INVALID_REQUEST: KindRule(again=False, elsewhere=False, advice=_REQUEST),
    Kind.CONTENT_FILTERED: KindRule(
        again=False,
        elsewhere=False,
        advice="the provider's filter refused what was sent: see its policy, and what the history holds",
        said="the provider's filter refused the request",
    ),
    Kind.INVALID_RESPONSE: KindRule(
        again=True,
        elsewhere=True,
        advice="the address (OPENAI_BASE_URL) does not speak this API, or a proxy answers for it",
    ),
    Kind.NO_ANSWER: KindRule(
        again=False,
        elsewhere=True,
        advice="the address (OPENAI_BASE_URL) does not speak this API, or a proxy answers for it",
    ),
    Kind.REPLAY_DIVERGED: KindRule(
        again=False,
        elsewhere=False,
        advice="replay with what the recorded run had, or take the difference: traced-loop replay --accept results, or"
        " --follow",
    ),
    Kind.REPLAY_ENDED: KindRule(
        again=False,
        elsewhere=False,
        advice="nothing is known of what the model would have said next: go on with a real one",
    ),
    Kind.REPLAY_INCOMPLETE: KindRule(
        again=False,
        elsewhere=False,
        advice="nothing is known of what the model said there: replay another run, or record one",
    ),
    Kind.OTHER: KindRule(
        again=False, elsewhere=False, advice="look at the last request of the run: `traced-loop show RUN --messages`"
    ),
}

_BY_STATUS: Final[Mapping[int, Kind]] = {
    400: Kind.INVALID_REQUEST,
    401: Kind.AUTH,
    402: Kind.QUOTA_EXHAUSTED,
    403: Kind.PERMISSION,
    404: Kind.NOT_FOUND,
    405: Kind.NOT_FOUND,
    408: Kind.TIMEOUT,
    409: Kind.CONFLICT,
    410: Kind.NOT_FOUND,
    413: Kind.REQUEST_TOO_LARGE,
    422: Kind.INVALID_REQUEST,
    429: Kind.RATE_LIMITED,
    498: Kind.OVERLOADED,  # Groq: no capacity in this service tier
    503: Kind.OVERLOADED,
    504: Kind.TIMEOUT,
    524: Kind.TIMEOUT,  # Cloudflare: the server behind it did not answer
    529: Kind.OVERLOADED,
}

KIND_OF_OWN_WORD: Final[Mapping[str, Kind]] = {
    "connection": Kind.CONNECTION,
    "timeout": Kind.TIMEOUT,
    "stalled": Kind.STALLED,
    "invalid_response": Kind.INVALID_RESPONSE,
    "replay_diverged": Kind.REPLAY_DIVERGED,
    "replay_ended": Kind.REPLAY_ENDED,
    "replay_incomplete": Kind.REPLAY_INCOMPLETE,
    "invalid_request": Kind.INVALID_REQUEST,
}
"""Words of ``ModelError.error_type`` where no response arrived."""


def kind_of_status(status: int) -> Kind:
    """The kind that a status alone tells."""
    known = _BY_STATUS.get(status)
    if known is not None:
        return known
    if status >= 500:
        return Kind.SERVER_ERROR
    return Kind.REDIRECTED if 300 <= status < 400 else Kind.OTHER
