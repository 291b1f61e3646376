"""Whether a run kept the first five promises of the design, from what it left: its trace, its history, its result.

It knows the promises and not the loop: it imports of the loop's rules only what reads a history, words and amounts.
"""

from . import endings, limits, pairing, suspects, writes
from .playing import Left
from .trace_facts import TraceFacts


def broken_promises(left: Left) -> list[str]:
    """Every sentence that says how a promise was broken, with its number; empty for a run that kept them."""
    facts = TraceFacts(left.spans)
    return [
        f"{number}: {sentence}"
        for number, promise in enumerate((pairing, suspects, endings, limits, writes), 1)
        for sentence in promise.broken(left, facts)
    ]
