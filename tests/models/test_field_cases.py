"""The field cases that lie beside the clone, each over HTTP: what must come of them is here, their data is not."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from traced_loop import Budget, Loop, OpenAIModel, Policy, Price, RetryPolicy, RunResult, StopReason, UsageError, names
from traced_loop.testing import CountedIds, Spans, counted_wiring
from traced_loop.tool_registry import Tool, tool

from .chat_server import ANSWER, ChatServer, Reply, chat_server

FIELD = Path(__file__).parents[2].parent / "shared" / "cases" / "dev.jsonl"
CASES: dict[str, dict[str, Any]] = (
    {case["id"]: case["input"] for case in map(json.loads, FIELD.read_text(encoding="utf-8").splitlines())}
    if FIELD.exists()
    else {}
)
pytestmark = pytest.mark.skipif(not CASES, reason=f"the field cases are not part of the repository: {FIELD} is missing")

FINAL, ODD, CUT = StopReason.FINAL_ANSWER, StopReason.INCONSISTENT_RESPONSE, StopReason.TRUNCATED_RESPONSE
FILTERED, ERROR = StopReason.CONTENT_FILTERED, StopReason.MODEL_ERROR
QUICK = RetryPolicy(attempts=2, first_delay=0.001)


@dataclass
class Ran:
    """What came of a case."""

    result: RunResult
    server: ChatServer
    spans: Spans
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    @property
    def told(self) -> list[dict[str, Any]]:
        """The ``tool`` messages, in order."""
        return [message for message in self.result.messages if message["role"] == "tool"]

    def anomalies(self) -> set[str]:
        """Every word on any span."""
        texts = [span.attributes.get(names.ANOMALIES) or "" for span in self.spans.ended_spans]
        return {word for text in texts for word in text.split(",") if word}


def made_tool(spec: str, calls: list[tuple[str, dict[str, Any]]], *, writes: bool) -> Tool:
    """A tool of a signature as text; it notes its calls."""
    name, _, rest = spec.partition("(")
    parameters, _, behind = rest.partition(")")
    lines = [f"def {name}({parameters}):", "    given = dict(locals())", f"    calls.append(({name!r}, given))"]
    lines.append("    " + (behind.strip().replace("raises", "raise") or "return given.get('a', 1) * given.get('b', 1)"))
    space: dict[str, Any] = {"calls": calls}
    exec("\n".join(lines), space)
    space[name].__doc__ = "Do it."
    return tool(effect="write" if writes else "read")(space[name])


def replies(script: list[Any]) -> list[Reply]:
    """The script as replies, one each."""
    found: list[Reply] = []
    for line in script:
        found += [Reply(body=line["response"])] * line["repeat"] if "repeat" in line else [Reply(body=line)]
    return found


def variant_of(case: dict[str, Any], letter: str) -> dict[str, Any]:
    """The variant whose name begins so; the case itself for none."""
    variants: dict[str, dict[str, Any]] = case.get("variants", {})
    return next(variants[name] for name in variants if name.startswith(letter)) if letter else case


def message_of(case: dict[str, Any], letter: str) -> dict[str, Any]:
    """The message of its first response."""
    message: dict[str, Any] = variant_of(case, letter)["model_script"][0]["choices"][0]["message"]
    return message


def run(case: dict[str, Any], variant: str = "", *, key: str = "model_script", **options: Any) -> Ran:
    """Play a case, or one of its variants, on a real server."""
    chosen = variant_of(case, variant)
    script = replies(chosen[key])
    calls: list[tuple[str, dict[str, Any]]] = []
    writes = case.get("side_effect", ())
    specs = chosen.get("tools") or case.get("tools") or []
    tools = [made_tool(spec, calls, writes=spec.partition("(")[0] in writes) for spec in specs]
    model_options = {name: options.pop(name) for name in ("tolerate", "price") if name in options}
    spans, ids = Spans(), CountedIds()
    with chat_server(script[-1], first=script[:-1]) as server:
        model = OpenAIModel(options.pop("model", "m"), base_url=server.base_url, **model_options)
        policy = Policy(confirm=lambda _pending: True)
        wiring = counted_wiring(spans, ids=ids)
        result = Loop(model, tools, policy=policy, wiring=wiring, ids=ids, retry=QUICK, **options).run("Go.")
    return Ran(result=result, server=server, spans=spans, calls=calls)


# What must come, by case and the first letter of its variant: stop, requests, calls that ran, words that some span has.
EXPECTED: dict[tuple[str, str], tuple[StopReason, int, int, set[str]]] = {
    ("PQ01", ""): (ODD, 1, 0, {"stop_with_tool_calls"}),
    ("PQ02", "a"): (ODD, 1, 0, {"tool_calls_missing"}),
    ("PQ02", "b"): (ODD, 1, 0, {"tool_calls_missing"}),
    ("PQ03", "a"): (FINAL, 2, 1, {"id_synthesized"}),
    ("PQ03", "b"): (FINAL, 2, 1, {"id_synthesized"}),
    ("PQ03", "c"): (FINAL, 2, 2, {"id_duplicate"}),
    ("PQ03", "d"): (FINAL, 2, 1, {"call_echo"}),
    ("PQ04", "a"): (FINAL, 2, 1, {"arguments_empty"}),
    ("PQ04", "b"): (FINAL, 2, 1, {"arguments_empty"}),
    ("PQ04", "c"): (FINAL, 2, 1, {"arguments_empty"}),
    ("PQ04", "d"): (FINAL, 2, 1, {"arguments_not_text"}),
    ("PQ04", "e"): (FINAL, 2, 0, set()),
    ("PQ04", "f"): (FINAL, 2, 1, {"usage_missing"}),
    ("PQ05", "a"): (FINAL, 2, 1, {"arguments_double_encoded"}),
    ("PQ05", "b"): (FINAL, 2, 0, set()),
    ("PQ05", "c"): (FINAL, 2, 1, set()),
    ("PQ05", "d"): (FINAL, 2, 0, set()),
    ("PQ06", "a"): (FINAL, 2, 1, {"arguments_fenced"}),
    ("PQ06", "b"): (FINAL, 2, 0, set()),
    ("PQ06", "c"): (FINAL, 2, 0, set()),
    ("PQ07", "a"): (CUT, 1, 0, set()),
    ("PQ07", "b"): (CUT, 1, 0, set()),
    ("PQ07", "c"): (CUT, 1, 0, set()),
    ("PQ09", "a"): (ERROR, 2, 0, set()),
    ("PQ09", "b"): (ERROR, 1, 0, set()),
    ("PQ09", "c"): (ERROR, 1, 0, set()),
    ("PQ09", "d"): (ERROR, 1, 0, set()),
    ("PQ10", "a"): (FILTERED, 1, 0, set()),
    ("PQ10", "b"): (FILTERED, 1, 0, set()),
    ("PQ10", "c"): (FILTERED, 1, 0, set()),
    ("PQ12", ""): (FINAL, 2, 1, set()),
}


@pytest.mark.parametrize(("name", "variant"), EXPECTED, ids=["-".join(filter(None, key)) for key in EXPECTED])
def test_a_field_case_ends_as_it_must(name: str, variant: str) -> None:
    """Its stop, its requests, what ran, the words on the spans; and what was stored can be sent again."""
    stop, requests, calls, words = EXPECTED[name, variant]
    ran = run(CASES[name], variant)
    assert (ran.result.stop_reason, len(ran.server.bodies), len(ran.calls)) == (stop, requests, calls)
    assert words <= ran.anomalies()
    with chat_server() as server:
        again = Loop(OpenAIModel("m", base_url=server.base_url), store=None).run("On.", messages=ran.result.messages)
        sent = server.bodies[0]["messages"]
    assert again.stop_reason is FINAL
    assert not any(message.get("tool_calls") == [] for message in sent)
    for call in (call for message in sent for call in message.get("tool_calls") or ()):
        assert isinstance(json.loads(call["function"]["arguments"]), dict)


def test_every_case_of_the_kind_is_here() -> None:
    """One that nobody plays would be a case that nobody holds; streams have their own tests."""
    played = {name for name, _ in EXPECTED} | {"PQ08", "PQ11", "PQ13"}
    assert {name for name in CASES if name.startswith("PQ")} <= played


def test_calls_beside_stop_run_where_the_server_is_tolerated() -> None:
    """And the mismatch is on the span, with the raw finish reason."""
    ran = run(CASES["PQ01"], tolerate={"stop_with_tool_calls"})
    assert (ran.result.stop_reason, len(ran.server.bodies), len(ran.calls)) == (FINAL, 2, 1)
    assert "stop_with_tool_calls" in ran.anomalies()
    assert ran.spans.named("chat")[0].attributes[names.GEN_AI_FINISH_REASONS] == ("stop",)


@pytest.mark.parametrize(("name", "variant"), [("PQ02", "b"), ("PQ07", "c"), ("PQ09", "c")])
def test_the_text_of_an_answer_that_does_not_count_is_kept_as_partial(name: str, variant: str) -> None:
    """It is no answer."""
    ran = run(CASES[name], variant)
    assert (ran.result.answer, ran.result.partial) == (None, message_of(CASES[name], variant)["content"])


def test_arguments_reach_a_tool_as_the_model_meant_them() -> None:
    """Text that looks like JSON stays text, and a fence inside of a value is part of it."""
    for name, variant in (("PQ05", "c"), ("PQ06", "a")):
        raw = message_of(CASES[name], variant)["tool_calls"][0]["function"]["arguments"]
        meant = json.loads(raw[raw.index("{") : raw.rindex("}") + 1])
        assert [given for _, given in run(CASES[name], variant).calls] == [meant]


def test_an_error_inside_of_a_success_has_its_kind_and_its_usage() -> None:
    """A typed error on the span, and what was billed in the totals."""
    kinds = {}
    for variant in "abcd":
        ran = run(CASES["PQ09"], variant)
        [chat] = ran.spans.named("chat")
        kinds[variant] = chat.attributes[names.MODEL_ERROR_KIND]
        assert chat.error
    assert list(kinds.values()) == ["rate_limited", "no_answer", "server_error", "no_answer"]
    assert run(CASES["PQ09"], "d").result.usage.tokens == 120


def test_every_one_of_several_calls_is_answered_in_order() -> None:
    """One that fails neither cancels nor hides its siblings, and a name is never guessed."""
    ran = run(CASES["PQ11"])
    assert ran.result.stop_reason is FINAL
    asked = [call["id"] for call in message_of(CASES["PQ11"], "")["tool_calls"]]
    assert [message["tool_call_id"] for message in ran.told] == asked
    assert sorted(name for name, _ in ran.calls) == ["boom", "multiply", "multiply"]
    results = [json.loads(message["content"]) for message in ran.told]
    assert (results[0]["result"], results[5]["result"]) == (42, 4)
    assert [result.get("type") for result in results] == [
        None,
        "unknown_tool",
        "error",
        "invalid",
        "unknown_tool",
        None,
    ]
    assert "multiply" in results[1]["message"]
    assert "RuntimeError" in results[2]["message"]
    assert "b" in results[3]["message"]
    assert not any("<|" in span.name for span in ran.spans.ended_spans)
    assert "name_not_valid" in ran.anomalies()


def test_what_a_provider_sent_goes_back_as_it_came() -> None:
    """Reasoning and a vendor's own fields, in the second request."""
    script = CASES["PQ12"]["model_script"]
    sent = run(CASES["PQ12"]).server.bodies[1]["messages"][1]
    message = script[0]["choices"][0]["message"]
    assert {key: sent[key] for key in message} == message


def test_arguments_of_the_wrong_type_never_reach_a_tool() -> None:
    """No coercion; right ones do."""
    case = CASES["PQ13"]
    good = {"user": "u", "is_admin": False}
    for given in [*case["bad_arguments"], good]:
        function = {"name": "set_admin", "arguments": json.dumps(given)}
        message = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        }
        script = [{"choices": [{"finish_reason": "tool_calls", "message": message}]}, ANSWER]
        ran = run({**case, "model_script": script})
        assert ran.calls == ([("set_admin", {"user": "u", "is_admin": False, "level": 1})] if given is good else [])


def test_costs_of_cached_and_reasoned_tokens_are_no_sums_of_parts() -> None:
    """In exact decimals; what no count says is never negative."""
    case = CASES["CO01"]
    rates = case["price_per_1M"]
    price = Price(input=rates["in"], cached_input=rates["cached_in"], output=rates["out"])
    costs = [run({"model_script": [{**ANSWER, "usage": usage}]}, price=price).result.cost for usage in case["usages"]]
    assert costs == [Decimal(text) for text in ("0.0048", "0.0036", "0.00001", "0.012")]


def test_a_model_without_a_price_is_refused_under_a_cost_limit_and_unknown_without() -> None:
    """Never free by accident; declared free is."""
    variants = CASES["CO02"]["variants"]
    script = {"model_script": [ANSWER]}
    with pytest.raises(UsageError, match=variants["a"]["model"]):
        run(script, model=variants["a"]["model"], budget=Budget(cost_usd=variants["a"]["limits"]["cost_usd"]))
    unknown = run(script, model=variants["b"]["model"])
    assert unknown.result.cost is None
    assert names.COST_USD not in unknown.spans.named("chat")[0].attributes
    free = run(script, model=variants["d"]["model"], price=Price.free(), budget=Budget(cost_usd=1))
    assert free.result.cost == 0


@pytest.mark.parametrize("variant", ["a", "b"])
def test_a_server_that_counts_nothing_is_held_to_a_limit_by_estimates(variant: str) -> None:
    """A run that would else go on for fifty steps; other limits are out of the way."""
    case = CASES["CO03"]
    script = {"model_script": case["model_script_variants"][variant], "tools": ["multiply(a:int,b:int)"]}
    budget = Budget(tokens=case["limits"]["total_tokens"], steps=None, tool_calls=None)
    ran = run(script, budget=budget, repetition="observe", request={"max_completion_tokens": 100})
    assert (ran.result.stop_reason, ran.result.usage.estimated) == (StopReason.TOKEN_BUDGET_EXCEEDED, True)
    assert all("gen_ai.usage.input_tokens" not in chat.attributes for chat in ran.spans.named("chat"))


def test_a_count_that_is_half_known_is_half_known() -> None:
    """A sum without its parts, a part of a wrong type."""
    scripts = CASES["CO03"]["model_script_variants"]
    sums = run({"model_script": scripts["c"]}).result.usage
    assert (sums.tokens, sums.input_tokens, sums.output_tokens) == (12, None, None)
    half = run({"model_script": scripts["d"]}).result.usage
    assert (half.input_tokens, half.output_tokens) == (12, None)
