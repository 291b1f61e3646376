"""The spans of a file, or of standard input, in whatever format they are, by what it holds."""

import io
import json
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import BinaryIO, Final

from traced_loop.frozen_value import frozen_value
from traced_loop.json_shapes import as_object
from traced_loop.read.jaeger_json import read_traces, traces_of
from traced_loop.read.otlp_json import Listing, read_document, read_lines
from traced_loop.read.paused_collection import paused_collection
from traced_loop.read.sniffed_format import BOM, KNOWN, SourceFormat, is_binary, of_bytes, of_value
from traced_loop.read.trace import Problem, ProblemKind, StoredSpan
from traced_loop.read.unreadable import Unreadable

MAX_BYTES: Final = 1 << 30
"""Of what has to be read as a whole: one JSON value, or protobuf. Lines may be as many as there is memory."""
MAX_SPANS: Final = 2_000_000
"""Spans that are held at once; they take 1 to 2 KiB each."""
EVERY: Final = 10_000
"""Spans between two calls of a progress callback."""
_HEAD: Final = 65_536
_SPACE: Final = " \t\r\n"

Progress = Callable[[int], None]
"""Told how many spans were read so far, each ``EVERY`` and at the end."""


@frozen_value
class SpanFile:
    """What a file holds: spans, or messages as lines that nobody has read yet."""

    format: SourceFormat
    spans: tuple[StoredSpan, ...] = ()
    messages: Iterable[bytes] = ()
    problems: tuple[Problem, ...] = ()


@frozen_value
class _Reading:
    """How one file is read."""

    name: str
    keep: Callable[[StoredSpan], bool]
    progress: Progress | None
    problems: list[Problem]

    def collect(self, spans: Iterable[StoredSpan]) -> tuple[StoredSpan, ...] | Unreadable:
        """The spans that are wanted, up to a bound."""
        kept: list[StoredSpan] = []
        number = 0
        for number, span in enumerate(spans, start=1):
            if self.keep(span):
                kept.append(span)
                if len(kept) > MAX_SPANS:
                    what = "choose one with --trace, or split the file"
                    return Unreadable(text=f"{self.name} holds more than {MAX_SPANS:,} spans: {what}")
            if self.progress is not None and number % EVERY == 0:
                self.progress(number)
        if self.progress is not None and number % EVERY:
            self.progress(number)
        return tuple(kept)


def read_spans(
    stream: BinaryIO,
    name: str,
    format: SourceFormat | None = None,  # noqa: A002 - the option's name
    *,
    keep: Callable[[StoredSpan], bool] = lambda _: True,
    progress: Progress | None = None,
) -> SpanFile | Unreadable:
    """Read a binary stream to its end.

    Args:
        stream: a file, or standard input.
        name: of it, for what is wrong.
        format: None to find it out.
        keep: which spans are held; the others are read and forgotten.
        progress: see ``Progress``.

    Raises:
        OSError: the system refuses to read on.
    """
    reading = _Reading(name=name, keep=keep, progress=progress, problems=[])
    with paused_collection():
        return _read(reading, stream, format)


def _read(reading: _Reading, stream: BinaryIO, given: SourceFormat | None) -> SpanFile | Unreadable:
    head, name = stream.read(_HEAD), reading.name
    refused = of_bytes(head, name)
    if refused is not None:
        return refused
    if given == "otlp-proto" or (given is None and is_binary(head)):
        return _read_protobuf(reading, head, stream)
    if given is not None and is_binary(head):
        return Unreadable(text=f"{name} is no {given}: it is no text; without --format it is looked at for what it is")
    return _read_text(reading, head.removeprefix(BOM), stream, given)


def _read_protobuf(reading: _Reading, head: bytes, stream: BinaryIO) -> SpanFile | Unreadable:
    from traced_loop.read.otlp_protobuf import read_protobuf  # the messages of the format are slow to load

    data = _whole(head, stream)
    if data is None:
        return _too_long(reading.name)
    found = read_protobuf(data, reading.problems, name=reading.name)
    if found is None:
        return Unreadable(text=f"{reading.name} is neither text nor OTLP protobuf: it is none of {KNOWN}")
    return _file(reading, "otlp-proto", found)


def _read_text(
    reading: _Reading,
    head: bytes,
    stream: BinaryIO,
    given: SourceFormat | None,
) -> SpanFile | Unreadable:
    """Lines of JSON where the first line is a JSON value, else one document."""
    head = head.lstrip()
    end = head.find(b"\n")
    first, rest = (head[: end + 1], head[end + 1 :]) if end >= 0 else (head + stream.readline(MAX_BYTES), b"")
    try:
        value: object = json.loads(first)
    except (ValueError, RecursionError):
        return _read_document(reading, first + rest, stream, given)
    # Said to be a log, it is one also where the first run has no messages.
    found = given if given == "messages" and "messages" in (as_object(value) or {}) else of_value(value)
    if isinstance(found, Unreadable):
        return Unreadable(text=f"{reading.name} {found.text}")
    if given not in (None, found):
        return Unreadable(text=f"{reading.name} is no {given}, it is {found}: leave --format out")
    lines = _lines(rest, stream)
    if found == "messages" and "messages" in (as_object(value) or {}):
        return SpanFile(format="messages", messages=chain([first], lines))
    if found == "otlp-json":
        begin = read_document(value, reading.problems, name=reading.name)
        others = read_lines(lines, reading.problems, name=reading.name, first=2)
        return _file(reading, found, chain(begin, others))
    return _read_values(reading, found, [value, *_values_of_lines(reading, lines)])


def _read_document(
    reading: _Reading,
    head: bytes,
    stream: BinaryIO,
    given: SourceFormat | None,
) -> SpanFile | Unreadable:
    """One JSON value over several lines, or several behind each other."""
    data = _whole(head, stream)
    if data is None:
        return _too_long(reading.name)
    text = data.decode(errors="replace")
    values, error = _values(text)
    if not values and b'"resourceSpans"' in data:  # lines of which the first is damaged
        found_in_lines = _file(reading, "otlp-json", read_lines(io.BytesIO(data), reading.problems, name=reading.name))
        if isinstance(found_in_lines, Unreadable) or found_in_lines.spans:
            return found_in_lines
    if not values and b'"messages"' in data and given in (None, "messages"):
        return SpanFile(format="messages", messages=io.BytesIO(data), problems=tuple(reading.problems))
    if not values:
        return Unreadable(text=f"{reading.name} is not JSON ({error}): it is none of {KNOWN}")
    found = of_value(values[0])
    if isinstance(found, Unreadable):
        is_text = error and not isinstance(values[0], (dict, list))  # a log line may begin with a number, which is JSON
        what = f"is text and no JSON: it is none of {KNOWN}" if is_text else found.text
        return Unreadable(text=f"{reading.name} {what}")
    if given not in (None, found):
        return Unreadable(text=f"{reading.name} is no {given}, it is {found}: leave --format out")
    if error:
        what = f"{reading.name}: what stands behind the last whole value is not JSON ({error}) and was left out"
        reading.problems.append(Problem(kind=ProblemKind.TORN_LINE, text=what))
    return _read_values(reading, found, values)


def _read_values(reading: _Reading, given: SourceFormat, values: list[object]) -> SpanFile | Unreadable:
    if given == "messages":
        return SpanFile(format=given, messages=tuple(_message_lines(values)), problems=tuple(reading.problems))

    def spans() -> Iterator[StoredSpan]:
        for value in values:
            if given == "jaeger":
                yield from read_traces(traces_of(value) or (), listing.say)
            else:
                yield from read_document(value, reading.problems, name=reading.name)
        listing.close()

    listing = Listing(reading.name, reading.problems)
    return _file(reading, given, spans())


def _file(reading: _Reading, given: SourceFormat, spans: Iterable[StoredSpan]) -> SpanFile | Unreadable:
    kept = reading.collect(spans)
    if isinstance(kept, Unreadable):
        return kept
    return SpanFile(format=given, spans=kept, problems=tuple(reading.problems))


def _message_lines(values: Iterable[object]) -> Iterator[bytes]:
    """One line a run: lists of messages, and messages that stand by themselves, which are one run together."""
    by_themselves: list[object] = []
    for value in values:
        fields = as_object(value)
        if fields is not None and "messages" in fields:
            yield _line(value)
        elif fields is None:
            yield _line({"messages": value})
        else:
            by_themselves.append(value)
    if by_themselves:
        yield _line({"messages": by_themselves})


def _line(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _values(text: str) -> tuple[list[object], str]:
    """The JSON values behind each other, and why it ends before the end; ``""`` where it does not."""
    decoder = json.JSONDecoder()
    found: list[object] = []
    place = 0
    while True:
        while place < len(text) and text[place] in _SPACE:
            place += 1
        if place == len(text):
            return found, ""
        try:
            value, place = decoder.raw_decode(text, place)
        except RecursionError:
            return found, "nested too deep"
        except ValueError as error:
            return found, "it ends in the middle" if _is_cut(error, text) else str(error)[:80]
        found.append(value)


def _is_cut(error: ValueError, text: str) -> bool:
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.pos >= len(text) or error.msg.startswith("Unterminated string")


def _values_of_lines(reading: _Reading, lines: Iterable[bytes]) -> Iterator[object]:
    """The values of the lines behind the first."""
    for number, line in enumerate(lines, start=2):
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                text = f"{reading.name}, line {number}: is not JSON and was left out"
                reading.problems.append(Problem(kind=ProblemKind.UNREADABLE_LINE, text=text, line=number))


def _lines(rest: bytes, stream: BinaryIO) -> Iterator[bytes]:
    """The lines of what was read ahead, and of the stream behind it."""
    *whole, last = rest.splitlines(keepends=True) or [b""]
    yield from whole
    if last.endswith(b"\n"):
        yield last
        last = b""
    last += stream.readline()
    if last:
        yield last
    yield from stream


def _whole(head: bytes, stream: BinaryIO) -> bytes | None:
    data = head + stream.read(MAX_BYTES + 1 - len(head))
    return None if len(data) > MAX_BYTES else data


def _too_long(name: str) -> Unreadable:
    what = "write it as JSON lines, a request a line, which are read one by one"
    return Unreadable(text=f"{name} is one value of more than {MAX_BYTES >> 20:,} MiB: {what}")
