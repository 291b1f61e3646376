"""Connecting to a host of several addresses: the next is tried beside one that is silent (RFC 8305, section 5).

Where asyncio's own way is cancelled in the moment in which an address answers, the socket is left open.
"""

import asyncio
import socket
from collections.abc import Callable
from typing import Final, TypeVar

NEXT_ADDRESS_SECONDS: Final = 0.25
"""After which the next address of a host is tried beside those before it."""

P = TypeVar("P", bound=asyncio.Protocol)


async def first_to_answer(protocol: Callable[[], P], host: str, port: int, local_address: str | None = None) -> P:
    """Connect to the first of the host's addresses that answers.

    Args:
        protocol: makes the protocol of one try.
        host: a name or an address.
        port: of the host.
        local_address: of this machine, from which to connect.

    Raises:
        OSError: none can be reached, or the host is not known.
        UnicodeError: no host can have that name.
    """
    loop = asyncio.get_running_loop()
    local = None if local_address is None else (local_address, 0)
    addresses = await _addresses(host, port)
    tries: list[asyncio.Task[tuple[asyncio.Transport, P]]] = []
    won: asyncio.Task[tuple[asyncio.Transport, P]] | None = None
    try:
        while won is None and not (len(tries) == len(addresses) and all(each.done() for each in tries)):
            if len(tries) < len(addresses):
                connecting = loop.create_connection(protocol, addresses[len(tries)], port, local_addr=local)
                tries.append(asyncio.ensure_future(connecting))
            await asyncio.wait(
                [each for each in tries if not each.done()],
                timeout=NEXT_ADDRESS_SECONDS if len(tries) < len(addresses) else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            won = next((each for each in tries if each.done() and each.exception() is None), None)
    finally:
        for each in tries:
            if each is not won:
                each.cancel()
                each.add_done_callback(_drop)
    if won is None:
        raise _failure([error for each in tries if (error := each.exception())])
    return won.result()[1]


async def _addresses(host: str, port: int) -> list[str]:
    """The host's addresses, those of the two families by turns, that of the first one first."""
    if "%" in host:  # an address of one network alone, which is lost below
        return [host]
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    families: dict[int, list[str]] = {}
    for family, *_, address in found:
        families.setdefault(family, []).append(str(address[0]))
    turns = [(turn, name) for names in families.values() for turn, name in enumerate(names)]
    return [name for _, name in sorted(turns, key=lambda each: each[0])]


def _failure(errors: list[BaseException]) -> BaseException:
    """One error for all addresses: that of the first where they failed alike."""
    if len({str(each) for each in errors}) == 1 or {type(each) for each in errors} == {ConnectionRefusedError}:
        return errors[0]
    return OSError("; ".join(dict.fromkeys(map(str, errors))))


def _drop(late: "asyncio.Task[tuple[asyncio.Transport, P]]") -> None:
    """What a try that was not needed any more has come to."""
    if not late.cancelled() and late.exception() is None:
        late.result()[0].abort()
