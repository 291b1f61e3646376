"""What the root span carries, and the result that says the same."""

from traced_loop import Budget, Price, ScriptedModel, SharedBudget, StopReason, tool
from traced_loop.testing import calls, play
from traced_loop.version import __version__


@tool(effect="read")
def multiply(a: int, b: int) -> int:
    """Multiply two integers."""
    return a * b


def test_the_root_says_why_the_run_ended_what_it_used_and_what_was_left() -> None:
    """Everything that stays in the namespace of this package, whole, on one span."""
    model = ScriptedModel([calls(("multiply", {"a": 6, "b": 7})), "42"], price=Price(input=1, output=1))

    played = play([], [multiply], model=model, budget=Budget(cost_usd=1), session_id="s-1", instructions="Be brief.")

    root, usage = played.spans.named("invoke_agent")[0].attributes, played.result.usage
    ours = {k.removeprefix("traced_loop."): v for k, v in root.items()}
    assert (ours["run.stop_reason"], ours["version"], ours["run.id"]) == ("final_answer", __version__, "run-1")
    assert (ours["run.steps"], ours["run.model_requests"], ours["run.tool_calls"]) == (2, 2, 1)
    assert ours["run.usage.input_tokens"] == usage.input_tokens
    assert ours["run.cost.microusd"] == usage.tokens
    assert ours["run.cost.band"] == "lt_0.01"
    assert ours["budget.next"] == "steps"
    for limit, room in played.result.headroom.items():
        if limit in {"request_seconds", "tool_seconds"}:
            assert (ours[f"budget.{limit}.limit"], ours[f"budget.{limit}.used"]) == (room.limit, room.used)
            continue
        found = [ours[f"budget.{limit}.{part}"] for part in ("limit", "used", "remaining")]
        assert found[0] == room.limit
        assert found[1] + found[2] == room.limit or limit in {"seconds", "cost_usd"}
    assert ours["receipt.spans_started"] == ours["receipt.spans_recorded"] + 1 == played.result.receipt.spans_ended
    assert len(root) < 60


def test_token_usage_sits_on_the_chat_spans_alone() -> None:
    """A backend that adds over all spans bills every token once."""
    played = play([calls(("multiply", {"a": 6, "b": 7})), "42"], [multiply])

    holders = {s.name for s in played.spans.ended_spans if any(k.startswith("gen_ai.usage.") for k in s.attributes)}
    sums = sum(s.attributes.get("gen_ai.usage.input_tokens", 0) for s in played.spans.ended_spans)
    assert holders == {"chat scripted"}
    assert sums == played.result.usage.input_tokens


def test_gen_ai_attributes_stay_on_the_three_standard_spans() -> None:
    """Backends take a helper span with such an attribute for a tool or a request."""
    played = play([calls(("multiply", {"a": 6, "b": 7})), "42"], [multiply])

    names = {s.name for s in played.spans.ended_spans if any(k.startswith("gen_ai.") for k in s.attributes)}
    assert names == {"invoke_agent agent", "chat scripted", "execute_tool multiply"}


def test_every_span_carries_the_run() -> None:
    """One search finds all of a run."""
    played = play([calls(("multiply", {"a": 6, "b": 7})), "42"], [multiply])

    assert {s.attributes["traced_loop.run.id"] for s in played.spans.ended_spans} == {"run-1"}


def test_without_a_price_no_cost_is_shown() -> None:
    """Unknown is absent, never zero."""
    played = play(["42"])

    root = played.spans.named("invoke_agent")[0].attributes
    assert played.result.cost is None
    assert not any("cost.usd" in k or "cost.microusd" in k or "cost.band" in k for k in root)


def test_the_configuration_has_a_digest() -> None:
    """Other instructions, tools or limits make another configuration; equal ones are equal everywhere."""

    def digests(**options: object) -> list[str]:
        root = play(["42"], **options).spans.named("invoke_agent")[0].attributes
        return [root[f"traced_loop.{name}"] for name in ("config.hash", "prompt.version", "tools.version")]

    plain, prompted, tooled = digests(), digests(instructions="Be brief."), digests(tools=[multiply])
    assert plain == digests()
    assert [a == b for a, b in zip(plain, prompted, strict=True)] == [False, False, True]
    assert [a == b for a, b in zip(plain, tooled, strict=True)] == [False, True, False]


def test_a_run_that_failed_is_an_error_on_the_root() -> None:
    """The status follows the stop reason, and the error type is its word."""
    root = play(["  "]).spans.named("invoke_agent")[0]

    assert root.error is True
    assert root.attributes["error.type"] == StopReason.EMPTY_RESPONSE


def test_of_a_root_with_too_much_to_say_what_is_left_of_the_limits_gives_way_first() -> None:
    """What else it says cannot be found out otherwise: the receipt, what was used, what the shared limits are."""
    script = [calls(("multiply", {"a": 6, "b": 7})) for _ in range(3)]
    team = SharedBudget(steps=50, tokens=100_000, cost_usd=1, name="team")

    played = play(
        [],
        [multiply],
        model=ScriptedModel([*script, "42"], price=Price(input=1, output=1)),
        budget=Budget(steps=3, cost_usd=1, last_request=True),
        shared_budget=team,
        session_id="s",
        repetition="observe",
    )

    root = played.spans.named("invoke_agent")[0].attributes
    said = {key.removeprefix("traced_loop.") for key in root}
    receipt = ("started", "ended", "recorded")
    limits = ("steps", "tool_calls", "tokens", "seconds", "cost_usd")
    assert (len(root), played.result.receipt.values_truncated) == (60, len(limits))
    assert {f"receipt.spans_{each}" for each in receipt} <= said
    assert {f"budget.{limit}.used" for limit in limits} <= said
    assert {
        f"budget.shared.{limit}.{part}" for limit in ("steps", "tokens", "cost_usd") for part in ("limit", "remaining")
    } <= said
    assert not {f"budget.{limit}.remaining" for limit in limits} & said
