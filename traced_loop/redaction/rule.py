"""What a redaction rule is: a name, where it looks, and what it accepts. People write rules of their own with it."""

import re
from collections.abc import Callable, Iterator
from typing import Final, Protocol, cast

from traced_loop.errors import UsageError
from traced_loop.frozen_value import frozen_value
from traced_loop.late_pattern import late_pattern

Place = tuple[int, int]
"""Start and end of what is masked, in characters."""
Marked = tuple[int, int, str]
"""The same, and the rule that found it."""


class Searcher(Protocol):
    """Looks for something in a text."""

    @property
    def name(self) -> str:
        """The rule, as it stands in the marker."""
        ...

    def wanted(self, lowered: str) -> bool:
        """Whether it can find anything in a text that is this in lower case: a cheap question, asked first."""
        ...

    def marked(self, text: str, lowered: str) -> Iterator[Marked]:
        """What it finds, from left to right."""
        ...


@frozen_value
class Finder:
    """A searcher that is a function, where a pattern alone would be slow or wrong."""

    name: str
    find: Callable[[str, str], Iterator[Place]]
    needles: tuple[str, ...] = ()
    gate: re.Pattern[str] | None = None

    def wanted(self, lowered: str) -> bool:
        """Whether one of the needles is there, or what the gate looks for."""
        if self.gate is not None:
            return self.gate.search(lowered) is not None
        return any(needle in lowered for needle in self.needles)

    def marked(self, text: str, lowered: str) -> Iterator[Marked]:
        """What the function finds."""
        for start, end in self.find(text, lowered):
            yield start, end, self.name


_NAME: Final = late_pattern(r"[a-z][a-z0-9_]{0,39}")


@frozen_value
class RedactionRule:
    """One shape that is masked, as ``[REDACTED:name]``.

    Attributes:
        name: lower-case letters, digits and ``_``; stands in the marker and in the receipt.
        pattern: what to look for. A group named ``value`` narrows what is masked; without one it is the whole match.
            Keep it linear: possessive or bounded repetitions, no two that can match the same text side by side.
        needles: lower-case texts; the pattern is tried only where one of them is in the lower-cased text. None: always.
        check: sees what was found; False leaves it as it is.

    Raises:
        UsageError: the name or the pattern cannot be used.
    """

    name: str
    pattern: str | re.Pattern[str]
    needles: tuple[str, ...] = ()
    check: Callable[[str], bool] | None = None

    def __post_init__(self) -> None:
        """Compile the pattern once, and refuse what could not work."""
        if not _NAME.fullmatch(self.name):
            raise UsageError(f"a rule's name is lower-case letters, digits and _, at most 40: not {self.name!r}")
        try:
            compiled = re.compile(self.pattern)
        except re.error as error:
            raise UsageError(f"rule {self.name}: its pattern is no regular expression: {error}") from error
        if compiled.match("") is not None and compiled.fullmatch("") is not None:
            raise UsageError(f"rule {self.name}: its pattern matches the empty text, so it would match everywhere")
        object.__setattr__(self, "pattern", compiled)

    def wanted(self, lowered: str) -> bool:
        """Whether one of the needles is there, or none is asked for."""
        return not self.needles or any(needle in lowered for needle in self.needles)

    def marked(self, text: str, lowered: str) -> Iterator[Marked]:
        """What the pattern finds and the check accepts."""
        del lowered
        return self.between(text, 0, len(text))

    def between(self, text: str, start: int, end: int) -> Iterator[Marked]:
        """The same in a part of the text; what stands before the part is still seen."""
        pattern = cast("re.Pattern[str]", self.pattern)
        group = "value" if "value" in pattern.groupindex else 0
        for match in pattern.finditer(text, start, end):
            begin, stop = match.span(group)
            if begin < stop and (self.check is None or self.check(text[begin:stop])):
                yield begin, stop, self.name


class Shape(RedactionRule):
    """A rule of ours: its pattern is known to be usable, so it is compiled only when a text can hold what it finds."""

    __slots__ = ()

    def __post_init__(self) -> None:
        """Compile nothing yet."""
        if isinstance(self.pattern, str):
            object.__setattr__(self, "pattern", late_pattern(self.pattern))


def lower(text: str) -> str:
    """The text in lower case, character by character: places in it are places in the text."""
    lowered = text.lower()
    # The one letter with a longer lower case, of all of Unicode.
    return lowered if len(lowered) == len(text) else text.replace("\u0130", "i").lower()
