"""The writes of one loop in memory: the contract of every ledger, and what is let go of."""

import threading

from traced_loop.call_ledger import WriteEnd
from traced_loop.loop.memory_ledger import MemoryLedger

from .ledger_contract import LedgerContract, write


class MemoryContract(LedgerContract):
    """The contract, kept in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = MemoryLedger()


TestMemoryContract = MemoryContract.TestCase


def test_of_many_that_begin_the_same_write_one_may_run() -> None:
    """In any threads, at the same time."""
    ledger, claimed, together = MemoryLedger(), list[int](), threading.Barrier(8)

    def begin() -> None:
        together.wait()
        for key in range(50):
            found = ledger.begin(write(f"k{key}", "a", "run-1", declared=True))
            if found.claim is not None:
                claimed.append(key)

    threads = [threading.Thread(target=begin) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(claimed) == list(range(50))


def test_without_room_for_its_result_a_write_is_still_known_to_be_done() -> None:
    """The oldest results go first; no key ever does."""
    ledger = MemoryLedger(kept_characters=10)
    writes = [write(f"k{n}", "a", "run-1", declared=True) for n in range(3)]
    for each in writes:
        claim = ledger.begin(each).claim
        assert claim is not None
        ledger.settle(claim, WriteEnd(state="succeeded", content="12345"))

    ends = [ledger.standing(each).end for each in writes]
    assert [end and end.content for end in ends] == [None, "12345", "12345"]
    assert {ledger.standing(each).state for each in writes} == {"succeeded"}


def test_of_a_run_that_is_over_only_what_still_runs_is_kept() -> None:
    """A loop that serves for a year does not grow with its runs."""
    ledger = MemoryLedger()
    done, running = (write("", arguments, "run-1", declared=False) for arguments in "ab")
    claim, left = ledger.begin(done).claim, ledger.begin(running).claim
    assert claim is not None
    assert left is not None
    ledger.settle(claim, WriteEnd(state="succeeded", content="told"))
    ledger.leave(left)
    ledger.end_run("run-1")

    other = write("", "b", "run-2", declared=False)
    assert (ledger.standing(done).state, ledger.standing(other).state) == ("free", "running")
    ledger.settle(left, WriteEnd(state="succeeded", content="late"))
    assert (ledger.standing(running).state, ledger.standing(other).state) == ("free", "free")
    assert (len(ledger._entries), len(ledger._of_run), len(ledger._left)) == (0, 0, 0)
