"""Connections to a listening socket, each in a thread of its own."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def accepting(
    listening: socket.socket, talk: Callable[[socket.socket], None], connections: list[socket.socket]
) -> Iterator[None]:
    """Hand each connection to a function for the time of the block, which ends them all; they are kept in the list."""
    threads: list[threading.Thread] = []

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                connections.append(connection)
                threads.append(threading.Thread(target=talk, args=(connection,)))
                threads[-1].start()

    accepting_thread = threading.Thread(target=accept)
    accepting_thread.start()
    try:
        yield
    finally:
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        accepting_thread.join()
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()
