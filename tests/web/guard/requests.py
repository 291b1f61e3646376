"""Requests as the gate is given them, for its tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope

HOST = "127.0.0.1:7463"


def scope(method: str = "GET", path: str = "/", query: str = "", **headers: str) -> Scope:
    """A request of a browser of this machine; ``sec_fetch_site="none"`` is the header ``sec-fetch-site``."""
    given = {"host": HOST, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in given.items()],
        "server": ("127.0.0.1", 7463),
        "client": ("127.0.0.1", 50_000),
    }


def form(body: bytes, *, cookie: str = "", **headers: str) -> tuple[Scope, Receive]:
    """A form that this page's browser sends."""
    sent = {"content_type": "application/x-www-form-urlencoded", "origin": f"http://{HOST}", "cookie": cookie}
    return scope("POST", "/settings", **{**sent, **headers}), pieces([body])


def pieces(bodies: list[bytes]) -> Receive:
    """A body in pieces, and then the end of the connection."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": True} for body in bodies[:-1]]
    messages += [{"type": "http.request", "body": body} for body in bodies[-1:]]

    async def receive() -> Message:
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    return receive


class Answer:
    """Takes what an app sends."""

    def __init__(self) -> None:
        self.messages: list[Any] = []

    async def __call__(self, message: Message) -> None:
        self.messages.append(message)

    @property
    def status(self) -> int:
        return int(self.messages[0]["status"])

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in self.messages[0]["headers"]}

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.messages[1:])
