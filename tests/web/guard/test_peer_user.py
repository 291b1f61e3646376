"""Whose connection it is: by the real table of this machine, and by tables as other machines have them."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from traced_loop.web.guard.peer_user import can_tell, is_own

from .requests import scope

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
ROW = "   0: {} {} {} 00000000:00000000 00:00000000 00000000 {} 0 1 1 0 20 4 30 10 -1\n"
CLIENT, SERVER = "0100007F:C350", "0100007F:1D27"
"""127.0.0.1:50000 and :7463, as a little-endian machine writes them."""


pytestmark = pytest.mark.skipif(sys.byteorder != "little", reason="the rows here are of a little-endian machine")


def told(tmp_path: Path, row: str) -> bool:
    """What a table with one row says of a request."""
    table = tmp_path / "tcp"
    table.write_text(HEAD + row)
    return is_own(scope(), (table,))


@pytest.mark.skipif(not can_tell(), reason="this system does not say whose connections are (Linux does, in /proc/net)")
def test_a_connection_of_this_process_is_own() -> None:
    """By the machine's own table."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        with closing(socket.create_connection(server.getsockname())) as client:
            assert is_own({"client": client.getsockname(), "server": server.getsockname()})
        assert not is_own({"client": ("127.0.0.1", 1), "server": server.getsockname()})


def test_ones_own_row_is_own(tmp_path: Path) -> None:
    """And root's, who can read everything."""
    assert told(tmp_path, ROW.format(CLIENT, SERVER, "01", os.getuid()))
    assert told(tmp_path, ROW.format(CLIENT, SERVER, "01", 0))


def test_another_users_row_is_not(tmp_path: Path) -> None:
    """Nor is what its process has left, which is listed as root's, nor the other end, nor no row."""
    assert not told(tmp_path, ROW.format(CLIENT, SERVER, "01", os.getuid() + 1))
    assert not told(tmp_path, ROW.format(CLIENT, SERVER, "05", 0))
    assert not told(tmp_path, ROW.format(SERVER, CLIENT, "01", os.getuid()))
    assert not told(tmp_path, "")


def test_a_browser_that_speaks_ipv4_by_an_ipv6_socket_is_found(tmp_path: Path) -> None:
    """Its row is in the second table, with the address inside of another one."""
    mapped = "0000000000000000FFFF0000"
    table = tmp_path / "tcp6"
    table.write_text(HEAD + ROW.format(mapped + CLIENT, mapped + SERVER, "01", os.getuid()))
    assert is_own(scope(), (tmp_path / "none", table))


def test_where_nothing_is_said_nobody_is_own(tmp_path: Path) -> None:
    """No table, a damaged one, a connection without an address."""
    assert not is_own(scope(), (tmp_path / "none",))
    assert not told(tmp_path, "nonsense\n 1: 2\n\n")
    assert not told(tmp_path, ROW.format(CLIENT, SERVER, "01", "nobody"))
    assert not is_own({"client": None, "server": None})
    assert not is_own({"client": ("/a/socket", 0), "server": ("/a/socket", 0)})
    assert not can_tell((tmp_path / "none",))
