"""The head of a request as the gate's checks read it."""

from collections.abc import Mapping

from starlette.types import Scope

from traced_loop.frozen_value import frozen_value


@frozen_value
class RequestHead:
    """What a request says before its body.

    Attributes:
        method: as it was sent.
        address: path and query as they were sent.
        path: decoded.
        query: as it was sent.
        headers: by name in lower case; of several the last, but all cookies.
        doubled: names of headers, cookies aside, that were sent more than once.
    """

    method: str
    address: bytes
    path: str
    query: bytes
    headers: Mapping[str, str]
    doubled: frozenset[str]


def head_of(scope: Scope) -> RequestHead:
    """The head of a request."""
    headers: dict[str, str] = {}
    doubled: set[str] = set()
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        if name in headers and name == "cookie":
            value = f"{headers[name]}; {value}"
        elif name in headers:
            doubled.add(name)
        headers[name] = value
    path, query = scope["path"], scope["query_string"]
    raw = scope.get("raw_path") or path.encode("utf-8", "replace")
    address = raw + (b"?" + query if query else b"")
    return RequestHead(
        method=scope["method"], address=address, path=path, query=query, headers=headers, doubled=frozenset(doubled)
    )
