"""The tree of exceptions is the one that is drawn."""

import pickle

import pytest

from traced_loop import errors
from traced_loop.errors import (
    InvalidArguments,
    ModelError,
    NotApplied,
    RunStopped,
    ScriptError,
    StoreError,
    ToolError,
    TracedLoopError,
    UsageError,
    typed_words,
)


@pytest.mark.parametrize(
    ("error", "base"),
    [
        (UsageError, TracedLoopError),
        (StoreError, UsageError),
        (ModelError, TracedLoopError),
        (ToolError, TracedLoopError),
        (InvalidArguments, ToolError),
        (NotApplied, ToolError),
        (ScriptError, TracedLoopError),
        (RunStopped, TracedLoopError),
        (TracedLoopError, Exception),
    ],
)
def test_each_exception_hangs_where_the_tree_says(error: type[Exception], base: type[Exception]) -> None:
    """Its direct base."""
    assert error.__bases__ == (base,)
    assert error.__name__ in str(errors.__doc__)


def test_a_model_error_says_what_the_next_attempt_needs() -> None:
    """By default none is worth making."""
    error = ModelError("busy", error_type="429", retryable=True, retry_after=2.0, status=429)
    assert (str(error), error.error_type, error.retryable, error.retry_after, error.status) == (
        "busy",
        "429",
        True,
        2.0,
        429,
    )
    plain = ModelError("no", error_type="400")
    assert (plain.retryable, plain.retry_after, plain.status) == (False, None, None)


def test_a_tool_error_is_deterministic_unless_it_says_otherwise() -> None:
    """Its kinds are too."""
    assert [e.transient for e in (ToolError("x"), InvalidArguments("x"), NotApplied("x"))] == [False] * 3
    assert ToolError("busy", transient=True).transient


def test_a_stopped_run_reads_as_reason_and_detail() -> None:
    """Without a detail, the reason alone."""
    assert str(RunStopped(stop_reason="refused", stop_detail="", run_id="r")) == "refused"
    assert str(RunStopped(stop_reason="refused", stop_detail="why", run_id="r")) == "refused: why"


@pytest.mark.parametrize("kind", [UsageError, StoreError])
def test_a_usage_error_may_say_something_else_to_who_types_commands(kind: type[UsageError]) -> None:
    """Where it does not, and for every other exception, its message is for both."""
    error = kind("pass store=None", typed="leave --store out")
    copied = pickle.loads(pickle.dumps(error))
    assert [(str(e), typed_words(e)) for e in (error, copied)] == [("pass store=None", "leave --store out")] * 2
    assert [typed_words(e) for e in (kind("no"), ToolError("busy"))] == ["no", "busy"]
