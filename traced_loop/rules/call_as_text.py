"""Calls that a model wrote into its text, in the notation that it was trained on, since nobody read them out of it.

They are found to be named, never to be run: a server that does not parse them is set up wrongly, and else nothing tells
an answer that is such a call from any other.
"""

import json
import re
from collections.abc import Collection
from typing import Final

from traced_loop.json_shapes import as_list, as_object

_OPENINGS: Final = (
    "<tool_call>",  # Hermes, Qwen
    "<function=",  # Llama, Qwen Coder
    "<function_calls>",
    "<invoke name=",
    "[TOOL_CALLS]",  # Mistral
    "<|python_tag|>",  # Llama
    "<|tool_call|>",  # Granite, Phi
    "<|tool_calls_section_begin|>",  # Kimi
    "<|tool_call_begin|>",
    "<\uff5ctool\u2581calls\u2581begin\uff5c>",  # DeepSeek
    "<|channel|>commentary to=",  # gpt-oss
)
_ENDINGS: Final = (">", "}", "]")
"""How a call ends: with a tag or a token, or with its arguments where those are left out."""
_SPOKEN: Final = "<|python_tag|>"
"""Behind it a call may be written as Python: ``look(order_id="A100")``."""
_ARGUMENTS: Final = ("{", "(", "<parameter")
"""What begins the arguments: a tag around a mere name is no call."""
_LOOKED_AT: Final = 20_000
"""Characters of a text's end that are looked at: a call stands there."""
_CALL_FIELDS: Final = frozenset({"name", "arguments", "parameters", "type", "id"})
_FENCE: Final = "```"


def is_written_call(text: str, tools: Collection[str]) -> bool:
    """Whether a text is, or ends with, a call of one of the tools in a known notation.

    One inside of a code block is an example; a mention with words behind it is a sentence.
    """
    said = text[-_LOOKED_AT:].partition("</think>")[2] if "</think>" in text[-_LOOKED_AT:] else text[-_LOOKED_AT:]
    said = said.strip()
    if not said or not tools:
        return False
    return _in_notation(said, tools) or _as_json(said, tools)


def _in_notation(said: str, tools: Collection[str]) -> bool:
    begins = [place for opening in _OPENINGS if (place := said.find(opening)) >= 0]
    if not begins:
        return False
    calls, last = said[min(begins) :], max(said.rfind(opening) for opening in _OPENINGS)
    ended = calls.endswith(_ENDINGS) or (calls.startswith(_SPOKEN) and calls.endswith(")"))
    if not ended or said[:last].count(_FENCE) % 2 or not any(sign in calls for sign in _ARGUMENTS):
        return False
    return any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", calls) for name in tools)


def _as_json(said: str, tools: Collection[str]) -> bool:
    """A whole text that is the JSON of one call or of several."""
    if said.startswith(_FENCE) and said.endswith(_FENCE):
        said = said[len(_FENCE) : -len(_FENCE)].removeprefix("json").strip()
    if said[:1] not in {"{", "["}:
        return False
    try:
        value: object = json.loads(said)
    except (ValueError, RecursionError):
        return False
    calls = [as_object(each) for each in as_list(value) or [value]]
    return all(
        call is not None
        and set(call) <= _CALL_FIELDS
        and call.get("name") in tools
        and as_object(call.get("arguments", call.get("parameters"))) is not None
        for call in calls
    )
