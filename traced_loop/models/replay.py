"""A model whose answers were given before: to run a changed tool, policy or budget against the same behaviour.

    model = ReplayModel.of_run("last")
    result = Loop(model, [multiply_fixed]).run(messages=model.messages)

Only the model is replayed. Tools run, writes are authorised and recorded, limits count as in any run; answers come at
once, so a deadline is met sooner. Each request is compared with the recorded one, since an answer to another question
is worth nothing (``divergence`` says what is compared):

| the request | ``on_divergence="refuse"`` | ``"follow"`` |
|---|---|---|
| is the same, or differs only in what differs each time | answered | answered |
| differs in a kind that ``ignore`` names: ``results``, ``tools`` | answered, marked | answered, marked |
| differs otherwise | the run stops with ``model_error``, the place in its detail | answered, marked |
| comes after the last one, or after one without a known answer | the run stops likewise | likewise |

``divergences`` has them all; a marked answer has the anomaly ``replay_diverged`` on its span. A changed tool brings
other results on purpose: that is ``ignore={"results"}``, and ``tools`` beside it where its definition changed.
"""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal, Self, get_args

from traced_loop.closed_words import Anomaly, ModelErrorKind
from traced_loop.errors import ModelError, UsageError
from traced_loop.given_values import words
from traced_loop.messages import Message, ModelAnswer, ModelRequest
from traced_loop.models.divergence import Divergence, divergences
from traced_loop.models.masked_message import MessageMask
from traced_loop.models.recorded_request import RecordedError, Recording
from traced_loop.models.recording_file import read_recording
from traced_loop.models.stored_answers import PROVIDER, recording_of_run
from traced_loop.models.traits import OUTPUT_CEILING, ModelTraits
from traced_loop.redaction import Redactor, default_redactor
from traced_loop.rules.pricing import Price, Pricing

OnDivergence = Literal["refuse", "follow"]
"""What is done about a request that differs: the run stops; or the recorded answer is given all the same."""
IGNORABLE: Final = ("results", "tools")
"""Kinds of differences that can be accepted by name."""


class ReplayModel:
    """A model that gives recorded answers in their order. For one run; ``rewind`` makes it ready for another.

    Attributes:
        name: the recorded model.
        provider: always ``replay``: what it counts was billed once already.
        traits: with the recorded prices.
        divergences: where the run differed from the recording, accepted differences included, in order.
    """

    def __init__(
        self,
        recording: Recording,
        *,
        on_divergence: OnDivergence = "refuse",
        ignore: Collection[str] = (),
        price: Price | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        """Take a recording; see ``of_run`` and ``of_file``.

        Args:
            recording: what is given.
            on_divergence: what is done about a request that differs.
            ignore: kinds of differences that are accepted: ``results``, ``tools``.
            price: a declared price in place of the recorded ones.
            redactor: what the recording was masked with; None for the built-in rules.

        Raises:
            UsageError: another word.
        """
        self._ignore = words("ignore", ignore, of="ReplayModel")
        for word in self._ignore - set(IGNORABLE):
            said = f"known are {', '.join(IGNORABLE)}. Other messages are another question:"
            raise UsageError(
                f"ReplayModel: ignore holds {word!r}; {said} on_divergence='follow' goes on all the same",
                typed=f"--accept {word}: {said} --follow goes on all the same",
            )
        if on_divergence not in get_args(OnDivergence):
            raise UsageError(f"ReplayModel: on_divergence={on_divergence!r}: write 'refuse' or 'follow'")
        self.name = recording.model
        self.provider = PROVIDER
        self.divergences: list[Divergence] = []
        self._recording = recording
        self._follow = on_divergence == "follow"
        self._redactor = redactor or default_redactor()
        self._declared = price
        self.traits = ModelTraits(
            tolerate=recording.tolerate,
            pricing=self._pricing,
            output_ceiling=recording.output_ceiling or OUTPUT_CEILING,
        )
        self.rewind()

    @classmethod
    def of_run(
        cls,
        run: str = "last",
        *,
        store: Path | str | None = None,
        on_divergence: OnDivergence = "refuse",
        ignore: Collection[str] = (),
        price: Price | None = None,
    ) -> Self:
        """The answers of a stored run.

        Args:
            run: its id, the beginning of one, or ``last``: the newest that is no replay itself.
            store: its folder; None for the default one.
            on_divergence: what is done about a request that differs.
            ignore: kinds of differences that are accepted: ``results``, ``tools``.
            price: a declared price in place of the recorded ones.

        Raises:
            UsageError: there is no such run, or it has no transcript or no request.
        """
        recording = recording_of_run(run, store)
        return cls(recording, on_divergence=on_divergence, ignore=ignore, price=price)

    @classmethod
    def of_file(
        cls,
        path: Path | str,
        *,
        on_divergence: OnDivergence = "refuse",
        ignore: Collection[str] = (),
        price: Price | None = None,
        redactor: Redactor | None = None,
    ) -> Self:
        """The answers of a file that ``RecordingModel`` wrote; its requests are compared in their masked form.

        Args:
            path: the file.
            on_divergence: what is done about a request that differs.
            ignore: kinds of differences that are accepted: ``results``, ``tools``.
            price: a declared price in place of the recorded ones.
            redactor: the one that it was recorded with; None for the built-in rules.

        Raises:
            UsageError: it cannot be read, is no recording, is damaged, or holds no request.
        """
        recording = read_recording(Path(path))
        return cls(recording, on_divergence=on_divergence, ignore=ignore, price=price, redactor=redactor)

    @property
    def messages(self) -> list[Message]:
        """The history of the first request: what to give to ``Loop.run(messages=...)`` for the same task."""
        return [dict(message) for message in self._recording.requests[0].sent]

    @property
    def left(self) -> int:
        """Recorded requests, tries counted, that were not asked for."""
        return len(self._recording.requests) - self._at

    @property
    def source(self) -> str:
        """What is replayed, for people."""
        return self._recording.source

    def rewind(self) -> None:
        """Begin with the first request again."""
        self._at = self._seen = 0
        self._mask = MessageMask(self._redactor)
        self.divergences.clear()

    async def complete(self, request: ModelRequest) -> ModelAnswer:
        """Give the next recorded answer.

        Raises:
            ModelError: the recorded one; or the request differs, or there is no answer to it.
        """
        requests = self._recording.requests
        if self._at >= len(requests):
            raise self._ended(len(requests) + 1)
        number, recorded = self._at + 1, requests[self._at]
        self._at = number
        seen = self._seen if recorded.kept else 0
        found = list(divergences(number, recorded, request.messages, request.tools, seen=seen, masked=self._compared))
        self._seen = len(request.messages)
        self.divergences += found
        refused = next((each for each in found if each.kind not in self._ignore), None)
        if refused is not None and not self._follow:
            raise self._diverged(refused)
        if recorded.error is not None:
            raise _error(recorded.error)
        if recorded.answer is None:
            said = f"request {number} of {self.source} has no answer to give again: {recorded.gap}"
            raise _refusal(said, ModelErrorKind.REPLAY_INCOMPLETE, said)
        answer = recorded.answer
        return replace(answer, anomalies=(*answer.anomalies, Anomaly.REPLAY_DIVERGED)) if found else answer

    def shown(self, found: Divergence) -> str:
        """One difference for people, with secrets masked."""
        return self._redactor.text(found.text)

    def _compared(self, message: Message) -> Message:
        return self._mask.message(message) if self._recording.is_masked else message

    def _diverged(self, found: Divergence) -> ModelError:
        hint = f"; ignore={{{found.kind!r}}} (--accept {found.kind}) accepts it" if found.kind in IGNORABLE else ""
        return _refusal(f"{self.shown(found)}{hint}", ModelErrorKind.REPLAY_DIVERGED, found.place)

    def _ended(self, number: int) -> ModelError:
        why = f", {self._recording.end}" if self._recording.end else ""
        said = f"request {number} was made, and {self.source} has {number - 1}{why}"
        return _refusal(said, ModelErrorKind.REPLAY_ENDED, said)

    def _pricing(self, model: str) -> Pricing | None:
        return self._declared or self._recording.prices.get(model)


def _refusal(said: str, kind: ModelErrorKind, detail: str) -> ModelError:
    return ModelError(said, error_type=kind, kind=kind, detail=detail)


def _error(recorded: RecordedError) -> ModelError:
    """The recorded error; what the server asked to wait is not waited again."""
    return ModelError(
        recorded.text or f"the recorded request failed: {recorded.error_type}",
        error_type=recorded.error_type,
        retryable=recorded.retryable,
        retry_after=0.0,
        status=recorded.status,
        kind=recorded.kind,
    )
