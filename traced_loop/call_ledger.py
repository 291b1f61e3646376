"""What a loop asks of whatever remembers its writes: may this one run, was it done, does it run, is it known at all.

A port: the loop asks, and what answers keeps it in memory, or on disk. A write is named by its key; two writes of one
name are the same where their fingerprints are. Whoever may run one holds a claim, and says once how it ended; a claim
that is not the newest of its write changes nothing any more.

A ledger may raise anywhere, as one on a full disk does, and the loop holds against each:

- ``standing`` or ``begin``: the write does not run, is answered ``skipped_stop``, and the run stops with
  ``harness_error``. A ``begin`` that raises may have claimed or not; a claim that nobody has keeps the write from
  running from then on, and never makes it run twice.
- ``settle``: what ran may have happened and cannot be recorded. The call is ``unknown`` and the run stops with
  ``outcome_unknown``. What was claimed must stand as running until it is settled, in this process or, for a ledger that
  outlives it, in the next: so it is never run again by itself.
- ``doubt``: what a history calls unknown could be run again, so the run stops with ``harness_error`` before it begins.
- ``resolve``: nothing is better known than before.
- ``decided``, ``leave`` and ``end_run``: nothing depends on them, and nothing is told.
"""

from dataclasses import field
from typing import Final, Literal, Protocol

from traced_loop.frozen_value import frozen_value

Known = Literal["free", "running", "succeeded", "unknown", "undone", "conflict"]
"""What is known of a write: it may run; it runs, waited for or not; it was done; it may have been; it was done and
undone; another one has its name."""
EndState = Literal["free", "succeeded", "unknown", "undone"]
"""How a claim ends: nothing was changed; it was done; it may have been; it was done, and its compensation too."""
Verdict = Literal["approved", "rejected"]
"""What was decided about a write that has not begun."""


@frozen_value
class Write:
    """One write, as far as a ledger has to know it; equal to another of the same name and fingerprint.

    Attributes:
        tool: the registered tool.
        key: its idempotency key, which names it among the tool's.
        fingerprint: digest of its canonical arguments without the volatile ones, and of the tool's version.
        declared: whether the key is the tool's own and holds in all runs; else it holds in this run.
        run_id: the run.
        call_id: the model's id of the call, for whoever looks into the ledger.
        arguments: the canonical arguments as JSON text, for the same and for who asks the service about it.
    """

    tool: str
    key: str
    fingerprint: str
    declared: bool
    run_id: str
    call_id: str = field(default="", compare=False)
    arguments: str = field(default="", compare=False)


@frozen_value
class Claim:
    """The right to run a write once; ``number`` tells it from earlier and later ones."""

    write: Write
    number: int


@frozen_value
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


@frozen_value
class Standing:
    """What a ledger answers.

    Attributes:
        state: what is known of the write.
        claim: where it was asked for, and the write may run; whoever has it says how it ended.
        end: how it ended, where it has succeeded; its content is None where that is not kept any more.
        number: of the claim that ended so that nobody knows, where it did: the one that may be resolved.
    """

    state: Known
    claim: Claim | None = None
    end: WriteEnd | None = None
    number: int | None = None


@frozen_value
class Resolution:
    """What somebody has found out of a write of which nobody knew what came of it.

    Attributes:
        state: it was done, or nothing was changed.
        by: who: ``reconcile``, or a person's name.
        content: what the model is told of it from now on, where it was done.
        note: how they know, or None.
        at_ns: when, in nanoseconds since 1970.
    """

    state: Literal["succeeded", "free"]
    by: str
    content: str | None = None
    note: str | None = None
    at_ns: int = 0


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

    def decided(self, write: Write, verdict: Verdict, by: str) -> None:
        """Somebody has decided about a write that has not begun; what is known of one that has stays as it is."""
        ...

    def doubt(self, write: Write) -> None:
        """A history says that nobody knows what came of a write: so be it, unless anything is known of it."""
        ...

    def leave(self, claim: Claim) -> None:
        """Nobody waits for it any more, though it goes on: in the way of the same write of other runs, too."""
        ...

    def settle(self, claim: Claim, end: WriteEnd) -> None:
        """How it ended; of the newest claim of its write only. What is known by then may be known better later."""
        ...

    def resolve(self, write: Write, number: int, resolution: Resolution) -> bool:
        """What came of an unknown write; False where it is not unknown any more, or by another claim."""
        ...

    def end_run(self, run_id: str) -> None:
        """A run is over: what holds in it alone need not be known any longer, unless it still runs."""
        ...
