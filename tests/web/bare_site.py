"""What the views share, as a server has it that was given nothing but a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from traced_loop.read.run_list import RunList
from traced_loop.web.confirmations import Confirmations
from traced_loop.web.site import Site
from traced_loop.web.store_changes import StoreChanges

if TYPE_CHECKING:
    from pathlib import Path


def bare_site(folder: Path, **parts: Any) -> Site:
    """A site of this store; the parts are other ones than a server without options has."""
    known: dict[str, Any] = {
        "environment": {},
        "changes": StoreChanges(folder),
        "runs": RunList(folder),
        "confirmations": Confirmations(folder),
    }
    return Site(folder=folder, **{**known, **parts})
