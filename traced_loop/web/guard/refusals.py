"""What was refused and why: each kind is told once, however often it comes."""

import threading
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from typing import Final

from traced_loop.frozen_value import frozen_value

MAX_TOLD: Final = 50
"""Refusals that are told: a page elsewhere that tries thousands of names must not fill the terminal."""
_MAX_DETAIL: Final = 120


class RefusalKind(StrEnum):
    """Why a request gets no page."""

    WRONG_HOST = "wrong_host"
    """The address asked for is no name of this machine: another site's name may point here."""
    OTHER_SITE = "other_site"
    """A page of another site asked."""
    NO_SESSION = "no_session"
    """The browser has not opened the link."""
    USED_TOKEN = "used_token"  # noqa: S105 - a word, no secret
    """The link was opened before, or is none."""
    OTHER_USER = "other_user"
    """The address that this program gave to a browser was opened by another user, as far as can be told."""
    FORGED_FORM = "forged_form"
    """A form without the token that this page puts into its forms."""
    TOO_LARGE = "too_large"
    """A body or an address over the limit."""
    TOO_SLOW = "too_slow"
    """A form that did not come to its end in time."""
    MALFORMED = "malformed"
    """What no browser sends: no request of HTTP, or one that can be read in two ways."""
    BAD_FORM = "bad_form"
    """A body that is no form."""
    BAD_METHOD = "bad_method"
    """A method that no page has."""


STATUS: Final = {
    RefusalKind.WRONG_HOST: 421,
    RefusalKind.OTHER_SITE: 403,
    RefusalKind.NO_SESSION: 401,
    RefusalKind.USED_TOKEN: 401,
    RefusalKind.OTHER_USER: 401,
    RefusalKind.FORGED_FORM: 403,
    RefusalKind.TOO_LARGE: 413,
    RefusalKind.TOO_SLOW: 408,
    RefusalKind.MALFORMED: 400,
    RefusalKind.BAD_FORM: 400,
    RefusalKind.BAD_METHOD: 405,
}
"""The HTTP status of each."""


@frozen_value
class Refusal:
    """One refused request; the detail is a stranger's text and must be escaped before it is shown."""

    kind: RefusalKind
    detail: str = ""


class Refusals:
    """Tells each refusal once."""

    def __init__(self, tell: Callable[[Refusal], None]) -> None:
        self._tell = tell
        self._told: set[Refusal] = set()
        self._lock = threading.Lock()

    def note(self, refusal: Refusal) -> None:
        """Tell it, unless the same was told before."""
        cut = Refusal(kind=refusal.kind, detail=refusal.detail[:_MAX_DETAIL])
        with self._lock:
            if cut in self._told or len(self._told) >= MAX_TOLD:
                return
            self._told.add(cut)
        with suppress(OSError, ValueError):  # a terminal that is gone refuses nobody
            self._tell(cut)
