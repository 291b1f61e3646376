"""The lines that a run prints while it goes on: one per thing that happened, nothing that moves a cursor."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len
from rich.console import Console

from traced_loop import Loop, ScriptedModel
from traced_loop.cli.live_lines import MAX_RESULT_CHARACTERS, LiveLines
from traced_loop.closed_words import RepetitionKind
from traced_loop.events import (
    AttemptFailed,
    BudgetChecked,
    BudgetWarned,
    CallCompensated,
    CallFinished,
    ModelAnswered,
    RepetitionSeen,
    RunEnded,
    RunStarted,
    StepStarted,
    TextDelta,
)
from traced_loop.messages import ToolCall, ToolResult
from traced_loop.outcomes import Outcome
from traced_loop.repetition_verdict import Repetition
from traced_loop.run_result import Usage

if TYPE_CHECKING:
    from traced_loop.events import Event

CALL = ToolCall(id="call_1", name="multiply", arguments="{}", index=0)


def told(*events: Event) -> list[str]:
    """The lines of some events, on a narrow console that is no terminal."""
    out = io.StringIO()
    with LiveLines(Console(file=out, width=20)) as lines:
        for event in events:
            lines(event)
    return out.getvalue().splitlines()


def finished(content: str, call: ToolCall = CALL) -> CallFinished:
    """A call that ended with that result."""
    return CallFinished(step=1, result=ToolResult(call=call, outcome=Outcome.OK, content=content))


def checked(outcome: str, phase: str = "request", **fractions: float) -> BudgetChecked:
    """A comparison of limits."""
    return BudgetChecked(phase=phase, outcome=outcome, usage=Usage(), fractions=fractions)


def test_starts_print_nothing() -> None:
    """What is waited for is the status line's business, which only a terminal has."""
    assert told(RunStarted(run_id="r", trace_id="t", model="m"), StepStarted(step=1)) == []


@pytest.mark.parametrize(("reason", "shown"), [("stop", "stop"), ("tool_calls", "tool_calls"), (None, "none")])
def test_an_answer_is_its_finish_reason(reason: str | None, shown: str) -> None:
    """Raw, as the provider said it."""
    assert told(ModelAnswered(step=3, finish_reason=reason, text=None, calls=())) == [f"step 3: finish_reason={shown}"]


def test_a_finish_reason_of_a_hostile_server_is_made_visible() -> None:
    """It is the server's text like any other."""
    [line] = told(ModelAnswered(step=1, finish_reason="stop\x1b[2J\nstep 2: x", text=None, calls=()))
    assert line == "step 1: finish_reason=stop\\x1b[2J\\nstep 2: x"


def test_the_error_of_a_failed_try_is_made_visible() -> None:
    """A server chooses the word."""
    [line] = told(AttemptFailed(step=1, number=1, error_type="429\x1b[2J\n", delay=1.0))
    assert line == "step 1: try 1 failed (429\\x1b[2J\\n), again in 1 s"


def test_a_call_is_its_name_id_and_result() -> None:
    """On one line, whatever the width."""
    [line] = told(finished('{"status":"completed","result":3720}'))
    assert line == 'step 1: multiply call_id=call_1 result={"status":"completed","result":3720}'


def test_a_long_result_is_cut_and_markup_is_text() -> None:
    """Neither brackets of rich nor controls have an effect."""
    [line] = told(finished("[red]\x07" + "x" * 1000))
    assert line.startswith("step 1: multiply call_id=call_1 result=[red]\\x07xxx")
    assert len(line.partition("result=")[2]) == MAX_RESULT_CHARACTERS


def test_a_failed_try_says_what_and_when_again() -> None:
    """The delay is the one that will be waited."""
    event = AttemptFailed(step=2, number=1, error_type="429", delay=1.0)
    assert told(event) == ["step 2: try 1 failed (429), again in 1 s"]


def test_a_failed_try_of_a_tool_says_of_which_call() -> None:
    """A request has no call."""
    event = AttemptFailed(step=2, number=1, error_type="ConnectionError", delay=0.5, call=("call_1", "look"))
    assert told(event) == ["step 2: try 1 of look call_id=call_1 failed (ConnectionError), again in 500 ms"]


def test_what_is_undone_says_by_what_and_whether_it_is() -> None:
    """On a line of its own, behind the call's."""
    event = CallCompensated(step=2, call_id="call_1", tool="cancel_hotel", outcome=Outcome.OK)
    assert told(event) == ["step 2: call_id=call_1 to be undone by cancel_hotel: ok"]


def test_a_limit_that_comes_near_is_said() -> None:
    """The run tells of each limit once; the check itself is for the bars."""
    lines = told(checked("warning", steps=0.9), BudgetWarned(limit="shared.tokens", fraction=0.901))
    assert lines == ["budget warning: shared.tokens 90% used"]


def test_a_repetition_is_said_with_what_is_done_about_it() -> None:
    """The tool and the numbers, nothing of the call."""
    found = Repetition(
        kind=RepetitionKind.CYCLE,
        due="stop",
        reaction="nudge",
        tool="look",
        count=4,
        threshold=4,
        period=2,
        first=0,
        at=5,
    )
    [line] = told(RepetitionSeen(step=6, repetition=found))
    assert line == (
        "step 6: repetition, nudge: look and the calls around it brought nothing new in 4 steps, every 2 steps"
    )


def test_lines_of_an_exception_are_not_lost() -> None:
    """What was printed before the run failed stays printed."""
    out = io.StringIO()
    with pytest.raises(RuntimeError), LiveLines(Console(file=out)) as lines:  # noqa: PT012 - the block is what raises
        lines(finished("1"))
        raise RuntimeError
    assert out.getvalue() == "step 1: multiply call_id=call_1 result=1\n"


def status(*events: Event, width: int = 80, encoding: str = "utf-8") -> str:
    """The line at the bottom of a terminal after some events."""
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=out, width=width, force_terminal=True, legacy_windows=False, _environ={"TERM": "xterm"})
    lines = LiveLines(console)
    for event in events:
        lines(event)
    with console.capture() as caught:
        console.print(lines.status())
    return re.sub(r"\x1b\[[0-9;]*m", "", caught.get()).removesuffix("\n")


def screen(*events: Event, width: int = 40, height: int = 10) -> list[str]:
    """What a terminal of that size shows after some events: the lines, then what stands below them."""
    out = io.StringIO()
    console = Console(
        file=out, width=width, height=height, force_terminal=True, legacy_windows=False, _environ={"TERM": "xterm"}
    )
    lines = LiveLines(console)
    for event in events:
        lines(event)
    console.print(lines.below())
    return re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).splitlines()


def test_an_answer_is_shown_as_it_is_written() -> None:
    """Above the line at the bottom; a pipe gets none of it, since it gets the answer itself."""
    events = [StepStarted(step=1), TextDelta(step=1, text="Hel"), TextDelta(step=1, text="lo\nyou")]

    assert screen(*events)[:2] == ["Hello", "you"]
    assert screen(*events)[2][2:].startswith("waiting for step 1: the rest")
    assert told(*events) == []


def test_a_text_that_moves_the_cursor_is_made_visible() -> None:
    """Also where it comes in pieces; line ends and tabs are what they are."""
    events = [TextDelta(step=1, text=text) for text in ("a\x1b", "[2Jb\r", "\nc\td\u202e")]

    assert screen(*events)[:2] == ["a\\x1b[2Jb", "c    d\\u202e"]


@pytest.mark.parametrize("width", [10, 20, 80, 200])
def test_a_long_text_shows_its_end(width: int) -> None:
    """As many rows as the terminal has beside two, none wider than it, also of characters that take two cells."""
    pieces = [TextDelta(step=1, text=f"\u4e00\u4e8c{n} ") for n in range(2_000)]

    shown = screen(*pieces, width=width, height=8)

    assert len(shown) == 7
    assert all(cell_len(row) <= width for row in shown)
    assert shown[-2].rstrip().endswith("1999")


def test_a_try_that_fails_takes_its_text_with_it() -> None:
    """And says so to whoever has read it; a pipe has read nothing."""
    failed = AttemptFailed(step=1, number=1, error_type="connection", delay=1.0)
    events = [TextDelta(step=1, text="Hel"), failed]

    [line, below] = screen(*events, width=80)
    assert line == "step 1: try 1 failed (connection), again in 1 s; the answer begins anew"
    assert below[2:].startswith("waiting for step 1: another try")
    assert told(*events) == ["step 1: try 1 failed (connection), again in 1 s"]
    assert screen(failed, width=80)[0].endswith("again in 1 s")


def test_an_answer_that_is_whole_is_shown_no_more() -> None:
    """It goes to stdout, or its calls are told."""
    events = [TextDelta(step=1, text="Hello"), ModelAnswered(step=1, finish_reason="stop", text="Hello", calls=())]

    assert screen(*events, width=80)[0] == "step 1: finish_reason=stop"
    assert not any("Hello" in row for row in screen(*events, width=80))


RESULT = Loop(ScriptedModel(["done"]), store=None).run("Go.")
SPENT = Usage(steps=2, tokens=1_234, cost_usd=Decimal("0.0012"))


def test_the_line_at_the_bottom_says_whether_it_starts_or_ends() -> None:
    """What is not known yet is not there, as neither is a cost that nobody knows."""
    unpriced = BudgetChecked(phase="step", outcome="ok", usage=replace(SPENT, cost_usd=None), fractions={})
    priced = BudgetChecked(phase="step", outcome="ok", usage=SPENT, fractions={})

    assert status()[2:] == "starting"
    assert status(RunStarted(run_id="r", trace_id="t", model="m"))[2:].startswith("waiting for m to start")
    assert status(unpriced)[2:] == "starting  1,234 tokens"
    assert status(priced)[2:] == "starting  1,234 tokens  $0.0012"
    assert status(priced, RunEnded(result=RESULT))[2:] == "ending  1,234 tokens  $0.0012"


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_the_line_at_the_bottom_fits_whole(width: int, encoding: str) -> None:
    """Bars that have no room are left out, and none is cut; the nearest limit is the last to go."""
    parts = {"steps": 0.5, "tool_calls": 0.1, "tokens": 0.7, "seconds": 0.2, "cost_usd": 0.01}
    calls = tuple(ToolCall(id=str(n), name="multiply_everything", arguments="{}", index=n) for n in range(9))
    answered = ModelAnswered(step=2, finish_reason="tool_calls", text=None, calls=calls)
    check = BudgetChecked(phase="step", outcome="ok", usage=SPENT, fractions=parts)

    line = status(answered, check, width=width, encoding=encoding)

    assert len(line) < width
    assert line.isascii() or encoding == "utf-8"
    bars = re.findall(r"(\w+) [█░#.]{8}(?=  |$)", line)
    assert bars == sorted(parts, key=lambda name: -parts[name])[: len(bars)]
    assert len(bars) >= (width >= 80) + (width >= 120) + (width >= 200)


def test_a_repetition_of_a_tool_that_is_none_names_what_the_model_asked_for() -> None:
    """What spans keep of its name is ``_unknown``."""
    call = replace(CALL, name="search\x1b")
    refused = CallFinished(step=1, result=ToolResult(call=call, outcome=Outcome.UNKNOWN_TOOL, content="No such tool."))
    found = Repetition(
        kind=RepetitionKind.DETERMINISTIC_ERROR,
        due="stop",
        reaction="stop",
        tool="_unknown",
        count=3,
        threshold=3,
        period=1,
        first=0,
        at=2,
    )
    line = told(refused, RepetitionSeen(step=3, repetition=found))[1]

    assert "_unknown" not in line
    assert "search\\x1b" in line
