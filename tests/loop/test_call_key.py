"""Every span of a write shows the same key, whatever becomes of the call; equal keys are equal in every run."""

from typing import Any

import pytest

from traced_loop import Budget, Decision, Outcome, Policy, tool
from traced_loop.testing import Played, calls, play
from traced_loop.tool_registry import Tool

KEY = "traced_loop.idempotency.key_fingerprint"


def refund(seen: list[str], **options: Any) -> Tool:
    """A refund that notes the key which it gets."""

    @tool(effect="write", **options)
    def refund(request_id: str, cents: int, *, idempotency_key: str) -> str:
        """Refund."""
        seen.append(idempotency_key)
        return "done"

    return refund


def declared(seen: list[str]) -> Tool:
    """The same with a business key."""
    return refund(seen, key=lambda request_id, **_: f"refund:{request_id}")


def keys(played: Played, name: str) -> list[str | None]:
    """The key on each span of that name."""
    return [span.attributes.get(KEY) for span in played.spans.named(name)]


ASKED = calls(("refund", {"request_id": "r1", "cents": 5}))
POLICIES = {
    "approved": (Policy(confirm=lambda _: True), Outcome.OK),
    "rejected": (Policy(confirm=lambda _: False, on_deny="report"), Outcome.CONFIRMATION_REJECTED),
    "pending": (Policy(), Outcome.CONFIRMATION_REQUIRED),
    "denied": (Policy(rules=[lambda _: Decision.DENY]), Outcome.DENIED),
}


@pytest.mark.parametrize(("policy", "outcome"), POLICIES.values(), ids=POLICIES)
def test_a_business_key_is_on_every_span_of_the_call(policy: Policy, outcome: Outcome) -> None:
    """So that a call which waits, or was denied, is known again; the key itself is on none."""
    seen: list[str] = []
    ended = outcome in {Outcome.OK, Outcome.CONFIRMATION_REJECTED}
    played = play([ASKED, "done"] if ended else [ASKED], [declared(seen)], policy=policy)

    found = [*keys(played, "traced_loop.authorize_call"), *keys(played, "execute_tool")]
    assert played.spans.outcomes() == {"call_1": [outcome]}
    assert (len(set(found)), None in found, "refund:r1" in str(played.spans.ended_spans)) == (1, False, False)
    assert seen == (["refund:r1"] if outcome is Outcome.OK else [])


def test_a_business_key_is_equal_in_every_run_and_whatever_else_differs() -> None:
    """Two runs of one store, or of one team: the same request was refunded twice."""
    other = calls(("refund", {"request_id": "r1", "cents": 700}))
    found = [keys(play([script], [declared([])]), "traced_loop.authorize_call") for script in (ASKED, other)]
    assert found[0] == found[1]


def test_a_derived_key_is_of_run_tool_and_arguments() -> None:
    """However they are written, and under whichever fingerprint key: a run that is continued makes the same one."""
    seen: list[str] = []
    texts = ['{"request_id":"r1","cents":5}', '{ "cents": 5, "request_id": "r1" }', '{"request_id":"r1","cents":6}']
    played = play(
        [calls(*(("refund", text) for text in texts)), "done"],
        [refund(seen)],
        policy=Policy(confirm=lambda _: True),
    )

    first, same, other = keys(played, "traced_loop.authorize_call")[:3]
    assert (first == same, first == other) == (True, False)
    assert all(key.startswith("run-1:refund:") for key in seen)
    assert keys(played, "execute_tool") == [first, other]


def test_volatile_arguments_make_no_other_key() -> None:
    """A nonce is new each time; the refund is the same."""
    seen: list[str] = []
    batch = calls(*(("refund", {"request_id": nonce, "cents": 5}) for nonce in ("n1", "n2")))
    played = play([batch, "done"], [refund(seen, volatile=["request_id"])], policy=Policy(confirm=lambda _: True))

    assert (len(seen), len(set(keys(played, "traced_loop.authorize_call")))) == (1, 1)


def test_what_a_person_allows_once_more_has_a_key_of_its_own() -> None:
    """With the first one's key a service that honours it would do nothing, whatever the person said."""
    seen: list[str] = []
    asks = Policy(confirm=lambda _: True)
    played = play([ASKED, ASKED, ASKED, "done"], [refund(seen)], policy=asks, repetition="observe")

    assert seen == [seen[0], f"{seen[0]}:2", f"{seen[0]}:3"]
    assert len(set(keys(played, "execute_tool"))) == 3


def test_each_call_of_a_repeatable_tool_has_a_key_of_its_own() -> None:
    """By its place in the run, so that a run which is continued makes the same one."""
    seen: list[str] = []
    both = calls(*[("refund", {"request_id": "r1", "cents": 5})] * 2)
    play([both, ASKED, "done"], [refund(seen, repeatable=True)], policy=Policy(confirm=lambda _: True))

    assert [key.rpartition(":")[2] for key in seen] == ["1.0", "1.1", "2.0"]


def test_the_key_function_is_asked_once_per_call() -> None:
    """A function that gives another key each time gives each call one."""
    asked, seen = list[int](), list[str]()

    def count(**_: Any) -> str:
        asked.append(1)
        return f"key {len(asked)}"

    played = play([ASKED, ASKED, "done"], [refund(seen, key=count)], policy=Policy(confirm=lambda _: True))

    assert (len(asked), seen) == (2, ["key 1", "key 2"])
    assert keys(played, "execute_tool") == list(dict.fromkeys(keys(played, "traced_loop.authorize_call")))


def test_a_call_over_the_limit_shows_its_key_too() -> None:
    """It was authorised and never ran."""
    played = play([ASKED, ASKED], [declared([])], policy=Policy(confirm=lambda _: True), budget=Budget(tool_calls=1))
    assert len(set(keys(played, "traced_loop.authorize_call"))) == 1
    assert len(keys(played, "traced_loop.authorize_call")) == 4


def test_a_read_has_no_key() -> None:
    """It may be repeated."""

    @tool(effect="read")
    def look() -> str:
        """Look."""
        return "seen"

    played = play([calls(("look", {})), "done"], [look])
    assert keys(played, "traced_loop.authorize_call") + keys(played, "execute_tool") == [None, None]


@pytest.mark.parametrize("key", ["k" * 256, "line\nbreak", "nul\0"], ids=["long", "newline", "nul"])
def test_a_key_that_no_service_takes_fails_its_call_before_anything_starts(key: str) -> None:
    """What is cut or changed on the way would be another one's key."""
    seen: list[str] = []
    played = play([ASKED, "end"], [refund(seen, key=lambda **_: key)], policy=Policy(confirm=lambda _: True))

    assert (seen, played.result.answer) == ([], "end")
    assert "its key function gave a text of more than 255 characters" in played.result.messages[2]["content"]


def test_the_longest_key_is_taken() -> None:
    """255 characters, of any alphabet."""
    seen: list[str] = []
    play([ASKED, "end"], [refund(seen, key=lambda **_: "ü" * 255)], policy=Policy(confirm=lambda _: True))
    assert seen == ["ü" * 255]
