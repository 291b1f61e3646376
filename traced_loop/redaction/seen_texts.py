"""What was already searched: a loop sends its history again at each request, and unchanged text is not scanned twice."""

import threading
from collections import OrderedDict
from typing import Final

MAX_TEXTS: Final = 4_096
MAX_KEPT_CHARACTERS: Final = 2**20
"""Of masked texts; of a text in which nothing was found only its hash is kept."""

Seen = tuple[str | None, tuple[tuple[str, int], ...]]
"""The masked text, or None where nothing was found; and how often each rule found something."""


class SeenTexts:
    """The last texts by their hash and length; safe in threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: OrderedDict[tuple[int, int], Seen] = OrderedDict()
        self._characters = 0

    def get(self, text: str) -> Seen | None:
        """What became of this text, or None when it is not known."""
        with self._lock:
            key = (hash(text), len(text))
            seen = self._seen.get(key)
            if seen is not None:
                self._seen.move_to_end(key)
            return seen

    def put(self, text: str, seen: Seen) -> None:
        """Remember; the oldest are forgotten."""
        size = len(seen[0] or "")
        if size > MAX_KEPT_CHARACTERS // 8:
            return
        with self._lock:
            self._seen[hash(text), len(text)] = seen
            self._characters += size
            while len(self._seen) > MAX_TEXTS or self._characters > MAX_KEPT_CHARACTERS:
                _, (oldest, _) = self._seen.popitem(last=False)
                self._characters -= len(oldest or "")

    def clear(self) -> None:
        """Forget all: the rules or the own secrets changed."""
        with self._lock:
            self._seen.clear()
            self._characters = 0
