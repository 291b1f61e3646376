"""What was already searched: a loop sends its history again at each request, and the same text is searched once."""

import threading
from collections import OrderedDict
from typing import Final

from traced_loop.redaction.own_secrets import OwnSecrets

MAX_TEXTS: Final = 4_096
MAX_KEPT_CHARACTERS: Final = 2**20
"""Of masked texts; of a text in which nothing was found only its hash is kept."""

Seen = tuple[str | None, tuple[tuple[str, int], ...]]
"""The masked text, or None where nothing was found; and how often each rule found something."""


class SeenTexts:
    """The last texts by their hash and length; safe in threads.

    All holds for one set of own secrets: another one empties it, and what was searched with an older one is not kept.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: OrderedDict[tuple[int, int], Seen] = OrderedDict()
        self._characters = 0
        self._own: OwnSecrets | None = None

    def get(self, text: str, own: OwnSecrets) -> Seen | None:
        """What became of this text, or None when it is not known."""
        key = (hash(text), len(text))
        with self._lock:
            if self._own is not own:
                self._seen.clear()
                self._characters, self._own = 0, own
            seen = self._seen.get(key)
            if seen is not None:
                self._seen.move_to_end(key)
            return seen

    def put(self, text: str, own: OwnSecrets, seen: Seen) -> None:
        """Remember; the oldest are forgotten."""
        size = len(seen[0] or "")
        if size > MAX_KEPT_CHARACTERS // 8:
            return
        key = (hash(text), len(text))
        with self._lock:
            if self._own is not own or key in self._seen:
                return
            self._seen[key] = seen
            self._characters += size
            while len(self._seen) > MAX_TEXTS or self._characters > MAX_KEPT_CHARACTERS:
                _, (oldest, _) = self._seen.popitem(last=False)
                self._characters -= len(oldest or "")
