"""On a real terminal: a status line while the run waits, gone without a trace when it has ended; colours on request."""

from __future__ import annotations

import re
import socket
from typing import TYPE_CHECKING

import pytest

from .terminal import OnTerminal, Screen

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("home")]

XTERM = {"TERM": "xterm-256color"}
COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-7]|38|9[0-7])(?:;\d+)*m")
DRAWN = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏█░"


@pytest.fixture
def hanging() -> Iterator[list[str]]:
    """The arguments of a run whose model never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield ["run", "Go.", "--base-url", f"http://127.0.0.1:{server.getsockname()[1]}/v1", "--model", "m"]


def test_the_screen_of_these_tests_knows_a_status_line() -> None:
    """Written, written over, and erased: only what is meant to stay stays."""
    screen = Screen(10)
    screen.feed(
        "one\r\n\x1b[?25l\x1b[2mwaiting\x1b[0m\r\x1b[2Ktwo\r\nwaiting\r\n\x1b[?25h\r\x1b[1A\x1b[2Kthree12345678"
    )
    assert screen.lines == ["one", "two", "three12345", "678"]
    assert screen.cursor_shown


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_the_status_line_says_what_is_waited_for_and_goes(hanging: list[str], columns: int) -> None:
    """While the model hangs: what, and since when; after Ctrl-C: no spinner, no bar, the cursor back."""
    with OnTerminal(*hanging, columns=columns, environment=XTERM) as terminal:
        terminal.read_until("waiting for step 1: the model")
        terminal.interrupt()
        code, screen = terminal.end()
    assert (code, screen.cursor_shown) == (130, True)
    text = "\n".join(screen.lines)
    assert "waiting for" not in text
    assert not set(DRAWN) & set(text)
    assert screen.lines[0].startswith("stopped: cancelled"[:columns])
    assert "Traceback" not in text


def test_tokens_cost_and_limits_stand_on_the_status_line() -> None:
    """In a run that has spent something, the nearest limit first; when it has ended, the page is all that is left."""
    with OnTerminal("sandbox", "--mode", "loop_forever", columns=200, environment=XTERM) as terminal:
        code, screen = terminal.end()
    assert code == 0
    status = re.findall(r"tokens  \$0\.\d+  (steps .*?)\x1b", terminal.output.decode())[-1]
    assert re.fullmatch(r"steps █{4}░{4}(?:  \w+ [█░]{8}){3}", status)
    assert not set(DRAWN) & set("\n".join(screen.lines))
    assert screen.lines[-2:] == ["mode=loop_forever status=repetition_detected", ""]


def test_the_demo_leaves_a_clean_screen() -> None:
    """Four status lines came and went; the traces are coloured and fit."""
    with OnTerminal("demo", columns=100, environment=XTERM) as terminal:
        code, screen = terminal.end()
    assert (code, screen.cursor_shown) == (0, True)
    assert not set(DRAWN) & set("\n".join(screen.lines))
    assert "1 of 4  An answer with two calls" in screen.lines
    assert COLOUR.search(terminal.output.decode())


def test_no_color_is_obeyed() -> None:
    """NO_COLOR: the same words, no colour on either stream."""
    with OnTerminal("demo", environment={**XTERM, "NO_COLOR": "1"}) as terminal:
        code, screen = terminal.end()
    assert code == 0
    assert not COLOUR.search(terminal.output.decode())
    assert "step 1: finish_reason=tool_calls" in screen.lines


def test_a_dumb_terminal_gets_plain_lines(hanging: list[str]) -> None:
    """TERM=dumb: no status line and no escape sequence, in a run that waits too."""
    with OnTerminal("demo", environment={"TERM": "dumb"}) as terminal:
        assert terminal.end()[0] == 0
    assert b"\x1b" not in terminal.output
    with OnTerminal(*hanging, "--max-seconds", "0.5", environment={"TERM": "dumb"}) as waiting:
        assert waiting.end()[0] == 3
    assert b"\x1b" not in waiting.output


def test_a_terminal_of_ascii_gets_a_spinner_of_ascii(hanging: list[str]) -> None:
    """No escapes of characters that the terminal cannot show."""
    environment = {**XTERM, "PYTHONIOENCODING": "ascii"}
    with OnTerminal(*hanging, "--max-seconds", "1", environment=environment) as terminal:
        code, screen = terminal.end()
    assert code == 3
    assert terminal.output.isascii()
    assert b"waiting for step 1: the model" in terminal.output
    assert b"\\u28" not in terminal.output
    assert screen.cursor_shown
