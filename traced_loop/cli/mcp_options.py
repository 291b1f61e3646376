"""What ``--mcp`` and ``--mcp-url`` mean: servers that are open for as long as the command runs."""

import re
import shlex
from typing import TYPE_CHECKING, Annotated, Final

import typer

from traced_loop.errors import UsageError

if TYPE_CHECKING:
    from traced_loop.mcp_tools.server import McpServer
    from traced_loop.tool_registry import ToolDefinition

McpOption = Annotated[
    list[str] | None,
    typer.Option(
        "--mcp",
        metavar="COMMAND",
        help="Tools of the MCP server that this starts; NAME=COMMAND puts NAME_ before them.",
    ),
]
McpUrlOption = Annotated[
    list[str] | None,
    typer.Option("--mcp-url", metavar="URL", help="Tools of the MCP server at this address; NAME=URL likewise."),
]

_NAMED: Final = re.compile(r"([A-Za-z0-9_-]+)=(.*)", re.DOTALL)


def tools_of_servers(
    context: typer.Context, commands: list[str] | None, urls: list[str] | None
) -> "list[ToolDefinition]":
    """The tools of the servers, which end with the context; what cannot be used of them is said on stderr.

    Raises:
        UsageError: an option that makes no sense, or a server that does not start.
    """
    found: list[ToolDefinition] = []
    for server in _servers(commands, urls):
        context.with_resource(server)
        found += server.tools()
        for left_out in server.unusable:
            typer.echo(f"left out: {left_out.why}", err=True)
    return found


def _servers(commands: list[str] | None, urls: list[str] | None) -> "list[McpServer]":
    if not commands and not urls:
        return []  # without the extra, all else works
    from traced_loop.mcp_tools.server import McpServer

    found: list[McpServer] = []
    for given in commands or ():
        prefix, command = _prefix(given)
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"--mcp {given}: {error}".rstrip(".")) from error
        if not words:
            raise UsageError(f"--mcp {given!r}: write a command, as --mcp 'uvx mcp-server-time'")
        found.append(McpServer.stdio(*words, prefix=prefix, skip_unusable=True))
    for given in urls or ():
        prefix, url = _prefix(given)
        found.append(McpServer.http(url, prefix=prefix, skip_unusable=True))
    return found


def _prefix(given: str) -> tuple[str, str]:
    named = _NAMED.fullmatch(given)
    return (f"{named[1]}_", named[2]) if named else ("", given)
