"""The few keys by which OpenInference's backends (Phoenix, Arize) sort and show a span, for whoever asks for them.

Tokens, model and session are not repeated under its keys: Phoenix and Langfuse read the ``gen_ai.*`` ones, and a
backend that reads both would have to know that they are the same.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, Literal

from traced_loop import names
from traced_loop.json_shapes import as_list, as_object
from traced_loop.telemetry.content.fitting import Fitted

SpanKind = Literal["AGENT", "CHAIN", "LLM", "TOOL", "GUARDRAIL"]

_KINDS: Final[Mapping[str, SpanKind]] = {
    names.INVOKE_AGENT: "AGENT",
    names.STEP: "CHAIN",
    names.CHAT: "LLM",
    names.ATTEMPT: "CHAIN",
    names.VALIDATE_CALL: "GUARDRAIL",
    names.AUTHORIZE_CALL: "GUARDRAIL",
    names.CHECK_BUDGET: "GUARDRAIL",
    names.EXECUTE_TOOL: "TOOL",
    names.APPEND_RESULTS: "CHAIN",
}
_JSON: Final = "application/json"
_TEXT: Final = "text/plain"


def span_kind(name: str) -> SpanKind:
    """The kind of a span of ours by its name, what it adds to a constant left aside; a new one is a ``CHAIN``."""
    return _KINDS.get(name.partition(" ")[0], "CHAIN")


def values(content: Mapping[str, Fitted], attributes: Mapping[str, Any]) -> dict[str, Any]:
    """``input.value`` and ``output.value``, each with its type: content where a span shows it.

    A tool whose arguments are not shown has their summary as its input, which is no content.
    """
    given = content.get(names.GEN_AI_INPUT_MESSAGES) or content.get(names.GEN_AI_TOOL_CALL_ARGUMENTS)
    gave = content.get(names.GEN_AI_OUTPUT_MESSAGES) or content.get(names.GEN_AI_TOOL_CALL_RESULT)
    found: dict[str, Any] = {}
    if given is not None:
        found[names.INPUT_VALUE], found[names.INPUT_MIME_TYPE] = _value(given.text)
    elif attributes.get(names.GEN_AI_OPERATION) == names.EXECUTE_TOOL and names.ARGS_SUMMARY in attributes:
        found = {names.INPUT_VALUE: attributes[names.ARGS_SUMMARY], names.INPUT_MIME_TYPE: _TEXT}
    if gave is not None:
        found[names.OUTPUT_VALUE], found[names.OUTPUT_MIME_TYPE] = _value(gave.text)
    return found


def _value(text: str) -> tuple[str, str]:
    """JSON as it is; what is only one text, as that text, because people read it in a table."""
    value = json.loads(text)
    if isinstance(value, str):
        return value, _TEXT
    messages = as_list(value) or []
    parts = as_list((as_object(messages[0]) or {}).get("parts")) or [] if len(messages) == 1 else []
    part = as_object(parts[0]) or {} if len(parts) == 1 else {}
    said = part.get("content")
    return (said, _TEXT) if part.get("type") == "text" and isinstance(said, str) else (text, _JSON)
