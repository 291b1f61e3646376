"""Servers that others wrote: what they share, where CI put them, how they are told what to answer.

Each has a module of its own that knows how it is scripted and what it can say of what it saw.
"""

from __future__ import annotations

import json
import os
import re
import socket
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

HOW_TO_GET_THEM = "run `bash .ci/run setup`"

Api: TypeAlias = Literal["chat", "responses"]


class ForeignServerMissingError(Exception):
    """This machine has not got that server."""


@dataclass(frozen=True)
class Call:
    """A call that a server proposes."""

    tool: str
    arguments: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The arguments as they are sent."""
        return json.dumps(self.arguments)


Line: TypeAlias = str | tuple[Call, ...]
"""What a server answers one request with: a text, or calls."""


class ForeignServer(Protocol):
    """A running server."""

    @property
    def base_url(self) -> str:
        """The address to give to a client."""
        ...

    @property
    def model(self) -> str:
        """The model to ask it for."""
        ...

    def answer(self, *lines: Line) -> None:
        """From now on answer the first request with the first line, and so on; forget what came before."""
        ...

    def received(self) -> list[Any] | None:
        """The bodies of the requests since then, in order; None from a server that does not keep them."""
        ...


def installed(folder: str, program: str) -> Path:
    """A program below a folder of CI's cache, whatever the version is; the newest where there are several.

    Raises:
        ForeignServerMissingError: there is none.
    """
    cache = Path(os.environ.get("TRACED_LOOP_CI_CACHE") or Path.home() / ".cache" / "traced-loop-ci")
    for found in sorted(cache.glob(f"{folder}-[0-9]*"), key=_version, reverse=True):
        if (found / program).is_file():
            return found / program
    raise ForeignServerMissingError(f"no {folder} in {cache}: {HOW_TO_GET_THEM}")


def _version(folder: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", folder.name.rpartition("-")[2])]


def free_port() -> int:
    """A port on which nobody listens, for servers that cannot choose one."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def control(url: str, body: object = None, *, method: str | None = None) -> Any:
    """Ask a server about itself, or tell it something: a body makes it a POST. Gives the JSON of the answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)
