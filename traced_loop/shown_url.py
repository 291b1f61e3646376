"""Addresses as people may see them: without credentials, which stand before an ``@``, in a query or in a fragment."""

import re
from typing import Final

from traced_loop.late_pattern import late_pattern

MAX_CHARACTERS: Final = 300
"""Of an address; what follows is left out. A redirect's target, for example, is a stranger's text."""

_CREDENTIALS: Final = late_pattern(r"(?<=://)\S{1,2000}@|[^\s/@]{1,200}@(?=[\w.\[])")


def shown_url(url: str) -> str:
    """One address, with a scheme or without.

    Everything before the last ``@`` goes, since a password that was not percent-encoded may hold any character: rather
    too much is left out than a part of a password shown.
    """
    scheme, separator, rest = url.partition("://")
    address = (rest if separator else url).rpartition("@")[2]
    shown = re.split("[?#]", address, maxsplit=1)[0]
    return f"{scheme if separator else ''}{separator}{shown}"[:MAX_CHARACTERS]


def without_credentials(text: str) -> str:
    """A text of others, an error message for example, in which addresses may stand."""
    return _CREDENTIALS.sub("", text)
