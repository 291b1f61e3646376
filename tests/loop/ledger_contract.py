"""What every ledger must answer, whatever it is kept in: writes as a state machine, against a model of a few lines.

Where a ledger can fail (a full disk), its subclass lets it, by ``failing``: a settlement raises then, and what was
known before must stand; a write that was claimed stays so, and is not free again.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from traced_loop.call_ledger import CallLedger, Claim, EndState, Known, Resolution, Write, WriteEnd

KEYS = st.sampled_from(["k1", "k2"])
ARGUMENTS = st.sampled_from(["a", "b"])
RUNS = st.sampled_from(["run-1", "run-2"])
VERDICTS = ["approved", "rejected"]
ENDS = st.sampled_from(["free", "succeeded", "unknown", "undone"])


def write(key: str, arguments: str, run_id: str, *, declared: bool) -> Write:
    """A write; a key that is not the tool's own holds in its run and says its arguments, as those of the loop do."""
    name = key if declared else f"{run_id}:{arguments}"
    tool = "keyed" if declared else "plain"
    return Write(tool=tool, key=name, fingerprint=arguments, declared=declared, run_id=run_id)


class LedgerContract(RuleBasedStateMachine):
    """To be subclassed with ``ledger``."""

    ledger: CallLedger

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[tuple[str, str], tuple[Known, str]] = {}
        self.claims: list[Claim] = []
        self.newest: dict[tuple[str, str], Claim] = {}
        self.left: set[tuple[str, str, int]] = set()

    def expected(self, wanted: Write) -> Known:
        """By the model."""
        state, arguments = self.known.get((wanted.tool, wanted.key), ("free", ""))
        if state in {"free", "undone"}:
            runs_on = any(left[:2] == (wanted.tool, wanted.fingerprint) for left in self.left)
            return "running" if runs_on and not wanted.declared else state
        return state if arguments == wanted.fingerprint else "conflict"

    @rule(key=KEYS, arguments=ARGUMENTS, run_id=RUNS, declared=st.booleans())
    def ask(self, key: str, arguments: str, run_id: str, declared: bool) -> None:
        """Asking changes nothing."""
        wanted = write(key, arguments, run_id, declared=declared)
        for _ in range(2):
            found = self.ledger.standing(wanted)
            assert (found.state, found.claim) == (self.expected(wanted), None)
            assert (found.end is not None) is (found.state == "succeeded")

    @rule(key=KEYS, arguments=ARGUMENTS, run_id=RUNS, declared=st.booleans())
    def begin(self, key: str, arguments: str, run_id: str, declared: bool) -> None:
        """It runs where it may, once."""
        wanted = write(key, arguments, run_id, declared=declared)
        expected = self.expected(wanted)
        found = self.ledger.begin(wanted)
        assert found.state == expected
        assert (found.claim is not None) is (expected in {"free", "undone"})
        if found.claim is not None:
            self.claims.append(found.claim)
            self.newest[wanted.tool, wanted.key] = found.claim
            self.known[wanted.tool, wanted.key] = ("running", arguments)

    @rule(data=st.data(), end=ENDS)
    def settle(self, data: Any, end: EndState) -> None:
        """Only the newest claim of a write says how it ended; what comes of it may be known better later."""
        if not self.claims:
            return
        claim = data.draw(st.sampled_from(self.claims))
        name = claim.write.tool, claim.write.key
        if self.newest.get(name) != claim:
            self.ledger.settle(claim, WriteEnd(state=end))  # changes nothing
            return
        if self.known[name][0] in {"free", "undone"}:
            return
        self.ledger.settle(claim, WriteEnd(state=end, content="told", span=(1, claim.number), ended_ns=7))
        self.left.discard((claim.write.tool, claim.write.fingerprint, claim.number))
        self.known[name] = (end, claim.write.fingerprint)
        if end == "succeeded":
            kept = self.ledger.standing(claim.write).end
            assert kept is not None
            assert (kept.content, kept.span, kept.ended_ns) == ("told", (1, claim.number), 7)

    @rule(key=KEYS, arguments=ARGUMENTS, run_id=RUNS, declared=st.booleans(), verdict=st.sampled_from(VERDICTS))
    def decide(self, key: str, arguments: str, run_id: str, declared: bool, verdict: Any) -> None:
        """A decision about a write is no knowledge of it."""
        self.ledger.decided(write(key, arguments, run_id, declared=declared), verdict, "a person")

    @rule(key=KEYS, arguments=ARGUMENTS, run_id=RUNS, declared=st.booleans())
    def doubt(self, key: str, arguments: str, run_id: str, declared: bool) -> None:
        """What a history does not know is unknown, unless the ledger knows better."""
        wanted = write(key, arguments, run_id, declared=declared)
        name = wanted.tool, wanted.key
        if name not in self.known:
            self.ledger.doubt(wanted)
            self.known[name] = ("unknown", arguments)
            self.newest.pop(name, None)
        elif self.known[name][0] != "free":
            self.ledger.doubt(wanted)  # changes nothing

    @rule(data=st.data(), state=st.sampled_from(["succeeded", "free"]))
    def resolve(self, data: Any, state: Any) -> None:
        """Only what is unknown can be resolved, and only for the claim that it is unknown of."""
        names = sorted(name for name, (known, _) in self.known.items() if known == "unknown")
        if not names:
            return
        tool, key = data.draw(st.sampled_from(names))
        run_id = key.partition(":")[0] if tool == "plain" else "run-2"
        fingerprint = self.known[tool, key][1]
        wanted = Write(tool=tool, key=key, fingerprint=fingerprint, declared=tool == "keyed", run_id=run_id)
        number = self.ledger.standing(wanted).number
        assert number is not None
        found = Resolution(state=state, by="a person", content="found", at_ns=9)
        assert not self.ledger.resolve(wanted, number + 1, found)
        assert self.ledger.resolve(wanted, number, found)
        assert not self.ledger.resolve(wanted, number, found)
        self.known[tool, key] = (state, fingerprint)
        end = self.ledger.standing(wanted).end
        assert (end and (end.content, end.ended_ns)) == (("found", 9) if state == "succeeded" else None)

    @rule(data=st.data())
    def leave(self, data: Any) -> None:
        """What runs on is in the way of the same write of other runs."""
        running = [c for c in self.claims if self.known.get((c.write.tool, c.write.key), ("",))[0] == "running"]
        running = [c for c in running if self.newest[c.write.tool, c.write.key] == c]
        if running:
            claim = data.draw(st.sampled_from(running))
            self.ledger.leave(claim)
            self.left.add((claim.write.tool, claim.write.fingerprint, claim.number))

    @contextmanager
    def failing(self) -> Iterator[type[Exception] | None]:
        """Make the ledger fail for the time of the block, if it can: what it raises then."""
        yield None

    @rule(data=st.data(), end=ENDS)
    def fail(self, data: Any, end: EndState) -> None:
        """A settlement that raises settles nothing, and nothing runs again for it."""
        claim = data.draw(st.sampled_from(self.claims)) if self.claims else None
        with self.failing() as fails:
            if fails is None or claim is None:
                return
            with pytest.raises(fails):
                self.ledger.settle(claim, WriteEnd(state=end))
        found = self.ledger.standing(claim.write)
        assert found.state == self.expected(claim.write)
