"""What the spans of a run carry by option, seen on whole runs."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from traced_loop import Budget, ContentCapture, Loop, Price, ScriptedModel, ToolError, names, tool
from traced_loop.telemetry.attributes import Hygiene
from traced_loop.telemetry.content.capture import MAX_CONTENT_BYTES
from traced_loop.telemetry.span_attributes import MAX_ATTRIBUTES, MAX_SPAN_BYTES, attributes_bytes, frame_bytes
from traced_loop.telemetry.spans import Telemetry
from traced_loop.telemetry.wanted_extras import NOTHING, Wanted, extra_attributes
from traced_loop.testing import CountedClock, Played, Spans, calls, play

from .content.genai_schema import problems

CONTENT = (
    names.GEN_AI_INPUT_MESSAGES,
    names.GEN_AI_OUTPUT_MESSAGES,
    names.GEN_AI_SYSTEM_INSTRUCTIONS,
    names.GEN_AI_TOOL_DEFINITIONS,
    names.GEN_AI_TOOL_CALL_ARGUMENTS,
    names.GEN_AI_TOOL_CALL_RESULT,
)


@tool(effect="read")
def look(where: str) -> dict[str, str]:
    """Look."""
    return {"found": f"it, {where}"}


@tool(effect="read")
def fail(why: str) -> str:
    """Fail."""
    raise ToolError(f"no {why}")


@tool(effect="read", content=False)
def peek(where: str) -> str:
    """Look without telling."""
    return f"unseen {where}"


def played(content: Any = "span", **options: Any) -> Played:
    """A run with every kind of message."""
    script = [calls(("look", {"where": "here"}), ("peek", {"where": "secretly"}), ("fail", {"why": "luck"})), "Here."]
    return play(script, [look, peek, fail], "Where?", instructions="Mind.", content=content, **options)


def messages(played: Played, name: str, key: str, place: int = 0) -> Any:
    """One content attribute of a span, parsed."""
    return json.loads(played.spans.named(name)[place].attributes[key])


def test_content_stands_where_the_conventions_say_and_keeps_their_schema() -> None:
    """Messages on runs and requests, arguments and results on tools, instructions on the run; nothing elsewhere."""
    spans = played().spans.ended_spans
    found = {span.name: {key for key in CONTENT if key in span.attributes} for span in spans}
    both = {names.GEN_AI_INPUT_MESSAGES, names.GEN_AI_OUTPUT_MESSAGES}
    called = {names.GEN_AI_TOOL_CALL_ARGUMENTS, names.GEN_AI_TOOL_CALL_RESULT}
    assert {name: keys for name, keys in found.items() if keys} == {
        "invoke_agent agent": {*both, names.GEN_AI_SYSTEM_INSTRUCTIONS},
        "chat scripted": both,
        "execute_tool look": called,
        "execute_tool fail": called,
    }
    for span in spans:
        for key in both & set(span.attributes):
            assert problems(json.loads(span.attributes[key]), output=key == names.GEN_AI_OUTPUT_MESSAGES) == []


def test_a_request_holds_what_is_new_since_the_last_one() -> None:
    """And the place of the first."""
    run = played()
    roles = [[m["role"] for m in messages(run, "chat", names.GEN_AI_INPUT_MESSAGES, place)] for place in (0, 1)]
    firsts = [span.attributes[names.CONTENT_FIRST_MESSAGE] for span in run.spans.named("chat")]
    assert roles == [["system", "user"], ["assistant", "tool", "tool", "tool"]]
    assert firsts == [0, 2]
    assert names.CONTENT_FIRST_MESSAGE not in run.spans.named("invoke_agent")[0].attributes


def test_the_full_history_is_on_each_request_by_option() -> None:
    """For backends that show one request at a time."""
    run = played("full")
    sent = messages(run, "chat", names.GEN_AI_INPUT_MESSAGES, 1)
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool", "tool", "tool"]
    assert run.spans.named("chat")[1].attributes[names.CONTENT_FIRST_MESSAGE] == 0


def test_the_run_shows_what_was_asked_and_what_came_of_it() -> None:
    """An answer ends with ``stop``, what is only a part of one with ``error``."""
    assert messages(played(), "invoke_agent", names.GEN_AI_OUTPUT_MESSAGES) == [
        {"role": "assistant", "parts": [{"type": "text", "content": "Here."}], "finish_reason": "stop"}
    ]
    stopped = play([calls(("look", {"where": "x"}), text="so far")], [look], content="span", budget=Budget(steps=1))
    assert messages(stopped, "invoke_agent", names.GEN_AI_OUTPUT_MESSAGES)[0]["finish_reason"] == "error"


def test_a_tool_shows_its_arguments_and_its_result_or_its_error() -> None:
    """As the model was told it."""
    run = played()
    by_tool = {span.name: span.attributes for span in run.spans.named("execute_tool")}
    shown = by_tool["execute_tool look"]
    assert json.loads(shown[names.GEN_AI_TOOL_CALL_ARGUMENTS]) == {"where": "here"}
    assert json.loads(shown[names.GEN_AI_TOOL_CALL_RESULT]) == {"found": "it, here"}
    error = json.loads(by_tool["execute_tool fail"][names.GEN_AI_TOOL_CALL_RESULT])
    assert (error["status"], error["message"]) == ("error", "no luck")


@pytest.mark.parametrize("content", ["span", "full"])
def test_a_tool_can_keep_its_content_home_whatever_the_run_shows(content: str) -> None:
    """On its own span and inside of the messages, in both directions."""
    everything = json.dumps([span.attributes for span in played(content).spans.ended_spans])
    assert ("secretly" in everything, "unseen" in everything, "KEPT_HOME" in everything) == (False, False, True)


def test_a_tool_that_says_true_opens_nothing_of_a_run_that_is_closed() -> None:
    """Who runs the loop decides, not who wrote the tool."""

    @tool(effect="read", content=True)
    def open_look(where: str) -> str:
        """Look."""
        return f"openly {where}"

    spans = play([calls(("open_look", {"where": "x"})), "done"], [open_look]).spans.ended_spans
    assert "openly" not in json.dumps([span.attributes for span in spans])


def test_definitions_are_shown_only_where_they_are_asked_for() -> None:
    """They are large and the same for each request."""
    run = played(ContentCapture(definitions=True))
    shown = messages(run, "chat", names.GEN_AI_TOOL_DEFINITIONS, 1)
    assert [(one["type"], one["name"]) for one in shown] == [("function", n) for n in ("look", "peek", "fail")]


def test_content_is_set_last_and_is_exported_like_everything_else() -> None:
    """No other attribute is evicted by it."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    Loop(ScriptedModel(["Here."]), content="span", store=None, tracer_provider=provider).run("x" * 9_000)
    (chat,) = [span for span in exporter.get_finished_spans() if span.name.startswith("chat")]
    attributes = dict(chat.attributes or {})
    own = [names.CONTENT_FIRST_MESSAGE, names.TRUNCATED_PREFIX + names.GEN_AI_INPUT_MESSAGES]
    assert set(list(attributes)[-4:]) == {names.GEN_AI_INPUT_MESSAGES, names.GEN_AI_OUTPUT_MESSAGES, *own}
    assert 4_096 < len(str(attributes[names.GEN_AI_INPUT_MESSAGES])) <= 8_192
    assert problems(json.loads(str(attributes[names.GEN_AI_INPUT_MESSAGES]))) == []


def test_a_request_that_fails_shows_what_was_sent() -> None:
    """And no answer."""
    run = play([{"choices": None, "error": {"code": "out_of_order", "message": "later"}}], content="span")
    (chat,) = run.spans.named("chat")
    assert (names.GEN_AI_INPUT_MESSAGES in chat.attributes, names.GEN_AI_OUTPUT_MESSAGES in chat.attributes) == (
        True,
        False,
    )


def test_three_values_of_eight_kib_stand_on_a_request_beside_everything_else() -> None:
    """Each is as large as it may be, and nothing is left out."""

    @tool(effect="read", description="d" * 9_000)
    def long(where: str) -> str:
        return where

    capture = ContentCapture(definitions=True)
    run = play(["y" * 9_000], [long], "x" * 9_000, instructions="Mind.", content=capture, session_id="s" * 200)
    (chat,) = run.spans.named("chat")
    keys = (names.GEN_AI_INPUT_MESSAGES, names.GEN_AI_OUTPUT_MESSAGES, names.GEN_AI_TOOL_DEFINITIONS)
    assert all(6_144 < len(chat.attributes[key]) <= 8_192 for key in keys)
    assert frame_bytes(chat.name, 0) + attributes_bytes(chat.attributes) <= MAX_SPAN_BYTES
    assert run.result.receipt.values_truncated == 3 + 2  # on the request; the question and the answer on the run, too


def test_content_is_fitted_to_what_the_other_attributes_leave() -> None:
    """It is smaller on a span that is full, and still whole JSON."""
    spans, wanted = Spans(), Wanted(content=ContentCapture(max_bytes=MAX_CONTENT_BYTES))
    telemetry = Telemetry(sink=spans)
    scope = telemetry.scope("r", wanted)
    with telemetry.run(scope, names.INVOKE_AGENT, {f"key{n}": "x" * 4_000 for n in range(5)}) as root:
        assert root.content is not None
        root.content.task([{"role": "user", "content": "y" * 40_000}])
    attributes = spans.ended_spans[0].attributes
    assert {len(attributes[f"key{n}"]) for n in range(5)} == {4_000}
    assert 8_000 < len(attributes[names.GEN_AI_INPUT_MESSAGES]) < 12_000
    assert problems(json.loads(attributes[names.GEN_AI_INPUT_MESSAGES])) == []


def test_on_a_full_root_the_options_give_way_and_never_the_receipt_or_the_limits() -> None:
    """The last ones of the last option first: of a failed run with every limit, all content cut, and OpenInference."""

    def root_with(**options: Any) -> dict[str, Any]:
        model = ScriptedModel([calls(("unheard_of", {}), text="a" * 9_000)], price=Price.free())
        run = play(
            [],
            [look],
            "x" * 9_000,
            model=model,
            unknown_tool="stop",
            instructions="i" * 9_000,
            session_id="s",
            budget=Budget(cost_usd=1),
            **options,
        )
        return run.spans.named("invoke_agent")[0].attributes

    without, root = root_with(), root_with(content="span", compat=("openinference",))
    assert names.ERROR_TYPE in root
    assert (len(without), len(root)) == (56, MAX_ATTRIBUTES)
    assert without.keys() <= root.keys()
    assert {names.OPENINFERENCE_KIND, names.GEN_AI_INPUT_MESSAGES, names.GEN_AI_OUTPUT_MESSAGES} <= root.keys()
    assert not {names.INPUT_VALUE, names.INPUT_MIME_TYPE, names.OUTPUT_VALUE, names.OUTPUT_MIME_TYPE} & root.keys()


class Ticking(CountedClock):
    """A clock on which each look at what telemetry costs takes a second."""

    seen = 0

    def ticks(self) -> int:
        self.seen += 1_000_000_000
        return self.seen


def test_what_reading_content_costs_is_part_of_the_overhead() -> None:
    """Counted once: a second for each of the question, the instructions, two requests, an answer and so on."""
    overheads = [
        play(["Here."], [], "Where?", instructions="Mind.", clock=Ticking(), content=content).result.receipt.overhead_ms
        for content in ("none", "span")
    ]
    # On the run the question, the instructions and the answer; on the request what is sent and what is answered.
    assert overheads[1] - overheads[0] == 5_000


@given(prompt=st.text(st.characters(exclude_categories=()), min_size=1), answer=st.text(max_size=20_000))
@settings(max_examples=25)
def test_whatever_is_said_a_span_stays_bounded_and_its_content_json(prompt: str, answer: str) -> None:
    """All attributes of one span together below 32 KiB, with every option on."""
    run = play([answer], prompt=prompt * 300, content=ContentCapture(max_bytes=24_576), compat=("openinference",))
    for span in run.spans.ended_spans:
        assert sum(len(key.encode()) + len(str(value).encode()) for key, value in span.attributes.items()) < 32_768
        for key in set(CONTENT) & set(span.attributes):
            json.loads(span.attributes[key])


def test_where_nothing_is_asked_for_there_is_nothing_to_do() -> None:
    """No object, no serialisation: what a run costs without content is unchanged."""
    assert extra_attributes(NOTHING, Hygiene()) is None
    run = play([calls(("look", {"where": "x"})), "done"], [look])
    assert not [key for span in run.spans.ended_spans for key in span.attributes if key in names.CONTENT_KEYS]
