"""Names that strangers gave, as they may be shown: a tool or an error can be called like a key to a service."""

from traced_loop.redaction import redact_text


def shown_name(name: str) -> str:
    """The name with what looks like a credential masked; names of letters alone hold none."""
    return name if name.replace("_", "").replace(".", "").isalpha() else redact_text(name)
