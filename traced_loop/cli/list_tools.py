"""``tools``: the tools that ship, or those of MCP servers."""

from typing import TYPE_CHECKING, Annotated

import typer

from traced_loop.cli.mcp_options import McpOption, McpUrlOption, tools_of_servers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.text import Text

    from traced_loop.tool_registry import ToolDefinition


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("tools")(list_tools)


def list_tools(
    context: typer.Context,
    *,
    mcp: McpOption = None,
    mcp_url: McpUrlOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """List the tools that ship, or those of MCP servers. With --json: one array of them, with their JSON Schemas."""
    from traced_loop.cli.output import line_width, write_json, write_lines
    from traced_loop.tool_registry import definition_of
    from traced_loop.tools import shipped

    theirs = tools_of_servers(context, mcp, mcp_url)
    tools = theirs if mcp or mcp_url else [definition_of(tool) for tool in shipped().values()]
    if as_json:
        write_json(
            [
                {
                    "name": tool.name,
                    "effect": tool.effect,
                    "risk": tool.risk,
                    "parameters": tool.schema.definition,
                    "description": tool.description,
                }
                for tool in tools
            ]
        )
    else:
        write_lines(_lines(tools, line_width()))


def _lines(tools: "Sequence[ToolDefinition]", width: int | None) -> "list[Text]":
    from rich.text import Text

    from traced_loop.json_shapes import as_object
    from traced_loop.views.lines import ODD, QUIET, packed, word

    lines: list[Text] = []
    for tool in tools:
        words = [word(tool.effect, ODD if tool.effect == "write" else ""), word(f"{tool.risk} risk", QUIET)]
        lines += packed(word(tool.name, "bold"), words, width=width, indent=4)
        lines += packed(Text("    "), [word(tool.description)], width=width, indent=4)
        for name, schema in (as_object(tool.schema.definition.get("properties")) or {}).items():
            about = as_object(schema) or {}
            label = Text(" " * 6).append_text(word(f"{name} ({about.get('type', 'any')})"))
            lines += packed(label, [word(str(about.get("description", "")), QUIET)], width=width, indent=8)
    return lines
