"""What the ``openai`` client raises, as ours: what failed, whether it may work later, and when the server says so."""

import errno
import json
from collections.abc import Mapping
from typing import Any, Final

from traced_loop.closed_words import ModelErrorKind as Kind
from traced_loop.errors import ModelError
from traced_loop.messages import ModelAnswer
from traced_loop.models.asked_wait import asked_wait
from traced_loop.models.error_body import billed_usage, messages_of, parsed
from traced_loop.models.error_kinds import kind_of
from traced_loop.models.usage_counts import read_usage
from traced_loop.redaction import redact_text
from traced_loop.rules.model_error_kinds import KIND_RULES
from traced_loop.shown_url import shown_url

_MAY_BE_ASKED_AGAIN: Final = frozenset({Kind.INVALID_REQUEST, Kind.OTHER, Kind.NOT_FOUND})
"""Kinds that end the request, unless the server says ``x-should-retry: true``."""
TOO_MANY_FILES: Final = "too many files are open, so that the model's server cannot be reached: look at `ulimit -n`"
_LIMITED: Final = frozenset({Kind.RATE_LIMITED, Kind.OVERLOADED})


def model_error(error: Exception, base_url: str, key_variable: str = "OPENAI_API_KEY") -> ModelError | Exception:
    """The client's exception as ours; anything that is not the server's or the network's fault stays what it is.

    Args:
        error: what it raised.
        base_url: of the server.
        key_variable: where to look when the server refuses the key.
    """
    import openai

    where = shown_url(base_url)
    if isinstance(error, openai.APITimeoutError):
        return _late(where)
    if isinstance(error, openai.APIConnectionError):
        return _connection_error(error, where)
    if isinstance(error, openai.APIStatusError):
        return _status_error(error, where, key_variable)
    if isinstance(error, (openai.APIError, ValueError, RecursionError)):
        return _unreadable(f"{where} sent a body that is not JSON")
    return error


def lost(error: Exception, where: str) -> ModelError | None:
    """What the transport raises while a body is read, as ours; None for what is not the network's fault."""
    kinds = {kind.__name__ for kind in type(error).__mro__}  # two packages have these classes, by the client's version
    if "TimeoutException" in kinds:
        return _late(where)
    if "DecodingError" in kinds:
        return _undecodable(where)
    if "RequestError" in kinds or isinstance(error, OSError):
        return _unreachable(f"the connection to {where} was lost", error)
    return None


def unsendable(error: Exception, body: Mapping[str, Any]) -> ModelError | None:
    """Why the request could not even be written; None where that was not it. Asked only once something has failed."""
    if not isinstance(error, (TypeError, ValueError, RecursionError)):
        return None
    try:
        json.dumps(body, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as fault:
        said = f"the request cannot be written as JSON: {fault}"
        return ModelError(said, error_type="invalid_request", kind=Kind.INVALID_REQUEST)
    return None


def _connection_error(error: Exception, where: str) -> ModelError:
    why = error.__cause__ or error
    if type(why).__name__ == "DecodingError":
        return _undecodable(where)
    return _unreachable(f"cannot reach {where}", why)


def _late(where: str) -> ModelError:
    return ModelError(f"no answer from {where} in time", error_type="timeout", retryable=True, kind=Kind.TIMEOUT)


def _unreachable(what: str, why: BaseException) -> ModelError:
    said = redact_text(str(why)) or type(why).__name__
    detail = TOO_MANY_FILES if too_many_files(why) else ""
    return ModelError(f"{what}: {said}", error_type="connection", retryable=True, detail=detail, kind=Kind.CONNECTION)


def too_many_files(error: BaseException | None) -> bool:
    """Whether it came of the limit of open files, by whatever the client made of that."""
    for _ in range(10):  # a chain may be a ring
        if error is None:
            break
        if isinstance(error, OSError) and error.errno in {errno.EMFILE, errno.ENFILE}:
            return True
        error = error.__cause__ or error.__context__
    return False


def _undecodable(where: str) -> ModelError:
    return _unreadable(f"{where} sent a body that is not encoded as its headers say")


def _unreadable(said: str) -> ModelError:
    return ModelError(said, error_type="invalid_response", retryable=True, kind=Kind.INVALID_RESPONSE)


def _status_error(error: Any, where: str, key_variable: str) -> ModelError:
    status, body = int(error.status_code), _body_of(error)
    kind = kind_of(status, body)
    wait = asked_wait(error.response.headers, body, limited=kind in _LIMITED or status == 402)
    if status == 402 and wait is not None:
        kind = Kind.RATE_LIMITED  # OpenRouter: what runs beside this one has taken the credit for now
    return ModelError(
        f"{where} answered {status}: {_status_text(error, body)}"
        f"{_advice(kind, key_variable, error.response.request.url.path)}",
        error_type=str(status),
        retryable=_again(kind, error.response.headers.get("x-should-retry")),
        retry_after=wait,
        status=status,
        kind=kind,
        answer=_billed(body),
    )


def _again(kind: Kind, header: str | None) -> bool:
    """Whether to try again: what the server says of this very response goes before what its kind says."""
    if header == "false":
        return False
    return KIND_RULES[kind].again or (header == "true" and kind in _MAY_BE_ASKED_AGAIN)


def _body_of(error: Any) -> object:
    try:
        return parsed(error.response.text)
    except (RuntimeError, LookupError, ValueError):  # never read, or in an encoding that it does not have
        return error.body


def _billed(body: object) -> ModelAnswer | None:
    """What the error was billed, as an answer without a message."""
    counted = billed_usage(body)
    if counted is None:
        return None
    usage, anomalies = read_usage(counted)
    if usage.source != "provider":
        return None
    return ModelAnswer(message=None, finish_reason=None, usage=usage, anomalies=anomalies)


def _status_text(error: Any, body: object) -> str:
    # Servers repeat the key that they refuse.
    said = messages_of(body) if not isinstance(body, str) else []
    return redact_text(next(iter(said), "") or str(error.message))


def _advice(kind: Kind, key_variable: str, path: str) -> str:
    if kind is Kind.AUTH:
        return f" (check {key_variable})"
    if kind is Kind.NOT_FOUND:
        return f" (check the model's name and the base URL{_missing(path)})"
    said = KIND_RULES[kind].said
    return f" ({said})" if said else ""


def _missing(path: str) -> str:
    """What a server that has nothing at this path mostly has not got."""
    if path.endswith("/responses"):
        return ", and whether the server has the Responses API"
    return ", which mostly ends in /v1" if path == "/chat/completions" else ""
