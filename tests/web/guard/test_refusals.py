"""Each refusal is told once."""

from __future__ import annotations

from traced_loop.web.guard.refusals import MAX_TOLD, STATUS, Refusal, RefusalKind, Refusals


def test_the_same_is_told_once() -> None:
    """However often it comes; another detail is another one."""
    told: list[Refusal] = []
    refusals = Refusals(told.append)
    evil, other = (Refusal(kind=RefusalKind.WRONG_HOST, detail=name) for name in ("evil.example", "other.example"))
    for refusal in (evil, evil, other, evil):
        refusals.note(refusal)
    assert told == [evil, other]


def test_neither_many_nor_long_ones_fill_the_terminal() -> None:
    """A page that tries thousands of names is told of up to a bound, each cut."""
    told: list[Refusal] = []
    refusals = Refusals(told.append)
    for number in range(10_000):
        refusals.note(Refusal(kind=RefusalKind.WRONG_HOST, detail=f"{number} {'x' * 10_000}"))
    assert len(told) == MAX_TOLD
    assert max(len(refusal.detail) for refusal in told) <= 120


def test_a_terminal_that_is_gone_refuses_nobody() -> None:
    """The request is answered all the same, and the next refusal is told as if this one had been heard."""
    tried: list[RefusalKind] = []

    def gone(refusal: Refusal) -> None:
        tried.append(refusal.kind)
        raise BrokenPipeError

    refusals = Refusals(gone)
    for kind in (RefusalKind.NO_SESSION, RefusalKind.NO_SESSION, RefusalKind.WRONG_HOST):
        refusals.note(Refusal(kind=kind))
    assert tried == [RefusalKind.NO_SESSION, RefusalKind.WRONG_HOST]


def test_each_kind_has_a_status_of_an_error() -> None:
    """Of the one who asked."""
    assert set(STATUS) == set(RefusalKind)
    assert all(400 <= status < 500 for status in STATUS.values())
