"""Whatever a model, a tool or a caller says: spans are delivered, lines are JSON, no terminal obeys."""

from __future__ import annotations

import io
import json
import math
import re
import time
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from rich.console import Console

from traced_loop import Budget, Identity, Loop, Policy, ScriptedModel, names, tool, views
from traced_loop.cli.after_run import say_where_to_look, say_why
from traced_loop.cli.live_lines import LiveLines
from traced_loop.errors import ModelError
from traced_loop.read.local_store import LocalStore
from traced_loop.records.otlp_json import LineEncoder
from traced_loop.telemetry.span_attributes import MAX_ATTRIBUTES, MAX_SPAN_BYTES
from traced_loop.telemetry.spans import Telemetry
from traced_loop.testing import Spans
from traced_loop.views.visible import visible

from .nightly import examples

if TYPE_CHECKING:
    from pathlib import Path

    from traced_loop.run_result import RunResult

OBEYED = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ud800-\udfff\U000e0000-\U000e01ef]"
)
"""What a terminal or an eye could be led astray by, in lines that end with a line feed."""

ODD = [
    "\ud83e", "\udc00", "\x00", "\x1b[2J", "\x1b]0;title\x07", "\x9b31m", "\x7f", "\r\n", "\n", "\t", "\x85",
    "\u202e", "\u2066", "\u2069", "\u200e", "\u200f", "\u061c", "\u200b", "\u200d", "\ufeff", "\u2028", "\u2029",
    "\U000e0041", "\u3164", "\ufffe", "\ufffd", "e\u0301", "\U0001f600", "[red]", "{}", "%s", '"', "\\", "word ",
]  # fmt: skip
DEEP = '{"a":' * 5_000 + "1" + "}" * 5_000
DIGITS = "9" * 10_000

chances = st.integers(0, 2**32).map(Random)
"""A seed each: what is made from it is too large to be shrunk."""


def text(chance: Random) -> str:
    """Odd, mostly short, at times of a hundred kilobytes, seldom of ten megabytes."""
    piece = "".join(chance.choices(ODD, k=chance.randint(1, 6)))
    return piece * chance.choices([1, 5, 3_000, 10_000_000 // len(piece)], [60, 30, 9, 0.1])[0]


def value(chance: Random) -> Any:
    """Anything that somebody might set."""
    number = chance.choice([0, -1, 2**63, -(2**63), 10**9_999, math.nan, math.inf, -0.0, 1e308, True])
    some = text(chance)
    return chance.choice([some, some, number, None, [some, number, None], (some,) * 70, {"k": some}, b"\xff", DEEP])


def arguments(chance: Random) -> str:
    """What a model may write for arguments."""
    odd = json.dumps(text(chance)[:2_000])
    made = [
        f'{{"q": {odd}}}',
        f'{{"q": "x", {odd}: 1}}',
        f'{{"q": {DIGITS}}}',
        DEEP,
        text(chance),
        "NaN",
        '{"q": NaN}',
        "",
    ]
    return chance.choice(made)


def answer(chance: Random) -> dict[str, Any]:
    """A raw answer, odd in each of its fields."""
    some = {f"call{n}": text(chance) for n in range(chance.randint(0, 4))}
    proposed = [
        {
            "id": chance.choice([key, odd, None]),
            "type": "function",
            "function": {"name": chance.choice(["look", "fail", "look", odd]), "arguments": arguments(chance)},
        }
        for key, odd in some.items()
    ]
    message = {"role": "assistant", "content": text(chance), "tool_calls": proposed, text(chance)[:50]: text(chance)}
    usage = {"prompt_tokens": value(chance), "completion_tokens": 10**30, "total_tokens": math.nan}
    return {
        "id": text(chance),
        "model": text(chance),
        "choices": [{"message": message, "finish_reason": chance.choice(["stop", "tool_calls", text(chance)])}],
        "usage": chance.choice([usage, None, {"prompt_tokens": 3, "completion_tokens": 4}]),
    }


def hostile_run(chance: Random, provider: TracerProvider, store: Path, lines: LiveLines) -> RunResult:
    """A run in which everybody is hostile."""

    @tool(effect="read", trace=["q"])
    def look(q: str) -> Any:
        """Give something odd."""
        return chance.choice([text(chance), {text(chance): value(chance)}, [q] * 3, math.nan, 10**9_999])

    @tool(effect="write", trace=["q"])
    def fail(q: str) -> str:
        """Raise something odd."""
        odd = visible(text(chance)[:300]).encode(errors="replace").decode()
        raise type(f"E{odd}", (Exception,), {})(text(chance))

    script = [
        answer(chance),
        answer(chance),
        chance.choice([text(chance), ModelError(text(chance), error_type=text(chance)[:999])]),
    ]
    loop = Loop(
        ScriptedModel(script, name=text(chance)[:3_000], tolerate={"stop_with_tool_calls"}),
        [look, fail],
        name=text(chance)[:3_000],
        policy=Policy(confirm=lambda _: chance.random() < 0.9),
        budget=Budget(steps=3, tokens=None),
        identity=Identity(id=text(chance)),
        session_id=text(chance),
        store=store,
        tracer_provider=provider,
    )
    return loop.run(text(chance), on_event=lines)


def tracing() -> tuple[TracerProvider, InMemorySpanExporter]:
    """A provider, and what it exports."""
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider, exporter


def spans_in(request: ExportTraceServiceRequest) -> list[Any]:
    """Every span of a request."""
    return [span for of in request.resource_spans for scope in of.scope_spans for span in scope.spans]


def strict(line: str) -> Any:
    """The JSON of a line, as a reader in another language takes it: no NaN, no lone surrogates."""

    def refuse(word: str) -> None:
        raise ValueError(word)

    read = json.loads(line, parse_constant=refuse)
    json.dumps(read, ensure_ascii=False).encode()
    return read


@settings(max_examples=examples(40), suppress_health_check=list(HealthCheck))
@given(chances)
def test_a_hostile_run_is_delivered_stored_and_shown(tmp_path_factory: pytest.TempPathFactory, chance: Random) -> None:
    """The real encoder takes every span and gives it back; the store's lines parse; all that is shown is harmless."""
    store = tmp_path_factory.getbasetemp() / "hostile"  # one for all: a process keeps the stores open that it uses
    provider, exporter = tracing()
    terminal = io.StringIO()
    console = Console(file=terminal, width=80)
    with LiveLines(console) as lines:
        result = hostile_run(chance, provider, store, lines)
    say_why(console, result)
    say_where_to_look(console, result)

    sent = exporter.get_finished_spans()
    request = encode_spans(sent)
    received = spans_in(ExportTraceServiceRequest.FromString(request.SerializeToString()))
    assert len(received) == len(sent) == result.receipt.spans_started == result.receipt.spans_recorded
    for span, given_span in zip(received, sent, strict=True):
        assert (span.name, len(span.attributes)) == (given_span.name, len(given_span.attributes or {}))
        assert (span.ByteSize() <= MAX_SPAN_BYTES, len(span.attributes) <= MAX_ATTRIBUTES) == (True, True)
    [file] = (store / "spans").glob(f"{result.run_id}.*")
    assert len([strict(line) for line in file.read_bytes().decode().split("\n")[:-1]]) == len(sent)
    assert OBEYED.search(terminal.getvalue() + shown(store, result.run_id)) is None


def shown(store: Path, run_id: str) -> str:
    """What `traced-loop runs` and `show` print, in a pipe and on a narrow terminal, whole and cut."""
    with LocalStore.open(store) as opened:
        run, said, runs = opened.run(run_id), opened.messages(run_id), opened.runs(9)
    pages = [
        *views.page(run, run.problems, said, full=True),
        *views.page(run, run.problems, said, width=60, now_ns=time.time_ns()),
        *views.run_table(runs),
        *views.run_table(runs, width=60),
    ]
    return "\n".join(line.plain for line in pages)


@settings(max_examples=examples(150), suppress_health_check=list(HealthCheck))
@given(chances)
def test_any_attribute_key_name_status_and_link_can_be_delivered(chance: Random) -> None:
    """Straight at the context manager, by start attributes, late ones and failures; the store has the same."""
    provider, exporter = tracing()
    spans = Spans()
    telemetry = Telemetry(tracer=provider.get_tracer("test"), sink=spans)
    links = [(chance.getrandbits(128) | 1, chance.getrandbits(64) | 1) for _ in range(chance.randrange(50))]
    with telemetry.run(telemetry.scope("run-1"), text(chance), {text(chance): value(chance) for _ in range(9)}) as root:
        with telemetry.span(text(chance), {names.CALL_ID: value(chance)}, links=links) as span:
            span.set({text(chance): value(chance) for _ in range(9)})
            span.fail(text(chance), text(chance))
        root.set({chance.choice([names.ERROR_TYPE, names.RUN_STOP_DETAIL, "k"]): value(chance)})

    received = spans_in(
        ExportTraceServiceRequest.FromString(encode_spans(exporter.get_finished_spans()).SerializeToString())
    )
    encoder = LineEncoder({text(chance)[:99]: text(chance)[:99]}, "scope", "1")
    for sent, stored in zip(received, spans.ended_spans, strict=True):
        line = strict(encoder.line(stored).decode())["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
        assert [a.key for a in sent.attributes] == [a["key"] for a in line["attributes"]] == list(stored.attributes)
        assert (sent.name, sent.status.message, len(sent.links)) == (line["name"], stored.message, len(stored.links))
        assert sent.ByteSize() <= MAX_SPAN_BYTES


@pytest.mark.parametrize("first", range(0, 0x110000, 0x11000))
def test_no_character_that_is_obeyed_is_shown(first: int) -> None:
    """Every character there is, surrogates included: as itself where it is harmless, else as an escape."""
    characters = [chr(code) for code in range(first, first + 0x11000)]
    for character in characters:
        seen = visible(f"a{character}b")
        assert OBEYED.search(seen) is None
        assert "\n" not in seen
    assert OBEYED.search(visible("".join(characters))) is None
