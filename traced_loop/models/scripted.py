"""A model that follows a script: no key, no server, the same every time. It ships, for tests and for trying things.

    model = ScriptedModel([calls(("multiply", {"a": 62, "b": 60})), "62 times 60 is 3720."])

It is strict: a request beyond the last line is an error, and so are lines that nobody asked for
(``check_finished``).
"""

import inspect
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from traced_loop.errors import ScriptError
from traced_loop.frozen_value import frozen_value
from traced_loop.given_values import words
from traced_loop.json_shapes import as_object
from traced_loop.messages import ModelAnswer, ModelRequest
from traced_loop.models.chat_completion import read_body
from traced_loop.models.traits import ModelTraits, Quirk, checked_quirks
from traced_loop.rules.pricing import Price
from traced_loop.rules.token_estimate import estimated_tokens, json_tokens

PROVIDER: Final = "scripted"
"""The word for ``gen_ai.provider.name``: nobody was asked."""


@frozen_value
class ScriptedCalls:
    """A line of the script in which the model proposes calls, with a text before them or without."""

    calls: tuple[tuple[str, Mapping[str, Any] | str], ...]
    text: str | None = None


Line = str | ScriptedCalls | Mapping[str, Any] | BaseException | Callable[[ModelRequest], Any]
"""One answer: a final text, calls, a raw response body, an error to raise, or a function of the request."""


def calls(*proposed: tuple[str, Mapping[str, Any] | str], text: str | None = None) -> ScriptedCalls:
    """A line that proposes calls: ``(tool name, arguments)``; arguments as text are sent as they are."""
    return ScriptedCalls(calls=proposed, text=text)


class ScriptedModel:
    """A model that gives the lines of its script in order."""

    def __init__(
        self,
        script: Sequence[Line],
        *,
        name: str = "scripted",
        price: Price | None = None,
        tolerate: Collection[Quirk] = (),
        strip: Collection[str] = (),
    ) -> None:
        """Take the script.

        Args:
            script: one line per request.
            name: the model's name on spans.
            price: a declared price, or None for an unknown one.
            tolerate: quirks that are accepted, as for ``OpenAIModel``.
            strip: message fields that are not sent back, as for ``OpenAIModel``.
        """
        self.name = name
        self.provider = PROVIDER
        self.traits = ModelTraits(
            tolerate=checked_quirks(tolerate, of="ScriptedModel"),
            pricing=lambda _model: price,
            strip=words("strip", strip, of="ScriptedModel"),
        )
        self.requests: list[ModelRequest] = []
        self._script = tuple(script)
        self._calls = 0

    async def complete(self, request: ModelRequest) -> ModelAnswer:
        """Give the next line.

        Raises:
            ScriptError: the script has no line left.
            BaseException: the line is an exception.
        """
        number = len(self.requests)
        # The history goes on growing after this request; what was asked must not.
        self.requests.append(_frozen(request))
        if number >= len(self._script):
            raise ScriptError(f"the script has {len(self._script)} lines, and request {number + 1} was made")
        line: Any = self._script[number]
        if callable(line):
            line = line(request)
        if inspect.isawaitable(line):
            line = await line
        return self._answer(line, request, number)

    def check_finished(self) -> None:
        """Raise unless every line was given.

        Raises:
            ScriptError: lines are left.
        """
        left = len(self._script) - len(self.requests)
        if left > 0:
            raise ScriptError(f"{left} of {len(self._script)} lines of the script were never asked for")

    def _answer(self, line: Any, request: ModelRequest, number: int) -> ModelAnswer:
        if isinstance(line, BaseException):
            raise line
        if isinstance(line, ModelAnswer):
            return line
        body = as_object(line)
        if body is not None:
            return read_body(body)
        if isinstance(line, ScriptedCalls):
            message, reason = self._calls_message(line), "tool_calls"
        elif isinstance(line, str):
            message, reason = {"role": "assistant", "content": line}, "stop"
        else:
            raise ScriptError(f"line {number + 1} of the script is a {type(line).__name__}, which is no answer")
        return read_body(
            {
                "id": f"scripted-{number + 1}",
                "model": self.name,
                "choices": [{"index": 0, "message": message, "finish_reason": reason}],
                "usage": _usage(request, message),
            }
        )

    def _calls_message(self, line: ScriptedCalls) -> dict[str, Any]:
        entries: list[dict[str, Any]] = []
        for name, arguments in line.calls:
            self._calls += 1
            text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            function = {"name": name, "arguments": text}
            entries.append({"id": f"call_{self._calls}", "type": "function", "function": function})
        return {"role": "assistant", "content": line.text, "tool_calls": entries}


def _frozen(request: ModelRequest) -> ModelRequest:
    return ModelRequest(
        messages=json.loads(json.dumps(list(request.messages))),
        tools=tuple(request.tools),
        tool_choice=request.tool_choice,
        parameters=dict(request.parameters),
        output_cap=request.output_cap,
        timeout=request.timeout,
    )


def _usage(request: ModelRequest, message: Mapping[str, Any]) -> dict[str, int]:
    return {"prompt_tokens": estimated_tokens(request.messages), "completion_tokens": json_tokens(message)}
