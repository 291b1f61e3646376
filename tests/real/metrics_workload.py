"""A process with runs of every kind, for a real Prometheus to read: `python metrics_workload.py good|bad`.

It reads words from standard input: `work` runs everything once more and prints the totals of all runs by now as a line
of JSON, `hang` begins a run that waits for its tool until the end of standard input, then it ends.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from typing import Any

from traced_loop import Budget, Loop, Policy, Price, RunResult, ScriptedModel, allow_when, tool
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
def note(text: str) -> str:
    """Write something."""
    return text


@tool(effect="read", timeout=600)
def hang(a: int) -> int:
    """Return when the workload ends."""
    RELEASED.wait()
    return a


TOOLS = [add, broken, late, note, hang]
CACHED = {
    "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "done"}}],
    "usage": {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 60}},
}
PRICE = Price(input=1_000, output=2_000)
"""USD per million tokens: a run costs some cents."""


def run(script: list[Any], *, name: str = AGENT, **options: Any) -> RunResult:
    """One scripted run of this workload's agent."""
    model = ScriptedModel(script, name="model-x", price=options.pop("price", PRICE))
    policy = Policy(rules=[allow_when(["note"])]) if options.pop("approved", False) else None
    return Loop(model, TOOLS, name=name, policy=policy, on_timeout="report", store=None, **options).run("Go.")


def good() -> list[RunResult]:
    """Runs that end as they should."""
    some = [calls(("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4})), calls(("note", {"text": "x"})), CACHED]
    return [run(some, approved=True), run([calls(("add", {"a": 2, "b": 2})), "4"])]


def bad() -> list[RunResult]:
    """Capped, looping, failing, costly, denied, late and unpriced runs, beside one that is well."""
    again = calls(("add", {"a": 1, "b": 2}))
    return [
        run([again] * 6, budget=Budget(steps=6)),
        run([again] * 2, budget=Budget(steps=2)),
        run([calls(("broken", {"a": 1})), calls(("broken", {"a": 2})), "gave up"]),
        run([calls(("late", {"a": 1})), "gave up"]),
        run([calls(("add", {"a": "x"}), ("nothing", {})), "gave up"]),
        run([calls(("note", {"text": "x"}))]),
        run([again] * 3, price=Price(input=100_000, output=100_000), budget=Budget(cost_usd=30)),
        run(["fine"], price=None),
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
            threading.Thread(target=run, args=([calls(("hang", {"a": 1})), "free"],), daemon=True).start()
            say("hangs")
        else:
            results += good() if AGENT == "good" else bad()
            say(json.dumps(totals(results)))
    RELEASED.set()


main()
