"""How long a server asks to wait: ``Retry-After``, else when a limit that is used up is whole again.

Durations come as ``1m2.5s`` or ``20ms`` (OpenAI and Groq in ``x-ratelimit-reset-requests`` and ``-tokens``), as ``34s``
(Google's ``RetryInfo`` in the body), as seconds, as a time in seconds or milliseconds since 1970 (OpenRouter's
``X-RateLimit-Reset``, in the body's ``metadata.headers``), or as a date. Nonsense is no wait.
"""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from traced_loop.json_shapes import as_object, as_text
from traced_loop.late_pattern import late_pattern
from traced_loop.models.error_body import error_objects

_PART: Final = late_pattern(r"(\d{1,12}(?:\.\d{1,12})?)(ms|us|µs|ns|h|m|s|d)")
_SECONDS: Final[Mapping[str, float]] = {
    "d": 86_400.0,
    "h": 3_600.0,
    "m": 60.0,
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "µs": 1e-6,
    "ns": 1e-9,
}
_EPOCH: Final = 1e9
"""From here on a number is a time since 1970 in seconds, no duration: thirty years are no wait."""
_EPOCH_MS: Final = 1e11


def asked_wait(headers: Mapping[str, str], body: object, *, limited: bool) -> float | None:
    """Seconds, or None where the server asks for nothing.

    However long: a wait that does not fit into the time left means no further try, never an earlier one.

    Args:
        headers: of the response; names in any case.
        body: parsed, or text.
        limited: whether a limit was hit: only then do the headers that tell of limits say when to come back.
    """
    given = {name.lower(): value for name, value in headers.items()}
    asked = _retry_after(given)
    if asked is not None or not limited:
        return asked
    # The server's own clock, where it tells it: ours may differ.
    now = _date(given.get("date")) or datetime.now(UTC)
    found = [_told_in_body(body), _reset(given, now), _reset(_headers_in_body(body), now)]
    return next((wait for wait in found if wait is not None), None)


def duration(text: str | None, now: datetime) -> float | None:
    """Seconds from now that a text means, in any of the forms; None for nonsense. Never negative."""
    raw = (text or "").strip()
    number = _number(raw)
    if number is not None:
        if number < _EPOCH:
            return number if number >= 0 else None
        return max(0.0, (number / 1000 if number >= _EPOCH_MS else number) - now.timestamp())
    parts = list(_PART.finditer(raw))
    if parts and "".join(part.group() for part in parts) == raw:
        return sum(float(part[1]) * _SECONDS[part[2]] for part in parts)
    return _until(_date(raw) or _iso(raw), now)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        seconds = _number(headers.get(name))
        if seconds is not None and seconds >= 0:
            return seconds * scale
    now = _date(headers.get("date")) or datetime.now(UTC)
    return _until(_date(headers.get("retry-after")), now)


def _reset(headers: Mapping[str, str], now: datetime) -> float | None:
    """When the limit that is used up is whole again.

    Of two of which neither says that it is used up, the tokens' one: a request that needs more tokens than are left is
    refused while some are.
    """
    waits = {
        limit: wait
        for limit in ("tokens", "requests")
        if (wait := duration(headers.get(f"x-ratelimit-reset-{limit}"), now)) is not None
    }
    empty = [wait for limit, wait in waits.items() if _number(headers.get(f"x-ratelimit-remaining-{limit}")) == 0]
    if empty:
        return max(empty)
    if waits:
        return waits.get("tokens", waits.get("requests"))
    return duration(headers.get("x-ratelimit-reset"), now)


def _told_in_body(body: object) -> float | None:
    for fields in error_objects(body):
        wait = as_text(fields.get("retryDelay"))
        if wait is not None:
            return duration(wait, datetime.now(UTC))
    return None


def _headers_in_body(body: object) -> Mapping[str, str]:
    for fields in error_objects(body):
        headers = as_object(fields.get("headers"))
        if headers is not None:
            return {str(name).lower(): str(value) for name, value in headers.items()}
    return {}


def _number(raw: str | None) -> float | None:
    """The finite number that a text holds, or None."""
    try:
        number = float(raw or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _until(then: datetime | None, now: datetime) -> float | None:
    return None if then is None else max(0.0, (then - now).total_seconds())


def _date(raw: str | None) -> datetime | None:
    try:
        return _aware(parsedate_to_datetime(raw or ""))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _iso(raw: str) -> datetime | None:
    try:
        return _aware(datetime.fromisoformat(raw))
    except ValueError:
        return None


def _aware(found: datetime) -> datetime:
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
