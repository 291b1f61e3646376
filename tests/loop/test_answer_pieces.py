"""What has come of a streamed answer: shown, timed, billed and kept, whatever ends it."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from traced_loop import Budget, Loop, ModelError, Price, RetryPolicy, ScriptedModel, StopReason, names, partial_result
from traced_loop.events import AttemptFailed, Event, ModelAnswered, TextDelta
from traced_loop.loop.answer_pieces import AnswerPieces
from traced_loop.messages import ModelAnswer, ModelChunk, ModelRequest, TokenUsage
from traced_loop.testing import CountedClock, CountedIds, Played, Spans, counted_wiring, play

QUICK = RetryPolicy(attempts=2, first_delay=0)
LOST = ModelError("lost", error_type="connection", retryable=True)
ESTIMATE_OF_OTHERS = 60
"""More than the request of these tests takes."""


def told(request: ModelRequest, *texts: str, usage: TokenUsage | None = None) -> None:
    """Pieces of an answer, as a model tells them."""
    assert request.on_chunk is not None
    for text in texts:
        request.on_chunk(ModelChunk(text=text, characters=len(text), usage=usage))


def broken(*texts: str, error: BaseException = LOST, usage: TokenUsage | None = None) -> Any:
    """A line of a script that gives pieces and then breaks off."""

    def line(request: ModelRequest) -> str:
        told(request, *texts, usage=usage)
        raise error

    return line


def chat(played: Played) -> dict[str, Any]:
    """The attributes of the last request's span."""
    return dict(played.spans.named(names.CHAT)[-1].attributes)


def test_pieces_of_text_are_told_before_the_answer() -> None:
    """In order, with their step and try; a piece without text is no news."""
    events: list[Event] = []

    def line(request: ModelRequest) -> str:
        told(request, "", "Hel", "lo")
        return "Hello"

    play([line], on_event=events.append)

    shown = [event for event in events if isinstance(event, (TextDelta, ModelAnswered))]
    assert shown[:2] == [TextDelta(step=1, text="Hel"), TextDelta(step=1, text="lo")]
    assert isinstance(shown[2], ModelAnswered)


def test_the_span_has_the_timing_of_the_pieces() -> None:
    """The first one since the request began, how many, and the gaps between them; bounded, however many there are."""
    clock = CountedClock()

    def line(request: ModelRequest) -> str:
        for seconds in (0.5, 0.1, 0.4, 0.1):
            clock.advance(seconds)
            told(request, "a")
        return "aaaa"

    attributes = chat(play([line], clock=clock))

    assert attributes[names.GEN_AI_FIRST_CHUNK] == pytest.approx(0.5, abs=1e-5)
    assert attributes[names.STREAM_CHUNKS] == 4
    assert attributes[names.STREAM_LONGEST_GAP_MS] == pytest.approx(400, abs=0.01)
    assert attributes[names.STREAM_MEAN_GAP_MS] == pytest.approx(200, abs=0.01)


def test_an_answer_that_comes_whole_has_no_timing_of_pieces() -> None:
    """Nothing is made up."""
    found = [key for key in chat(play(["Hello"])) if "stream" in key or "chunk" in key]

    assert found == []


def test_a_new_try_begins_anew() -> None:
    """Its pieces are counted from one, its text is all of the answer, and the first piece is late by the first try."""
    clock, events = CountedClock(), list[Event]()

    def second(request: ModelRequest) -> str:
        clock.advance(1)
        told(request, "b")
        return "b"

    played = play([broken("a", "a"), second], clock=clock, retry=QUICK, on_event=events.append)

    shown = [event for event in events if isinstance(event, (TextDelta, AttemptFailed))]
    assert [getattr(event, "attempt", "failed") for event in shown] == [1, 1, "failed", 2]
    assert (played.result.answer, chat(played)[names.STREAM_CHUNKS]) == ("b", 1)
    assert chat(played)[names.GEN_AI_FIRST_CHUNK] >= 1


def test_what_came_of_a_broken_try_is_billed_by_its_size() -> None:
    """And marked as an estimate: four characters a token, beside what the request takes."""
    played = play([broken("x" * 400), "done"], retry=QUICK)
    whole = play([LOST, "done"], retry=QUICK)

    more = played.result.usage.tokens - whole.result.usage.tokens
    assert 100 < more < 100 + ESTIMATE_OF_OTHERS
    assert (played.result.usage.estimated, whole.result.usage.estimated) == (True, False)
    assert chat(played)[names.USAGE_SOURCE] == "estimated"


def test_counts_that_came_before_it_broke_are_the_bill() -> None:
    """Not an estimate; the try's span has them too."""
    usage = TokenUsage(input=50, output=7, total=57, source="provider")
    model = ScriptedModel([broken("x" * 400, usage=usage), LOST], price=Price(input=1_000_000, output=1_000_000))
    played = play([], model=model, retry=QUICK)

    assert (played.result.usage.tokens, played.result.cost) == (57, Decimal(57))
    assert not played.result.usage.estimated
    first = played.spans.named(names.ATTEMPT)[0].attributes
    assert (first[names.ATTEMPT_INPUT_TOKENS], first[names.ATTEMPT_OUTPUT_TOKENS]) == (50, 7)


def test_a_limit_counts_what_broken_tries_took() -> None:
    """An endless row of broken streams does not escape it."""
    played = play(
        [broken("x" * 4_000), broken("x" * 4_000)],
        model=ScriptedModel([broken("x" * 4_000)] * 2, price=Price(input=1, output=1_000)),
        retry=QUICK,
        budget=Budget(cost_usd=20),
    )

    assert played.result.usage.charged_usd > 1
    assert played.result.usage.tokens > 2_000


@pytest.mark.parametrize("error", [LOST, ModelError("refused", error_type="400")], ids=["retried", "final"])
def test_a_failed_request_keeps_its_text_as_partial(error: ModelError) -> None:
    """That of the last try that had some."""
    played = play([broken("Hel", "lo", error=error)] * (1 + error.retryable), retry=QUICK)

    assert (played.result.stop_reason, played.result.partial) == (StopReason.MODEL_ERROR, "Hello")
    assert chat(played)[names.GEN_AI_FINISH_REASONS] == ("error",)


def test_a_last_try_without_text_keeps_the_text_before_it() -> None:
    """Better than none."""
    assert play([broken("Hello"), LOST], retry=QUICK).result.partial == "Hello"


def test_a_deadline_keeps_what_came() -> None:
    """The model goes on; nobody listens any more."""

    async def endless(request: ModelRequest) -> str:
        while True:
            told(request, "la ")
            await asyncio.sleep(0.01)

    result = Loop(ScriptedModel([endless]), store=None, budget=Budget(seconds=0.2)).run("Go.")

    assert result.stop_reason is StopReason.DEADLINE_EXCEEDED
    assert (result.partial or "").startswith("la la ")
    assert result.usage.tokens > 0
    assert result.usage.estimated


def test_a_cancelled_run_keeps_what_came() -> None:
    """Text, messages and bill hang on the exception; the span says that no finish reason came."""
    spans = Spans()

    async def cancelled() -> asyncio.CancelledError:
        came = asyncio.Event()

        async def line(request: ModelRequest) -> str:
            told(request, "Hel", "lo")
            came.set()
            await asyncio.sleep(60)
            return ""

        loop = Loop(ScriptedModel([line]), wiring=counted_wiring(spans, ids=CountedIds()))
        task = asyncio.create_task(loop.arun("Go."))
        await came.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as raised:
            await task
        return raised.value

    result = partial_result(asyncio.run(cancelled()))

    assert result is not None
    assert (result.stop_reason, result.partial) == (StopReason.CANCELLED, "Hello")
    assert (result.usage.model_requests, result.usage.estimated) == (1, True)
    attributes = spans.named(names.CHAT)[0].attributes
    assert attributes[names.GEN_AI_FINISH_REASONS] == ("error",)
    assert attributes[names.STREAM_CHUNKS] == 2
    assert attributes[names.USAGE_SOURCE] == "estimated"


@pytest.mark.parametrize("swallows", [False, True], ids=["passes_on", "swallows"])
@pytest.mark.parametrize("error", [ValueError("broken"), KeyboardInterrupt(), TimeoutError()], ids=repr)
def test_what_a_callback_raises_leaves_the_run(error: BaseException, swallows: bool) -> None:
    """Whatever the model makes of it, and it is no failed request; what came is kept."""

    def on_event(event: Event) -> None:
        if isinstance(event, TextDelta):
            raise error

    def line(request: ModelRequest) -> str:
        try:
            told(request, "Hello")
        except BaseException as mine:
            if not swallows:
                raise
            raise ModelError("lost", error_type="connection", retryable=True) from mine
        return "Hello"

    model = ScriptedModel([line, "never asked for"])
    with pytest.raises(type(error)) as raised:
        Loop(model, store=None, retry=QUICK, on_event=on_event).run("Go.")

    result = partial_result(raised.value)
    assert result is not None
    assert (result.partial, len(model.requests)) == ("Hello", 1)


def test_pieces_of_a_try_that_is_over_count_no_more() -> None:
    """A model that was given up may go on talking."""
    events: list[Event] = []
    pieces = AnswerPieces(CountedClock(), 1, events.append)
    first = pieces.of_try(1)
    first(ModelChunk(text="a", characters=1))
    pieces.let_go()
    first(ModelChunk(text="b", characters=1))
    second = pieces.of_try(2)
    first(ModelChunk(text="c", characters=1))
    second(ModelChunk(text="d", characters=1))

    assert events == [TextDelta(step=1, text="a"), TextDelta(step=1, text="d", attempt=2)]
    assert pieces.text == "d"
    assert pieces.received() == ModelAnswer(message=None, finish_reason=None, usage=TokenUsage(output=1))


def test_half_a_character_is_no_text() -> None:
    """What is kept can be written as JSON by anybody."""
    pieces = AnswerPieces(CountedClock(), 1, lambda _event: None)
    pieces.of_try(1)(ModelChunk(text="a\ud83d", characters=2))

    assert pieces.text == "a\ufffd"
