"""Who has opened the link: a token that is good once buys a browser a cookie, and that its forms' tokens."""

import hashlib
import hmac
import secrets
import threading
from collections.abc import Callable
from typing import Final

_BYTES: Final = 32
"""Of each secret: what nobody guesses."""
MAX_SESSIONS: Final = 64
"""Browsers at once; the oldest has to open a new link."""


class Access:
    """The tokens and sessions of one server, kept in memory only."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._link_token = secrets.token_urlsafe(_BYTES)
        self._opening_token: str | None = secrets.token_urlsafe(_BYTES)
        self._secret = secrets.token_bytes(_BYTES)
        self._sessions: dict[str, None] = {}

    @property
    def link_token(self) -> str:
        """The token of the next link: another one each time after one was used."""
        return self._link_token

    @property
    def opening_token(self) -> str | None:
        """The token for the browser that this program opens: good once, and for a process of its user; None once used.

        It stands on that browser's command line, which other users of the machine can read.
        """
        return self._opening_token

    def redeem(self, token: str) -> str | None:
        """A new session for the token of a link, which is used up by it; None for any other text."""
        with self._lock:
            if not _same(token, self._link_token):
                return None
            self._link_token = secrets.token_urlsafe(_BYTES)
            return self._begun()

    def redeem_opening(self, token: str, is_own: Callable[[], bool]) -> str | None:
        """A new session for the token of the browser that this program opens; None for any other text.

        Args:
            token: as it came.
            is_own: whether it came from a process of this user; a stranger does not use the token up.
        """
        with self._lock:
            if not self.is_opening(token) or not is_own():
                return None
            self._opening_token = None
            return self._begun()

    def is_opening(self, token: str) -> bool:
        """Whether this is the token for the browser that this program opens, and not used yet."""
        return self._opening_token is not None and _same(token, self._opening_token)

    def knows(self, session: str) -> bool:
        """Whether a cookie is of a browser that has opened a link of this server."""
        return any([_same(session, known) for known in list(self._sessions)])  # noqa: C419 - none left out: equal time

    def form_token(self, session: str) -> str:
        """What each form of a session has to carry."""
        return hmac.new(self._secret, session.encode(), hashlib.sha256).hexdigest()

    def accepts_form(self, session: str, form_token: str) -> bool:
        """Whether a form was made for this session."""
        return _same(form_token, self.form_token(session))

    def _begun(self) -> str:
        session = secrets.token_urlsafe(_BYTES)
        self._sessions[session] = None
        while len(self._sessions) > MAX_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        return session


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())
