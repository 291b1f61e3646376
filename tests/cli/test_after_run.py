"""What stderr says when a run has ended: why, what was used, where to look, and what was not kept."""

from __future__ import annotations

import io
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from rich.console import Console

from traced_loop import StopReason
from traced_loop.call_ledger import Write
from traced_loop.cli.after_run import MAX_ERROR_CHARACTERS, say_what_arrived, say_where_to_look, say_why
from traced_loop.messages import ToolCall
from traced_loop.records.ledger import DurableLedger
from traced_loop.records.store import Store
from traced_loop.run_result import Delivery, Pending, Receipt, RunResult, Usage, fixed_delivery

USAGE = Usage(steps=2, tool_calls=1, tokens=1284, cost_usd=Decimal("0.00123"), seconds=3.2)
RESULT = RunResult(
    answer="3720",
    stop_reason=StopReason.FINAL_ANSWER,
    run_id="20261129T232834-d454d1ee",
    trace_id="ab" * 16,
    usage=USAGE,
    receipt=Receipt(store="/home/me/store"),
)
STOPPED = replace(
    RESULT, answer=None, stop_reason=StopReason.MODEL_ERROR, stop_detail="the model request failed: 503", error="busy"
)


def said(result: RunResult, *, why: bool) -> list[str]:
    """The lines, on a console that is no terminal and as narrow as can be."""
    out = io.StringIO()
    (say_why if why else say_where_to_look)(Console(file=out, width=20), result)
    return out.getvalue().splitlines()


def test_after_a_final_answer_there_is_nothing_to_explain() -> None:
    """The answer speaks for itself."""
    assert said(RESULT, why=True) == []


def test_a_stop_is_its_reason_its_detail_and_what_the_server_said() -> None:
    """Each on a line of its own, never broken by the width."""
    assert said(STOPPED, why=True) == ["stopped: model_error - the model request failed: 503", "busy"]


def test_a_stop_without_a_detail_ends_after_its_reason() -> None:
    """No dash that leads nowhere."""
    assert said(replace(STOPPED, stop_detail="", error=None), why=True) == ["stopped: model_error"]


def test_how_to_go_on_is_told_where_a_person_has_to_decide() -> None:
    """The command that confirms what waits, and the one that says what came of an unknown write."""
    kept = replace(RESULT.receipt, store="/store")
    call = ToolCall(id="call_7", index=0, name="pay", arguments="{}")
    waits = Pending(call=call, tool="pay", arguments={}, reason="writes are confirmed")
    paused = replace(RESULT, stop_reason=StopReason.CONFIRMATION_REQUIRED, answer=None, pending=(waits,), receipt=kept)
    assert said(paused, why=True)[-1] == f"traced-loop resume {RESULT.run_id} --confirm call_7"
    unknown = replace(RESULT, stop_reason=StopReason.OUTCOME_UNKNOWN, answer=None, receipt=kept)
    assert said(unknown, why=True)[-1].endswith(f"traced-loop resolve {RESULT.run_id} CALL")
    assert not any("resume" in line for line in said(replace(paused, receipt=Receipt()), why=True))


def test_a_write_of_which_nobody_knows_is_named_in_the_command(home: Path) -> None:
    """The first one, with how many more there are."""
    ledger = DurableLedger(Store.open(home))
    unknown = replace(RESULT, stop_reason=StopReason.OUTCOME_UNKNOWN, answer=None, receipt=Receipt(store=str(home)))
    for n, more in enumerate(("", " (and 1 more)")):
        write = Write(
            tool="pay", key=f"k{n}", fingerprint="f", declared=True, run_id=RESULT.run_id, call_id=f"call_{n}"
        )
        ledger.doubt(write)
        assert said(unknown, why=True)[-1].endswith(f"then resume: traced-loop resolve {RESULT.run_id} call_0{more}")


def test_text_of_the_server_stays_on_one_line_and_is_cut() -> None:
    """Control characters are shown, not obeyed."""
    [_, line] = said(replace(STOPPED, error="a\n\x1b[2J" + "x" * 1000), why=True)
    assert line.startswith("a\\n\\x1b[2Jxxx")
    assert len(line) == MAX_ERROR_CHARACTERS


def test_partial_text_and_what_waits_are_told() -> None:
    """A call that waits is named with its id and the reason."""
    pending = Pending(
        call=ToolCall(id="call_2", name="create_ticket", arguments="{}", index=1),
        tool="create_ticket",
        arguments={},
        reason="writes are confirmed",
    )
    lines = said(replace(STOPPED, error=None, partial="so far", pending=(pending,)), why=True)
    assert lines[1:] == [
        "partial answer: so far",
        "waits for a confirmation: create_ticket (call_2), writes are confirmed",
        "to let it go on, with the options that it had, as --model and --tools:",
        f"traced-loop resume {RESULT.run_id} --confirm call_2",
    ]


def test_a_call_id_and_a_reason_of_others_are_shown_not_obeyed() -> None:
    """The id is the model's, the reason a rule's: neither moves a cursor nor begins a line of its own."""
    call = ToolCall(id="call\x1b[2J\nx", name="create_ticket", arguments="{}", index=0)
    pending = Pending(call=call, tool="create_ticket", arguments={}, reason="why\r\u202e")
    lines = said(replace(STOPPED, error=None, pending=(pending,)), why=True)
    assert lines[1] == "waits for a confirmation: create_ticket (call\\x1b[2J\\nx), why\\r\\u202e"
    assert lines[3].startswith(f"traced-loop resume {RESULT.run_id} --confirm 'call\\")
    assert len(lines) == 4


def test_where_to_look_is_usage_ids_and_a_command() -> None:
    """Ready to be copied."""
    assert said(RESULT, why=False) == [
        "used 2 steps, 1 tool call, 1,284 tokens, cost $0.0012, 3.2 s",
        f"run 20261129T232834-d454d1ee  trace {'ab' * 16}",
        "traced-loop show 20261129T232834-d454d1ee",
    ]


@pytest.mark.parametrize(
    ("receipt", "last"),
    [
        (Receipt(), "nothing was stored"),
        (Receipt(store="/s", store_errors=9, store_full=True), "nothing of it was recorded: the store /s is full"),
        (Receipt(store="/s", store_errors=25), "25 records could not be written to /s"),
        (Receipt(store="/s", store_errors=1), "1 record could not be written to /s"),
    ],
    ids=["no store", "full", "errors", "one error"],
)
def test_what_was_not_kept_is_said(receipt: Receipt, last: str) -> None:
    """Nothing is lost in silence, and no command is named that would find nothing."""
    lines = said(replace(RESULT, receipt=receipt), why=False)
    assert lines[-1] == last
    assert any(line.startswith("traced-loop show") for line in lines) is (receipt.store is not None)


def test_an_unknown_cost_is_not_zero() -> None:
    """Unknown is a word."""
    [used, *_] = said(replace(RESULT, usage=replace(USAGE, cost_usd=None)), why=False)
    assert "cost unknown" in used


KEPT = "; the rest is kept, `traced-loop deliver` sends it"


@pytest.mark.parametrize(
    ("delivery", "lines"),
    [
        (Delivery(state="delivered", accepted=17, refused=0, waiting=0), ["delivered 17 of 17 spans"]),
        (Delivery(state="partly", accepted=1_000, refused=234, waiting=0), [f"delivered 1,000 of 1,234 spans{KEPT}"]),
        (Delivery(state="failed", accepted=0, refused=1, waiting=0), [f"delivered 0 of 1 span{KEPT}"]),
        (Delivery(state="pending", accepted=5, refused=0, waiting=2), [f"delivered 5 of 7 spans, 2 not in time{KEPT}"]),
        (Delivery(state="not_sampled", accepted=0, refused=0, waiting=0), []),
        (Delivery(state="off", accepted=0, refused=0, waiting=0), []),
        (Delivery(state="unknown"), []),
    ],
    ids=lambda given: given.state if isinstance(given, Delivery) else "",
)
def test_what_arrived_is_a_line_where_an_exporter_is_ours(delivery: Delivery, lines: list[str]) -> None:
    """What nobody here sends or knows is no line."""
    out = io.StringIO()
    receipt = Receipt(store="/s", export="otlp", ask=fixed_delivery(delivery))
    say_what_arrived(Console(file=out, width=20), replace(RESULT, receipt=receipt))
    assert out.getvalue().splitlines() == lines
