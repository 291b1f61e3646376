"""What a compensation is given: checked when its tool is declared."""

from typing import Any

import pytest

from traced_loop import Cancellation, UsageError
from traced_loop.side_arguments import check_undo, defaults_of, undo_arguments


def hotel(city: str, told: Cancellation, nights: int = 2, *, idempotency_key: str = "") -> None:
    """The call that is undone."""


def given(undo: Any, **arguments: Any) -> dict[str, Any]:
    """What that compensation gets."""
    return undo_arguments(undo, hotel, arguments, lambda: {"room": 7})


def test_it_gets_what_it_has_parameters_for() -> None:
    """Arguments by name, also those that the model left out, and the result."""
    assert given(lambda city: None, city="Oslo", nights=3) == {"city": "Oslo"}
    assert given(lambda nights, result: None, city="Oslo") == {"nights": 2, "result": {"room": 7}}
    assert given(lambda: None, city="Oslo") == {}
    assert given(lambda **_: None, city="Oslo") == {"city": "Oslo", "nights": 2, "result": {"room": 7}}


def test_the_result_is_read_only_where_it_is_wanted() -> None:
    """It can be long."""

    def read() -> Any:
        raise AssertionError

    assert undo_arguments(lambda city: None, hotel, {"city": "Oslo"}, read) == {"city": "Oslo"}


def test_what_a_loop_fills_in_is_no_argument_of_a_call() -> None:
    """Neither has a default that a compensation could ask for."""
    assert defaults_of(hotel) == {"nights": 2}


def positional(city: str, /) -> None:
    """A compensation that cannot be called by name."""


@pytest.mark.parametrize(
    ("undo", "said"),
    [
        (lambda room: None, "wants 'room', which is no parameter of the tool"),
        (lambda note: None, "wants 'note', which may be left out of a call"),
        (positional, "parameter 'city' of its compensation cannot be given by name"),
    ],
)
def test_what_it_cannot_be_given_is_refused(undo: Any, said: str) -> None:
    """Before anything is done that it could not undo."""
    with pytest.raises(UsageError, match=said):
        check_undo(undo, given={"city", "nights", "note"}, always={"city", "nights"}, of="tool 'hotel'")


def test_a_parameter_that_hides_the_result_is_refused() -> None:
    """One name, one meaning."""
    with pytest.raises(UsageError, match="hides the result"):
        check_undo(lambda result: None, given={"result"}, always={"result"}, of="tool 'hotel'")
    check_undo(lambda: None, given={"result"}, always={"result"}, of="tool 'hotel'")


def test_what_it_may_do_without_need_not_be_there() -> None:
    """And what is filled in never is."""

    def undo(city: str, told: Cancellation, note: str = "", *, idempotency_key: str, **more: Any) -> None: ...

    check_undo(undo, given={"city"}, always={"city"}, of="tool 'hotel'")
