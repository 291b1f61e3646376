"""The address of a model server, taken apart and checked."""

from urllib.parse import urlsplit

from traced_loop.errors import UsageError
from traced_loop.shown_url import shown_url


def host_and_port(base_url: str) -> tuple[str, int | None]:
    """Host and port of a base URL; the port is None for the scheme's own.

    Raises:
        UsageError: it is no http:// or https:// address with a host and a valid port.
    """
    try:
        address = urlsplit(base_url)
        host, port = address.hostname, address.port
    except ValueError:  # a port that is none, brackets that do not close
        host, port = None, None
    if (
        not host
        or not base_url.isprintable()
        or not base_url.isascii()
        or not base_url.lower().startswith(("http://", "https://"))
    ):
        raise UsageError(
            f"base_url must be http:// or https:// with a host and a valid port, not {shown_url(base_url)!r}"
        )
    return host, port


def is_local(host: str) -> bool:
    """Whether a host is this machine or its network: what it serves has no list price."""
    return host in {"localhost", "127.0.0.1", "::1"} or host.endswith(".local")
