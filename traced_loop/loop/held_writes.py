"""Which writes run by now, so that none is started again while an earlier try of it goes on, whoever waits for that.

A write with a key of its own holds it from its start, in all runs of a loop. One without holds its arguments from when
it was left behind: until then two runs may well want the same.
"""

from traced_loop.canonical_json import canonical
from traced_loop.fork_safe_lock import ForkSafeLock
from traced_loop.loop.running_work import RunningWork
from traced_loop.loop.validator import ValidCall
from traced_loop.outcomes import Outcome


class HeldWrites:
    """The writes of one loop."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._held: dict[str, list[str]] = {}

    def in_the_way(self, valid: ValidCall) -> Outcome | None:
        """The outcome of a call that cannot run by now: ``unknown`` as its earlier try is, ``conflict``; or None."""
        if valid.tool.effect != "write":
            return None
        with self._lock:
            return self._in_the_way(valid)

    def take(self, valid: ValidCall) -> Outcome | None:
        """The same, and its key is held where nothing is in its way; to be followed by ``let_go``."""
        if valid.tool.effect != "write":
            return None
        with self._lock:
            found = self._in_the_way(valid)
            if found is None and valid.tool.key is not None:
                self._held.setdefault(_name(valid), []).append(_arguments(valid))
        return found

    def let_go(self, valid: ValidCall, work: RunningWork | None) -> None:
        """Nobody waits for the call any more; what it holds is free once its work is over."""
        if valid.tool.effect != "write":
            return
        name, arguments = _name(valid), _arguments(valid)
        going_on = work is not None and not work.over
        if valid.tool.key is None and going_on:
            with self._lock:
                self._held.setdefault(name, []).append(arguments)
        if work is not None and going_on:
            work.when_over(lambda _: self._free(name, arguments))
        elif valid.tool.key is not None:
            self._free(name, arguments)

    def _in_the_way(self, valid: ValidCall) -> Outcome | None:
        held = self._held.get(_name(valid))
        if not held:
            return None
        return Outcome.UNKNOWN if _arguments(valid) in held else Outcome.CONFLICT

    def _free(self, name: str, arguments: str) -> None:
        with self._lock:
            held = self._held.get(name, [])
            if arguments in held:
                held.remove(arguments)
            if not held:
                self._held.pop(name, None)


def _name(valid: ValidCall) -> str:
    """What is held: the business key; without one, tool and arguments (a derived key is another one in each run)."""
    if valid.tool.key is not None:
        return f"{valid.tool.name}:key:{valid.key.text}"
    return f"{valid.tool.name}:arguments:{_arguments(valid)}"


def _arguments(valid: ValidCall) -> str:
    return canonical(valid.json_arguments)
