"""What the store owes to collectors: spans that were to be exported, and that none has taken yet.

What a run owes is on the lines of its span file (the scope says to whom, see ``names.DELIVERY_DESTINATION``), what was
taken is in ``delivery_marks``. So nothing has to be written about a run for it to be owed, whenever its process ends.
"""

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from traced_loop import names
from traced_loop.frozen_value import frozen_value
from traced_loop.json_shapes import as_object
from traced_loop.records.delivery_marks import OWED, DeliveryMarks, RunMarks
from traced_loop.records.process_identity import claimant, may_run
from traced_loop.records.trace_store import ENDED_SUFFIX
from traced_loop.rules.run_sampling import RunSampling

FRESH_NS: Final = 30_000_000_000
"""A run that another living process ended within this time is still being sent by that process."""

_SPAN: Final = re.compile(rb'"spans":\[\{"traceId":"([0-9a-f]{32})","spanId":"([0-9a-f]{16})"')
_NEVER_NS: Final = 2**62
_ROOT: Final = names.RUN_STOP_REASON.encode()
_UNENDED: Final = "SELECT run_id, process, ended_ns FROM runs WHERE ended_ns IS NULL OR ended_ns > ?"

Query = Callable[[str, tuple[Any, ...]], list[tuple[Any, ...]]]


@frozen_value
class Selection:
    """Which spans are to be sent.

    Attributes:
        destination: where they go.
        home_only: only what was meant for that destination from the first.
        whole: all that this destination has not taken, owed or not.
        run_ids: of these runs only; None for all.
    """

    destination: str
    home_only: bool = False
    whole: bool = False
    run_ids: frozenset[str] | None = None


@frozen_value
class OwedSpan:
    """A span as the store has it: one line of OTLP JSON."""

    run_id: str
    span_id: int
    line: bytes


class OwedSpans:
    """Finds in one store what is to be sent."""

    def __init__(self, folder: Path, marks: DeliveryMarks, query: Query) -> None:
        """Look nowhere yet.

        Args:
            folder: of the store.
            marks: of the same store.
            query: asks the index of runs.
        """
        self._spans = folder / "spans"
        self._marks = marks
        self._query = query
        self._heads: dict[bytes, tuple[str, RunSampling | None]] = {}

    def path(self, run_id: str) -> Path:
        """The file with the ended spans of a run."""
        return self._spans / f"{run_id}{ENDED_SUFFIX}"

    def runs(self, selection: Selection) -> Iterator[str]:
        """The runs that may owe something, the oldest first; none that still runs.

        Raises:
            StoreError: the index or the marks cannot be read.
        """
        settled = {} if selection.whole else self._marks.sizes()
        found: list[str] = []
        with suppress(FileNotFoundError):
            for path in self._spans.iterdir():
                run_id = path.name.removesuffix(ENDED_SUFFIX)
                if run_id == path.name or (selection.run_ids is not None and run_id not in selection.run_ids):
                    continue
                with suppress(FileNotFoundError):  # removed meanwhile
                    if run_id not in settled or path.stat().st_size != settled[run_id]:
                        found.append(run_id)
        busy = self.busy(fresh=selection.home_only)
        yield from sorted(run_id for run_id in found if run_id not in busy)

    def busy(self, *, fresh: bool = False) -> frozenset[str]:
        """The runs that still run; with ``fresh`` also those that another living process has just ended.

        Raises:
            StoreError: the index cannot be read.
        """
        rows = self._query(_UNENDED, (time.time_ns() - FRESH_NS if fresh else _NEVER_NS,))
        own = claimant()
        return frozenset(
            str(run_id)
            for run_id, process, ended_ns in rows
            if (ended_ns is None or process != own) and may_run(process) is not False
        )

    def of(self, run_id: str, selection: Selection) -> Iterator[OwedSpan]:
        """The spans of one run that are to be sent, in the order in which they ended.

        Raises:
            StoreError: the marks cannot be read.
        """
        marks = self._marks.of(run_id)
        begin = marks.settled.get(selection.destination if selection.whole else OWED, 0)
        left_out: frozenset[bytes] | None = None
        for span_id, trace_id, line in self._lines(run_id, begin):
            home, sampling = self._head(line)
            if not _wanted(marks, selection, span_id, home):
                continue
            if sampling is not None and left_out is None and not selection.whole:
                left_out = frozenset(self._unsampled(run_id, sampling))
            if left_out is None or trace_id not in left_out:
                yield OwedSpan(run_id=run_id, span_id=span_id, line=line)

    def settle(self, run_id: str, destination: str) -> None:
        """Mark a run of which nothing is left to be sent, so that it is not read again; to be called under its lock.

        Raises:
            StoreError: the marks cannot be read or written.
        """
        end = self._end(run_id)
        before = self._marks.of(run_id).settled
        whole = next(self.of(run_id, Selection(destination=destination, whole=True)), None) is None
        owed = whole or next(self.of(run_id, Selection(destination=destination)), None) is None
        done = [each for each, is_done in ((OWED, owed), (destination, whole)) if is_done and before.get(each) != end]
        if done:
            self._marks.settle(run_id, done, end)

    def _lines(self, run_id: str, begin: int) -> Iterator[tuple[int, bytes, bytes]]:
        """Span id, trace id and text of each whole line; what a killed process began to write is no line."""
        with suppress(FileNotFoundError), self.path(run_id).open("rb") as file:
            file.seek(begin)
            for line in file:
                found = _SPAN.search(line) if line.endswith(b"\n") else None
                if found is not None:
                    yield int(found[2], 16), found[1], line

    def _end(self, run_id: str) -> int:
        """Where the last whole line ends."""
        try:
            with self.path(run_id).open("rb") as file:
                size = file.seek(0, 2)
                file.seek(max(0, size - 1))
                return size if not size or file.read(1) == b"\n" else size - _torn(file.seek, file.read, size)
        except FileNotFoundError:
            return 0

    def _head(self, line: bytes) -> tuple[str, RunSampling | None]:
        """To whom a span is owed (nobody: ``OWED``), and by which rule its run is exported."""
        head = line[: line.find(b'"spans":[')]
        known = self._heads.get(head)
        if known is None:
            known = self._heads[head] = _parsed_head(line)
        return known

    def _unsampled(self, run_id: str, sampling: RunSampling) -> Iterator[bytes]:
        """The traces of a run that were not to be exported, as their roots say; a run without an end is exported."""
        for _, trace_id, line in self._lines(run_id, 0):
            if _ROOT in line and not _keeps(line, sampling):
                yield trace_id


def _wanted(marks: RunMarks, selection: Selection, span_id: int, home: str) -> bool:
    if selection.whole:
        refused = marks.refused.get(selection.destination, {})
        return span_id not in marks.taken.get(selection.destination, ()) and span_id not in refused
    if not home or (selection.home_only and home != selection.destination):
        return False
    return not any(span_id in ids for known in (marks.taken, marks.refused) for ids in known.values())


def _torn(seek: Callable[[int], int], read: Callable[[int], bytes], size: int) -> int:
    """Bytes after the last line end."""
    step = 65_536
    for begin in range(size - step, -step, -step):
        at = seek(max(0, begin))
        place = read(size - at).rfind(b"\n")
        if place >= 0:
            return size - at - place - 1
    return size


def owed_attributes(line: bytes) -> dict[str, str]:
    """To whom the span of a stored line is owed, as ``TraceStore`` takes it; empty for nobody.

    Whoever ends a span that a killed process left open, and records it with these, hands it over for delivery.
    """
    head = line[: line.find(b'"spans":[')]
    if names.DELIVERY_DESTINATION.encode() not in head:
        return {}
    try:
        scope = json.loads(head + b'"spans":[]}]}]}')["resourceSpans"][0]["scopeSpans"][0]["scope"]
        given = {each["key"]: str(each["value"]["stringValue"]) for each in scope["attributes"]}
    except (ValueError, LookupError, TypeError):
        return {}
    return {key: given[key] for key in (names.DELIVERY_DESTINATION, names.DELIVERY_SAMPLING) if key in given}


def _parsed_head(line: bytes) -> tuple[str, RunSampling | None]:
    try:
        given = owed_attributes(line)
        rule = given.get(names.DELIVERY_SAMPLING)
        return given.get(names.DELIVERY_DESTINATION, OWED), None if rule is None else sampling_of(rule)
    except (ValueError, LookupError, TypeError):
        return OWED, None


def sampling_text(sampling: RunSampling) -> str:
    """A rule as it stands on stored spans."""
    return f"ratio={sampling.ratio!r} cost_usd={sampling.cost_usd} seconds={sampling.seconds!r}"


def sampling_of(text: str) -> RunSampling:
    """The rule that a stored span names.

    Raises:
        ValueError: it is none; a LookupError where a part of it is missing.
    """
    given = dict(part.split("=", 1) for part in text.split(" "))
    return RunSampling(ratio=float(given["ratio"]), cost_usd=given["cost_usd"], seconds=float(given["seconds"]))


def _keeps(line: bytes, sampling: RunSampling) -> bool:
    """Whether the run of this root is exported, by the one rule that also decides live."""
    try:
        span = json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
        if not str(span["name"]).startswith(f"{names.INVOKE_AGENT} "):
            return True
        attributes = {each["key"]: _plain(each["value"]) for each in span["attributes"]}
        return sampling.keeps(
            attributes,
            failed=(as_object(span.get("status")) or {}).get("code") == 2,
            seconds=(int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"])) / 1e9,
            trace_id=int(span["traceId"], 16),
        )
    except (ValueError, LookupError, TypeError):
        return True


def _plain(value: dict[str, Any]) -> Any:
    return value.get("stringValue", value.get("doubleValue", value.get("boolValue")))
