"""A Chat Completions server that is the same for every run: so many rounds of one call, then a text.

The model's name says how many (`rounds-5`); which one it is follows from the results in the request, so nothing is kept
and any number of conversations can go on at once. Run as a program by `session`.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[3]))

from tests.benchmarks.step.loopback_http import Connection, serve

ROUNDS = re.compile(rb'"model": ?"rounds-(\d+)"')
RESULT = re.compile(rb'"role": ?"tool"')
ANSWER = "Both parcels are on their way."


def answered(body: bytes) -> bytes | None:
    """The response's body; None where the request is not one of ours."""
    asked = ROUNDS.search(body)
    if asked is None:
        return None
    done, message = len(RESULT.findall(body)), _said(None)
    if done < int(asked[1]):
        function = {"name": "find_parcel", "arguments": json.dumps({"number": f"P-{done}"})}
        message["tool_calls"] = [{"id": f"call_{done}", "type": "function", "function": function}]
    else:
        message = _said(ANSWER)
    return json.dumps(_completion(message, f"rounds-{int(asked[1])}", len(body) // 4)).encode()


def _said(content: str | None) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "refusal": None}


def _completion(message: dict[str, Any], model: str, given: int) -> dict[str, Any]:
    reason = "tool_calls" if "tool_calls" in message else "stop"
    return {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
        "usage": {
            "prompt_tokens": given,
            "completion_tokens": 20,
            "total_tokens": given + 20,
            "prompt_tokens_details": {"cached_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
        "system_fingerprint": "fp_scripted",
    }


class ChatCompletions(Connection):
    """The one address."""

    def answer(self, path: bytes, head: bytes, body: bytes) -> None:
        found = answered(body) if path.endswith(b"/chat/completions") else None
        if found is None:
            self.reply(b'{"error": {"message": "no script has that", "type": "invalid_request_error"}}', b"400 No")
        else:
            self.reply(found)


if __name__ == "__main__":
    serve(ChatCompletions)
