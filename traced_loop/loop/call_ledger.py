"""What a loop asks of whatever remembers its writes: may this one run, was it done, does it run, is it known at all.

A port: the loop asks, and what answers keeps it in memory, or on disk. A write is named by its key; two writes of one
name are the same where their arguments are. Whoever may run one holds a claim, and says once how it ended; a claim that
is not the newest of its write changes nothing any more.

A ledger may raise anywhere, as one on a full disk does, and the loop holds against each:

- ``standing`` or ``begin``: the write does not run, is answered ``skipped_stop``, and the run stops with
  ``harness_error``. A ``begin`` that raises may have claimed or not; a claim that nobody has keeps the write from
  running from then on, and never makes it run twice.
- ``settle``: what ran may have happened and cannot be recorded. The call is ``unknown`` and the run stops with
  ``outcome_unknown``. What was claimed must stand as running until it is settled, in this process or, for a ledger that
  outlives it, in the next: so it is never run again by itself.
- ``leave`` and ``end_run``: nothing depends on them, and nothing is told.
"""

from dataclasses import dataclass
from typing import Final, Literal, Protocol

Known = Literal["free", "running", "succeeded", "unknown", "undone", "conflict"]
"""What is known of a write: it may run; it runs, waited for or not; it was done; it may have been; it was done and
undone; another one has its name."""
EndState = Literal["free", "succeeded", "unknown", "undone"]
"""How a claim ends: nothing was changed; it was done; it may have been; it was done, and its compensation too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Write:
    """One write, as far as a ledger has to know it.

    Attributes:
        tool: the registered tool.
        key: its idempotency key, which names it among the tool's.
        arguments: digest of its canonical arguments without the volatile ones.
        declared: whether the key is the tool's own and holds in all runs; else it holds in this run.
        run_id: the run.
    """

    tool: str
    key: str
    arguments: str
    declared: bool
    run_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """The right to run a write once; ``number`` tells it from earlier and later ones."""

    write: Write
    number: int


@dataclass(frozen=True, kw_only=True, slots=True)
class WriteEnd:
    """How a write ended.

    Attributes:
        state: the word of the closed list.
        content: what the model was told, where it succeeded.
        span: the span that shows its execution, as trace id and span id; or None.
        ended_ns: when, in nanoseconds since 1970.
    """

    state: EndState
    content: str | None = None
    span: tuple[int, int] | None = None
    ended_ns: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """What a ledger answers.

    Attributes:
        state: what is known of the write.
        claim: where it was asked for, and the write may run; whoever has it says how it ended.
        end: how it ended, where it has succeeded; its content is None where that is not kept any more.
    """

    state: Known
    claim: Claim | None = None
    end: WriteEnd | None = None


FREE: Final = Standing(state="free")
"""Nothing is known, so nothing is in the way."""


class CallLedger(Protocol):
    """Remembers writes. Any thread may call it, and it may raise; what then is written above."""

    def standing(self, write: Write) -> Standing:
        """What is known by now; claims nothing."""
        ...

    def begin(self, write: Write) -> Standing:
        """The same; a write that is ``free`` or ``undone`` runs from now on, and the answer holds the claim."""
        ...

    def leave(self, claim: Claim) -> None:
        """Nobody waits for it any more, though it goes on: in the way of the same write of other runs, too."""
        ...

    def settle(self, claim: Claim, end: WriteEnd) -> None:
        """How it ended; of the newest claim of its write only. What is known by then may be known better later."""
        ...

    def end_run(self, run_id: str) -> None:
        """A run is over: what holds in it alone need not be known any longer, unless it still runs."""
        ...
