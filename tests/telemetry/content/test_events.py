"""Content as log events, through the application's own ``LoggerProvider``."""

import json
from pathlib import Path
from typing import Any

import pytest

from ...python_program import run_python

PROGRAM = """
    import json, logging, sys
    from opentelemetry import _logs, trace
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
    from traced_loop import Loop, ScriptedModel, tool
    from traced_loop.testing import Spans, calls, counted_wiring

    class Raising(SimpleLogRecordProcessor):
        def on_emit(self, log_record):
            raise RuntimeError("a processor of the application")

    exporter, how, where = InMemoryLogRecordExporter(), {how!r}, {where!r}
    if how != "nobody":
        provider = LoggerProvider(shutdown_on_exit=False)
        kind = Raising if how == "raises" else SimpleLogRecordProcessor
        provider.add_log_record_processor(kind(exporter))
        _logs.set_logger_provider(provider)

    @tool(effect="read")
    def look(where: str) -> str:
        "Look."
        return "there"

    spans = Spans()
    script = [calls(("look", {{"where": "here"}})), "It is sk-0123456789abcdefghij."]
    loop = Loop(ScriptedModel(script), [look], content=where, wiring=counted_wiring(spans))
    result = loop.run("Where?")
    again = Loop(ScriptedModel(["x"]), content=where, wiring=counted_wiring(Spans())).run("And?")
    records = [found.log_record for found in exporter.get_finished_logs()]
    print(json.dumps({{
        "stop": result.stop_reason,
        "errors": result.receipt.export_errors,
        "chats": [[span.span_id, span.trace_id] for span in spans.named("chat")],
        "on_spans": sum("gen_ai.output.messages" in span.attributes for span in spans.ended_spans),
        "events": [[r.event_name, r.span_id, r.trace_id, dict(r.attributes)] for r in records],
    }}, default=list))
"""


def play(tmp_path: Path, how: str, where: str) -> tuple[dict[str, Any], str]:
    """A run of two requests in a process of its own, since a provider can be set once; and what went to stderr."""
    ended = run_python(PROGRAM.format(how=how, where=where), tmp_path / "s")
    found: dict[str, Any] = json.loads(ended.out)
    return found, ended.err


@pytest.mark.parametrize(("where", "on_spans"), [("event", 0), ("both", 3)])
def test_each_request_is_an_event_in_the_context_of_its_span(where: str, on_spans: int, tmp_path: Path) -> None:
    """With the span's attributes, and the messages as values instead of text."""
    found, said = play(tmp_path, "takes", where)
    first, second, _ = found["events"]
    assert [[span_id, trace_id] for _, span_id, trace_id, _ in (first, second)] == found["chats"]
    assert {name for name, *_ in found["events"]} == {"gen_ai.client.inference.operation.details"}
    attributes = second[3]
    assert (attributes["gen_ai.operation.name"], attributes["traced_loop.content.first_message"]) == ("chat", 1)
    assert [message["role"] for message in attributes["gen_ai.input.messages"]] == ["assistant", "tool"]
    (answer,) = attributes["gen_ai.output.messages"]
    assert answer["parts"] == [{"type": "text", "content": "It is [REDACTED:openai_key]."}]
    assert (found["on_spans"], found["stop"], said) == (on_spans, "final_answer", "")


def test_without_anybody_who_takes_them_a_warning_says_so_once(tmp_path: Path) -> None:
    """The run is as without content."""
    found, said = play(tmp_path, "nobody", "event")
    assert (found["stop"], found["events"], found["on_spans"]) == ("final_answer", [], 0)
    assert said.count("nobody takes them") == 1


def test_a_processor_that_raises_is_counted(tmp_path: Path) -> None:
    """Telemetry never hurts."""
    found, _ = play(tmp_path, "raises", "event")
    assert (found["stop"], found["errors"]) == ("final_answer", 2)
