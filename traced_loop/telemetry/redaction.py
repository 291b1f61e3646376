"""Masking of credentials in text that is about to leave the process with telemetry.

Three rules: known shapes of credentials, values beside key names that hold secrets, and the exact credentials of
this process. Only the found part is replaced, by ``[REDACTED:kind]``; masking twice changes nothing more.
"""

import re
from functools import lru_cache
from typing import Final

FAILED: Final = "[REDACTION_FAILED]"
"""Stands for the whole value when masking it raised: a value is never passed on unmasked."""

_KEY = r"(?:api[_-]?key|apikey|secret|passwd|password|pwd|access[_-]?token|auth[_-]?token|token|client[_-]?secret)"

_SHAPES: Final[tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...]] = (
    # kind, literals of which one must be present (lower case), pattern. The literal test is far cheaper.
    ("pem", ("private key",), re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]+-----|\Z)")),
    ("url_credentials", ("://",), re.compile(r"(?<=://)[^\s/@:\"']{1,200}:[^\s/@\"']{1,200}(?=@)")),
    ("api_key", ("sk-", "sk_", "pk_", "rk_"), re.compile(r"(?<![\w-])(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,200}")),
    ("github_token", ("gh", "github_pat_"), re.compile(r"\b(?:gh[opsur]_[A-Za-z0-9]{20,255}|github_pat_\w{22,255})")),
    ("aws_key", ("akia", "asia"), re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")),
    ("slack_token", ("xox",), re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,250}")),
    ("google_key", ("aiza",), re.compile(r"\bAIza[A-Za-z0-9_-]{35}")),
    ("jwt", ("eyj",), re.compile(r"\beyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,8000}\.[A-Za-z0-9_-]{0,4000}")),
    ("bearer", ("bearer ", "basic "), re.compile(r"(?i)(?<=\bbearer )[A-Za-z0-9._~+/=-]{8,4000}")),
    (
        "secret",
        ("key", "secret", "passw", "pwd", "token"),
        # [^\[] keeps what is masked already as it is.
        re.compile(rf"(?i)(?<=\b){_KEY}\b[\"']?\s{{0,4}}[:=]\s{{0,4}}[\"']?(?P<value>[^\s\"'&,;\[]{{6,400}})"),
    ),
)

_exact: set[str] = set()


def register_secret(value: str | None) -> None:
    """Mask this exact value from now on, wherever it stands. Shorter than eight characters: ignored."""
    if value and len(value) >= 8 and value not in _exact:
        _exact.add(value)
        redact_text.cache_clear()


@lru_cache(maxsize=4096)
def redact_text(text: str) -> str:
    """The text with every found credential masked.

    Never raises: a text on which the rules fail becomes ``[REDACTION_FAILED]``.
    """
    try:
        return _mask(text)
    except Exception:  # noqa: BLE001 - whatever went wrong, the value must not pass unmasked
        return FAILED


def _mask(text: str) -> str:
    for secret in _exact:
        if secret in text:
            text = text.replace(secret, "[REDACTED:own_credential]")
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
