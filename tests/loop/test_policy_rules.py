"""Ready-made rules."""

import asyncio
from typing import Any

import pytest

from traced_loop import Identity, Policy, Proposal, UsageError, allow_when, confirm_when, deny_when, tool
from traced_loop.loop.policy_rules import When
from traced_loop.outcomes import Outcome
from traced_loop.testing import Played, calls, play

ADA = Identity(id="ada", roles={"support", "night"})  # type: ignore[arg-type]


@tool(effect="read")
def look(cents: int = 0) -> int:
    """Look something up."""
    return cents


@tool(effect="write", risk="high")
def refund(cents: int) -> int:
    """Refund something."""
    return cents


def one(rule: Any, name: str = "refund", cents: int = 5, identity: Identity | None = ADA) -> Played:
    """A run under one rule, in which the model proposes one call and is told what became of it."""
    script = [calls((name, {"cents": cents})), "done"]
    policy = Policy(rules=[rule], on_deny="report", confirm=lambda _: False)
    return play(script, [look, refund], policy=policy, identity=identity)


@pytest.mark.parametrize(
    ("rule", "holds", "fails"),
    [
        (deny_when("refund"), {}, {"name": "look"}),
        (deny_when(["refund"]), {}, {"name": "look"}),
        (deny_when(effect="write"), {}, {"name": "look"}),
        (deny_when(effect="read"), {"name": "look"}, {}),
        (deny_when(risk="high"), {}, {"name": "look"}),
        (deny_when(risk="low"), {"name": "look"}, {}),
        (deny_when(identity="ada"), {}, {"identity": Identity(id="eve")}),
        (deny_when(identity="ada"), {}, {"identity": None}),
        (deny_when(role="support"), {}, {"identity": Identity(id="ada")}),
        (deny_when(role={"boss", "night"}), {}, {"identity": None}),
        (deny_when(without_role="boss"), {}, {"identity": Identity(id="a", roles={"boss"})}),  # type: ignore[arg-type]
        (deny_when(without_role="boss"), {"identity": None}, {"identity": Identity(id="a", roles={"boss"})}),  # type: ignore[arg-type]
        (deny_when("refund", lambda given: given["cents"] > 4), {}, {"cents": 4}),
        (deny_when("refund", lambda given: asyncio.sleep(0, result=given["cents"] > 4)), {}, {"cents": 4}),
        (deny_when("refund", risk="high", role="support"), {}, {"identity": None}),
    ],
)
def test_a_rule_has_its_opinion_where_all_that_it_asks_for_holds(
    rule: When, holds: dict[str, Any], fails: dict[str, Any]
) -> None:
    """And none elsewhere."""
    assert one(rule, **holds).spans.outcomes() == {"call_1": [Outcome.DENIED]}
    assert one(rule, **fails).spans.outcomes() != {"call_1": [Outcome.DENIED]}


def test_a_rule_may_allow_a_write_or_ask_about_a_read() -> None:
    """Each of the three decisions has a rule."""
    assert one(allow_when("refund")).spans.outcomes() == {"call_1": [Outcome.OK]}
    assert one(confirm_when("look"), "look").spans.outcomes() == {"call_1": [Outcome.CONFIRMATION_REJECTED]}


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        (deny_when("refund"), "deny_when(refund)"),
        (allow_when(["refund", "look"], effect="write", risk="high"), "allow_when(look|refund,write,high)"),
        (confirm_when(identity="ada", role="support", without_role="x"), "confirm_when(identity,role,without_role)"),
        (deny_when("refund", lambda _: True), "deny_when(refund,arguments)"),
        (deny_when("refund", lambda _: True, name="refund_limit"), "refund_limit"),
    ],
)
def test_a_rule_has_a_name_that_stays(rule: When, name: str) -> None:
    """Made of what it asks for, or given; never of people's ids and roles."""
    played = one(rule)

    span = played.spans.named("traced_loop.authorize_call")[0].attributes
    assert rule.name == name
    assert span["traced_loop.policy.rule"] == name
    assert "support" not in str([s.attributes for s in played.spans.ended_spans])


def test_the_reason_is_told_to_the_model_and_stands_on_the_span() -> None:
    """Short words of the application's."""
    played = one(deny_when("refund", reason="refunds are closed"))

    assert "refund is not permitted (refunds are closed)" in played.result.messages[-2]["content"]
    span = played.spans.named("traced_loop.authorize_call")[0].attributes
    assert span["traced_loop.policy.reason"] == "refunds are closed"


@pytest.mark.parametrize("make", [allow_when, deny_when, confirm_when])
@pytest.mark.parametrize("answer", [None, 1, "no", [], KeyError], ids=repr)
def test_a_predicate_that_gives_no_answer_denies(make: Any, answer: Any) -> None:
    """Also where it should have allowed: neither a truthy text nor an error is a yes."""

    def odd(given: Any) -> Any:
        if answer is KeyError:
            raise KeyError(given)
        return answer

    assert one(make("refund", odd)).spans.outcomes() == {"call_1": [Outcome.DENIED]}


def test_a_predicate_that_changes_what_it_sees_changes_nothing() -> None:
    """What runs is what the model proposed."""

    def greedy(given: Any) -> bool:
        given["cents"] = 10_000
        return True

    assert '"result":5' in one(allow_when("refund", greedy)).result.messages[-2]["content"]


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        (lambda: deny_when(), "deny_when() would hold for every call"),
        (lambda: deny_when(effect="wirte"), "effect='wirte'): write 'read' or 'write'"),  # type: ignore[arg-type]
        (lambda: deny_when(risk="medium"), "risk='medium'): write 'low' or 'high'"),  # type: ignore[arg-type]
        (lambda: allow_when([]), "allow_when(tool=[]) would hold for no call"),
        (lambda: allow_when("x", roles="y"), "allow_when(roles=...): it asks for effect"),  # type: ignore[call-arg]
        (lambda: deny_when("x", {"cents": 4}), "arguments must be a function"),  # type: ignore[arg-type]
        (lambda: deny_when(role=7), "role=7 is no collection of names"),  # type: ignore[arg-type]
    ],
    ids=["nothing", "effect", "risk", "no_tool", "unknown", "no_function", "no_name"],
)
def test_a_rule_that_would_not_hold_is_refused_when_it_is_made(mistake: Any, said: str) -> None:
    """A misspelt word would deny nothing, unseen."""
    with pytest.raises(UsageError) as raised:
        mistake()
    assert said in str(raised.value)


def test_a_rule_can_be_asked_by_itself() -> None:
    """It is a plain function of a proposal."""
    asked = Proposal(tool="look", effect="read", risk="low", arguments={}, identity=None, run_id="r")

    assert deny_when("refund")(asked) is None
