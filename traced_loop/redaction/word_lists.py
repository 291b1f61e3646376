"""Lists of words as they are written in this package: plain text, as long as it needs to be."""


def words(text: str) -> frozenset[str]:
    """Words between white space."""
    return frozenset(text.split())


def terms(text: str) -> tuple[str, ...]:
    """Terms between bars, each of which can hold spaces, in their order."""
    return tuple(" ".join(term.split()) for term in text.split("|"))
