"""The attributes of one span, kept within what a span may have, whatever arrives and when.

**The bounds.** A span has at most ``MAX_ATTRIBUTES`` attributes and ``MAX_SPAN_BYTES`` bytes, counted as its OTLP
protobuf message is at most: ``FRAME_BYTES`` for ids, times, flags and a status text of ``MAX_STATUS_BYTES``; the UTF-8
bytes of its name; ``LINK_BYTES`` per link; per attribute ``ATTRIBUTE_BYTES``, the UTF-8 bytes of its key, and those of
its text or of its list's texts with ``ITEM_BYTES`` for each. Spans of ours have no events but those that others add
(``heard_events``). A trace state that the application's own parent span brings is not counted. As JSON a span is
larger: a control character takes six bytes.

**What gives way.** What was there stays as it is; what comes later makes do with the room that is left. Its large
texts are shortened first, to one length, with the true size in ``traced_loop.truncated.<key>``; then values that are
content or lists, which are useless when cut, are left out whole; then whatever else does not fit. The keys of ``VITAL``
have room of their own, so they always find some: none is ever left out, and only where they alone are too large are
their texts shortened. What is set last of all (``set_last``) may take the room of those that did not come. Every value
that was shortened or left out is counted in the receipt.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from traced_loop import names
from traced_loop.telemetry.attributes import Hygiene, clean, cut

MAX_ATTRIBUTES: Final = 60
"""The SDK evicts the oldest attribute after 128; nothing of ours comes near."""
MAX_SPAN_BYTES: Final = 32_768
"""A hundred such spans fit into one message of any receiver; a span of a usual run has 1 to 2 KiB."""
MAX_LINKS: Final = 32
"""Links of one span; further ones are left out and counted."""
MAX_STATUS_BYTES: Final = 256
"""Bound on a status text."""

VITAL: Final = frozenset(
    {
        names.RUN_ID,
        names.RUN_STOP_REASON,
        names.RUN_TOKENS,
        names.RUN_INPUT_TOKENS,
        names.RUN_OUTPUT_TOKENS,
        names.RUN_COST_USD,
        names.RUN_COST_MICROUSD,
        names.STEP_INDEX,
        names.STEP_OUTCOME,
        names.CALL_ID,
        names.CALL_OUTCOME,
        names.EXECUTION_ID,
        names.COST_USD,
        names.ERROR_TYPE,
        names.SESSION_ID,
        names.GEN_AI_CONVERSATION_ID,
        names.GEN_AI_OPERATION,
        names.GEN_AI_RESPONSE_ID,
        names.GEN_AI_TOOL_CALL_ID,
        names.GEN_AI_INPUT_TOKENS,
        names.GEN_AI_OUTPUT_TOKENS,
        names.GEN_AI_CACHED_TOKENS,
        names.GEN_AI_REASONING_TOKENS,
    }
)
"""What a trace is read by: the run, why it stopped, how a call ended, ids, tokens and cost. Never left out."""
VITAL_BYTES: Final = 5_632
"""Room that only ``VITAL`` may take: enough for all of them with texts of ``SMALL_BYTES`` and their true sizes."""
START_ATTRIBUTES: Final = MAX_ATTRIBUTES - len(VITAL)
"""Attributes beside ``VITAL`` that a span may begin with; later ones make place for ``VITAL`` where that is needed."""

FRAME_BYTES: Final = 384
LINK_BYTES: Final = 64
ATTRIBUTE_BYTES: Final = 24
"""Tags and lengths of one attribute, and its value if that is a number."""
ITEM_BYTES: Final = 8
SMALL_BYTES: Final = 256
"""To this size a text is shortened at most."""
_SURELY_SMALL: Final = SMALL_BYTES // 4
_SLACK_BYTES: Final = 1_024
_SMALL_ATTRIBUTE: Final = ATTRIBUTE_BYTES + 150 + SMALL_BYTES
"""An attribute whose value is small, with the longest key: sixty of them fit in any case."""


class SpanAttributes:
    """The attributes of an open span.

    Attributes:
        known: all of them.
        late: those that came or changed after the start.
    """

    __slots__ = ("_begun", "_beyond", "_frame", "_hygiene", "_kept", "known", "late")

    def __init__(self, given: Mapping[str, Any], hygiene: Hygiene, frame: int = FRAME_BYTES) -> None:
        """Take what is known at the start.

        Args:
            given: not yet cleaned.
            hygiene: counts what had to give way.
            frame: bytes of the span without its attributes.
        """
        self.known: dict[str, Any] = {}
        self.late: dict[str, Any] = {}
        self._hygiene = hygiene
        self._frame = frame
        self._kept = VITAL_BYTES
        self._beyond = 0
        self._begun = -1  # not yet
        new = clean(given, hygiene)
        if len(new) > START_ATTRIBUTES or _has_large(new):
            self._fit(new)
            self._beyond = _beyond_small(new)
        self.known = new
        self._begun = len(new)

    def set(self, given: Mapping[str, Any]) -> None:
        """Add attributes, or change known ones; not yet cleaned."""
        new = clean(given, self._hygiene)
        known, small = self.known, _SMALL_ATTRIBUTE * len(new)
        # A bound that is cheap to know decides for nearly every span: as if all values were as large as a small one.
        more = attributes_bytes(new) if _has_large(new) else small
        at_most = self._frame + self._beyond + _SMALL_ATTRIBUTE * len(known) + more
        if at_most > MAX_SPAN_BYTES - self._kept or len(known) + len(new) > MAX_ATTRIBUTES:
            self._fit(new)
            self._beyond = _beyond_small({**known, **new})
        elif more > small:
            self._beyond += more - small
        known.update(new)
        self.late.update(new)

    def room(self) -> int:
        """Bytes that attributes which are set last may take."""
        return MAX_SPAN_BYTES - self._frame - attributes_bytes(self.known)

    def widen(self, size: int) -> bool:
        """Take bytes for what the span has beside attributes; False, and none, where that is their room."""
        if size > self.room() - self._kept:
            return False
        self._frame += size
        return True

    def set_last(self, given: Mapping[str, Any]) -> None:
        """Add the last attributes, none of them of ``VITAL``; not yet cleaned."""
        self._kept = attributes_bytes({key: value for key, value in self.known.items() if key in VITAL})
        self.set(given)

    def _fit(self, new: dict[str, Any]) -> None:
        """Make ``new`` such that it can be added."""
        self._fit_count(new)
        if (excess := self._excess(new)) > 0:
            self._shorten(new, [key for key, value in new.items() if _is_plain(key, value)], excess)
            self._leave_out_until_it_fits(new, [key for key, value in new.items() if _is_whole(key, value)])
            self._leave_out_until_it_fits(new, [key for key in new if key not in VITAL])
        excess = self._frame + attributes_bytes({**self.known, **new}) - MAX_SPAN_BYTES
        if excess > 0:
            new.update({key: self.known[key] for key in self.known.keys() & VITAL if key not in new})
            self._shorten(new, [key for key in new if key in VITAL and isinstance(new[key], str)], excess)

    def _fit_count(self, new: dict[str, Any]) -> None:
        fresh = [key for key in new if key not in self.known and key not in VITAL]
        excess = -self._places(new)
        for key in reversed(fresh[-excess:] if excess > 0 else []):
            self._leave_out(new, key)
        excess = -self._places(new)
        late = [key for key in list(self.known)[self._begun :] if key not in VITAL]
        for key in reversed(late[-excess:] if excess > 0 else []):
            self._leave_out(self.known, key)
            self.late.pop(key, None)
            new.pop(key, None)

    def _places(self, new: Mapping[str, Any]) -> int:
        """Attributes that may still be added; negative where there are too many."""
        if self._begun < 0:
            return START_ATTRIBUTES - sum(key not in VITAL for key in new)
        return MAX_ATTRIBUTES - len(self.known.keys() | new.keys())

    def _excess(self, new: Mapping[str, Any]) -> int:
        """Bytes by which everything but ``VITAL`` is too large."""
        together = {key: value for key, value in {**self.known, **new}.items() if key not in VITAL}
        return self._frame + attributes_bytes(together) - (MAX_SPAN_BYTES - self._kept)

    def _shorten(self, new: dict[str, Any], keys: Iterable[str], excess: int) -> None:
        """Cut the longest of these texts to one length, so that they lose ``excess`` bytes together."""
        sizes = {key: size for key in keys if (size := utf8_bytes(new[key])) > SMALL_BYTES}
        marks = {key: names.TRUNCATED_PREFIX + key for key in sizes}
        # The marks of their true sizes take room, too, and what is small and comes later shall find some.
        excess += _SLACK_BYTES + sum(ATTRIBUTE_BYTES + utf8_bytes(mark) for mark in marks.values())
        length = max(SMALL_BYTES, level(sorted(sizes.values(), reverse=True), excess))
        for key, size in sizes.items():
            if size > length:
                new[key] = cut(new[key], length)
                self._mark(new, key, size)

    def _mark(self, new: dict[str, Any], key: str, size: int) -> None:
        """Tell the true size of a value that gave way; not again if it had been cut before."""
        mark = names.TRUNCATED_PREFIX + key
        if mark in new:
            return
        self._hygiene.truncated += 1
        if mark in self.known or self._places(new) > 0:
            new[mark] = size

    def _leave_out_until_it_fits(self, new: dict[str, Any], keys: Sequence[str]) -> None:
        """Leave out the last ones first."""
        for key in reversed(keys):
            if self._excess(new) <= 0:
                return
            size = _value_bytes(new[key])
            self._leave_out(new, key, size if key in names.CONTENT_KEYS else None)

    def _leave_out(self, attributes: dict[str, Any], key: str, size: int | None = None) -> None:
        del attributes[key]
        if size is None:
            self._hygiene.truncated += 1
        else:
            self._mark(attributes, key, size)


def attributes_bytes(attributes: Mapping[str, Any]) -> int:
    """Bytes of cleaned attributes, as the module's text defines them."""
    return sum(ATTRIBUTE_BYTES + utf8_bytes(key) + _value_bytes(value) for key, value in attributes.items())


def frame_bytes(name: str, links: int) -> int:
    """Bytes of a span without its attributes."""
    return FRAME_BYTES + utf8_bytes(name) + links * LINK_BYTES


def utf8_bytes(text: str) -> int:
    """Its length in UTF-8; a lone surrogate counts as one."""
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def level(sizes: Sequence[int], excess: int) -> int:
    """The length to which all longer ones must be cut to lose ``excess`` together; ``sizes`` longest first."""
    together = 0
    for count, (size, following) in enumerate(zip(sizes, (*sizes[1:], 0), strict=False), start=1):
        together += size
        if together - count * following >= excess:
            return (together - excess) // count
    return 0


def _value_bytes(value: Any) -> int:
    if isinstance(value, str):
        return utf8_bytes(value)
    items = cast("tuple[str, ...]", value) if isinstance(value, tuple) else ()
    return sum(ITEM_BYTES + utf8_bytes(item) for item in items)


def _has_large(new: Mapping[str, Any]) -> bool:
    """Whether a value takes more than ``SMALL_BYTES``."""
    for value in new.values():
        if isinstance(value, str):
            if len(value) > _SURELY_SMALL and (len(value) > SMALL_BYTES or not value.isascii()):
                return True
        elif isinstance(value, tuple) and _value_bytes(value) > SMALL_BYTES:
            return True
    return False


def _beyond_small(attributes: Mapping[str, Any]) -> int:
    """Bytes by which attributes exceed as many small ones; negative where they are smaller."""
    return attributes_bytes(attributes) - _SMALL_ATTRIBUTE * len(attributes)


def _is_plain(key: str, value: object) -> bool:
    """Whether it is a text that may be shortened before anything else."""
    return isinstance(value, str) and key not in VITAL and key not in names.CONTENT_KEYS


def _is_whole(key: str, value: object) -> bool:
    """Whether it is useless when cut."""
    return key not in VITAL and (key in names.CONTENT_KEYS or isinstance(value, tuple))
