"""The session cookies of a request. Other servers of this machine share the browser's cookies, and write them oddly."""

from collections.abc import Sequence
from typing import Final

from traced_loop.web.guard.request_head import RequestHead

MAX_VALUES: Final = 8
"""Cookies of one name that are looked at: a browser sends one, unless another server has put its own beside it."""


def cookie_values(head: RequestHead, name: str) -> Sequence[str]:
    """The values of all cookies with a name; what is no cookie is passed over."""
    pairs = (part.partition("=") for part in head.headers.get("cookie", "").split(";"))
    return [value.strip() for found, _, value in pairs if found.strip() == name][:MAX_VALUES]
