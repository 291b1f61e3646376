"""A model whose requests and answers are written to a file, with secrets masked, to be replayed without a key.

    model = RecordingModel(OpenAIModel("gpt-5-mini"), "refund.jsonl")

See ``recording_file`` for what a line holds. A value that is masked is given masked when it is replayed, also where a
tool gets it as an argument; requests are compared in their masked form, so that they still fit.
"""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from traced_loop.errors import ModelError, UsageError
from traced_loop.messages import Message, Model, ModelAnswer, ModelRequest
from traced_loop.models.masked_message import MessageMask
from traced_loop.models.recorded_request import tool_digests
from traced_loop.models.recording_file import FORMAT, VERSION, price_fields, sent_digest, usage_fields
from traced_loop.models.traits import traits_of
from traced_loop.redaction import Redactor, default_redactor
from traced_loop.version import __version__

_MODE: Final = 0o600
_Outcome = Callable[[], dict[str, Any]]
"""Makes what is written of an answer, or of what came in its place."""


class RecordingModel:
    """Asks another model and writes down what was asked and answered, each failed try among it.

    The file is made by the first request, for its owner alone. A recording that cannot be written any more hurts no
    run: ``problem`` says why it ends there. For one run after the other; runs at the same time would be mixed.

    Attributes:
        name: of the model that is asked.
        provider: likewise.
        traits: likewise.
        path: the file.
        problem: why nothing is written any more, or None.
        masked: how many values were masked, by rule.
    """

    def __init__(self, model: Model, path: Path | str, *, redactor: Redactor | None = None) -> None:
        """Record a model; nothing is written yet.

        Args:
            model: what is asked.
            path: a file that does not exist yet.
            redactor: what masks; None for the built-in rules, which mask registered secrets, too.

        Raises:
            UsageError: the file exists, or its folder does not.
        """
        self.path = Path(path)
        if self.path.exists() or self.path.is_symlink():
            raise UsageError(f"{self.path} exists already: name another file, or move that one away")
        if not self.path.parent.is_dir():
            raise UsageError(f"{self.path.parent} is no folder: make it first, or name another file")
        self.name = model.name
        self.provider = model.provider
        self.traits = traits_of(model)
        self.problem: str | None = None
        self._model = model
        self._mask = MessageMask(redactor or default_redactor())
        self.masked = self._mask.found
        self._given: list[Message] = []
        self._sent = ""
        self._requests = 0

    async def complete(self, request: ModelRequest) -> ModelAnswer:
        """Ask the model, and write down what came of it.

        Raises:
            BaseException: what the model raises.
        """
        given = list(request.messages)
        try:
            answer = await self._model.complete(request)
        except ModelError as error:
            failed = error
            self._write(given, request, lambda: {"error": self._error(failed)})
            raise
        except asyncio.CancelledError:
            self._write(given, request, lambda: {"error": {"type": "cancelled"}})
            raise
        except Exception as error:
            other = ModelError(str(error), error_type=type(error).__name__)
            self._write(given, request, lambda: {"error": self._error(other)})
            raise
        self._write(given, request, lambda: {"answer": self._answer(answer)})
        return answer

    def _write(self, given: list[Message], request: ModelRequest, outcome: _Outcome) -> None:
        if self.problem is not None:
            return
        try:
            self._append(self._line(given, request, outcome))
        except (OSError, ValueError, TypeError, RecursionError) as error:
            why = error.strerror if isinstance(error, OSError) else type(error).__name__
            self.problem = f"{self.path} ends after {self._requests} requests: {why}"

    def _line(self, given: list[Message], request: ModelRequest, outcome: _Outcome) -> str:
        kept = len(self._given) if given[: len(self._given)] == self._given else 0
        new = [self._mask.message(message) for message in given[kept:]]
        sent = sent_digest(self._sent if kept else "", new)
        line = {
            "request": self._requests + 1,
            "kept": kept,
            "messages": new,
            "sent": sent,
            "tools": tool_digests(request.tools),
            **outcome(),  # after the messages: ids are masked in the order of the conversation
        }
        text = json.dumps(line) + "\n"
        self._given, self._sent = given, sent
        return text if self._requests else f"{json.dumps(self._header())}\n{text}"

    def _header(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "model": self.name,
            "masked": True,
            "note": "secrets are masked; a replay gives masked values and compares masked messages",
            "written_by": f"traced_loop {__version__}",
            "tolerate": sorted(self.traits.tolerate),
            "output_ceiling": self.traits.output_ceiling,
            "price": price_fields(self.traits.pricing(self.name)),
        }

    def _answer(self, answer: ModelAnswer) -> dict[str, Any]:
        mask = self._mask
        return {
            "message": None if answer.message is None else mask.message(answer.message),
            "finish_reason": mask.text(answer.finish_reason),
            "usage": usage_fields(answer.usage),
            "id": mask.text(answer.response_id),
            "model": mask.text(answer.response_model),
            "anomalies": list(answer.anomalies),
            "error": mask.text(answer.error),
            "error_code": answer.error_code,
            "error_kind": answer.error_kind,
            "price": price_fields(self.traits.pricing(answer.response_model or self.name)),
        }

    def _error(self, error: ModelError) -> dict[str, Any]:
        return {
            "type": error.error_type,
            "text": self._mask.text(str(error)),
            "status": error.status,
            "retryable": error.retryable,
            "kind": error.kind,
        }

    def _append(self, text: str) -> None:
        """Write a whole line at once, after the last one."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        new = 0 if self._requests else os.O_CREAT | os.O_EXCL
        descriptor = os.open(self.path, flags | new, _MODE)
        try:
            with open(descriptor, "wb", closefd=False) as file:
                file.write(text.encode())
        finally:
            os.close(descriptor)
        self._requests += 1
