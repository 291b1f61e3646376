"""Whose process has made a connection, as Linux's own table of connections says.

It is what keeps an address that others can see, on the command line of the browser that opens it, to its owner.
"""

import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from starlette.types import Scope

TABLES: Final = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
"""Absent on other systems, where nothing can be said."""
_ESTABLISHED: Final = "01"
"""A connection that its process has left is listed as root's, but not in this state."""
_ROOT: Final = 0
_LOCAL, _REMOTE, _STATE, _USER = 1, 2, 3, 7


def can_tell(tables: Sequence[Path] = TABLES) -> bool:
    """Whether this system says whose connections are."""
    return os.access(tables[0], os.R_OK)


def is_own(scope: Scope, tables: Sequence[Path] = TABLES) -> bool:
    """Whether a request comes from a process of this user, or of root, who can read everything anyhow.

    Args:
        scope: of the request.
        tables: as the system has them.
    """
    client, server = scope.get("client"), scope.get("server")
    if client is None or server is None or server[1] is None:
        return False
    try:
        user = _user(_written(*client), _written(*server), tables)
    except OSError:  # no address of the internet
        return False
    return user is not None and user in {os.getuid(), _ROOT}


def _user(local: set[str], remote: set[str], tables: Sequence[Path]) -> int | None:
    for table in tables:
        try:
            lines = table.read_text(encoding="ascii", errors="replace").splitlines()
        except OSError:
            continue
        for line in lines:
            cells = line.split()
            if len(cells) > _USER and cells[_LOCAL] in local and cells[_REMOTE] in remote:
                return int(cells[_USER]) if cells[_STATE] == _ESTABLISHED and cells[_USER].isdigit() else None
    return None


def _written(host: str, port: int) -> set[str]:
    """An address as the tables write it: words of 32 bits in the machine's order, an IPv4 one also within IPv6."""
    if ":" in host:
        packed = [socket.inet_pton(socket.AF_INET6, host)]
    else:
        four = socket.inet_pton(socket.AF_INET, host)
        packed = [four, b"\0" * 10 + b"\xff\xff" + four]
    return {f"{_words(each)}:{port:04X}" for each in packed}


def _words(packed: bytes) -> str:
    words = (packed[place : place + 4] for place in range(0, len(packed), 4))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)
