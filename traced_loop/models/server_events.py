"""Server-sent events out of bytes that come in packets of any size; bounded, whatever comes.

Line ends are CR, LF or both, comments and unknown fields are skipped, several ``data`` lines are one event.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

MAX_EVENT_BYTES: Final = 16 * 1024 * 1024
"""Above it an event is refused: an answer comes in many small ones, and a picture in one fits."""
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_LINE_BYTES: Final = 8
"""What a line of data counts for beside its length: empty ones take room, too."""


class EventTooLong(Exception):
    """An event is longer than ``MAX_EVENT_BYTES``."""


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event: its name, ``""`` for none, and its data, the lines joined."""

    name: str
    data: bytes


class ServerEvents:
    """The events of one stream; each byte is looked at a fixed number of times."""

    def __init__(self) -> None:
        """Nothing has come yet."""
        self._line: list[bytes] = []
        self._data: list[bytes] = []
        self._data_size = 0
        self._name = b""
        self._size = 0
        self._after_return = False
        self._at_start = True

    def take(self, packet: bytes) -> Iterator[ServerEvent]:
        """The events that end in this packet.

        Raises:
            EventTooLong: one is longer than is taken.
        """
        if self._after_return and packet:
            packet = packet.removeprefix(b"\n")
            self._after_return = False
        if not packet:
            return
        self._after_return = packet.endswith(b"\r")
        self._line.append(packet)
        self._size += len(packet)
        if b"\n" in packet or b"\r" in packet:
            lines = b"".join(self._line).splitlines(keepends=True)
            self._line = [] if lines[-1].endswith((b"\n", b"\r")) else [lines.pop()]
            for line in lines:
                if (event := self._end_line(line.rstrip(b"\r\n"))) is not None:
                    yield event
            self._size = self._data_size + sum(map(len, self._line))
        if self._size > MAX_EVENT_BYTES:
            raise EventTooLong

    def rest(self) -> ServerEvent | None:
        """The event that no blank line ended, once nothing more comes; it may be cut."""
        if self._line:
            self._end_line(b"".join(self._line))
            self._line = []
        return self._end_line(b"")

    def _end_line(self, line: bytes) -> ServerEvent | None:
        if self._at_start:
            self._at_start, line = False, line.removeprefix(_BYTE_ORDER_MARK)
        if not line:
            event = ServerEvent(self._name.decode(errors="replace"), b"\n".join(self._data)) if self._data else None
            self._data, self._data_size, self._name = [], 0, b""
            return event
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
            self._data_size += len(value) + _LINE_BYTES
        elif field == b"event":
            self._name = value
        return None
