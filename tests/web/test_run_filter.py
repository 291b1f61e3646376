"""The filter as the address spells it: any address is one, and what is wrong with it is said."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.read.run_choice import MOST_COST, ORDERS, condition_of
from traced_loop.read.run_list import RunNames
from traced_loop.web.run_filter import FIELDS, RunFilter, filter_of
from traced_loop.web.runs_page import choice_of

NOW = 1_790_000_000_000_000_000


def read(query: str) -> RunFilter:
    """The filter of an address."""
    return filter_of(parse_qsl(query, keep_blank_values=True), NOW)


def moment(*parts: int) -> int:
    """A time in UTC as nanoseconds since 1970."""
    return int(datetime(*parts, tzinfo=UTC).timestamp()) * 10**9  # type: ignore[misc,arg-type]


def test_an_empty_address_filters_nothing_newest_first() -> None:
    """Also one with all fields of the form, empty as a browser sends them."""
    empty = read("&".join(f"{name}=" for name in FIELDS))
    assert empty == read("") == RunFilter()
    assert not empty.is_on
    assert empty.address() == "/"


def test_a_whole_filter_is_read() -> None:
    """Each field by itself."""
    found = read(
        "text=ab&tool=t&model=m*&agent=a&session=s&stop=refused&stop=cancelled&stop=refused&state=died&flagged=yes"
        "&cost_from=0.01&cost_to=$2&since=24h&from=2026-09-22T05:00Z&to=2026-09-22T15:30%2B09:00"
        "&sort=cost&page=3"
    )
    assert found.problems == {}
    assert found.given["stop"] == ("refused", "cancelled")
    assert (found.choice.stop_reasons, found.choice.states) == ({"refused", "cancelled"}, {"died"})
    assert (found.choice.flagged, found.choice.cost_from, found.choice.cost_to) == (True, Decimal("0.01"), Decimal(2))
    assert (found.choice.from_ns, found.choice.to_ns) == (moment(2026, 9, 22, 5), moment(2026, 9, 22, 6, 30))
    assert (found.choice.order, found.choice.descending, found.page) == ("cost", False, 3)


@pytest.mark.parametrize(
    ("query", "field", "problem"),
    [
        ("cost_from=much", "cost_from", "no_cost"),
        ("cost_from=1,50", "cost_from", "no_cost"),
        ("cost_to=-1", "cost_to", "no_cost"),
        ("cost_to=NaN", "cost_to", "no_cost"),
        ("cost_to=Infinity", "cost_to", "no_cost"),
        ("cost_to=1e999999", "cost_to", "no_cost"),
        ("cost_to=1_0", "cost_to", "no_cost"),
        ("cost_to=$", "cost_to", "no_cost"),
        ("cost_to=%D9%A1", "cost_to", "no_cost"),
        ("cost_from=2&cost_to=1", "cost_to", "below_from"),
        ("since=2h", "since", "unknown_word"),
        ("from=yesterday", "from", "no_time"),
        ("from=2026-13-01", "from", "no_time"),
        ("from=2026-01-02&to=2026-01-01", "to", "before_from"),
        ("stop=tired", "stop", "unknown_word"),
        ("stop=refused&stop=tired", "stop", "unknown_word"),
        ("state=asleep", "state", "unknown_word"),
        ("flagged=maybe", "flagged", "unknown_word"),
        ("sort=colour", "sort", "unknown_order"),
        ("sort=--cost", "sort", "unknown_order"),
        ("page=0", "page", "no_page"),
        ("page=-1", "page", "no_page"),
        ("page=two", "page", "no_page"),
        ("page=%C2%B2", "page", "no_page"),
        (f"page={'9' * 5000}", "page", "no_page"),
        (f"text={'a' * 201}", "text", "too_long"),
    ],
)
def test_what_cannot_be_understood_is_said_and_kept(query: str, field: str, problem: str) -> None:
    """The field is not applied; what was written stays in it."""
    found = read(query)
    assert found.problems == ({field: problem})
    if field in FIELDS:
        assert set(found.given[field]) == {value for name, value in parse_qsl(query) if name == field}
        assert found.wanted(field) == ""
        assert found.is_on


def test_the_rest_of_a_filter_holds_where_one_field_is_wrong() -> None:
    """Nothing else is lost."""
    found = read("stop=refused&stop=tired&state=asleep&state=died&cost_from=x&cost_to=2&text=ab")
    assert (found.choice.stop_reasons, found.choice.cost_from, found.choice.cost_to, found.wanted("text")) == (
        {"refused"},
        None,
        Decimal(2),
        "ab",
    )
    assert found.choice.states == {"died"}
    assert set(found.problems) == {"stop", "state", "cost_from"}


@pytest.mark.parametrize(
    ("query", "begins"),
    [
        ("since=1h", NOW - 3600 * 10**9),
        ("since=1h&from=2000-01-01", NOW - 3600 * 10**9),
        ("since=30d&from=2026-09-21T00:00Z", moment(2026, 9, 21)),
        ("from=2026-09-21T00:00:30%2B02:00", moment(2026, 9, 20, 22, 0, 30)),
    ],
)
def test_the_later_of_two_beginnings_counts(query: str, begins: int) -> None:
    """Both have to hold; a time with a zone of its own is in that."""
    assert read(query).choice.from_ns == begins


def test_times_that_no_index_holds_are_bounds_all_the_same() -> None:
    """The first and the last that can be written."""
    found = read("from=0001-01-01T00:00%2B09:00&to=9999-12-31T23:59-09:00")
    assert found.problems == {}
    values = condition_of(choice_of(found, RunNames())).values
    assert values == (-(2**63), 2**63 - 1)
    assert found.moment("from") is None


def test_times_that_a_browser_picks_are_told_from_others() -> None:
    """A field for local times shows nothing else."""
    assert read("").is_picked("from")
    assert read("from=2026-09-22T14:00&to=2026-09-23T14:00:05").is_picked("to")
    assert not read("from=2026-09-22").is_picked("from")
    assert not read("from=2026-99-22T14:00").is_picked("from")


def test_an_address_keeps_the_filter_and_leaves_the_page() -> None:
    """Another order begins at the first page; what is usual is not written."""
    found = read("tool=a%26b&stop=refused&stop=cancelled&sort=-cost&page=4&other=1")
    kept = "/?tool=a%26b&stop=refused&stop=cancelled"
    assert found.address() == f"{kept}&sort=-cost"
    assert found.address(page=5) == f"{kept}&sort=-cost&page=5"
    assert found.address(order="steps", descending=False) == f"{kept}&sort=steps"
    assert found.address(order="started") == kept
    assert found.address(only=("stop", "model_error")) == "/?tool=a%26b&stop=model_error&sort=-cost"
    assert found.address(without="stop") == "/?tool=a%26b&sort=-cost"


words = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        ["refused", "died", "yes", "1h", "0.5", "2026-09-22", "2026-09-22T14:00", "UTC", "-cost", "7", "*"]
    ),
    st.decimals().map(str),
    st.datetimes().map(lambda time: time.isoformat()),
)


@given(st.lists(st.tuples(st.one_of(st.sampled_from([*FIELDS, "sort", "page"]), st.text(max_size=5)), words)))
def test_any_address_is_a_filter_and_so_is_what_is_written_of_it(pairs: list[tuple[str, str]]) -> None:
    """It can be asked of a store; read again it is the same; each problem is of a field that is there."""
    found = filter_of(pairs, NOW)
    condition = condition_of(choice_of(found, RunNames(models=("gpt-5",), tools=("look",))))
    assert condition.text
    assert found.choice.order in ORDERS
    assert found.choice.cost_from is None or 0 <= found.choice.cost_from <= MOST_COST
    assert set(found.problems) <= {name for name, _ in pairs}
    again = read(found.address(page=found.page).partition("?")[2])

    def without_order(filter_: RunFilter) -> dict[str, Any]:
        return {name: value for name, value in filter_.problems.items() if name not in {"sort", "page"}}

    if all(character < "\ud800" or character > "\udfff" for _, text in pairs for character in text):
        assert (again.given, again.choice.order, again.page) == (found.given, found.choice.order, found.page)
        assert without_order(again) == without_order(found)
