"""How what waits can go on here: at which server, with which key, or why it cannot."""

from typing import Final

from traced_loop.errors import UsageError
from traced_loop.frozen_value import frozen_value
from traced_loop.models.server_choice import NO_KEY
from traced_loop.web.provider_choices import ProviderChoice, provider_choices
from traced_loop.web.site import Site

_ANY_KEY: Final = NO_KEY
"""Stands for a key that somebody would type, to see whether that is all that is missing."""


@frozen_value
class WayOn:
    """The way on.

    Attributes:
        why_not: why nothing can go on, as a sentence in English; ``""`` where it can, with a typed key at least.
        model: that is asked; ``""`` for none.
        server: where it is asked; None where that is not known.
        takes_key: whether a key can be typed: the environment has none.
        needs_key: whether one must be: without it the server cannot be asked.
    """

    why_not: str = ""
    model: str = ""
    server: ProviderChoice | None = None
    takes_key: bool = False
    needs_key: bool = False


def way_on(site: Site) -> WayOn:
    """The one of this server, as its command and its environment say; nothing is asked of anybody."""
    loops = site.confirmations.loops
    if loops is None:
        return WayOn()
    why_not = loops.why_not()
    try:
        server = provider_choices(site.offered, site.environment)[0]
    except UsageError:
        return WayOn(why_not=why_not, model=loops.model)
    takes_key = not server.key_in and not (why_not and loops.why_not(_ANY_KEY))
    return WayOn(
        why_not="" if takes_key else why_not,
        model=loops.model,
        server=server,
        takes_key=takes_key,
        needs_key=takes_key and bool(why_not),
    )
