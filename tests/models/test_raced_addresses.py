"""A host of several addresses is reached by the first that answers, and nothing is left of the others."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import Sequence
from typing import Any

import pytest

from traced_loop.models.raced_addresses import first_to_answer

from .chat_server import closed_port
from .test_asyncio_stream import silent_port

FOUND = socket.getaddrinfo


class Counted(asyncio.Protocol):
    """A connection."""

    made = 0
    ended = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        type(self).made += 1
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        type(self).ended += 1


@pytest.fixture(autouse=True)
def _none_made() -> None:
    Counted.made = Counted.ended = 0


def resolve(monkeypatch: pytest.MonkeyPatch, addresses: Sequence[str]) -> None:
    """Let ``host.test`` have these addresses."""

    def found(host: Any, port: Any, *more: Any, **named: Any) -> Any:
        if host != "host.test":
            return FOUND(host, port, *more, **named)
        family = {True: socket.AF_INET6, False: socket.AF_INET}
        return [(family[":" in each], socket.SOCK_STREAM, 6, "", (each, port)) for each in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", found)


def connect(port: int) -> str:
    """The address that was reached."""

    async def connected() -> str:
        async with asyncio.timeout(20):
            protocol = await first_to_answer(Counted, "host.test", port)
        address = str(protocol.transport.get_extra_info("peername")[0])
        protocol.transport.close()
        await asyncio.sleep(0)
        return address

    reached = asyncio.run(connected())
    gc.collect()
    return reached


def test_the_next_address_is_tried_while_the_first_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where IPv6 leads nowhere."""
    resolve(monkeypatch, ["127.0.0.1", "127.0.0.2"])
    with silent_port() as port, socket.create_server(("127.0.0.2", port)):
        assert connect(port) == "127.0.0.2"


def test_the_next_address_is_tried_when_the_first_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, and once more where that refuses, too."""
    resolve(monkeypatch, ["127.0.0.1", "127.0.0.2", "127.0.0.3"])
    with socket.create_server(("127.0.0.3", 0)) as listening:
        assert connect(listening.getsockname()[1]) == "127.0.0.3"


def test_no_other_address_is_asked_where_the_first_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """One connection is made."""
    resolve(monkeypatch, ["127.0.0.1", "127.0.0.2"])
    with socket.create_server(("127.0.0.1", 0)) as first:
        port = first.getsockname()[1]
        with socket.create_server(("127.0.0.2", port)):
            assert (connect(port), Counted.made) == ("127.0.0.1", 1)


def test_both_families_are_tried_before_a_second_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a family leads nowhere, all of its addresses do; the one that the system names first goes first."""
    asked: list[str] = []
    resolve(monkeypatch, ["::1", "::2", "127.0.0.1", "127.0.0.2"])

    async def connected() -> None:
        loop: Any = asyncio.get_running_loop()

        async def refused(_: object, host: str, *more: object, **named: object) -> None:
            asked.append(host)
            raise ConnectionRefusedError

        loop.create_connection = refused
        await first_to_answer(Counted, "host.test", 9)

    with pytest.raises(ConnectionRefusedError):
        asyncio.run(connected())
    assert asked == ["::1", "127.0.0.1", "::2", "127.0.0.2"]


def test_a_host_that_refuses_everywhere_has_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """One error, not one for each address."""
    resolve(monkeypatch, ["127.0.0.1", "127.0.0.2"])
    with pytest.raises(ConnectionRefusedError):
        connect(closed_port())


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["127.0.0.2", "127.0.0.1"]], ids=["one", "two"])
def test_connecting_can_be_cancelled_anywhere(monkeypatch: pytest.MonkeyPatch, addresses: list[str]) -> None:
    """Also in the moment in which an address answers: no socket is left open."""
    resolve(monkeypatch, addresses)
    outcomes: list[bool] = []

    async def cancelled(turns: int, port: int) -> None:
        asked = asyncio.ensure_future(first_to_answer(Counted, "host.test", port))
        for _ in range(turns):
            await asyncio.sleep(0)
        asked.cancel()
        await asyncio.wait([asked])
        outcomes.append(asked.cancelled())
        if not asked.cancelled():
            asked.result().transport.close()
        for _ in range(5):
            await asyncio.sleep(0)
        gc.collect()

    async def everywhere(port: int) -> None:
        for turns in range(40):
            await cancelled(turns, port)

    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        asyncio.run(everywhere(listening.getsockname()[1]))
    assert set(outcomes) == {True, False}, "some came too early, and some too late"
    assert Counted.ended == Counted.made > 0
