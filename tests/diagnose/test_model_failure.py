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
    "replay_diverged": ("--accept", "--follow"),
    "replay_ended": ("a real one",),
    "replay_incomplete": ("another run",),
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


def test_the_kind_that_the_trace_tells_comes_before_all() -> None:
    """A 429 for used-up credit is no matter of patience."""
    assert "credit" in advice(StoredRequest(error_type="429", error_kind="quota_exhausted"))
    assert "max_result_bytes" in advice(StoredRequest(error_type="400", error_kind="context_too_long"))
    assert "Retry-After" in advice(StoredRequest(error_type="429", error_kind="a word of a later version"))


def test_the_wait_that_the_server_asked_for_is_part_of_the_advice() -> None:
    """Only where waiting is what helps."""
    asked = {"asked_wait_ms": 90_000}
    assert "asked for a wait of 1 min 30 s" in advice(StoredRequest(error_kind="rate_limited", **asked))
    assert "wait of" not in advice(StoredRequest(error_kind="auth", **asked))
