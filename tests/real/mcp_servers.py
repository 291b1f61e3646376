"""MCP servers that others wrote, from npm: where they are, and how to get them."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .aimock import AimockMissingError, find_node
from .child_process import running

if TYPE_CHECKING:
    from collections.abc import Iterator

HOW_TO_GET_THEM = (
    "run `bash .ci/run setup`, or `npm install --prefix DIR @modelcontextprotocol/server-everything "
    "@modelcontextprotocol/server-filesystem` and set TRACED_LOOP_MCP_SERVERS=DIR"
)


def server_command(name: str) -> list[str]:
    """The program of `server-NAME`; skips where it is not there."""
    program = Path(f"node_modules/@modelcontextprotocol/server-{name}/dist/index.js")
    cache = Path(os.environ.get("TRACED_LOOP_CI_CACHE") or Path.home() / ".cache" / "traced-loop-ci")
    named = os.environ.get("TRACED_LOOP_MCP_SERVERS")
    for folder in [Path(named)] if named else sorted(cache.glob("mcp-servers-*"), reverse=True):
        if (folder / program).is_file():
            return [_node(), str(folder / program)]
    pytest.skip(f"no MCP server {name!r}: {HOW_TO_GET_THEM}")


@contextmanager
def everything_over_http(folder: Path, port: int) -> Iterator[str]:
    """`server-everything` at an address of loopback."""
    command = ["env", f"PORT={port}", *server_command("everything"), "streamableHttp"]
    with running(command, folder / "everything.log") as process:
        process.wait_for_output(r"listening on port \d+", within=60)
        yield f"http://127.0.0.1:{port}/mcp"


def _node() -> str:
    try:
        return str(find_node())
    except AimockMissingError as missing:
        pytest.skip(str(missing))
