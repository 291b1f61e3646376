"""Support tickets, kept in the memory of the process: the write among the tools that ship.

A customer's request makes at most one ticket. The loop holds to that with the tool's key, across retries and
resumed runs; the desk holds to it by itself, for whoever calls the function directly.
"""

import hashlib
import re
import threading
from dataclasses import asdict
from typing import Annotated

from pydantic import Field

from traced_loop.errors import InvalidArguments, NotApplied
from traced_loop.frozen_value import frozen_value
from traced_loop.tool_registry import tool

MAX_TITLE_CHARACTERS = 120
"""Longest title, in characters; ``>`` is refused. About one line of a mailbox."""

MAX_BODY_CHARACTERS = 4_000
"""Longest body, in characters; ``>`` is refused. About two printed pages."""

MAX_TICKETS = 10_000
"""How many tickets a desk holds; one more is refused. Bounds its memory to some 40 MB of ASCII text."""

REQUEST_ID_PATTERN = "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
"""Form of a request id: what order systems and mailboxes use for theirs, and nothing that needs escaping."""

# In the schema as well as in the function: the loop asks a person to confirm only what the schema accepts.
_Title = Annotated[str, Field(max_length=MAX_TITLE_CHARACTERS, pattern=r"\S")]
_Body = Annotated[str, Field(max_length=MAX_BODY_CHARACTERS, pattern=r"\S")]
_RequestId = Annotated[str, Field(pattern=REQUEST_ID_PATTERN)]


@frozen_value
class Ticket:
    """One ticket.

    Attributes:
        ticket_id: ``T-`` and twelve hexadecimal digits.
        request_id: the customer's request that it answers.
        title: what it is about, in a line.
        body: what happened and what is asked for.
        state: ``open``, the only state here.
    """

    ticket_id: str
    request_id: str
    title: str
    body: str
    state: str = "open"


class TicketDesk:
    """Tickets by request id; safe to use from several threads.

    A ticket's id is derived from its request id, so that it is the same in every process.
    """

    def __init__(self) -> None:
        self._tickets: dict[str, Ticket] = {}
        self._lock = threading.Lock()

    def open_ticket(self, *, title: str, body: str, request_id: str) -> Ticket:
        """The ticket of a request: the one that is there, or a new one.

        Raises:
            NotApplied: the request already has a ticket with another title or body, or the desk holds
                ``MAX_TICKETS``.
        """
        digest = hashlib.sha256(request_id.encode("utf-8")).hexdigest()
        asked = Ticket(ticket_id=f"T-{digest[:12]}", request_id=request_id, title=title, body=body)
        with self._lock:
            known = self._tickets.get(request_id)
            if known is None and len(self._tickets) >= MAX_TICKETS:
                raise NotApplied("the ticket desk is full; tell the customer that no ticket was created")
            if known is not None and known != asked:
                raise NotApplied("this request already has a ticket with other content; do not create another")
            return self._tickets.setdefault(request_id, asked)

    def tickets(self) -> tuple[Ticket, ...]:
        """All tickets, oldest first."""
        with self._lock:
            return tuple(self._tickets.values())


DESK = TicketDesk()
"""Where ``create_ticket`` puts its tickets; empty when the process starts."""


def ticket_key(request_id: str, **_: object) -> str:
    """The business key of ``create_ticket``: one ticket per request, whatever its text."""
    return f"ticket:{request_id}"


@tool(effect="write", risk="high", timeout=10.0, key=ticket_key, trace=["request_id"])
def create_ticket(title: _Title, body: _Body, request_id: _RequestId) -> dict[str, str]:
    """Create one support ticket for a customer's request; people at the support desk will act on it.

    Args:
        title: What it is about, in one line of at most 120 characters.
        body: What happened and what the customer asks for, at most 4000 characters.
        request_id: The id of the customer's request, as given in the conversation; never make one up.

    Returns:
        The fields of ``Ticket`` without ``body``. The same request with the same text gets the same ticket again.

    Raises:
        InvalidArguments: a blank or too long text, or a ``request_id`` that is not 1 to 64 ASCII letters, digits
            and ``_ . -``, beginning with a letter or digit.
        NotApplied: see ``TicketDesk.open_ticket``.
    """
    _require_text("title", title, MAX_TITLE_CHARACTERS)
    _require_text("body", body, MAX_BODY_CHARACTERS)
    if type(request_id) is not str or not re.fullmatch(REQUEST_ID_PATTERN, request_id):
        raise InvalidArguments("request_id must be 1 to 64 letters, digits and _ . -, such as REQ-1042")
    ticket = asdict(DESK.open_ticket(title=title, body=body, request_id=request_id))
    del ticket["body"]
    return ticket


def _require_text(field: str, value: str, longest: int) -> None:
    """Raise unless the value is a text with something in it, of at most ``longest`` characters."""
    if type(value) is not str or not value.strip():
        raise InvalidArguments(f"{field} must be a text that is not blank")
    if len(value) > longest:
        raise InvalidArguments(f"{field} is longer than {longest} characters; shorten it")
