"""What a call of a server's tool gave, as the value or the error of a handler."""

from typing import Any, Final

from mcp import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    AudioContent,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    InputRequiredResult,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from traced_loop.errors import NotApplied, ToolError

REFUSED: Final = frozenset({400, 401, 403, 404, 405, 406, 413, 415, 429})
"""HTTP statuses with which a server says that it did not take the request at all."""
_BUSY: Final = 429
_SERVER_FAILED: Final = 500
_SHOWN_CHARACTERS: Final = 200
"""Of a name or an address in a marker."""


def value_of(result: CallToolResult | InputRequiredResult, *, error_is_not_applied: bool) -> Any:
    """What the tool gave: its structured content where it has some, else its text.

    What is neither stands as a marker with its type and size, since a model that is told base64 learns nothing from it
    and pays for each character.

    Args:
        result: the server's.
        error_is_not_applied: an error that the tool declares says that nothing was changed.

    Raises:
        ToolError: the tool declared an error, or asks for something before it goes on.
    """
    if isinstance(result, InputRequiredResult):
        raise ToolError("the MCP server asks for input before it goes on, which is refused")
    if result.is_error:
        said = _text(result.content) or "the tool declared an error and said nothing"
        raise NotApplied(said) if error_is_not_applied else ToolError(said)
    if result.structured_content is None:
        return _text(result.content)
    # The text beside it says the same for clients that read no structured content.
    others = [_shown(block) for block in result.content if not isinstance(block, TextContent)]
    return {"structured": result.structured_content, "content": others} if others else result.structured_content


def error_of(error: MCPError, status: int | None) -> ToolError:
    """What an answer that is no result means.

    Args:
        error: of the protocol, the server's own or the client's for what did not come.
        status: of the HTTP response, or None.
    """
    if error.code in {INVALID_PARAMS, METHOD_NOT_FOUND}:
        return NotApplied(f"the MCP server refused the call: {error.message}")
    if status in REFUSED:
        return NotApplied(f"the MCP server refused the call with HTTP {status}", transient=status == _BUSY)
    if error.code == CONNECTION_CLOSED:
        return lost()
    failed = status is not None and status >= _SERVER_FAILED
    return ToolError(f"the MCP server answered with error {error.code}: {error.message}", transient=failed)


def lost() -> ToolError:
    """The connection ended before an answer came."""
    return ToolError("the connection to the MCP server was lost before an answer came", transient=True)


def _text(content: list[ContentBlock]) -> str:
    return "\n".join(block.text if isinstance(block, TextContent) else _shown(block) for block in content)


def _shown(block: ImageContent | AudioContent | ResourceLink | EmbeddedResource) -> str:
    if isinstance(block, (ImageContent, AudioContent)):
        return f"[{block.type} {_short(block.mime_type)}, {_size(block.data)} bytes]"
    if isinstance(block, ResourceLink):
        size = "" if block.size is None else f", {block.size} bytes"
        return f"[resource {_short(block.uri)} {_short(block.mime_type or '')}{size}]"
    resource = block.resource
    if isinstance(resource, TextResourceContents):
        return f"[resource {_short(resource.uri)}]\n{resource.text}"
    return f"[resource {_short(resource.uri)} {_short(resource.mime_type or '')}, {_size(resource.blob)} bytes]"


def _size(base64: str) -> int:
    return len(base64) * 3 // 4 - base64[-2:].count("=")


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
