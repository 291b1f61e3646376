r"""Patterns of JSON Schema, matched in time linear in the text: a model that writes the text cannot make them hang.

A pattern is ECMAScript's, and is searched for, not matched from the beginning. It is read here and written anew for
Rust's engine, which pydantic brings: each class and escape in ECMAScript's meaning (``\d`` is 0 to 9). What no linear
engine takes is refused: backreferences, and lookaround, but for lookaheads right at an anchored beginning, which are
patterns of their own. Of Python's own syntax ``\A``, ``\Z`` and ``(?P<name>...)`` are taken.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from pydantic_core import SchemaError, SchemaValidator, core_schema

from traced_loop.frozen_value import frozen_value
from traced_loop.late_pattern import late_pattern

MAX_SIZE: Final = 10_000
"""States of a pattern, counted repetitions written out: ``[a-f]{64}`` has 64. More is refused."""

_DIGIT: Final = "0-9"
_WORD: Final = "0-9A-Z_a-z"
_SPACE: Final = r"\x{9}-\x{d}\x{20}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}"
_CLASSES: Final = {"d": _DIGIT, "w": _WORD, "s": _SPACE}
_CONTROLS: Final = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "0": 0}
_ANCHORS: Final = {"b": r"(?-u:\b)", "B": r"(?-u:\B)", "A": r"\A", "Z": r"\z", "z": r"\z"}
_COUNTED: Final = late_pattern(r"\{(\d{1,9})(,(\d{0,9}))?\}")
_GROUP: Final = late_pattern(r"\?(?::|P?<[A-Za-z_$][\w$]*>|[im]*(?:-[im]+)?:)")
_FLAGS: Final = late_pattern(r"\?[im]+\)")
_CODE: Final = late_pattern(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|c([A-Za-z])")
_SECOND_HALF: Final = late_pattern(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_PROPERTY: Final = late_pattern(r"[pP](?:\{[A-Za-z_]+(?:=[A-Za-z_]+)?\}|[A-Z])")
_PROPERTY_SIZE: Final = 50
"""A class of Unicode is a small automaton over the bytes of UTF-8."""
_AHEAD: Final = "it looks ahead or behind, which takes exponential time where it is worst"


class UnusablePattern(ValueError):
    """A pattern that is none, or that cannot be matched in linear time; the text says why."""


@frozen_value
class LinearPattern:
    """A pattern, ready.

    Attributes:
        size: states of all parts.
        wanted: what must be found.
        unwanted: what must not be.
    """

    size: int
    wanted: tuple[SchemaValidator, ...]
    unwanted: tuple[SchemaValidator, ...] = ()

    def found_in(self, text: str) -> bool:
        """Whether it is found: in ``size`` times the text's length steps at most, of about 10 ns each."""
        found = all(part.isinstance_python(text) for part in self.wanted)
        return found and not any(part.isinstance_python(text) for part in self.unwanted)


def linear_pattern(pattern: str) -> LinearPattern:
    """Read a pattern.

    Raises:
        UnusablePattern: it is no pattern, or one that takes more than linear time, or a huge one.
    """
    reader = _Reader(pattern)
    body, size = reader.alternatives()
    if not reader.over:
        raise UnusablePattern("a ) closes nothing")
    size += sum(each for _, each, _ in reader.ahead)
    if size > MAX_SIZE:
        raise UnusablePattern(f"with its repetitions written out it has {size} states, and {MAX_SIZE} are the most")
    wanted = [body, *(text for text, _, wants in reader.ahead if wants)]
    unwanted = [text for text, _, wants in reader.ahead if not wants]
    return LinearPattern(size=max(1, size), wanted=_built(wanted), unwanted=_built(unwanted))


def _built(texts: list[str]) -> tuple[SchemaValidator, ...]:
    built: list[SchemaValidator] = []
    for text in texts:
        try:
            built.append(SchemaValidator(core_schema.str_schema(pattern=text, regex_engine="rust-regex")))
        except SchemaError as error:
            raise UnusablePattern(str(error).strip().rpartition("error: ")[2].splitlines()[-1]) from error
    return tuple(built)


@dataclass(slots=True)
class _Reader:
    """Reads a pattern from the left, and writes it for Rust; each part comes with its size."""

    pattern: str
    at: int = 0
    depth: int = 0
    ahead: list[tuple[str, int, bool]] = field(default_factory=list[tuple[str, int, bool]])
    """Lookaheads at the anchored beginning: the pattern, its size, and whether it must be found."""

    @property
    def over(self) -> bool:
        return self.at >= len(self.pattern)

    def alternatives(self) -> tuple[str, int]:
        """Up to a ``)`` or the end."""
        texts, size = ["^" if self._leading() else ""], 0
        self.depth += 1
        if self.depth > 50:
            raise UnusablePattern("its groups are nested deeper than 50")
        while not self.over and not self._next(")"):
            if self._take("|"):
                if self.ahead and self.depth == 1:
                    raise UnusablePattern(_AHEAD)  # it would hold for the first alternative only
                texts.append("|")
                continue
            text, one = self._repeated()
            texts.append(text)
            size += one
        self.depth -= 1
        return "".join(texts), size

    def _leading(self) -> bool:
        """Read an anchored beginning with its lookaheads, if there is one."""
        if self.at or not self.pattern.startswith(("^(?=", "^(?!")):
            return False
        self.at = 1
        while self._next("(?=") or self._next("(?!"):
            wants = self._next("(?=")
            self.at += 3
            self.depth += 1
            text, size = self.alternatives()
            self.depth -= 1
            self._close()
            if _COUNTED.match(self.pattern, self.at) or self._next("*") or self._next("+") or self._next("?"):
                raise UnusablePattern("a lookahead is repeated")
            self.ahead.append((f"^(?:{text})", size, wants))
        return True

    def _repeated(self) -> tuple[str, int]:
        text, size = self._atom()
        counted = _COUNTED.match(self.pattern, self.at)
        if counted is not None:
            self.at = counted.end()
            least, most = int(counted[1]), int(counted[3] or counted[1])
            if counted[3] and most < least:
                raise UnusablePattern(f"{counted[0]} counts down")
            text, size = f"(?:{text}){counted[0]}", max(1, size) * max(1, most)
        elif self._next("*") or self._next("+") or self._next("?"):
            text += self.pattern[self.at]
            self.at += 1
        else:
            return text, size
        if self._take("?"):
            text += "?"
        if self._next("*") or self._next("+") or self._next("?") or _COUNTED.match(self.pattern, self.at):
            raise UnusablePattern("a repetition is repeated: put a group around it")
        return text, size

    def _atom(self) -> tuple[str, int]:
        character = self.pattern[self.at]
        if character == "(":
            return self._group()
        if character == "[":
            return self._class()
        self.at += 1
        if character == "\\":
            return self._escape()
        if character == ".":
            return r"[^\n\r\x{2028}\x{2029}]", 1
        if character in "^$":
            return character, 0
        if character in "*+?" or (character == "{" and re.match(r"\d*,?\d*\}", self.pattern[self.at :])):
            raise UnusablePattern(f"{character} repeats nothing")
        return _literal(ord(character)), 1

    def _group(self) -> tuple[str, int]:
        self.at += 1
        flags = _FLAGS.match(self.pattern, self.at)
        if flags is not None:
            self.at = flags.end()
            return f"({flags[0]}", 0
        opening = _GROUP.match(self.pattern, self.at)
        if opening is not None:
            self.at = opening.end()
        elif any(self._next(each) for each in ("?=", "?!", "?<=", "?<!")):
            raise UnusablePattern(_AHEAD)
        elif self._next("?"):
            raise UnusablePattern(f"(?{self.pattern[self.at + 1 : self.at + 2]} is no group of ECMAScript")
        text, size = self.alternatives()
        self._close()
        flagged = opening is not None and "<" not in opening[0]
        return f"({opening[0] if opening is not None and flagged else '?:'}{text})", size

    def _close(self) -> None:
        if not self._take(")"):
            raise UnusablePattern("a ( is never closed")

    def _escape(self) -> tuple[str, int]:
        """Behind a backslash, outside of a class."""
        kind = self.pattern[self.at : self.at + 1]
        if kind in _ANCHORS and kind:
            self.at += 1
            return _ANCHORS[kind], 0
        if (kind.isdigit() and kind != "0") or kind == "k":
            raise UnusablePattern("it refers back to a group, which takes exponential time where it is worst")
        text, size, code = self._escaped()
        return (text if code is not None else f"[{text}]"), size

    def _escaped(self) -> tuple[str, int, int | None]:
        """Behind a backslash, as it stands in a class; its size; the character, where it is one."""
        kind = self.pattern[self.at : self.at + 1]
        if found := _PROPERTY.match(self.pattern, self.at):
            self.at = found.end()
            return f"\\{found[0]}", _PROPERTY_SIZE, None
        if kind.lower() in _CLASSES and kind:
            self.at += 1
            inside = _CLASSES[kind.lower()]
            return (inside if kind.islower() else f"[^{inside}]"), 1, None
        code = self._character()
        return _literal(code), 1, code

    def _character(self) -> int:
        kind = self.pattern[self.at : self.at + 1]
        if found := _CODE.match(self.pattern, self.at):
            self.at = found.end()
            code = ord(found[4].upper()) - 64 if found[4] else int(found[1] or found[2] or found[3], 16)
            second = _SECOND_HALF.match(self.pattern, self.at)
            if 0xD800 <= code < 0xDC00 and second is not None:  # two halves of one character
                self.at = second.end()
                code = 0x10000 + ((code - 0xD800) << 10) + int(second[1], 16) - 0xDC00
            return code
        self.at += 1
        if kind in _CONTROLS and kind and not (kind == "0" and self.pattern[self.at : self.at + 1].isdigit()):
            return _CONTROLS[kind]
        if not kind or kind.isalnum():
            raise UnusablePattern(f"\\{kind} means nothing")
        return ord(kind)

    def _class(self) -> tuple[str, int]:
        self.at += 1
        texts, size = ["[^" if self._take("^") else "["], 1
        if self._next("]"):
            raise UnusablePattern(r"a class is empty; for a bracket in it write \]")
        while not self._take("]"):
            text, one, first = self._member()
            size = max(size, one)
            if first is not None and self._next("-") and not self._next("-]"):
                self.at += 1
                _, _, last = self._member()
                if last is None:  # a hyphen between a character and a class stands for itself
                    raise UnusablePattern(r"a range ends in a class; for a hyphen write \-")
                if last < first:
                    raise UnusablePattern("a range counts down")
                text = f"{text}-{_literal(last)}"
            texts.append(text)
        return "".join(texts) + "]", size

    def _member(self) -> tuple[str, int, int | None]:
        if self.over:
            raise UnusablePattern("a class is never closed")
        character = self.pattern[self.at]
        self.at += 1
        if character != "\\":
            return _literal(ord(character)), 1, ord(character)
        if self._take("b"):
            return _literal(8), 1, 8
        return self._escaped()

    def _next(self, text: str) -> bool:
        return self.pattern.startswith(text, self.at)

    def _take(self, text: str) -> bool:
        if not self._next(text):
            return False
        self.at += len(text)
        return True


def _literal(code: int) -> str:
    if 0xD800 <= code < 0xE000 or code > 0x10FFFF:
        raise UnusablePattern("half a character stands alone in it")
    return f"\\x{{{code:x}}}"
