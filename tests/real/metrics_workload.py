"""A process with runs of every kind, for a real Prometheus to read: `python metrics_workload.py good|bad`.

It reads words from standard input: `work` runs everything once more and prints the totals of all runs by now as a line
of JSON, `hang` begins a run that waits for its tool and one that waits for a person, until the end of standard input.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
from collections import Counter
from dataclasses import replace
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider

from traced_loop import Budget, Loop, ModelError, Policy, Price, RunResult, ScriptedModel, allow_when, tool
from traced_loop.messages import ModelAnswer, ModelChunk, ModelRequest
from traced_loop.models.scripted import calls

AGENT = sys.argv[1]
RELEASED = threading.Event()


@tool(effect="read")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(effect="read", retries=1)
def broken(a: int) -> int:
    """Fail."""
    raise ConnectionError("away")


@tool(effect="read", timeout=0.05)
def late(a: int) -> int:
    """Take longer than it may."""
    threading.Event().wait(0.2)
    return a


@tool(effect="write")
def lose(text: str) -> str:
    """Write something, perhaps."""
    raise ConnectionError("away")


@tool(effect="write")
def note(text: str) -> str:
    """Write something."""
    return text


@tool(effect="read", timeout=600)
def hang(a: int) -> int:
    """Return when the workload ends."""
    RELEASED.wait()
    return a


class Raising(SpanProcessor):
    """An application's span processor that fails."""

    def on_end(self, span: ReadableSpan) -> None:
        """Raise."""
        raise OSError


def raising_provider() -> TracerProvider:
    """A provider that takes no span."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(Raising())
    return provider


class InPieces(ScriptedModel):
    """Gives its answers as a stream does."""

    async def complete(self, request: ModelRequest) -> ModelAnswer:
        """Tell of one piece, then give the answer."""
        if request.on_chunk is not None:
            request.on_chunk(ModelChunk(text="fo", characters=2))
        return await super().complete(request)


TOOLS = [add, broken, late, lose, note, hang]
CACHED = {
    "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "done"}}],
    "usage": {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 60}},
}
PRICE = Price(input=1_000, output=2_000)
"""USD per million tokens: a run costs some cents."""
DEAR = Price(input=100_000, output=100_000)
"""A run costs some tens of USD."""


def run(script: list[Any], *, name: str = AGENT, **options: Any) -> RunResult:
    """One scripted run of this workload's agent."""
    kind = InPieces if options.pop("in_pieces", False) else ScriptedModel
    model = kind(script, name="model-x", price=options.pop("price", PRICE))
    options.setdefault(
        "policy", Policy(rules=[allow_when(["note", "lose"])]) if options.pop("approved", False) else None
    )
    return Loop(model, TOOLS, name=name, on_timeout="report", store=None, ledger="memory", **options).run("Go.")


def begin(script: list[Any], **options: Any) -> None:
    """A run that nobody waits for."""
    threading.Thread(target=run, args=(script,), kwargs=options, daemon=True).start()


def resumed() -> RunResult:
    """A run that stops at a limit and goes on: counted as one that stopped there, with what all of it used."""
    script = [calls(("add", {"a": 1, "b": 2})), "3"]
    model = ScriptedModel(script, name="model-x", price=Price.free())  # its second part is in one of two sums only
    with tempfile.TemporaryDirectory() as folder:
        loop = Loop(model, [add], name=AGENT, budget=Budget(steps=1), store=folder)
        first = loop.run("Go.")
        again = loop.resume(first.run_id, add={"steps": 1})
    used = replace(again.usage, steps=first.usage.steps, cost_usd=first.usage.cost_usd)
    return replace(first, usage=used)


def good() -> list[RunResult]:
    """Runs that end as they should."""
    some = [calls(("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4})), calls(("note", {"text": "x"})), CACHED]
    return [run(some, approved=True), run([calls(("add", {"a": 2, "b": 2})), "4"], in_pieces=True)]


def bad() -> list[RunResult]:
    """Capped, looping, failing, costly, refused, late, lost and unpriced runs, beside some that are well."""
    again = calls(("add", {"a": 1, "b": 2}))
    return [
        *(run([again] * 6, budget=Budget(steps=6), repetition="observe") for _ in range(2)),
        run([again] * 4),
        *(run([again] * 2, budget=Budget(steps=2)) for _ in range(3)),
        *(run([ModelError("no", error_type="400", status=400)]) for _ in range(5)),
        run([calls(("lose", {"text": "x"}))], approved=True),
        run(["fine"], tracer_provider=raising_provider()),
        run([calls(("broken", {"a": 1})), calls(("broken", {"a": 2})), "gave up"]),
        run([calls(("late", {"a": 1})), "gave up"]),
        run([calls(("add", {"a": "x"}), ("nothing", {})), "gave up"]),
        run([calls(("note", {"text": "x"}))]),
        run([again, again, "done"], price=DEAR),
        run([again], price=DEAR, budget=Budget(cost_usd=1)),
        run(["fine"], price=None),
        resumed(),
        *good(),
    ]


def totals(results: list[RunResult]) -> dict[str, Any]:
    """What the loop itself says that all of it was."""
    usages = [result.usage for result in results]
    return {
        "runs": dict(Counter(result.stop_reason for result in results)),
        "input_tokens": sum(usage.input_tokens or 0 for usage in usages),
        "output_tokens": sum(usage.output_tokens or 0 for usage in usages),
        "cost_usd": float(sum(usage.cost_usd or 0 for usage in usages)),
        "steps": sum(usage.steps for usage in usages),
        "tool_calls": sum(usage.tool_calls for usage in usages),
        "requests": sum(usage.model_requests for usage in usages),
    }


def say(line: str) -> None:
    """Tell the test."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Do what is said."""
    results: list[RunResult] = []
    say("ready")
    for line in sys.stdin:
        if line.strip() == "hang":
            begin([calls(("hang", {"a": 1})), "free"])
            begin([calls(("note", {"text": "x"})), "free"], policy=Policy(confirm=lambda _: RELEASED.wait()))
            say("hangs")
        else:
            results += good() if AGENT == "good" else bad()
            say(json.dumps(totals(results)))
    RELEASED.set()


main()
