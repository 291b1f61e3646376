"""JSON Web Tokens by the three characters with which their base64 begins."""

from collections.abc import Iterator
from typing import Final

from traced_loop.late_pattern import late_pattern
from traced_loop.redaction.opaque import looks_random
from traced_loop.redaction.rule import Place

_JWT: Final = late_pattern(
    r"eyJ[A-Za-z0-9_-]{8,}+(?:(?:\.|\s{0,2}\\?\n\s{0,8}(?=[A-Za-z0-9_.-]*\.))[A-Za-z0-9_-]*+){1,40}"
)
_JWT_RUN: Final = late_pattern(r"[A-Za-z0-9_-]++")
_JWT_LINE: Final = late_pattern(r"(?:\\|\\n)?\s{0,2}\n[ \t]{0,16}([A-Za-z0-9_.-]{16,}+)(?=[\s\"'`,;)]|\Z)")
_MIN_LENGTH: Final = 24


def web_tokens(text: str, lowered: str) -> Iterator[Place]:
    """JWT, JWS and JWE in their compact form, over lines too."""
    at, done = lowered.find("eyj"), 0
    while at >= 0:
        match = _JWT.match(text, at) if at >= done and _free(text, at) else None
        run = _JWT_RUN.match(text, at)  # a token never begins inside a word
        past = run.end() if run is not None else at + 3
        if match is not None and "." in match[0] and len(match[0]) >= _MIN_LENGTH:
            done = match.end()
            while (more := _JWT_LINE.match(text, done)) is not None and looks_random(more[1]):
                done = more.end()
            yield at, done
        at = lowered.find("eyj", max(done, past))


def _free(text: str, at: int) -> bool:
    """Whether a token can begin here: not inside a word, unless the letter before it ends an escape."""
    return (
        at == 0
        or not (text[at - 1].isascii() and text[at - 1].isalnum())
        or text[at - 2 : at] in ("\\n", "\\t")
        or text[at - 3 : at].startswith("%")
    )
