"""Finds credentials that name their issuer: a fixed prefix and a body of a known alphabet and length."""

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Final

from traced_loop.frozen_value import frozen_value
from traced_loop.late_pattern import late_pattern
from traced_loop.redaction.opaque import entropy, looks_random
from traced_loop.redaction.provider_table import TABLE
from traced_loop.redaction.rule import Marked, Place
from traced_loop.redaction.word_lists import words

_LOOSE: Final = words(
    "sk- sk_ ak_ pa- cio secret_ 00 EAA EAAA AQE fw_ pul- re_ sl. s. rnd_ cmVmdGtu AKCp pk-lf- u+ y0_"
    " AAAAAAAAAAAAAAAAAAAAA"
)
"""Prefixes that ordinary words and ids also begin with: their body must look random besides."""

_CONTINUED: Final = late_pattern(
    r"(?:\\|[\"'] ?[+\\]?)?(?:\r?\n|\\r?\\n|\\n)[ \t>|]{0,16}[\"']?([A-Za-z0-9+/_-]{4,}+={0,2})(?=[\s\"'`,;)\]}\\]|\Z)"
)
_ESCAPE_BEFORE: Final = late_pattern(r"(?:\\[nrtbf]|%[0-9A-Fa-f]{2}|\\u[0-9a-fA-F]{4}|\[[0-9;]{0,8}m)\Z")
_RUN: Final = late_pattern(r"[A-Za-z0-9_\-.+/=$~%]{12,}+")
_LONG: Final = late_pattern(r"[a-z0-9_\-.+/=$~%]{12}")
_BODY: Final = late_pattern(r"[A-Za-z0-9+/=_.-]{4,}+")
_NO_BODY: Final = late_pattern(r"[^A-Za-z0-9+/=_.-]")
_WORD: Final = late_pattern(r"[A-Za-z0-9_-]{4,64}\Z")
_SIGN: Final = late_pattern(r"[_-]")
_MAX_LINES: Final = 32
_MIN_ENTROPY: Final = 1.5
"""Bits per character; below it the body only stands for one."""
_MIN_LETTERS: Final = 20


@frozen_value
class ProviderKey:
    """One row of the table: what begins with ``prefix`` and goes on like ``body``."""

    name: str
    prefix: str
    body: re.Pattern[str]
    loose: bool

    def places(self, text: str) -> Iterator[Place]:
        """Where such credentials lie, the lines over which one is broken included."""
        at = text.find(self.prefix)
        while at >= 0:
            past = at + len(self.prefix)
            if _begins(text, at, self.prefix):
                end = self._end(text, at)
                if end:
                    yield at, end
                past = max(end, past, _past_word(text, past))
            at = text.find(self.prefix, past)

    def _fits(self, body: str) -> bool:
        if entropy(body[:64]) < _MIN_ENTROPY:  # sk-xxxxxxxx
            return False
        return (
            not self.loose
            or looks_random(body)
            or (len(body) >= _MIN_LETTERS and body[:64].isalnum() and entropy(body[:64]) >= 3)
        )

    def _end(self, text: str, at: int) -> int:
        """Where the credential that begins here ends, or 0."""
        begun = at + len(self.prefix)
        match = self.body.match(text, begun)
        if match is not None and self._fits(match[0]):
            return _over_lines(text, match.end())
        broken = _BODY.match(text, begun)
        end = _over_lines(text, broken.end()) if broken is not None else 0
        if broken is None or end == broken.end():
            return 0
        joined = _NO_BODY.sub("", text[begun:end].replace("\\n", ""))
        whole = self.body.match(joined)
        return end if whole is not None and self._fits(joined) else 0


def _past_word(text: str, at: int) -> int:
    """The end of the word: a credential of the same kind does not begin inside it."""
    word = _BODY.match(text, at)
    return word.end() if word is not None else at


def _begins(text: str, at: int, prefix: str) -> bool:
    """Whether a word begins here: what is before is no letter or digit, unless it ends an escape."""
    if at == 0 or not prefix[0].isalnum():
        return True
    before = text[at - 1]
    if not (before.isascii() and before.isalnum()):
        return before != "_" or len(prefix) > 3
    return _ESCAPE_BEFORE.search(text[max(0, at - 10) : at]) is not None


def _over_lines(text: str, end: int) -> int:
    """The end of a credential that is broken over lines: the lines after it that hold nothing but more of it."""
    for _ in range(_MAX_LINES):
        more = _CONTINUED.match(text, end)
        if more is None or not (looks_random(more[1], least=8) or _is_tail(more[1])):
            return end
        end = more.end()
    return end


def _is_tail(line: str) -> bool:
    """The last line of a broken credential can be short: letters in an order of cases that no word has."""
    return any(a.islower() and b.isupper() for a, b in pairwise(line)) or (line.isdigit() and len(line) > 3)


@cache
def _rows() -> tuple[ProviderKey, ...]:
    rows = (line.split(maxsplit=2) for line in TABLE.strip().splitlines())
    return tuple(
        ProviderKey(name=name, prefix=prefix, body=late_pattern(body), loose=prefix in _LOOSE)
        for name, prefix, body in rows
    )


class ProviderKeys:
    """The whole table as one searcher."""

    name = "provider_key"

    def __init__(self, without: Collection[str] = ()) -> None:
        """Leave these rules out."""
        self._rows = tuple(row for row in _rows() if row.name not in without)
        self._by_begin: dict[str, list[ProviderKey]] = {}
        for row in self._rows:
            self._by_begin.setdefault(row.prefix[:2], []).append(row)

    def wanted(self, lowered: str) -> bool:
        """Whether a word is long enough to be a credential."""
        return _LONG.search(lowered) is not None

    def marked(self, text: str, lowered: str) -> Iterator[Marked]:
        """What the rows find whose prefix is in the text at all."""
        del lowered
        for row in self._in_word(text) if _WORD.match(text) else _candidates(text, self._rows):
            for start, end in row.places(text):
                yield start, end, row.name

    def _in_word(self, word: str) -> list[ProviderKey]:
        """The rows of which one can begin in a single word: at its begin, or behind a sign in it."""
        begins = (0, *(sign.end() for sign in _SIGN.finditer(word)))
        found = [
            row for at in begins for row in self._by_begin.get(word[at : at + 2], ()) if word.startswith(row.prefix, at)
        ]
        return list(dict.fromkeys(found))


def provider_names() -> tuple[str, ...]:
    """The names of the rules, each once."""
    return tuple(dict.fromkeys(row.name for row in _rows()))


def prefixes() -> tuple[str, ...]:
    """What the credentials begin with."""
    return tuple(row.prefix for row in _rows())


def _candidates(text: str, rows: Sequence[ProviderKey]) -> list[ProviderKey]:
    """The rows whose prefix is in a word that is long enough to be a credential."""
    joined = " ".join(_RUN.findall(text))
    return [row for row in rows if row.prefix in joined]
