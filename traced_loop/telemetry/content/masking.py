"""Where content meets the rules of redaction: the only place, so that content is masked by whatever masks the rest."""

from typing import Any, Final

from traced_loop.json_shapes import as_list, as_object
from traced_loop.telemetry.redaction import redact_text, redact_value

_PROBE: Final = "a-value-of-no-known-shape"
_MASK: Final = "[REDACTED:secret]"


def masked(value: Any) -> tuple[Any, bool]:
    """The JSON value with what was found in it masked, and whether anything was.

    A text beside a key that names a secret is masked as it would be in the JSON text of both.
    """
    shown = _beside_keys(redact_value(value))
    return shown, shown != value


def _beside_keys(value: Any) -> Any:
    fields, items = as_object(value), as_list(value)
    if fields is not None:
        return {key: _MASK if _is_secret(key, field) else _beside_keys(field) for key, field in fields.items()}
    return [_beside_keys(item) for item in items] if items is not None else value


def _is_secret(key: str, field: Any) -> bool:
    if not isinstance(field, str) or not field or field.startswith("[REDACTED:") or len(key) > 64:
        return False
    asked = f'"{key}":"{_PROBE}"'
    return redact_text(asked) != asked
