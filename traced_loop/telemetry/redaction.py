"""Masking of credentials in text that is about to leave the process with telemetry.

Three rules: known shapes of credentials, values beside key names that hold secrets, and the exact credentials of
this process. Only the found part is replaced, by ``[REDACTED:kind]``; masking twice changes nothing more. Every pattern
takes time in proportion to the text, whatever the text: each start is found at most once, and nothing backtracks far.
"""

import re
from functools import lru_cache
from typing import Any, Final

from traced_loop.json_shapes import as_list, as_object

FAILED: Final = "[REDACTION_FAILED]"
"""Stands for the whole value when masking it raised: a value is never passed on unmasked."""

_MAX_CACHED: Final = 512
"""Longer texts are masked each time: keeping them would keep their content alive."""

_WORDS = r"(?:(?:api|access|secret|private|signing|encryption)[_-]?key|secret|passwd|password|passphrase|pwd|token)"
# A prefix belongs to the name (`OPENAI_API_KEY`, `db_password`); counts (`max_tokens`) are other words.
_NAME = rf"(?<![A-Za-z0-9])(?:[A-Za-z0-9]{{1,32}}[_-]){{0,4}}{_WORDS}(?![A-Za-z0-9])"
_ASSIGNED = rf"{_NAME}(?:[_-][A-Za-z0-9]{{1,16}})?\\{{0,8}}[\"']?\s{{0,4}}[:=]\s{{0,4}}"

_SHAPES: Final[tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...]] = (
    # kind, literals of which one must be present (lower case), pattern. The literal test is far cheaper.
    (
        "pem",
        ("private key",),
        re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]+-|\Z)"),
    ),
    ("url_credentials", ("://",), re.compile(r"(?<=://)[^\s/@:\"']{0,200}:[^\s/@\"']{1,2000}(?=@)")),
    (
        "api_key",
        ("sk-", "sk_", "pk_", "pk-", "rk_", "rk-"),
        re.compile(r"(?<![\w-])(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}"),
    ),
    ("github_token", ("gh", "github_pat_"), re.compile(r"\b(?:gh[opsur]_[A-Za-z0-9]{20,}|github_pat_\w{22,})")),
    ("aws_key", ("akia", "asia"), re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])")),
    ("slack_token", ("xox",), re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}")),
    ("google_key", ("aiza",), re.compile(r"\bAIza[A-Za-z0-9_-]{35,}")),
    ("jwt", ("eyj",), re.compile(r"(?<![\w-])eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*)?")),
    ("bearer", ("bearer ",), re.compile(r"(?i)(?<=\bbearer )[A-Za-z0-9._~+/=-]{8,}")),
    (
        "authorization",
        ("authorization",),
        re.compile(
            r"(?i)\bauthorization\\{0,8}[\"']?\s{0,4}[:=]\s{0,4}\\{0,8}[\"']?"
            r"(?:(?:basic|token|digest|negotiate) )?(?P<value>(?!bearer |\[REDACTED:)[^\s\"'\\,;]{6,})"
        ),
    ),
    (
        "secret",
        ("key", "secret", "passw", "passphrase", "pwd", "token"),
        re.compile(
            rf"(?i){_ASSIGNED}(?P<quote>\\{{0,8}}[\"'])(?P<value>(?!\[REDACTED:)(?:(?!(?P=quote)).)+)(?P=quote)"
        ),
    ),
    (
        "secret",
        ("key", "secret", "passw", "passphrase", "pwd", "token"),
        re.compile(rf"(?i){_ASSIGNED}(?P<value>(?!\[REDACTED:)[^\s\"'&,;\\]{{6,}})"),
    ),
)

_exact: tuple[str, ...] = ()


def register_secret(value: str | None) -> None:
    """Mask this exact value from now on, wherever it stands. Shorter than eight characters: ignored."""
    global _exact
    if value and len(value) >= 8 and value not in _exact:
        # The longest first, so that no part of one is left when another is inside it.
        _exact = tuple(sorted({*_exact, value}, key=len, reverse=True))
        _cached.cache_clear()


def redact_text(text: str) -> str:
    """The text with every found credential masked.

    Never raises: a text on which the rules fail becomes ``[REDACTION_FAILED]``.
    """
    return _cached(text) if len(text) <= _MAX_CACHED else _masked(text)


def _masked(text: str) -> str:
    try:
        return _mask(text)
    except Exception:  # noqa: BLE001 - whatever went wrong, the value must not pass unmasked
        return FAILED


_cached: Final = lru_cache(maxsize=4096)(_masked)


def _mask(text: str) -> str:
    for secret in _exact:
        if secret in text:
            text = text.replace(secret, "[REDACTED:own]")
    lowered = text.lower()
    for kind, literals, pattern in _SHAPES:
        if any(literal in lowered for literal in literals):
            text = pattern.sub(lambda m, kind=kind: _replace(m, kind), text)  # type: ignore[misc]
    return text


def _replace(match: re.Match[str], kind: str) -> str:
    if "value" not in match.re.groupindex:
        return f"[REDACTED:{kind}]"
    start, end = match.span("value")
    whole = match[0]
    return whole[: start - match.start()] + f"[REDACTED:{kind}]" + whole[end - match.start() :]


def redact_value(value: Any) -> Any:
    """The JSON value with every found credential masked in its strings, keys left as they are."""
    fields = as_object(value)
    if fields is not None:
        return {key: redact_value(field) for key, field in fields.items()}
    items = as_list(value)
    if items is not None:
        return [redact_value(item) for item in items]
    return redact_text(value) if isinstance(value, str) else value
