"""The spans of a stored run as lines of OTLP JSON that any reader of the format takes.

Whole lines as they were recorded, without what only concerns this store: to whom a span is owed. A span that never
ended is there by its start, with the end 0. What a killed process left torn, and what is no span at all, is left out.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, cast

from traced_loop import names
from traced_loop.json_shapes import as_list, as_object
from traced_loop.records.private_files import open_regular

_HOME: Final = frozenset({names.DELIVERY_DESTINATION, names.DELIVERY_SAMPLING})
_MARK: Final = names.DELIVERY_DESTINATION.encode()

Key = tuple[object, object]


def stored_lines(files: Iterable[Path]) -> Iterator[bytes]:
    """The lines, each with its end; read while they are taken.

    Args:
        files: first the one with the spans that ended, then the one with the starts of those that may not have;
            either may be missing.
    """
    seen: set[Key] = set()
    for path in files:
        with suppress(OSError), open_regular(path) as lines:
            for line in lines:
                document = _document(line)
                keys = set(_keys(document))
                if document is None or not keys or keys <= seen:
                    continue
                seen |= keys
                yield _without_debts(document) if _MARK in line else line.rstrip(b"\r\n") + b"\n"


def _document(line: bytes) -> dict[str, Any] | None:
    """What a line holds; None where that is no object, or not UTF-8."""
    try:
        parsed: object = json.loads(line.decode())
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else None


def _keys(document: object) -> Iterator[Key]:
    for scope in _scopes(document):
        for span in _listed(scope, "spans"):
            yield str(span.get("traceId")), str(span.get("spanId"))


def _without_debts(document: dict[str, Any]) -> bytes:
    for scope in _scopes(document):
        for named in _objects([scope.get("scope")]):
            named["attributes"] = [each for each in _listed(named, "attributes") if each.get("key") not in _HOME]
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode(errors="replace") + b"\n"


def _scopes(document: object) -> Iterator[dict[str, Any]]:
    for resource in _listed(document, "resourceSpans"):
        yield from _listed(resource, "scopeSpans")


def _listed(holder: object, name: str) -> list[dict[str, Any]]:
    return _objects(as_list((as_object(holder) or {}).get(name)) or [])


def _objects(found: Sequence[object]) -> list[dict[str, Any]]:
    return [cast("dict[str, Any]", each) for each in found if isinstance(each, dict)]
