"""The loop around a plain OpenAI client, for packages that see the client only."""

import json
from typing import Any

from openai import OpenAI
from scenario import INSTRUCTIONS, MODEL, QUESTION, TOOLS, read_meter


def run() -> None:
    """Three requests, and the calls between them, under no span of anybody's."""
    client = OpenAI()
    messages: list[Any] = [{"role": "system", "content": INSTRUCTIONS}, {"role": "user", "content": QUESTION}]
    while True:
        answer = client.chat.completions.create(model=MODEL, messages=messages, tools=TOOLS, temperature=0.0)  # type: ignore[arg-type]
        message = answer.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return
        for call in message.tool_calls:
            try:
                told = read_meter(**json.loads(call.function.arguments))
            except ValueError as error:
                told = json.dumps({"error": str(error)})
            messages.append({"role": "tool", "tool_call_id": call.id, "content": told})
