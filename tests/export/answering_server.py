"""An HTTP server of a test that answers every request alike, on a free loopback port."""

import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext


@dataclass(kw_only=True)
class Answering:
    """A running server and what it was sent."""

    url: str
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def answering(
    status: int, headers: Mapping[str, str] | None = None, body: bytes = b"", tls: SSLContext | None = None
) -> Generator[Answering]:
    """A server that gives this answer to every POST."""
    seen = Answering(url="")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.bodies.append(self.rfile.read(int(self.headers.get("content-length", 0))))
            seen.headers.append({key.lower(): value for key, value in self.headers.items()})
            self.send_response(status)
            for key, value in (headers or {}).items():
                self.send_header(key, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    seen.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}/v1/traces"
    try:
        yield seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join(60)
