"""Commands that the page shows, to be typed or copied."""

import shlex

from traced_loop.views.visible import visible


def quoted(text: str) -> str:
    """A text as one word of a command line: what a model chose as an id must not become a command of whoever copies."""
    return shlex.quote(visible(text))
