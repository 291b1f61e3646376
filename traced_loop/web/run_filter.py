"""The filter of the list of runs, as the address of the page spells it: taken as it is, checked, and written again.

A field that cannot be understood is named with a reason and left out of what is asked; its text stays where it is.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Final, get_args
from urllib.parse import urlencode

from traced_loop.frozen_value import frozen_value
from traced_loop.outcomes import StopReason
from traced_loop.read.run_choice import MOST_COST, ORDERS, RunChoice, RunOrder
from traced_loop.read.run_entry import RunState, utc
from traced_loop.web.asked_number import asked_number

TEXTS: Final = ("text", "tool", "model", "agent", "session")
"""Fields of any text; in all but the first it is a whole name, in which ``*`` stands for anything."""
MANY: Final = ("stop", "state")
"""Fields that may be there several times, once a value."""
FIELDS: Final = (*TEXTS, *MANY, "flagged", "cost_from", "cost_to", "since", "from", "to")
"""All fields of the filter, in the order of the form."""
STATES: Final[tuple[RunState, ...]] = get_args(RunState)
SINCE: Final[Mapping[str, timedelta]] = {
    "1h": timedelta(hours=1),
    "24h": timedelta(hours=24),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
}
MOST_CHARACTERS: Final = 200
"""Of one field."""
_PICKED: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(?::[0-9]{2})?")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@frozen_value
class RunFilter:
    """What the address says.

    Attributes:
        given: the fields as they were written, without those that are empty.
        problems: by field, which of the sentences ``runs.problem`` says what is wrong with it.
        choice: what they ask the store for; names and the page are left open.
        page: from 1 on.
    """

    given: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    problems: Mapping[str, str] = field(default_factory=dict[str, str])
    choice: RunChoice = field(default_factory=RunChoice)
    page: int = 1

    def text(self, name: str) -> str:
        """A field that is there once, as it was written; ``""`` where it is not."""
        return self.given.get(name, ("",))[0]

    def wanted(self, name: str) -> str:
        """The same, but ``""`` where something is wrong with it."""
        return "" if name in self.problems else self.text(name)

    def moment(self, name: str) -> datetime | None:
        """The time that a field says; None where it says none."""
        return utc(self.choice.from_ns if name == "from" else self.choice.to_ns)

    def is_picked(self, name: str) -> bool:
        """Whether a field holds nothing, or a local time as the field of a browser spells one."""
        text = self.text(name)
        return not text or (name not in self.problems and _PICKED.fullmatch(text) is not None)

    @property
    def is_on(self) -> bool:
        """Whether anything is filtered, or was meant to be."""
        return bool(self.given)

    def address(
        self,
        *,
        page: int = 1,
        order: RunOrder | None = None,
        descending: bool = True,
        without: str = "",
        only: tuple[str, str] | None = None,
    ) -> str:
        """The page with the same filter.

        Args:
            page: of it, from 1 on.
            order: another one, with ``descending``; None for the same.
            descending: the largest first.
            without: a field that is left out.
            only: a field and the one value that it has instead of its own.
        """
        given = self.given if only is None else {**self.given, only[0]: (only[1],)}
        pairs = [(name, value) for name in FIELDS if name != without for value in given.get(name, ())]
        by, down = (self.choice.order, self.choice.descending) if order is None else (order, descending)
        if (by, down) != ("started", True):
            pairs.append(("sort", f"-{by}" if down else by))
        if page > 1:
            pairs.append(("page", str(page)))
        return f"/?{urlencode(pairs, errors='replace')}" if pairs else "/"


def filter_of(pairs: Iterable[tuple[str, str]], now_ns: int) -> RunFilter:
    """Read the fields of an address; whatever they are, it is a filter, and what is wrong with them is said in it.

    Args:
        pairs: names and values in their order; names that are no field are left out.
        now_ns: the time, nanoseconds since 1970.
    """
    given: dict[str, tuple[str, ...]] = {}
    for name, value in pairs:
        stripped = value.strip()
        if stripped and name in MANY:
            given[name] = tuple(dict.fromkeys([*given.get(name, ()), stripped]))
        elif stripped and name not in given:
            given[name] = (stripped,)
    return _Reader(given, now_ns).read()


class _Reader:
    """Reads one address; notes what is wrong with it."""

    def __init__(self, given: Mapping[str, tuple[str, ...]], now_ns: int) -> None:
        self._given = given
        self._now = now_ns
        self._problems: dict[str, str] = {}

    def read(self) -> RunFilter:
        for name in FIELDS:
            if any(len(value) > MOST_CHARACTERS for value in self._values(name)):
                self._problems[name] = "too_long"
        order, descending = self._read_order()
        cost_from, cost_to = self._read_cost("cost_from"), self._read_cost("cost_to")
        if cost_from is not None and cost_to is not None and cost_from > cost_to:
            self._problems["cost_to"], cost_to = "below_from", None
        from_ns, to_ns = self._read_times()
        states = self._chosen("state", STATES)
        return RunFilter(
            given={name: self._given[name] for name in FIELDS if name in self._given},
            choice=RunChoice(
                text=self._text("text"),
                stop_reasons=frozenset(self._chosen("stop", [str(reason) for reason in StopReason])) or None,
                states=frozenset(state for state in STATES if state in states) or None,
                flagged={"yes": True, "no": False}.get("".join(self._chosen("flagged", ("yes", "no")))),
                cost_from=cost_from,
                cost_to=cost_to,
                from_ns=from_ns,
                to_ns=to_ns,
                order=order,
                descending=descending,
            ),
            page=self._read_page(),
            problems=self._problems,
        )

    def _values(self, name: str) -> tuple[str, ...]:
        return () if name in self._problems else self._given.get(name, ())

    def _text(self, name: str) -> str:
        return next(iter(self._values(name)), "")

    def _chosen(self, name: str, known: Sequence[str]) -> list[str]:
        """Values of a closed list."""
        values = self._values(name)
        if any(value not in known for value in values):
            self._problems[name] = "unknown_word"
        return [value for value in values if value in known]

    def _read_order(self) -> tuple[RunOrder, bool]:
        text = next(iter(self._given.get("sort", ())), "-started")
        found: dict[str, RunOrder] = {order: order for order in ORDERS}
        by = found.get(text.removeprefix("-"))
        if by is None:
            self._problems["sort"] = "unknown_order"
            return "started", True
        return by, text.startswith("-")

    def _read_page(self) -> int:
        number = asked_number(next(iter(self._given.get("page", ())), "1"))
        if not number:
            self._problems["page"] = "no_page"
        return number or 1

    def _read_cost(self, name: str) -> Decimal | None:
        text = self._text(name).removeprefix("$").strip()
        if not text:
            if self._text(name):
                self._problems[name] = "no_cost"
            return None
        try:
            # A comma may be a decimal point or separate thousands: it is not guessed.
            cost = Decimal(text) if text.isascii() and "_" not in text else None
        except InvalidOperation:
            cost = None
        if cost is None or not cost.is_finite() or not 0 <= cost <= MOST_COST:
            self._problems[name] = "no_cost"
            return None
        return cost

    def _read_times(self) -> tuple[int | None, int | None]:
        begins, ends = self._read_time("from"), self._read_time("to")
        if begins is not None and ends is not None and begins > ends:
            self._problems["to"], ends = "before_from", None
        since = self._chosen("since", tuple(SINCE))
        if since:
            ago = self._now - int(SINCE[since[0]].total_seconds()) * 1_000_000_000
            begins = ago if begins is None else max(begins, ago)
        return begins, ends

    def _read_time(self, name: str) -> int | None:
        text = self._text(name)
        if not text:
            return None
        try:
            moment = datetime.fromisoformat(text)
            # Without a zone it is one of this machine; the page's script writes those of the reader as UTC.
            since = (moment if moment.tzinfo is not None else moment.astimezone()) - _EPOCH
        except (ValueError, OverflowError, OSError):
            self._problems[name] = "no_time"
            return None
        return since // timedelta(microseconds=1) * 1_000
