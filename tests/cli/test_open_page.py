"""Opening the page: no secret on a command line that counts, no browser in the terminal, no waiting."""

from __future__ import annotations

import os
import select
import threading
from typing import TYPE_CHECKING

import pytest

from traced_loop.cli.open_page import has_browser, open_page, shows_addresses
from traced_loop.web.guard.peer_user import can_tell

from ..command_line import WITHIN
from ..web.raw_requests import entered, request
from ..web.running_page import running_page

if TYPE_CHECKING:
    from pathlib import Path


class FakeBrowser:
    """A program that tells how it was started, through a pipe at which a test waits."""

    def __init__(self, folder: Path) -> None:
        self.program, pipe = folder / "my-browser", folder / "pipe"
        os.mkfifo(pipe)
        self._reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" "tty:$(tty)" >{pipe}\n')
        self.program.chmod(0o700)

    def told(self) -> list[str]:
        """Its arguments, and what its terminal is."""
        waiting = select.poll()  # select() takes no descriptor from 1,024 on
        waiting.register(self._reading, select.POLLIN)
        assert waiting.poll(WITHIN * 1000), "no browser was started"
        found = os.read(self._reading, 65_536).decode().splitlines()
        os.close(self._reading)
        return found


@pytest.mark.real
@pytest.mark.skipif(not can_tell(), reason="this system does not say whose connections are (Linux does, in /proc/net)")
def test_the_browser_gets_an_address_that_is_of_use_to_its_user_only(home: Path, tmp_path: Path) -> None:
    """It is good once, for a process of this user; the link that was printed stays what it is for another browser."""
    browser = FakeBrowser(tmp_path)
    with running_page(home, environment={"BROWSER": str(browser.program)}, opens=True) as server:
        address, terminal = browser.told()
        printed = server.new_link()
        assert address.startswith(f"{server.address}/?token=")
        assert address != printed
        assert terminal == "tty:not a tty"
        assert entered(address)
        assert request(server.address, target=address.removeprefix(server.address)).status == 401
        assert entered(printed)


@pytest.mark.real
def test_no_browser_of_the_terminal_is_started(home: Path, tmp_path: Path) -> None:
    """With a screen but no browser that has a window, lynx and its like are left alone, and it is said."""
    for name in ("lynx", "w3m", "links", "elinks", "www-browser"):
        (tmp_path / name).write_text(f"#!/bin/sh\n: >{tmp_path}/started\n")
        (tmp_path / name).chmod(0o700)
    environment = {"DISPLAY": ":99", "TERM": "xterm", "PATH": str(tmp_path), "BROWSER": ""}
    with running_page(home, environment=environment, opens=True) as server:
        assert server.has_told("no browser could be started: open the link yourself")
        assert request(server.address).status == 401
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize(
    ("environment", "platform", "there_is"),
    [
        ({}, "linux", False),
        ({"TERM": "xterm", "SSH_TTY": "/dev/pts/1"}, "linux", False),
        ({"DISPLAY": ""}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({"BROWSER": "helper.sh"}, "linux", True),
        ({}, "darwin", True),
    ],
)
def test_a_browser_is_looked_for_where_there_can_be_one(
    environment: dict[str, str], platform: str, *, there_is: bool
) -> None:
    """Not in a container, and not over SSH without a screen."""
    assert has_browser(environment, platform) is there_is


def test_an_address_is_hidden_only_where_the_system_hands_it_over() -> None:
    """MacOS does, unless a program is named."""
    assert not shows_addresses({}, "darwin")
    assert shows_addresses({"BROWSER": "firefox"}, "darwin")
    assert shows_addresses({}, "linux")


def test_a_browser_that_hangs_keeps_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is started, and that is all; nothing is said of one that goes on."""
    browser = FakeBrowser(tmp_path)
    with browser.program.open("a") as script:
        script.write("sleep 2\n")
    monkeypatch.setenv("BROWSER", str(browser.program))
    failed = threading.Event()
    open_page("http://127.0.0.1:1/", failed.set)
    assert browser.told() == ["http://127.0.0.1:1/", "tty:not a tty"]
    assert not failed.is_set()


def test_a_browser_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """So that the reader opens the link."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BROWSER", str(tmp_path / "none"))
    failed = threading.Event()
    open_page("http://127.0.0.1:1/", failed.set)
    assert failed.wait(WITHIN)
