"""Everything that needs equality works from the exported spans alone: no argument, result, error or key is in them."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from traced_loop import Loop, NotApplied, Policy, RunResult, ScriptedModel, ToolError, tool
from traced_loop.models.scripted import Line
from traced_loop.testing import calls
from traced_loop.tool_registry import Tool

SECRET = "xyzzy-quux"
Attributes = dict[str, Any]


class World:
    """Tools whose every answer holds another clock, id or address."""

    def __init__(self) -> None:
        self._count = 0

    def _stamp(self) -> str:
        self._count += 1
        return f"2026-11-30T02:46:{self._count:02d}Z req_{self._count:08d}abc in {self._count}.5s"

    def tools(self) -> list[Tool]:
        """A read, a read that fails, a job that moves on, a write with a business key."""

        @tool(effect="read", volatile={"nonce"})
        def look(name: str, nonce: int = 0) -> dict[str, str]:
            """Look."""
            return {"state": f"{SECRET} {'open' if name == 'a' else 'closed'}", "seen": self._stamp()}

        @tool(effect="read")
        def fail(name: str) -> str:
            """Fail."""
            raise ToolError(f"{SECRET} {name!r} not found at {self._stamp()}")

        @tool(effect="read")
        def job() -> str:
            """Look at a job."""
            self._count += 1
            return f"{SECRET}: {self._count} of 1000 done"

        @tool(effect="write", key=lambda request, **_: request)
        def pay(request: str, cents: int) -> str:
            """Pay."""
            raise NotApplied(f"{SECRET}: the bank is closed until {self._stamp()}")

        return [look, fail, job, pay]


SCRIPT: list[Line] = [
    calls(
        ("look", {"name": "a"}), ("look", {"name": "b"}), ("look", {"name": "a", "nonce": 1}), ("fail", {"name": "x"})
    ),
    calls(("look", '{ "nonce": 1, "name": "a" }'), ("fail", {"name": "x"}), ("fail", {"name": "y"}), ("job", {})),
    calls(("job", {}), ("pay", {"request": SECRET, "cents": 5}), ("pay", {"request": SECRET, "cents": 7})),
    calls(("job", {}), ("look", f"{SECRET} no JSON"), ("look", f"{SECRET} no JSON"), ("look", {SECRET: 1})),
    calls(("look", {SECRET: 1}), ("steal", {"a": SECRET}), ("steal", {"a": SECRET})),
    "done",
]


def played() -> tuple[RunResult, list[Attributes]]:
    """The run, and the attributes of its exported spans after a way through JSON."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    policy = Policy(confirm=lambda _: True)
    loop = Loop(
        ScriptedModel(SCRIPT), World().tools(), policy=policy, store=None, ledger="memory", tracer_provider=provider
    )
    result = loop.run(f"Mind {SECRET}.")
    spans = sorted(exporter.get_finished_spans(), key=lambda span: span.start_time or 0)
    exported = [json.loads(span.to_json()) for span in spans]
    assert SECRET not in json.dumps(exported)
    return result, [{**span["attributes"], "name": span["name"]} for span in exported]


def groups(items: Iterable[Attributes], key: Callable[[Attributes], Any]) -> list[list[str]]:
    """Call ids of equal items, in the order in which each group began; None equals nothing."""
    found: dict[Any, list[str]] = {}
    for item in items:
        if key(item) is not None:
            call_id = item.get("traced_loop.call.id") or item["gen_ai.tool.call.id"]
            found.setdefault(key(item), []).append(call_id)
    return sorted((sorted(ids) for ids in found.values() if len(ids) > 1), key=lambda ids: ids[0])


def truth(result: RunResult) -> list[tuple[str, str, str]]:
    """Call id, tool and arguments of every call, from the transcript."""
    return [
        (call["id"], call["function"]["name"], call["function"]["arguments"])
        for message in result.messages
        for call in message.get("tool_calls", ())
    ]


def named(spans: list[Attributes], name: str) -> list[Attributes]:
    """The spans of that name."""
    return [span for span in spans if span["name"].split(" ")[0] == name]


def repeated(span: Attributes) -> Any:
    """What calls that repeat one another have in common."""
    return span.get("traced_loop.args.stable_fingerprint", span["traced_loop.args.fingerprint"])


def test_which_calls_results_and_errors_were_equal_is_told_by_the_exported_spans_alone() -> None:
    """Parallel calls, spellings, clocks and refused calls included; what the ids stand for is in the transcript."""
    result, spans = played()
    ids = [call_id for call_id, _, _ in truth(result)]
    judged, ran = named(spans, "traced_loop.validate_call"), named(spans, "execute_tool")
    assert len(ids) == len(set(ids)) == len(judged) == 18
    look_a, look_b, look_a1, fail_x, look_a1_again, fail_x_again, fail_y, job_1, job_2, pay, pay_more = ids[:11]
    job_3, text, text_again, extra, extra_again, steal, steal_again = ids[11:]

    assert groups(judged, lambda a: a["traced_loop.args.fingerprint"]) == sorted(
        map(
            sorted,
            [
                [look_a1, look_a1_again],
                [fail_x, fail_x_again],
                [job_1, job_2, job_3],
                [text, text_again],
                [extra, extra_again],
                [steal, steal_again],
            ],
        ),
        key=lambda ids: ids[0],
    )
    stable = groups(judged, repeated)
    looks = sorted([look_a, look_a1, look_a1_again])
    assert looks in stable
    assert groups(ran, repeated) == [ids for ids in stable if not {text, extra, steal} & set(ids)]
    assert groups(ran, lambda a: a.get("traced_loop.result.fingerprint")) == []
    assert groups(ran, lambda a: a.get("traced_loop.result.normalized_fingerprint")) == [looks]
    assert groups(ran, lambda a: a.get("traced_loop.result.masked_fingerprint")) == [sorted([job_1, job_2, job_3])]
    assert [a.get("traced_loop.result.trend") for a in ran if a["gen_ai.tool.name"] == "job"] == [None, "up", "up"]
    assert look_b not in {one for group in stable for one in group}

    errors = groups(ran, lambda a: a.get("traced_loop.error.fingerprint"))
    alike = groups(ran, lambda a: a.get("traced_loop.error.masked_fingerprint"))
    assert errors == sorted([sorted([fail_x, fail_x_again]), sorted([pay, pay_more])])
    assert alike == sorted([sorted([fail_x, fail_x_again, fail_y]), sorted([pay, pay_more])])
    assert groups(ran, lambda a: a.get("traced_loop.idempotency.key_fingerprint")) == [sorted([pay, pay_more])]


def test_two_runs_compare_where_their_key_is_the_same_and_say_so() -> None:
    """Two runs without a store have a key each, and their roots tell that nothing in them compares."""
    (_, one), (_, other) = played(), played()

    def prints(spans: list[Attributes]) -> set[str]:
        return {value for span in spans for key, value in span.items() if key.endswith("fingerprint")}

    keys = [named(spans, "invoke_agent")[0]["traced_loop.fingerprint.key_id"] for spans in (one, other)]
    assert keys[0] != keys[1]
    assert prints(one) & prints(other) == set()
