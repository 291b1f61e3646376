"""The head of a request: read once, whatever is in it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from traced_loop.web.guard.request_head import head_of

from .requests import scope

NAMES = st.sampled_from([b"host", b"Host", b"cookie", b"origin", b"x\xff"]) | st.binary(max_size=9)


@given(st.lists(st.tuples(NAMES, st.binary(max_size=40))), st.text(max_size=20), st.binary(max_size=20))
def test_any_head_can_be_read(headers: list[tuple[bytes, bytes]], path: str, query: bytes) -> None:
    """Whatever bytes come: it is a value, and what was sent twice is named."""
    head = head_of({**scope(), "headers": headers, "path": path, "query_string": query})
    sent = [name.decode("latin-1").lower() for name, _ in headers]
    assert set(head.headers) == set(sent)
    assert head.doubled == {name for name in sent if sent.count(name) > 1 and name != "cookie"}


def test_a_name_counts_in_any_case() -> None:
    """Two hosts are two, also as ``Host`` and ``HOST``."""
    head = head_of({**scope(), "headers": [(b"Host", b"a"), (b"HOST", b"b")]})
    assert (head.headers["host"], head.doubled) == ("b", {"host"})


def test_cookies_of_several_headers_are_all_there() -> None:
    """As if they were one header."""
    head = head_of({**scope(), "headers": [(b"cookie", b"a=1"), (b"cookie", b"b=2")]})
    assert (head.headers["cookie"], head.doubled) == ("a=1; b=2", frozenset())


def test_the_address_is_what_was_sent() -> None:
    """With its query, not decoded; one that was not kept is made of the path."""
    sent = {**scope(query="a=%2f"), "raw_path": b"/runs/%2e", "path": "/runs/."}
    assert head_of(sent).address == b"/runs/%2e?a=%2f"
    assert head_of({**scope(path="/ü"), "raw_path": None}).address == "/ü".encode()
