"""Opening the page in a browser: never one that takes over the terminal, and never so that the program waits for it."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Final

_ASKED: Final = "import sys, webbrowser; sys.exit(not webbrowser.open(sys.stdin.readline()))"
_SIGHT: Final = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
"""One of these says that there is a screen, or what to start."""


def has_browser(environment: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Whether there may be a browser with a window of its own."""
    return platform == "darwin" or any(environment.get(name) for name in _SIGHT)


def shows_addresses(environment: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Whether an address stands on a command line when it is opened, where other users of the machine can read it."""
    return platform != "darwin" or bool(environment.get("BROWSER"))


def open_page(address: str, failed: Callable[[], None]) -> None:
    """Start the reader's browser with an address, in a session of its own: Ctrl-C here does not end it.

    Args:
        address: of the page.
        failed: called, in another thread, when it turns out that no browser was started.
    """
    # Without the name of a terminal Python looks for no browser that shows pages in one.
    environment = {name: value for name, value in os.environ.items() if name != "TERM"}
    asked = subprocess.Popen(  # noqa: S603 - Python itself, and the address on its standard input
        [sys.executable, "-I", "-c", _ASKED],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )

    def wait() -> None:
        asked.communicate(address.encode())
        if asked.returncode != 0:
            failed()

    threading.Thread(target=wait, name="open-page", daemon=True).start()
