"""A request that failed for good has one readable advice, by the kind of failure."""

from __future__ import annotations

import pytest

from traced_loop.diagnose.model_failure import advice
from traced_loop.read.agent_run import StoredAttempt, StoredRequest

SAYS: dict[str, tuple[str, ...]] = {
    "401": ("check the key",),
    "403": ("check the key", "allow"),
    "404": ("model's name", "address"),
    "429": ("Retry-After", "RetryPolicy"),
    "500": ("the server failed", "RetryPolicy"),
    "503": ("the server failed", "RetryPolicy"),
    "connection": ("server runs", "address", "RetryPolicy"),
    "timeout": ("request_seconds=",),
    "stalled": ("stall_seconds=", "proxy"),
    "invalid_response": ("address",),
    "418": ("traced-loop show RUN --messages",),
    "a provider's own word": ("traced-loop show RUN --messages",),
}


@pytest.mark.parametrize(("word", "said"), SAYS.items(), ids=list(SAYS))
def test_each_kind_of_failure_has_its_advice(word: str, said: tuple[str, ...]) -> None:
    """By the status where there is one, else by the word of the error."""
    prevent = advice(StoredRequest(error_type=word))

    assert all(part in prevent for part in said)
    assert ("RetryPolicy" in prevent) == any(part == "RetryPolicy" for part in said)


def test_the_status_of_the_last_try_comes_before_the_word() -> None:
    """A client calls its errors what it likes."""
    tries = (StoredAttempt(http_status=503), StoredAttempt(http_status=401))

    assert "check the key" in advice(StoredRequest(error_type="AuthenticationError", attempts=tries))
