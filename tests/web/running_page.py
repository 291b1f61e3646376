"""The page as its user starts it: the command ``web`` as a program of its own, until the test is over."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..command_line import PROGRAM, WITHIN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

LINK = re.compile(r"http://127\.0\.0\.1:\d+/\?token=\S+")


@dataclass
class RunningPage:
    """A server that answers.

    Attributes:
        process: it.
        address: without a slash at its end.
        told: the lines of its stderr so far.
    """

    process: subprocess.Popen[str]
    address: str
    links: list[str]
    told: list[str] = field(default_factory=list)
    expected_codes: set[int] = field(default_factory=lambda: {0, 130})
    """Another one where the test has killed it."""
    _news: threading.Condition = field(default_factory=threading.Condition)

    def new_link(self) -> str:
        """A link that nobody has used yet."""
        with self._news:
            assert self._news.wait_for(lambda: self.links, WITHIN), "no new link was told"
            return self.links.pop(0)

    def has_told(self, part: str) -> bool:
        """Whether it says, within a minute, a line with this in it."""
        with self._news:
            return self._news.wait_for(lambda: any(part in line for line in self.told), WITHIN)

    def listen(self) -> None:
        """Take its stderr in until it ends."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._news:
                self.told.append(line.rstrip("\n"))
                self.links += LINK.findall(line)
                self._news.notify_all()


@contextmanager
def running_page(
    store: Path,
    *options: str,
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    opens: bool = False,
    program: Sequence[str | Path] = (PROGRAM, "web"),
) -> Iterator[RunningPage]:
    """Start it on a free port, end it with Ctrl-C, and see that it ends.

    Args:
        store: its folder.
        options: further ones.
        environment: variables beside those of the test.
        cwd: where it is started.
        opens: whether it opens a browser.
        program: what is started, with the options of the command.
    """
    quiet = [] if opens else ["--no-open"]
    process = subprocess.Popen(
        [*program, *quiet, "--port", "0", "--store", str(store), *options],
        env={**os.environ, "TRACED_LOOP_HOME": str(store), **(environment or {})},
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    link = process.stdout.readline().strip()
    if not LINK.fullmatch(link):
        raise AssertionError(f"no link: {link!r} {process.communicate()}")
    page = RunningPage(process, link.partition("/?")[0], [link])
    listener = threading.Thread(target=page.listen, daemon=True)
    listener.start()
    try:
        yield page
    finally:
        process.send_signal(signal.SIGINT)
        try:
            code = process.wait(WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        finally:
            listener.join(WITHIN)
            process.stdout.close()
            process.stderr.close()
    assert code in page.expected_codes, page.told
