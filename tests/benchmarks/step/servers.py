"""The model and the collector, each a process of its own, for the time of a block."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

Behaviour = Literal["healthy", "slow", "refusing", "hung", "down"]
ANSWERED_WITHIN = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Sink:
    """A running collector; `url` is what spans are sent to, without a path."""

    url: str

    def behave(self, behaviour: Behaviour) -> str:
        """Behave so from now on; the address to send traces to."""
        _asked(f"{self.url}/as/{'healthy' if behaviour == 'down' else behaviour}", b"")
        return f"{closed_address() if behaviour == 'down' else self.url}/v1/traces"

    def forget(self) -> None:
        """What came so far."""
        _asked(f"{self.url}/forget", b"")

    def counted(self) -> dict[str, Any]:
        """What `span_sink` says of what it has taken."""
        return _asked(f"{self.url}/counted")


@contextmanager
def running_sink() -> Iterator[Sink]:
    """A collector that takes everything until it is told otherwise."""
    with _running("span_sink.py") as port:
        yield Sink(url=f"http://127.0.0.1:{port}")


@contextmanager
def running_model() -> Iterator[str]:
    """The base URL of the scripted server."""
    with _running("scripted_server.py") as port:
        yield f"http://127.0.0.1:{port}/v1"


def closed_address() -> str:
    """Where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return f"http://127.0.0.1:{listening.getsockname()[1]}"


@contextmanager
def _running(program: str) -> Iterator[int]:
    command = [sys.executable, str(Path(__file__).with_name(program))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


def _asked(url: str, body: bytes | None = None) -> dict[str, Any]:
    with urllib.request.urlopen(url, data=body, timeout=ANSWERED_WITHIN) as response:
        answer: dict[str, Any] = json.loads(response.read())
    return answer
