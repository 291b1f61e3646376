"""With content off, nothing that was said, asked for, answered or raised is on a span or in a span file."""

from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from traced_loop import Budget, Loop, Policy, ScriptedModel, tool
from traced_loop.models.scripted import Line
from traced_loop.testing import calls

SECRET = "xyzzy-quux-4711"
"""No known shape: masking cannot find it, only leaving it out keeps it home.

It stands wherever content can stand. A provider's own single words (its finish reason, its error code) are kept raw.
"""


@tool(effect="read")
def look(where: str) -> dict[str, str]:
    """Give a secret key and a secret value."""
    return {f"key {SECRET}": f"value {SECRET} of {where}"}


@tool(effect="read")
def fail(why: str) -> str:
    """Raise what was given."""
    raise ValueError(f"{why} {SECRET}")


@tool(effect="write")
def save(what: str) -> str:
    """Raise in a write."""
    raise OSError(f"{what} {SECRET}")


def body(finish: str, content: str = SECRET) -> dict[str, object]:
    """A raw answer of text."""
    return {"choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": finish}]}


ALL = calls(
    ("look", {"where": SECRET}),
    ("fail", {"why": SECRET}),
    ("look", {"where": SECRET, SECRET: SECRET}),
    ("look", f"{SECRET} is no JSON"),
    (SECRET, {"a": SECRET}),
    text=SECRET,
)
WAYS: dict[str, list[Line]] = {
    "final answer": [ALL, SECRET],
    "unknown outcome": [calls(("save", {"what": SECRET}))],
    "truncated": [body("length")],
    "withheld": [body("content_filter")],
    "an odd reason": [body(f"stopped for {SECRET}")],
    "an error inside": [{"choices": None, "error": {"code": "out_of_order", "message": SECRET}}],
    "a limit": [ALL, ALL, ALL],
}


@pytest.mark.parametrize("script", WAYS.values(), ids=WAYS.keys())
def test_content_is_on_no_span_on_any_way_out(script: list[Line], tmp_path: Path) -> None:
    """Neither exported nor in the store's span files; the transcript has it, and is no telemetry."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    loop = Loop(
        ScriptedModel(script),
        [look, fail, save],
        instructions=f"Mind {SECRET}.",
        policy=Policy(confirm=lambda _: True),
        budget=Budget(steps=3),
        store=tmp_path / "store",
        tracer_provider=provider,
    )

    result = loop.run(f"What of {SECRET}?")

    files = b"".join(path.read_bytes() for path in (tmp_path / "store" / "spans").iterdir())
    exported = " ".join(span.to_json() for span in exporter.get_finished_spans())
    assert SECRET in str(result.messages)
    assert (b"invoke_agent" in files, "invoke_agent" in exported) == (True, True)
    assert (SECRET.encode() in files, SECRET in exported) == (False, False)
