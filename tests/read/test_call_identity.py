"""Calls of other agents are told apart as those of a log of messages are."""

import json

import pytest

from traced_loop.read.call_identity import arguments_identity
from traced_loop.read.messages_log import messages_run


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"q": "a", "nonce": "8f14e45fceea167a"}, {"q": "a", "nonce": "c9f0f895fb98ab91"}, True),
        ({"q": "a", "page": 1}, {"q": "a", "page": 2}, False),
        ({"a": 1, "b": [2]}, {"b": [2], "a": 1}, True),
    ],
    ids=["what is new for each try", "a page", "another order of keys"],
)
def test_a_source_does_not_decide_whether_two_calls_are_equal(one: object, other: object, *, same: bool) -> None:
    """Arguments that are fresh by their name make no other call, neither in spans nor in a log."""

    def logged(arguments: object) -> str | None:
        called = {"id": "c", "function": {"name": "search", "arguments": json.dumps(arguments)}}
        said = [{"role": "user", "content": "Go."}, {"role": "assistant", "tool_calls": [called]}]
        return messages_run(said, "run").calls[0].identity

    identities = [arguments_identity("search", json.dumps(arguments)) for arguments in (one, other)]

    assert (identities[0] == identities[1]) is same
    assert (logged(one) == logged(other)) is same
