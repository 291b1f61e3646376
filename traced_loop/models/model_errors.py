"""What the ``openai`` client raises, as ours: what failed, whether it may work later, and when the server says so."""

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from traced_loop.errors import ModelError
from traced_loop.json_shapes import as_object, as_text
from traced_loop.redaction import redact_text
from traced_loop.shown_url import shown_url


def model_error(error: Exception, base_url: str) -> ModelError | Exception:
    """The client's exception as ours; anything that is not the server's or the network's fault stays what it is."""
    import openai

    where = shown_url(base_url)
    if isinstance(error, openai.APITimeoutError):
        return ModelError(f"no answer from {where} in time", error_type="timeout", retryable=True)
    if isinstance(error, openai.APIConnectionError):
        why = error.__cause__ or error
        said = redact_text(str(why)) or type(why).__name__
        return ModelError(f"cannot reach {where}: {said}", error_type="connection", retryable=True)
    if isinstance(error, openai.APIStatusError):
        status = error.status_code
        return ModelError(
            f"{where} answered {status}: {_status_text(error)}{_advice(status)}",
            error_type=str(status),
            retryable=status in {408, 409, 429} or status >= 500,
            retry_after=_retry_after(error.response.headers),
            status=status,
        )
    if isinstance(error, (openai.APIError, ValueError, RecursionError)):
        return ModelError(f"{where} sent a body that is not JSON", error_type="invalid_response", retryable=True)
    return error


def unsendable(error: Exception, body: Mapping[str, Any]) -> ModelError | None:
    """Why the request could not even be written; None where that was not it. Asked only once something has failed."""
    if not isinstance(error, (TypeError, ValueError, RecursionError)):
        return None
    try:
        json.dumps(body, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as fault:
        return ModelError(f"the request cannot be written as JSON: {fault}", error_type="invalid_request")
    return None


def _status_text(error: Any) -> str:
    # Servers repeat the key that they refuse.
    return redact_text(as_text((as_object(error.body) or {}).get("message")) or str(error.message))


def _advice(status: int) -> str:
    if status == 401:
        return " (check OPENAI_API_KEY)"
    return " (check the model's name and the base URL)" if status == 404 else ""


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds from ``Retry-After-Ms``, or from ``Retry-After`` as a number or a date; nonsense is None.

    However long: a wait that does not fit into the time left means no further try, never an earlier one.
    """
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        seconds = _number(headers.get(name)) * scale
        if seconds >= 0:
            return seconds
    then = _date(headers.get("retry-after"))
    if then is None:
        return None
    # The server's own clock, where it tells it: ours may differ.
    now = _date(headers.get("date")) or datetime.now(UTC)
    return max(0.0, (then - now).total_seconds())


def _number(raw: str | None) -> float:
    """The finite number that a header holds, else -1."""
    try:
        number = float(raw or "")
    except ValueError:
        return -1.0
    return number if math.isfinite(number) else -1.0


def _date(raw: str | None) -> datetime | None:
    try:
        found = parsedate_to_datetime(raw or "")
    except (ValueError, OverflowError):
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
