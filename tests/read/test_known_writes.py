"""Writes of which a trace does not know, beside what the ledger has recorded of them."""

from __future__ import annotations

from typing import Any

import pytest

from traced_loop import names
from traced_loop.read.known_writes import has_doubt, settled_writes
from traced_loop.read.trace import StoredSpan
from traced_loop.records.write_rows import WriteEvent


def execution(span_id: str, key: str, outcome: str = "unknown", **more: Any) -> StoredSpan:
    """An execution of ``pay (call_1)`` in a step of its own; ``key`` is the print of its key."""
    attributes = {
        names.GEN_AI_OPERATION: names.EXECUTE_TOOL,
        names.GEN_AI_TOOL_NAME: "pay",
        names.GEN_AI_TOOL_CALL_ID: "call_1",
        names.EFFECT: "write",
        names.IDEMPOTENCY_KEY_FINGERPRINT: key,
        names.CALL_OUTCOME: outcome,
    }
    values = {"trace_id": "a", "parent_id": f"step-{span_id}", "name": "execute_tool pay", **more}
    return StoredSpan(span_id=span_id, attributes=attributes, start_ns=int(span_id), end_ns=9, **values)


def events(key: str, *words: str, by: str = "ann", tool: str = "pay", number: int = 1) -> list[WriteEvent]:
    """What the ledger has of one write: the loop says all but the last word."""
    return [
        WriteEvent(
            name=(tool, "", key),
            call_id="call_1",
            number=number,
            event=word,
            at_ns=n,
            by=by if n == len(words) - 1 else "loop",
            note=None,
        )
        for n, word in enumerate(words)
    ]


def states(spans: list[StoredSpan], recorded: list[WriteEvent]) -> dict[str, str]:
    """What is known of each span's write."""
    return {key[1]: settled.state for key, settled in settled_writes(spans, recorded).items()}


@pytest.mark.parametrize(
    ("words", "known"),
    [
        (["approved", "running"], {}),
        (["approved", "running", "unknown"], {}),
        (["approved", "running", "unknown", "succeeded"], {"1": "done"}),
        (["approved", "running", "unknown", "failed"], {"1": "not_done"}),
        (["approved", "running", "unknown", "undone"], {"1": "undone"}),
        (["approved", "running", "unknown", "failed", "approved", "running"], {}),
        (["approved", "running", "unknown", "failed", "running", "unknown", "succeeded"], {"1": "done"}),
        (["approved", "running", "unknown", "fenced succeeded"], {}),
        (["approved", "running", "succeeded"], {}),
        (["rejected"], {}),
    ],
)
def test_the_newest_of_what_the_ledger_has_recorded_counts(words: list[str], known: dict[str, str]) -> None:
    """What was never unknown there needs no other word than that of its span."""
    assert states([execution("1", "k")], events("key", *words)) == known


def test_an_id_that_a_server_used_again_stands_for_another_write() -> None:
    """They are told apart by the order in which they began."""
    spans = [execution("1", "k1"), execution("2", "k2")]
    first = events("key 1", "running", "unknown", "failed")
    assert states(spans, [*first, *events("key 2", "running", "unknown")]) == {"1": "not_done"}
    assert states(spans, [*first, *events("key 2", "running", "unknown", "succeeded")]) == {
        "1": "not_done",
        "2": "done",
    }


def test_where_it_cannot_be_told_which_write_is_meant_nobody_knows() -> None:
    """The ledger may have forgotten one of two."""
    spans = [execution("1", "k1"), execution("2", "k2")]
    assert states(spans, events("key 1", "running", "unknown", "succeeded")) == {}


def test_all_spans_of_one_write_have_its_word() -> None:
    """Each process that came upon it has some."""
    spans = [execution("1", "k"), execution("2", "k")]
    assert states(spans, events("key", "running", "unknown", "succeeded")) == {"1": "done", "2": "done"}


def test_what_undoes_a_write_is_a_write_of_its_own() -> None:
    """Under the id of the call that it undoes."""
    undoing = StoredSpan(
        trace_id="a",
        span_id="2",
        parent_id="step-1",
        name="execute_tool unpay",
        start_ns=2,
        end_ns=9,
        attributes={
            names.GEN_AI_OPERATION: names.EXECUTE_TOOL,
            names.GEN_AI_TOOL_NAME: "unpay",
            names.COMPENSATION_CALL_ID: "call_1",
            names.COMPENSATION_OUTCOME: "unknown",
        },
    )
    spans = [execution("1", "k", "ok"), undoing]
    assert has_doubt(spans)
    pay, unpay = ["running", "succeeded", "unknown"], ["running", "unknown"]
    recorded = [*events("key", *pay, "failed"), *events("key:undo", *unpay, "succeeded", tool="unpay")]
    assert states(spans, recorded) == {"1": "not_done", "2": "done"}


def test_a_trace_that_knows_all_is_in_no_doubt() -> None:
    """Then the ledger is not read."""
    assert not has_doubt([execution("1", "k", "ok")])
    assert has_doubt([execution("1", "k", "unknown_after_crash")])
    assert has_doubt([execution("1", "k", "ok", is_open=True)])
