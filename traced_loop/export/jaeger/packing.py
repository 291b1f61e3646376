"""Which spans go into which message, and what is cut from one that fits into none.

Nothing is lost without a word: what was cut ends with a mark and its true size, and the span or process says how many
values were cut or left out.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeVar

from traced_loop import names
from traced_loop.export.jaeger import thrift_parts
from traced_loop.export.jaeger.thrift_parts import Encodable, Process, Span, Tag, Wire
from traced_loop.frozen_value import frozen_value
from traced_loop.telemetry.attributes import cut
from traced_loop.telemetry.span_attributes import level

SHORTEST_CUT: Final = 256
"""Bytes that are left of a value at least, so that nothing readable is cut to nothing."""
MAX_NAME: Final = 1_024
"""Bytes of an operation's or a service's name, where space is short."""
PROCESS_SHARE: Final = 4
"""The process, which each message repeats, may have one part in so many of a message."""
_LIST: Final = 5
"""Bytes that a list's header takes at most."""
_COUNT: Final = 96
"""Bytes of the tag that says how much was cut."""

_Member = TypeVar("_Member", bound=Encodable)


@frozen_value
class Message:
    """What is sent at once.

    Attributes:
        data: whole, ready to be sent.
        spans: how many are in it.
        trimmed: how many of them were cut to fit.
    """

    data: bytes
    spans: int
    trimmed: int


def messages(process: Process, spans: Iterable[Span], wire: Wire) -> Iterator[Message]:
    """The spans in order, in as few messages as keep to the limit; each span is encoded once.

    Made one by one, and ``spans`` is read as they are made: encoding spaces UDP packets, which a receiver loses when
    they come faster than it reads them.
    """
    _trim_process(process, wire)
    room = wire.limit - len(wire.message(process, ())) - _LIST
    packed: list[bytes] = []
    size = trimmed = 0
    for span in spans:
        encoded = wire.encode(span)
        if oversized := len(encoded) > room:
            trim(span, room, wire)
            encoded = wire.encode(span)
        if packed and size + len(encoded) > room:
            yield Message(data=wire.message(process, packed), spans=len(packed), trimmed=trimmed)
            packed, size, trimmed = [], 0, 0
        packed.append(encoded)
        size += len(encoded)
        trimmed += oversized
    if packed:
        yield Message(data=wire.message(process, packed), spans=len(packed), trimmed=trimmed)


def trim(span: Span, room: int, wire: Wire) -> None:
    """Bring a span down to that many bytes.

    The longest texts are cut first, to one length; where that is not enough, logs, then references, then tags are
    left out, the last ones first.
    """
    shorter_name = cut(span.operationName, MAX_NAME)
    changed = int(shorter_name != span.operationName)
    span.operationName = shorter_name
    room -= _COUNT
    texts = [*span.tags, *(field for log in span.logs for field in log.fields)]
    changed += _cut_longest(texts, len(wire.encode(span)) - room)
    if len(wire.encode(span)) > room:
        changed += _leave_out(span, room, wire)
    span.tags.insert(0, thrift_parts.tag(names.EXPORT_TRIMMED, changed))


def _trim_process(process: Process, wire: Wire) -> None:
    room = wire.limit // PROCESS_SHARE
    if len(wire.encode(process)) <= room:
        return
    process.serviceName = cut(process.serviceName, MAX_NAME)
    room -= _COUNT
    changed = _cut_longest(process.tags, len(wire.encode(process)) - room)
    kept = _fitting(process.tags, room - MAX_NAME - 2 * _LIST, wire)
    changed += len(process.tags) - len(kept)
    process.tags = [thrift_parts.tag(names.EXPORT_TRIMMED, changed), *kept]


def _cut_longest(tags: Sequence[Tag], excess: int) -> int:
    """Cut the longest texts to one length, so that they lose ``excess`` bytes together; how many were cut."""
    sizes = sorted((len(tag.vStr.encode()) for tag in tags if tag.vStr), reverse=True)
    length = max(SHORTEST_CUT, level(sizes, excess))
    changed = 0
    for tag in tags:
        size = len(tag.vStr.encode()) if tag.vStr else 0
        if tag.vStr and size > length:
            mark = f" …[cut: {size} bytes]"
            tag.vStr = cut(tag.vStr, length - len(mark.encode())) + mark
            changed += 1
    return changed


def _leave_out(span: Span, room: int, wire: Wire) -> int:
    """Keep the first tags, then references, then logs that fit; how many were left out."""
    tags, references, logs = span.tags, span.references, span.logs
    before = len(tags) + len(references) + len(logs)
    span.tags, span.references, span.logs = [], [], []
    room -= 3 * _LIST
    span.tags = _fitting(tags, room - len(wire.encode(span)), wire)
    span.references = _fitting(references, room - len(wire.encode(span)), wire)
    span.logs = _fitting(logs, room - len(wire.encode(span)), wire)
    return before - len(span.tags) - len(span.references) - len(span.logs)


def _fitting(members: Sequence[_Member], room: int, wire: Wire) -> list[_Member]:
    """The members that fit, in order; a long one makes place for shorter ones behind it."""
    kept: list[_Member] = []
    for member in members:
        size = len(wire.encode(member))
        if size <= room:
            kept.append(member)
            room -= size
    return kept
