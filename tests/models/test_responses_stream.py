"""Streamed answers of the Responses API: the same as whole ones, whatever order their events come in."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from traced_loop.messages import ModelAnswer, ModelChunk
from traced_loop.models.responses_answer import read_response
from traced_loop.models.responses_stream import ResponsesStream
from traced_loop.outcomes import StopReason
from traced_loop.rules.answer_verdict import judge
from traced_loop.rules.call_repair import repair

from .responses_server import called, events, numbered, refused, response, said, thought
from .test_responses_answer import near

SERVER = "api.test"
EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
BODIES = {
    "text": response(said("Hello, you.")),
    "calls": response(thought(summary="I multiply."), said("So:"), called("f", '{"a": 12}'), called("g", "{}", "c2")),
    "refusal": response(refused("I cannot.")),
    "cut": response(said("Hel"), status="incomplete", reason="max_output_tokens"),
    "filtered": response(said("Hel"), status="incomplete", reason="content_filter"),
    "failed": response(status="failed", error={"code": "server_error", "message": "oops"}),
    "nothing": response(),
}


def taken(stream: list[Any]) -> tuple[ResponsesStream, list[ModelChunk]]:
    """A reader after these events, and what each of them brought."""
    reader = ResponsesStream(server=SERVER)
    return reader, [reader.take(event) for event in stream]


def answer(stream: list[Any]) -> ModelAnswer:
    """What the events come to."""
    return taken(stream)[0].answer()


def verdict(found: ModelAnswer) -> tuple[str, StopReason | None]:
    """What becomes of an answer."""
    assert found.message is not None
    judged = judge(found, repair(found.message, lambda: "made00001"), (), None)
    return judged.kind, judged.stop


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_streamed_answer_is_the_same_as_a_whole_one(body: Any) -> None:
    """Nothing tells them apart."""
    stream = numbered(events(body))
    for event in stream:
        EVENT.validate_python(event)  # what the tests serve is what the client's own types hold
    reader, _ = taken(stream)
    assert (reader.answer(), reader.finished) == (read_response(body, SERVER), True)


def test_text_is_shown_as_it_comes() -> None:
    """Text only; everything that is written is counted."""
    _, chunks = taken(numbered(events(BODIES["calls"])))

    assert "".join(chunk.text for chunk in chunks) == "So:"
    assert sum(chunk.characters for chunk in chunks) == len("I multiply." + "So:" + '{"a": 12}' + "{}")
    assert [chunk.usage.total for chunk in chunks if chunk.usage is not None] == [120]


def test_doubled_events_count_once() -> None:
    """As a proxy may send them."""
    stream = [event for event in numbered(events(BODIES["calls"])) for _ in range(2)]
    reader, chunks = taken(stream)

    assert reader.answer() == read_response(BODIES["calls"], SERVER)
    assert "".join(chunk.text for chunk in chunks) == "So:"


def test_events_with_one_number_are_not_doubles() -> None:
    """A server that does not count sends 0 each time."""
    stream = [{**event, "sequence_number": 0} for event in events(BODIES["text"])]
    assert "".join(chunk.text for chunk in taken(stream)[1]) == "Hello, you."


@pytest.mark.parametrize("number", [True, False], ids=["numbered", "unnumbered"])
def test_a_server_that_leaves_the_output_out_of_its_last_event_has_sent_it_before(number: bool) -> None:
    """The items that were done are the answer."""
    *stream, last = numbered(events(BODIES["calls"])) if number else list(events(BODIES["calls"]))
    found = answer([*stream, {**last, "response": {**last["response"], "output": []}}])
    assert found == read_response(BODIES["calls"], SERVER)


@pytest.mark.parametrize("output", ["response", {}, True, 7], ids=str)
def test_an_output_that_is_no_list_is_no_answer(output: object) -> None:
    """It is not left out: the last event contradicts what came before, and nothing of it runs."""
    *stream, last = numbered(events(BODIES["calls"]))
    found = answer([*stream, {**last, "response": {**last["response"], "output": output}}])
    assert (found.message, found.error_code) == (None, "invalid_response")


@pytest.mark.parametrize(
    ("kind", "status", "stop"),
    [
        ("failed", "completed", None),
        ("incomplete", "completed", StopReason.TRUNCATED_RESPONSE),
        ("completed", "incomplete", StopReason.TRUNCATED_RESPONSE),
        ("completed", "in_progress", StopReason.INCONSISTENT_RESPONSE),
    ],
)
def test_the_last_event_and_the_answer_in_it_both_have_to_say_that_it_is_complete(
    kind: str, status: str, stop: StopReason | None
) -> None:
    """Where they contradict each other nothing runs."""
    *stream, last = numbered(events(BODIES["calls"]))
    found = answer([*stream, {**last, "type": f"response.{kind}", "response": {**last["response"], "status": status}}])
    assert found.error_code == "provider_error" if stop is None else verdict(found) == ("stop", stop)


def test_a_call_that_was_never_done_does_not_run() -> None:
    """Though the answer says that it is complete."""
    stream = numbered(events(BODIES["calls"]))
    kept = [event for event in stream if not (event["type"].endswith("item.done") and event["output_index"] == 3)]
    last = {**kept[-1], "response": {**kept[-1]["response"], "output": []}}

    assert verdict(answer([*kept[:-1], last])) == ("stop", StopReason.TRUNCATED_RESPONSE)


@given(st.sampled_from([BODIES["calls"], BODIES["text"]]), st.data())
def test_a_stream_without_its_last_event_runs_nothing_and_is_no_answer(body: Any, data: st.DataObject) -> None:
    """Wherever it breaks off: it has no finish reason. What was said until then is kept."""
    stream = numbered(events(body))
    reader, chunks = taken(stream[: data.draw(st.integers(0, len(stream) - 1))])
    found = reader.answer()

    assert (reader.finished, found.finish_reason) == (False, None)
    assert verdict(found) == ("stop", StopReason.INCONSISTENT_RESPONSE)
    assert found.message is not None
    assert (found.message["content"] or "") == "".join(chunk.text for chunk in chunks)


PIECES = [event for event in numbered(events(BODIES["calls"])) if "done" not in event["type"]][:-1]
WHOLES = [event for event in numbered(events(BODIES["calls"])) if not event["type"].endswith(("delta", "item.done"))][
    :-1
]


@given(st.permutations(PIECES) | st.permutations(WHOLES))
def test_pieces_are_put_in_the_order_of_their_numbers(stream: list[Any]) -> None:
    """Whatever order they come in, or all at once: the parts of an answer that breaks off are in place."""
    found = answer(stream).message
    assert found is not None
    assert found["content"] == "So:"
    assert [entry["function"]["arguments"] for entry in found["tool_calls"]] == ['{"a": 12}', "{}"]


def test_what_comes_after_the_last_event_changes_nothing() -> None:
    """The answer is there."""
    stream = numbered(events(BODIES["text"]))
    more = [{"type": "response.failed", "response": {}}, {"type": "error", "message": "x"}, *events(BODIES["calls"])]
    assert answer([*stream, *more]) == read_response(BODIES["text"], SERVER)


ERRORS = {
    "flat": {"type": "error", "code": "rate_limit_exceeded", "message": "slow down", "param": None},
    "inside": {"type": "error", "error": {"code": "rate_limit_exceeded", "message": "slow down"}},
    "untyped": {"error": {"code": "rate_limit_exceeded", "message": "slow down"}},
}


@pytest.mark.parametrize("event", ERRORS.values(), ids=ERRORS)
def test_an_error_in_a_stream_is_the_answers_error(event: Any) -> None:
    """With its code, and the text that was said before it."""
    begun = numbered(events(BODIES["text"]))[:5]
    reader, _ = taken([*begun, event])
    found = reader.answer()

    assert (found.error, found.error_code, reader.finished) == ("slow down", "rate_limit_exceeded", True)
    assert found.message is not None
    assert answer([event]).message is None


KINDS = (
    *("response.created", "response.completed", "response.failed", "error", "response.output_item.added"),
    *("response.output_item.done", "response.output_text.delta", "response.output_text.done", "response.x.delta"),
    *("response.function_call_arguments.delta", "response.function_call_arguments.done", "response.refusal.delta"),
)
kinds = st.sampled_from(KINDS)
fields = {"response": near, "item": near, "error": near, "delta": near, "text": near, "arguments": near}
places = {"output_index": st.integers(-1, 2) | near, "content_index": st.integers(-1, 2) | near}
any_events = st.fixed_dictionaries({"type": kinds}, optional={**fields, **places, "sequence_number": near})


@given(st.lists(near | any_events, max_size=8))
def test_any_events_are_an_answer(stream: list[Any]) -> None:
    """Never a crash, and without a status never a call that runs."""
    reader, chunks = taken(stream)
    found = reader.answer()

    assert all(isinstance(chunk.text, str) and chunk.characters >= 0 for chunk in chunks)
    assert found.message is not None or found.error
    if found.message is not None and not found.error:
        kind, _ = verdict(found)
        assert kind == "stop" or found.finish_reason == "completed"
