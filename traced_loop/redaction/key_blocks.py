"""Private keys between their BEGIN and END lines, whole or cut off, on lines of their own or escaped into one."""

from collections.abc import Iterator
from typing import Final

from traced_loop.late_pattern import late_pattern
from traced_loop.redaction.rule import Place

_BEGIN: Final = late_pattern(
    r"-{4,5} ?BEGIN (?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|SSH2 ENCRYPTED PRIVATE KEY) ?-{4,5}"
)
_END: Final = late_pattern(r"-{4,5} ?END [A-Z0-9 ]{0,50}-{4,5}")
_LINE: Final = late_pattern(
    r"(?:\\n|\\r|[\r\n])*[ \t>|]*"
    r"(?:[A-Za-z0-9+/=]{8,}+|[A-Z][A-Za-z-]{1,30}+: [^\n\\]{1,80}|-{4,5} ?BEGIN [A-Z0-9 ]{1,50}-{4,5})"
    r"(?=\\|[\r\n\"'.\u2026 ]|\Z)"
)
"""A line of base64, a header of the block, or the beginning of one more."""
_MAX_BLOCK: Final = 65_536
"""Characters; an END line further away belongs to another block."""


def key_blocks(text: str, lowered: str) -> Iterator[Place]:
    """Where private keys lie; without a last line, as far as the body goes."""
    del lowered
    done, end = 0, -1
    for begin in _BEGIN.finditer(text):
        if begin.start() < done:
            continue
        if -1 <= end < begin.end():  # asked once for all the beginnings before it
            found = _END.search(text, begin.end())
            end, done = found.span() if found is not None else (len(text) + _MAX_BLOCK, 0)
        whole = end <= begin.end() + _MAX_BLOCK and end < len(text)
        done = done if whole and done > begin.end() else _body_end(text, begin.end())
        yield begin.start(), done


def _body_end(text: str, at: int) -> int:
    """Where the body of a block without a last line ends."""
    while (more := _LINE.match(text, at)) is not None:
        at = more.end()
    return at
