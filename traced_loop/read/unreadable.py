"""Why a source gives no runs: a value, since a wrong file is what people try first."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Unreadable:
    """One sentence that says what is wrong and what to do. Strangers' text can be in it: escape it."""

    text: str
