"""What a run has told, put in order for its page."""

from traced_loop import RunResult
from traced_loop.closed_words import ModelErrorKind
from traced_loop.events import (
    AttemptFailed,
    BudgetChecked,
    BudgetWarned,
    CallFinished,
    Event,
    ModelAnswered,
    ModelFellBack,
    RunStarted,
    StepStarted,
    TextDelta,
)
from traced_loop.messages import ToolCall, ToolResult
from traced_loop.models.scripted import ScriptedModel, calls
from traced_loop.outcomes import Outcome
from traced_loop.public_loop import Loop
from traced_loop.run_result import Usage
from traced_loop.tools import multiply, query_order
from traced_loop.web.live_progress import LiveProgress, live_progress
from traced_loop.web.page_words import LANGUAGES, page_words

BEGUN = [RunStarted(run_id="r1", trace_id="t", model="m"), StepStarted(step=1)]
CALL = ToolCall(id="c1", index=0, name="multiply", arguments="{}")
OTHER = ToolCall(id="c2", index=1, name="query_order", arguments="{}")
ASKED = ModelAnswered(step=1, finish_reason="tool_calls", text=None, calls=(CALL, OTHER))
DONE = CallFinished(step=1, result=ToolResult(call=CALL, outcome=Outcome.OK, content="6"))


def told(*events: Event) -> LiveProgress:
    """After these, behind the beginning."""
    return live_progress([*BEGUN, *events])


def played(*script: object) -> tuple[LiveProgress, RunResult]:
    """A whole scripted run."""
    events: list[Event] = []
    result = Loop(ScriptedModel(script), [multiply, query_order], store=None, on_event=events.append).run("p")  # type: ignore[arg-type]
    return live_progress(events), result


def test_a_whole_run_is_there_step_by_step() -> None:
    """Each call with its result, by its id; the usage is that of the result."""
    progress, result = played(calls(("multiply", {"a": 6, "b": 7}), ("nothing", {}), text="so"), "42")
    first, second = progress.steps
    assert [(each.call.id, each.result and each.result.outcome) for each in first.calls] == [
        ("call_1", "ok"),
        ("call_2", "unknown_tool"),
    ]
    assert (first.text, first.finish_reason, first.is_whole) == ("so", "tool_calls", True)
    assert (second.text, second.calls) == ("42", ())
    assert (progress.run_id, progress.model) == (result.run_id, "scripted")
    assert progress.usage.tool_calls == result.usage.tool_calls


def test_what_it_waits_for_is_told_at_each_moment() -> None:
    """The start, the model, the rest of an answer, tools by name, another try."""
    failed = AttemptFailed(step=1, number=1, error_type="x", delay=2.5, kind=ModelErrorKind.RATE_LIMITED)
    assert live_progress([]).waits_for == "start"
    assert told().waits_for == "model"
    assert told(TextDelta(step=1, text="so")).waits_for == "rest"
    assert (told(failed).waits_for, told(failed).waits_of) == ("try", 2.5)
    assert (told(ASKED).waits_for, told(ASKED).waits_of) == ("tools", "multiply, query_order")
    assert told(ASKED, DONE).waits_of == "query_order"
    last = CallFinished(step=1, result=ToolResult(call=OTHER, outcome=Outcome.OK, content="6"))
    assert told(ASKED, DONE, last).waits_for == "next"


def test_an_answer_that_begins_anew_loses_its_text() -> None:
    """What came of a failed try is no part of it."""
    failed = AttemptFailed(step=1, number=1, error_type="x", delay=0, kind=ModelErrorKind.STALLED)
    assert told(TextDelta(step=1, text="half")).steps[0].text == "half"
    [step] = told(TextDelta(step=1, text="half"), failed).steps
    assert step.text == ""
    assert step.notes[0].kind == "failed_request"


def test_the_nearest_limit_comes_first() -> None:
    """As of the last check."""
    checked = BudgetChecked(
        phase="step", outcome="ok", usage=Usage(tokens=9), fractions={"steps": 0.1, "seconds": 0.5, "tokens": 0.2}
    )
    progress = told(checked)
    assert list(progress.fractions) == ["seconds", "tokens", "steps"]
    assert progress.usage.tokens == 9


def test_a_step_is_marked_anew_whenever_it_shows_something_else() -> None:
    """So its part of the page is replaced then, and only then."""
    events = [
        TextDelta(step=1, text="a"),
        TextDelta(step=1, text="a" * 99_999),
        ASKED,
        DONE,
        BudgetWarned(limit="tokens", fraction=0.8),
    ]
    marks = [told(*events[:count]).steps[0].mark for count in range(len(events) + 1) if told(*events[:count]).steps]
    assert len(set(marks)) == len(marks)


def test_there_are_words_for_every_wait_and_note() -> None:
    """In each language, with all that they name."""
    events: list[Event] = [
        AttemptFailed(step=1, number=1, error_type="x", delay=1, kind=ModelErrorKind.TIMEOUT),
        AttemptFailed(step=1, number=1, error_type="x", delay=1, call=("c", "multiply")),
        ModelFellBack(step=1, model="m", to_model="n", error_type="x", kind=ModelErrorKind.TIMEOUT),
        BudgetWarned(limit="tokens", fraction=0.81),
    ]
    notes = [*told(*events).steps[0].notes]
    again, _ = played(*[calls(("query_order", {"order_id": "A100"}))] * 4)
    notes += [note for step in again.steps for note in step.notes]
    assert {note.kind for note in notes} == {"failed_request", "failed_call", "fell_back", "warned", "repeated"}
    for language in LANGUAGES:
        t = page_words(language)
        assert all(t(f"lab.note.{note.kind}", delay="1 s", **note.values) for note in notes)
        assert all(
            t(f"lab.live.waits.{word}", of="x", delay="1 s")
            for word in ("start", "model", "rest", "tools", "try", "next")
        )
