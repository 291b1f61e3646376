"""The server as a program: how it begins, what it says, how it ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from traced_loop.errors import UsageError
from traced_loop.web import serving
from traced_loop.web.serving import PageServer

from ..command_line import PROGRAM, WITHIN, program
from .raw_requests import connected, entered, request
from .running_page import LINK, running_page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .running_page import RunningPage

FIRST = "open this link: it is good once, for this machine only. Ctrl-C ends the page."


def silent(_told: object) -> None:
    """Told of nothing."""


@contextmanager
def started(command: list[str], stderr: int) -> Iterator[subprocess.Popen[str]]:
    """A program that is gone when the test is."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def stream(server: RunningPage, cookie: str) -> socket.socket:
    """A page's stream of events that goes on."""
    connection = connected(server.address)
    host = server.address.removeprefix("http://")
    connection.sendall(f"GET /changes?watch= HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n".encode())
    got = b""
    while b"retry:" not in got:
        got += connection.recv(4096)
    return connection


@pytest.mark.real
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_ends_when_told_to_with_pages_open(home: Path, number: signal.Signals) -> None:
    """Soon, with streams that would go on for ever and a request that never comes; and well: code 0."""
    with running_page(home) as server:
        cookie = entered(server.new_link())
        server.new_link()
        with (
            closing(stream(server, cookie)) as one,
            closing(stream(server, cookie)),
            closing(connected(server.address)),
        ):
            server.process.send_signal(number)
            assert server.process.wait(WITHIN) == 0
            with suppress(ConnectionResetError):
                while one.recv(4096):
                    pass  # the stream comes to an end, too
    assert [LINK.sub("LINK", line) for line in server.told] == [FIRST, "for another browser: LINK"]


@pytest.mark.real
def test_a_second_ctrl_c_waits_for_nobody(home: Path) -> None:
    """Not for a form that is still coming, either; nothing is printed about it."""
    with running_page(home) as server:
        cookie = entered(server.new_link())
        host = server.address.removeprefix("http://")
        form = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n"
        with closing(connected(server.address)) as half:
            sent = (
                f"POST /settings HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nCookie: {cookie}\r\n{form}\r\na"
            )
            half.sendall(sent.encode())
            request(server.address, headers={"cookie": cookie})
            server.process.send_signal(signal.SIGINT)
            server.process.send_signal(signal.SIGINT)
            assert server.process.wait(WITHIN) == 0
    assert not any("Traceback" in line or "Error" in line for line in server.told)


@pytest.mark.real
def test_it_goes_on_when_nobody_reads_what_it_says(home: Path) -> None:
    """``traced-loop web | head -1``, and a terminal that is closed: links are used and refusals made all the same."""
    command = [str(PROGRAM), "web", "--no-open", "--port", "0", "--store", str(home)]
    with started(command, subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        link = process.stdout.readline().strip()
        process.stdout.close()
        assert process.stderr.readline().strip() == FIRST
        process.stderr.close()
        address = link.partition("/?")[0]
        cookie = entered(link)
        assert request(address).status == 401
        assert request(address, headers={"cookie": cookie}).status == 200
        process.terminate()
        assert process.wait(WITHIN) in {0, 1, 120}  # as any program whose last words are lost


@pytest.mark.real
def test_a_program_that_is_deaf_to_ctrl_c_stays_so(home: Path) -> None:
    """What a shell starts in the background, or with ``nohup``, is not ended by a signal that is not meant for it."""
    deaf = (
        "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
        "signal.signal(signal.SIGHUP, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    )
    command = [sys.executable, "-c", deaf, str(PROGRAM), "web", "--no-open", "--port", "0", "--store", str(home)]
    with started(command, subprocess.DEVNULL) as process:
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGHUP)
        assert entered(link)
        process.terminate()
        assert process.wait(WITHIN) == 0


@pytest.mark.real
def test_a_port_that_is_in_use_is_an_error_that_says_what_to_do(home: Path) -> None:
    """At once, with nothing opened."""
    with running_page(home) as server:
        port = server.address.rpartition(":")[2]
        ended = program("web", "--no-open", "--port", port)
    assert (ended.code, ended.out) == (2, "")
    expected = f"the port {port} cannot be had (Address already in use): take another one, or a free one with --port 0"
    assert ended.err == f"traced-loop: {expected}\n"


@pytest.mark.real
def test_a_store_that_is_a_file_is_an_error_at_once(tmp_path: Path) -> None:
    """Not a page that says so later."""
    (tmp_path / "file").touch()
    ended = program("web", "--no-open", "--port", "0", "--store", str(tmp_path / "file"))
    assert (ended.code, ended.out) == (2, "")
    assert "is no folder: name the folder of a store with --store" in ended.err


@pytest.mark.skipif(os.getuid() == 0, reason="root reads everything: run as another user")
def test_a_store_that_cannot_be_read_is_an_error_at_once(tmp_path: Path) -> None:
    """With the system's reason."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    with pytest.raises(UsageError, match="cannot be read: Permission denied"):
        PageServer(closed / "store", 0, silent)


@pytest.mark.real
@pytest.mark.parametrize("state", ["missing", "damaged"])
def test_a_store_that_is_missing_or_damaged_is_served(home: Path, state: str) -> None:
    """What there is is shown."""
    if state == "damaged":
        home.mkdir()
        (home / "store.db").write_bytes(b"no database" * 1000)
    with running_page(home) as server:
        assert request(server.address, headers={"cookie": entered(server.new_link())}).status == 200


def test_a_machine_without_one_family_of_addresses_takes_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The link has the address that it is served at; with none at all that is said."""
    absent, there = (socket.AF_INET, "192.0.2.1"), (socket.AF_INET, "127.0.0.1")
    monkeypatch.setattr(serving, "HOSTS", (absent, there))
    with closing(PageServer(tmp_path, 0, silent)) as server:
        assert server.link.startswith("http://127.0.0.1:")
    monkeypatch.setattr(serving, "HOSTS", (absent,))
    with pytest.raises(UsageError, match="this machine has no loopback address"):
        PageServer(tmp_path, 0, silent)


def test_an_address_of_ipv6_stands_in_brackets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a browser wants it."""
    monkeypatch.setattr(serving, "HOSTS", serving.HOSTS[1:])
    try:
        server = PageServer(tmp_path, 0, silent)
    except UsageError:
        pytest.skip("this machine has no IPv6")
    with closing(server):
        assert server.link.startswith("http://[::1]:")


def test_who_comes_before_it_runs_is_not_turned_away(tmp_path: Path) -> None:
    """The browser may be quicker than the server: its connection is taken, and waits."""
    with closing(PageServer(tmp_path, 0, silent)) as server, closing(connected(server.link)) as connection:
        assert f":{connection.getpeername()[1]}/" in server.link
