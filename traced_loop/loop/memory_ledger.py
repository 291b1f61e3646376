"""The writes of one loop, remembered as long as the loop is: what is done stays done, whatever becomes of its result.

A write with a key of its own is known in all runs of the loop. One without is known in its run only: two runs that want
the same without saying that it is the same may want it twice; only while it runs on, left behind, it is in their way.
"""

from collections import Counter, OrderedDict
from dataclasses import dataclass, field, replace
from typing import Final

from traced_loop.call_ledger import FREE, Claim, Known, Resolution, Standing, Verdict, Write, WriteEnd
from traced_loop.fork_safe_lock import ForkSafeLock

KEPT_CHARACTERS: Final = 16 * 1024 * 1024
"""Of the results of writes with a key of their own, all together; the oldest go first. Without its result a write is
still known to be done."""

_Name = tuple[str, str]


@dataclass(slots=True)
class _Entry:
    """A write that has begun, and how far it came."""

    write: Write
    number: int
    state: Known = "running"
    end: WriteEnd | None = None
    left: bool = False
    run_over: bool = False


@dataclass(slots=True)
class MemoryLedger:
    """See ``CallLedger``."""

    kept_characters: int = KEPT_CHARACTERS
    _lock: ForkSafeLock = field(default_factory=ForkSafeLock)
    _entries: dict[_Name, _Entry] = field(default_factory=dict[_Name, _Entry])
    _of_run: dict[str, list[_Name]] = field(default_factory=dict[str, list[_Name]])
    _left: Counter[_Name] = field(default_factory=Counter[_Name])
    """Writes without a key of their own that run on, by tool and fingerprint."""
    _results: OrderedDict[_Name, int] = field(default_factory=OrderedDict[_Name, int])
    """Sizes of the results that are kept, oldest first."""
    _kept: int = 0
    _numbers: int = 0

    def standing(self, write: Write) -> Standing:
        """See ``CallLedger.standing``."""
        with self._lock:
            return self._standing(write)

    def begin(self, write: Write) -> Standing:
        """See ``CallLedger.begin``."""
        with self._lock:
            found = self._standing(write)
            if found.state not in {"free", "undone"}:
                return found
            return Standing(state=found.state, claim=Claim(write=write, number=self._begun(write).number))

    def decided(self, write: Write, verdict: Verdict, by: str) -> None:
        """See ``CallLedger.decided``; a run of which nothing outlives the process asks again."""

    def doubt(self, write: Write) -> None:
        """See ``CallLedger.doubt``."""
        with self._lock:
            if _name(write) not in self._entries:
                self._begun(write).state = "unknown"

    def leave(self, claim: Claim) -> None:
        """See ``CallLedger.leave``."""
        with self._lock:
            entry = self._newest(claim)
            if entry is not None and entry.state == "running" and not entry.left:
                entry.left = True
                self._left[_same(claim.write)] += 1

    def settle(self, claim: Claim, end: WriteEnd) -> None:
        """See ``CallLedger.settle``."""
        with self._lock:
            entry = self._newest(claim)
            if entry is not None:
                self._settle(entry, end)

    def end_run(self, run_id: str) -> None:
        """See ``CallLedger.end_run``."""
        with self._lock:
            for name in self._of_run.pop(run_id, ()):
                entry = self._entries.get(name)
                if entry is not None and entry.state == "running":
                    entry.run_over = True
                else:
                    self._entries.pop(name, None)

    def resolve(self, write: Write, number: int, resolution: Resolution) -> bool:
        """See ``CallLedger.resolve``."""
        with self._lock:
            entry = self._entries.get(_name(write))
            if entry is None or entry.number != number or entry.state != "unknown":
                return False
            found = WriteEnd(state=resolution.state, content=resolution.content, ended_ns=resolution.at_ns)
            self._settle(entry, found)
            return True

    def _begun(self, write: Write) -> _Entry:
        """A new entry."""
        self._numbers += 1
        name = _name(write)
        entry = self._entries[name] = _Entry(write, self._numbers)
        if not write.declared:
            self._of_run.setdefault(write.run_id, []).append(name)
        return entry

    def _settle(self, entry: _Entry, end: WriteEnd) -> None:
        name = _name(entry.write)
        if entry.left:
            entry.left = False
            self._left -= Counter((_same(entry.write),))
        entry.state, entry.end = end.state, end if end.state == "succeeded" else None
        self._keep(name, entry)
        if end.state == "free" or entry.run_over:
            del self._entries[name]

    def _standing(self, write: Write) -> Standing:
        entry = self._entries.get(_name(write))
        if entry is None or entry.state == "undone":
            if not write.declared and self._left[_same(write)]:
                return Standing(state="running")
            return FREE if entry is None else Standing(state="undone")
        if entry.write.fingerprint != write.fingerprint:
            return Standing(state="conflict")
        return Standing(state=entry.state, end=entry.end, number=entry.number if entry.state == "unknown" else None)

    def _newest(self, claim: Claim) -> _Entry | None:
        entry = self._entries.get(_name(claim.write))
        return entry if entry is not None and entry.number == claim.number else None

    def _keep(self, name: _Name, entry: _Entry) -> None:
        """Let go of the oldest results where those of all runs are too many."""
        self._kept -= self._results.pop(name, 0)
        if not entry.write.declared or entry.end is None or entry.end.content is None:
            return
        self._results[name] = len(entry.end.content)
        self._kept += self._results[name]
        while self._kept > self.kept_characters:
            oldest, size = self._results.popitem(last=False)
            self._kept -= size
            known = self._entries[oldest]
            known.end = replace(known.end, content=None) if known.end is not None else None


def _name(write: Write) -> _Name:
    return write.tool, write.key


def _same(write: Write) -> _Name:
    return write.tool, write.fingerprint
