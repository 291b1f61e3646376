"""The messages of a run for a page: each call beside its results and its outcome; what is long is folded, or left out.

A text is shown up to ``SHOWN_CHARACTERS``. The whole is in the page, folded, where that is not too much for it; else it
is a page of its own, found by the message's place and the text's number in it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from traced_loop.frozen_value import frozen_value
from traced_loop.messages import Message
from traced_loop.names import UNKNOWN_TOOL
from traced_loop.read.agent_run import StoredCall
from traced_loop.read.joined_history import JoinedCall, JoinedMessage, joined_history
from traced_loop.views.visible import cut

SHOWN_CHARACTERS: Final = 400
FOLDED_CHARACTERS: Final = 20_000
"""Of one text that is in the page whole."""
_PAGE_CHARACTERS: Final = 600_000
"""Of all texts of one page that are in it whole."""
PAGE_MESSAGES: Final = 100


@frozen_value
class ShownText:
    """One text of a message.

    Attributes:
        place: of its message in the transcript, 1-based.
        number: of the text in its message, 0-based.
        begin: what is shown at once.
        whole: all of it, where it is longer and is in the page; else None.
        characters: of all of it.
    """

    place: int
    number: int
    begin: str
    whole: str | None
    characters: int

    @property
    def is_cut(self) -> bool:
        """Whether ``begin`` is not all."""
        return self.characters > SHOWN_CHARACTERS


@frozen_value
class ShownResult:
    """What the model was told about a call."""

    place: int
    texts: tuple[ShownText, ...]


@frozen_value
class ShownCall:
    """One call with what came of it; ``outcome`` and ``span_id`` are ``""`` where no span is known to show it."""

    call_id: str
    name: str
    arguments: ShownText
    results: tuple[ShownResult, ...]
    outcome: str
    span_id: str


@frozen_value
class ShownMessage:
    """One message, see ``JoinedMessage``."""

    place: int
    is_message: bool
    role: str
    answers: str | None
    texts: tuple[ShownText, ...]
    calls: tuple[ShownCall, ...]
    others: tuple[tuple[str, ShownText], ...]


@frozen_value
class MessagesPage:
    """A part of a transcript.

    Attributes:
        messages: what is shown.
        first: how many stand before it.
        count: of all; results count with the call that they belong to.
        before: where the part before it begins, or None; likewise ``after``.
        after: of the part after it.
    """

    messages: tuple[ShownMessage, ...]
    first: int
    count: int
    before: int | None
    after: int | None


def messages_page(stored: Sequence[Message], calls: Sequence[StoredCall], first: int = 0) -> MessagesPage:
    """A part of a transcript.

    Args:
        stored: as it was recorded; entries of any shape.
        calls: of the run, in the order in which the model asked for them.
        first: how many messages to leave out.
    """
    history = list(joined_history(stored))
    first = max(0, min(first, len(history) - 1))
    spans = _Spans(history, calls)
    view = _View(spans)
    shown = history[first : first + PAGE_MESSAGES]
    after = first + PAGE_MESSAGES
    return MessagesPage(
        messages=tuple(view.message(message) for message in shown),
        first=first,
        count=len(history),
        before=max(0, first - PAGE_MESSAGES) if first else None,
        after=after if after < len(history) else None,
    )


def whole_text(stored: Sequence[Message], place: int, number: int) -> str | None:
    """One text whole, by its message's place (1-based) and its number there (0-based); None where there is none."""
    for message in joined_history(stored):
        for at, texts in _texts_of(message):
            if at == place:
                return texts[number] if 0 <= number < len(texts) else None
    return None


def _texts_of(message: JoinedMessage) -> Iterator[tuple[int, list[str]]]:
    """Places and the numbered texts there: of the message itself, and of the results that stand in it."""
    own = [*message.texts, *(call.arguments for call in message.calls), *(text for _, text in message.others)]
    yield message.place, own
    for call in message.calls:
        for result in call.results:
            yield result.place, list(result.texts)


class _View:
    """Shows messages, and counts what of them is in the page whole."""

    def __init__(self, spans: "_Spans") -> None:
        self._spans = spans
        self._room = _PAGE_CHARACTERS

    def message(self, message: JoinedMessage) -> ShownMessage:
        numbers = iter(range(len(message.texts) + len(message.calls) + len(message.others)))
        return ShownMessage(
            place=message.place,
            is_message=message.is_message,
            role=message.role,
            answers=message.answers,
            texts=tuple(self._text(message.place, next(numbers), text) for text in message.texts),
            calls=tuple(self._call(message.place, n, next(numbers), call) for n, call in enumerate(message.calls)),
            others=tuple((key, self._text(message.place, next(numbers), text)) for key, text in message.others),
        )

    def _call(self, place: int, n: int, number: int, call: JoinedCall) -> ShownCall:
        known = self._spans.of(place, n)
        return ShownCall(
            call_id=call.call_id,
            name=call.name,
            arguments=self._text(place, number, call.arguments),
            results=tuple(
                ShownResult(
                    place=result.place,
                    texts=tuple(self._text(result.place, at, text) for at, text in enumerate(result.texts)),
                )
                for result in call.results
            ),
            outcome="" if known is None else known.outcome or "",
            span_id=known.spans[-1][1] if known is not None and known.spans else "",
        )

    def _text(self, place: int, number: int, text: str) -> ShownText:
        is_long = len(text) > SHOWN_CHARACTERS
        fits = is_long and len(text) <= min(FOLDED_CHARACTERS, self._room)
        if fits:
            self._room -= len(text)
        return ShownText(
            place=place,
            number=number,
            begin=cut(text, SHOWN_CHARACTERS),
            whole=text if fits else None,
            characters=len(text),
        )


class _Spans:
    """Which call of the trace a call of the transcript is.

    Ids come again, and a transcript may begin with messages of earlier runs: so the last call of an id is the last
    one that the trace has of it, and the others stand before it.
    """

    def __init__(self, history: Iterable[JoinedMessage], calls: Sequence[StoredCall]) -> None:
        asked: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
        for message in history:
            for n, joined in enumerate(message.calls):
                if joined.call_id:
                    asked[joined.call_id].append((message.place, n, joined.name))
        traced: dict[str, list[StoredCall]] = defaultdict(list)
        for call in calls:
            traced[call.call_id].append(call)
        self._known: dict[tuple[int, int], StoredCall] = {}
        for call_id, places in asked.items():
            for (place, n, name), found in zip(reversed(places), reversed(traced.get(call_id, [])), strict=False):
                if found.tool in {name, UNKNOWN_TOOL, ""}:
                    self._known[place, n] = found

    def of(self, place: int, n: int) -> StoredCall | None:
        """The call in a message, by the message's place and its own, 0-based."""
        return self._known.get((place, n))
