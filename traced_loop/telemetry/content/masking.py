"""Where content meets the rules of redaction: the only place, so that content is masked by whatever masks the rest."""

from typing import Any

from traced_loop.telemetry.redaction import redact_value


def masked(value: Any) -> tuple[Any, bool]:
    """The JSON value with what was found in it masked, and whether anything was."""
    shown = redact_value(value)
    return shown, shown != value
