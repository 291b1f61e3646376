"""What the histories of a foreign trace lack is told once, where it was sent first."""

from traced_loop.read.history_pairs import unpaired
from traced_loop.read.span_facts import AskedCall, SaidMessage
from traced_loop.read.trace import ProblemKind


def asks(*ids: str) -> SaidMessage:
    """An answer with calls."""
    return SaidMessage(role="assistant", calls=tuple(AskedCall(call_id=i, tool="look") for i in ids))


def tells(*ids: str) -> SaidMessage:
    """Results."""
    return SaidMessage(role="tool", results=tuple((i, "here") for i in ids))


def told(*histories: list[SaidMessage] | None) -> list[tuple[ProblemKind, str]]:
    """Kinds and the span of each."""
    sent = [(("t", f"s{n}"), "", history) for n, history in enumerate(histories)]
    return [(problem.kind, problem.span_ids[0]) for problem in unpaired(sent)]


def test_a_call_whose_result_is_not_sent_is_told_once() -> None:
    """Later histories carry it again."""
    lost = [asks("a", "b"), tells("b")]

    assert told(None, lost, [*lost, asks("c"), tells("c")]) == [(ProblemKind.UNANSWERED_CALL, "s1")]


def test_a_result_of_no_call_is_told() -> None:
    """Also a second result of one call; a call that was made again under one id has two."""
    assert told([asks("a"), tells("a", "z")]) == [(ProblemKind.STRAY_RESULT, "s0")]
    assert told([asks("a"), tells("a", "a")]) == [(ProblemKind.STRAY_RESULT, "s0")]
    assert told([asks("a"), tells("a"), asks("a"), tells("a")]) == []


def test_what_ids_cannot_tell_is_not_guessed() -> None:
    """No ids, other ids for results than for calls, results whose calls a server keeps."""
    assert told([asks("", ""), tells("")], [asks("a"), tells("")]) == []
    assert told([asks("a"), tells("1")]) == []
    assert told([tells("a")]) == []
