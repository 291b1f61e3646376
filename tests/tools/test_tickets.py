"""A customer's request makes at most one ticket."""

import json
import threading

import pytest

from traced_loop.errors import InvalidArguments, NotApplied
from traced_loop.tool_registry import definition_of
from traced_loop.tools import tickets
from traced_loop.tools.tickets import (
    MAX_BODY_CHARACTERS,
    MAX_TICKETS,
    MAX_TITLE_CHARACTERS,
    Ticket,
    TicketDesk,
    create_ticket,
)


def test_a_ticket_is_created_with_an_id_that_is_the_same_in_every_process() -> None:
    """The id comes from the request id, not from a counter or a clock."""
    created = create_ticket("Lost parcel", "It never came.", "REQ-of-one-test")  # the desk is the process's

    assert created["ticket_id"] == "T-e7cda87a9d44"
    assert created | {"ticket_id": ""} == {
        "ticket_id": "",
        "request_id": "REQ-of-one-test",
        "title": "Lost parcel",
        "state": "open",
    }


def test_the_same_request_gets_the_same_ticket_again() -> None:
    """One ticket on the desk, however often it is asked for."""
    desk = TicketDesk()
    for _ in range(3):
        desk.open_ticket(title="Late", body="Where is it?", request_id="REQ-2")

    assert [ticket.request_id for ticket in desk.tickets()] == ["REQ-2"]


def test_the_same_request_with_other_content_changes_nothing() -> None:
    """It is said that nothing was applied, so the write's outcome is known."""
    desk = TicketDesk()
    first = desk.open_ticket(title="Late", body="Where is it?", request_id="REQ-3")

    with pytest.raises(NotApplied, match="already has a ticket"):
        desk.open_ticket(title="Late", body="Where is it now?", request_id="REQ-3")
    assert desk.tickets() == (first,)


def test_many_threads_with_one_request_make_one_ticket() -> None:
    """All get the very same ticket."""
    desk, given, start = TicketDesk(), list[Ticket](), threading.Barrier(8)

    def ask() -> None:
        start.wait()
        given.extend(desk.open_ticket(title="Late", body="Where?", request_id="REQ-4") for _ in range(50))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (len(given), len(set(map(id, given))), len(desk.tickets())) == (400, 1, 1)


def test_the_tool_puts_its_ticket_on_the_desk_of_the_process() -> None:
    """Whole, with the body that the answer leaves out."""
    create_ticket("Damaged", "The lid is broken.", "REQ-5")

    assert "The lid is broken." in [ticket.body for ticket in tickets.DESK.tickets()]


def test_a_full_desk_says_that_nothing_was_applied() -> None:
    """Memory is bounded; a request that has its ticket still gets it."""
    desk = TicketDesk()
    for number in range(MAX_TICKETS):
        desk.open_ticket(title="t", body="b", request_id=f"R{number}")

    with pytest.raises(NotApplied, match="full"):
        desk.open_ticket(title="t", body="b", request_id="one-more")
    assert desk.open_ticket(title="t", body="b", request_id="R7").request_id == "R7"


@pytest.mark.parametrize(
    ("title", "body", "request_id", "reason"),
    [
        ("", "b", "REQ-6", "title"),
        (" \n", "b", "REQ-6", "title"),
        ("t" * (MAX_TITLE_CHARACTERS + 1), "b", "REQ-6", "title is longer than 120"),
        (None, "b", "REQ-6", "title"),
        ("t", "", "REQ-6", "body"),
        ("t", "b" * (MAX_BODY_CHARACTERS + 1), "REQ-6", "body is longer than 4000"),
        ("t", 5, "REQ-6", "body"),
        ("t", "b", "", "request_id"),
        ("t", "b", " REQ-6", "request_id"),
        ("t", "b", "REQ-6\n", "request_id"),
        ("t", "b", "-REQ", "request_id"),
        ("t", "b", "R" * 65, "request_id"),
        ("t", "b", "\u0660", "request_id"),
        ("t", "b", "\ud83e", "request_id"),
        ("t", "b", 6, "request_id"),
    ],
    ids=ascii,
)
def test_a_field_beyond_its_limits_is_refused_by_name(
    title: object, body: object, request_id: object, reason: str
) -> None:
    """Invalid arguments, so it is known that nothing was written; no value is echoed."""
    with pytest.raises(InvalidArguments, match=reason) as refused:
        create_ticket(title, body, request_id)  # type: ignore[arg-type]

    assert len(str(refused.value)) <= 120


def test_fields_at_their_limits_are_accepted() -> None:
    """The longest title, body and request id."""
    request_id = "R" * 64

    assert create_ticket("t" * 120, "b" * 4_000, request_id)["request_id"] == request_id


@pytest.mark.parametrize(
    "wrong",
    [
        {"title": "t" * 121},
        {"title": " "},
        {"body": "b" * 4_001},
        {"body": ""},
        {"request_id": "a b"},
        {"request_id": "R\n"},
    ],
    ids=ascii,
)
def test_the_schema_refuses_the_same_before_a_person_is_asked(wrong: dict[str, str]) -> None:
    """A confirmation is never asked for arguments that the function would refuse."""
    arguments = {"title": "t", "body": "b", "request_id": "REQ-7", **wrong}

    assert isinstance(definition_of(create_ticket).schema.check(arguments, json.dumps(arguments)), tuple)


def test_it_is_a_risky_write_whose_key_is_the_request() -> None:
    """Another text for the same request has the same key: that is a conflict, not a second ticket."""
    definition = definition_of(create_ticket)
    assert definition.key is not None
    keys = {definition.key(title=title, body="b", request_id="REQ-8") for title in ("one", "two")}

    assert (definition.effect, definition.risk, keys) == ("write", "high", {"ticket:REQ-8"})
