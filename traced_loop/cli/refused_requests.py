"""What the terminal says of a request that the page refused: what it was, and what to do if it was one's own."""

from collections.abc import Mapping
from typing import Final

SENTENCES: Final[Mapping[str, str]] = {
    "wrong_host": "it was asked for under a name that is not this machine's; open the link above as it stands",
    "other_site": "a page of another site asked; nothing of yours is needed, and nothing was done",
    "no_session": "a browser that has not opened the link asked for a page; open the newest link above in it",
    "used_token": "a link was opened that was used before, or is none; each is good once, so open the newest one above",
    "other_user": "another user of this machine opened the address; if it was you, open the newest link above",
    "forged_form": "a form came that this page did not make, or made before it was started anew; reload the page",
    "too_large": "it was larger than the page takes; send less at once",
    "too_slow": "a form did not come to its end in time; send it again",
    "malformed": "it was no request that a browser sends; if it was a program of yours, look at how it asks",
    "bad_form": "what it sent was no form; if it was a program of yours, look at how it sends",
    "bad_method": "no page has that method; if it was a program of yours, it may only GET, HEAD and POST",
}
"""By the kind of the refusal."""


def refused_text(kind: str, detail: str = "") -> str:
    """One line; the detail is a stranger's text, to be escaped before it is shown."""
    about = f" ({detail})" if detail else ""
    return f"refused: {kind}{about}: {SENTENCES[kind]}"
