"""How messages reach an agent or a collector; whatever goes wrong is a ``NotSentError`` with the reason in one line."""

import base64
import socket
from http.client import HTTPException
from typing import Any, Final, Protocol

from traced_loop.export.jaeger import thrift_parts
from traced_loop.export.jaeger.thrift_parts import AgentPacket, CollectorRequest, Wire
from traced_loop.version import __version__

TIMEOUT_SECONDS: Final = 10.0
"""For each step of a request to a collector: the specification's default for Jaeger exporters."""


class NotSentError(Exception):
    """A message did not arrive, as far as can be known."""


class Sender(Protocol):
    """One way out. Holds no connection, so forks, changed addresses and restarts at the other end need no care."""

    @property
    def wire(self) -> Wire:
        """The form that the other end reads."""
        ...

    def send(self, data: bytes) -> None:
        """Send one message.

        Raises:
            NotSentError: it was not taken.
        """
        ...


class AgentSender:
    """UDP to an agent. That nobody listens is noticed on the same host, and not across a network."""

    def __init__(self, host: str, port: int) -> None:
        self.wire: Wire = AgentPacket()
        self._host = host
        self._port = port

    def send(self, data: bytes) -> None:
        """See ``Sender.send``."""
        try:
            self._send(data)
        except OSError as error:
            raise NotSentError(f"{type(error).__name__}: {error}") from error

    def _send(self, data: bytes) -> None:
        family, kind, protocol, _, address = socket.getaddrinfo(self._host, self._port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind, protocol) as sending:
            # Only a connected socket is told that the port is closed; on the same host that is known when send returns.
            sending.connect(address)
            sending.send(data)
            refused = sending.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if refused:
            raise NotSentError(f"nobody listens on UDP port {self._port}")


class CollectorSender:
    """POST to a collector by thrift's own client, through the proxy of the environment if there is one."""

    def __init__(self, url: str, *, user: str = "", password: str = "") -> None:
        """Make a sender.

        Args:
            url: whole, as ``http://collector:14268/api/traces?format=jaeger.thrift``.
            user: for basic authentication, or ``""`` for none.
            password: the same.
        """
        self.wire: Wire = CollectorRequest()
        self._url = url
        self._headers = {"User-Agent": f"traced-loop/{__version__}"}
        if user or password:
            credentials = base64.b64encode(f"{user}:{password}".encode()).decode()
            self._headers["Authorization"] = f"Basic {credentials}"

    def send(self, data: bytes) -> None:
        """See ``Sender.send``."""
        client: Any = thrift_parts.http_client()(self._url)
        client.setTimeout(TIMEOUT_SECONDS * 1000)
        client.setCustomHeaders(self._headers)
        client.write(data)
        try:
            client.flush()
        except (OSError, HTTPException) as error:
            raise NotSentError(f"{type(error).__name__}: {error}") from error
        finally:
            if client.isOpen():
                client.close()
        if not 200 <= client.code < 300:
            raise NotSentError(f"HTTP {client.code} {client.message}")
