"""A Chat Completions server on a free loopback port that answers as it is told, byte by byte."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m-2026",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hello"}}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
}


@dataclass(frozen=True)
class Reply:
    """What the server sends; a body that is not bytes goes as JSON."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    packets: Sequence[bytes] | None = None
    """Sent one by one instead of the body, each with its length."""
    end: Literal["said", "cut", "open"] = "said"
    """After the packets: the end is said; the connection is cut; it stays open until the client closes it."""

    def data(self) -> bytes:
        """The bytes of the body."""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass
class ChatServer:
    """A running server and what it was asked."""

    port: int
    reply: Reply
    key: str | None = None
    """The key that it wants; None for none."""
    first: list[Reply] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)
    clients: set[Any] = field(default_factory=set)
    """The addresses that they came from, one for each connection."""
    sent: threading.Event = field(default_factory=threading.Event)
    """Set once all packets of a reply have gone out."""
    left: threading.Event = field(default_factory=threading.Event)
    """Set once a client has closed a connection that the server kept open."""

    @property
    def base_url(self) -> str:
        """The address to give to a client."""
        return f"http://127.0.0.1:{self.port}/v1"


@contextmanager
def chat_server(
    reply: Reply | None = None, *, first: Sequence[Reply] = (), key: str | None = None
) -> Iterator[ChatServer]:
    """Serve the reply for the time of the block, after those that come first; 401 to who has not the key."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # a packet goes when it is written

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            state.paths.append(self.path)
            state.clients.add(self.client_address)
            state.headers.append({name.lower(): value for name, value in self.headers.items()})
            state.bodies.append(json.loads(body))
            if state.key is not None and self.headers["authorization"] != f"Bearer {state.key}":
                reply = Reply(status=401, body={"error": {"message": "a key is wanted"}})
            else:
                reply = state.first.pop(0) if state.first else state.reply
            data = reply.data()
            self.send_response(reply.status)
            if reply.packets is not None:
                _send_packets(self, reply, reply.packets, state.sent)
                if reply.end == "open":
                    state.left.set()
                return
            # The base class has sent the date already.
            headers = {name: value for name, value in reply.headers.items() if name != "Date"}
            for name, value in {"content-type": reply.content_type, **headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(data)))
            self.send_header("connection", "close")
            self.end_headers()
            self.wfile.write(data)

        def date_time_string(self, timestamp: float | None = None) -> str:
            return state.reply.headers.get("Date") or super().date_time_string(timestamp)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state = ChatServer(server.server_address[1], reply or Reply(body=ANSWER), key, [*first])
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _send_packets(
    handler: BaseHTTPRequestHandler, reply: Reply, packets: Sequence[bytes], sent: threading.Event
) -> None:
    handler.send_header("content-type", reply.content_type)
    handler.send_header("transfer-encoding", "chunked")
    handler.end_headers()
    handler.close_connection = reply.end != "said"
    with suppress(OSError):  # the client has gone away, which is what some tests are about
        for packet in packets:
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(packet), packet))
            handler.wfile.flush()
        sent.set()
        if reply.end == "said":
            handler.wfile.write(b"0\r\n\r\n")
        while reply.end == "open" and handler.rfile.read(1):
            pass


def streamed(
    *events: object, done: bool = True, end: Literal["said", "cut", "open"] = "said", packets: int | None = None
) -> Reply:
    """A reply that sends the events as a stream, one packet each; or in packets of that many bytes."""
    texts = [f"data: {json.dumps(event)}\n\n".encode() for event in events] + ([b"data: [DONE]\n\n"] if done else [])
    if packets is not None:
        whole = b"".join(texts)
        texts = [whole[at : at + packets] for at in range(0, len(whole), packets)]
    return Reply(packets=texts, content_type="text/event-stream", end=end)


def delta(finish_reason: str | None = None, **fields: Any) -> dict[str, Any]:
    """One event of a stream: what a choice's delta holds, and the finish reason."""
    choice = {"index": 0, "delta": fields, "finish_reason": finish_reason}
    return {"id": "chatcmpl-1", "model": "m-2026", "choices": [choice]}


def counted(given: int, answered: int) -> dict[str, Any]:
    """The event with the token counts, which comes last and holds no choice."""
    return {"id": "chatcmpl-1", "choices": [], "usage": {"prompt_tokens": given, "completion_tokens": answered}}


@contextmanager
def silent_server() -> Iterator[str]:
    """A server that accepts connections and never answers; gives its base URL."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"


def closed_port() -> int:
    """A port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])
