"""The body of an error response, taken apart: its words, its message, what was billed, whatever its shape.

Shapes that are read, by what their servers document or send:

- ``{"error": {"message", "type", "code"}}``: OpenAI, Groq, DeepSeek, vLLM, Ollama; with ``innererror.code``: Azure.
- the same without ``error`` around it: Mistral, older vLLM.
- ``[{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": [...]}}]``: Gemini's OpenAI address, with
  Google's ``ErrorInfo.reason`` and ``RetryInfo.retryDelay`` among the details.
- ``{"error": {"code", "message", "metadata": {"raw": "<the upstream's body>"}}}``: OpenRouter; relays put the
  upstream's body into ``message``.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from traced_loop.json_shapes import as_list, as_object, as_text

_MOST_OBJECTS: Final = 16
"""Error objects that are looked at, the outermost first: no body makes this slow."""
_WORD_FIELDS: Final = ("code", "type", "status", "reason")
_NESTED_FIELDS: Final = ("error", "innererror", "inner_error", "details", "metadata", "raw", "message")
_MOST_CHARACTERS: Final = 100_000
"""Of a text within a body that is parsed as JSON."""


def parsed(text: str) -> object:
    """The JSON value of a body, or the text itself where it is none."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


def error_objects(body: object) -> Iterator[Mapping[str, Any]]:
    """The objects that say something of an error, the outermost first."""
    waiting: list[object] = [body]
    seen = 0
    while waiting and seen < _MOST_OBJECTS:
        value = waiting.pop(0)
        if isinstance(value, str):
            inner = value.strip()
            value = parsed(inner) if inner[:1] in {"{", "["} and len(inner) <= _MOST_CHARACTERS else None
        seen += 1
        fields = as_object(value)
        if fields is not None:
            yield fields
            waiting += [fields[name] for name in _NESTED_FIELDS if fields.get(name)]
        else:
            waiting += (as_list(value) or [])[:_MOST_OBJECTS]


def words_of(body: object) -> list[str]:
    """Codes, types and status words, the outermost first; numbers as text."""
    found: list[str] = []
    for fields in error_objects(body):
        for name in _WORD_FIELDS:
            value = fields.get(name)
            if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1000):
                found.append(str(value))
    return found


def messages_of(body: object) -> list[str]:
    """What the server says about it, the outermost first."""
    if isinstance(body, str):
        return [body]
    found: list[str] = []
    for fields in error_objects(body):
        found += [text for name in ("message", "error", "detail") if (text := as_text(fields.get(name)))]
    return found


def billed_usage(body: object) -> Mapping[str, Any] | None:
    """The token counts that stand beside an error or in it, or None."""
    for fields in error_objects(body):
        usage = as_object(fields.get("usage"))
        if usage:
            return usage
    return None
