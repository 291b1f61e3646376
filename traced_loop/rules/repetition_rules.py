"""From how many occurrences on a repetition is told to the model, or ends the run."""

from dataclasses import fields
from typing import Any, Final, get_args

from traced_loop.closed_words import RepetitionReaction
from traced_loop.errors import UsageError
from traced_loop.frozen_value import frozen_value
from traced_loop.given_values import count

_NO_COUNTS: Final = frozenset({"reaction"})


@frozen_value
class RepetitionRules:
    """What is done about a run that repeats itself.

    Numbers are occurrences of the same thing, the first one included; a rule acts from that number on (``>=``). None
    switches it off.

    Attributes:
        reaction: how far it goes: ``stop`` ends the run, after a nudge where there is one; ``nudge`` only tells the
            model; ``observe`` only shows it in the trace.
        ok_nudge: of equal steps in a row that bring nothing new. Twice happens in good runs, to make sure.
        ok_stop: likewise; one more, so that the model has one step to heed the nudge.
        error_stop: of the same call with the same error, which it will meet again: also across messages of the user.
            Users do ask for a second try.
        transient_stop: of the same call with errors that may pass (a busy server): retries are what one wants.
        same_error_nudge: steps in a row in which a tool fails with the same error about other arguments: a search for
            the right argument takes some.
        same_error_stop: likewise; three more tries, since good runs were seen to find it then.
        write_event: successes of one write since the last message of the user: shown, because it may be wanted.
        write_stop: likewise, unless other writes lie between them; not nudged, because a further one does more harm.
        empty_warning: empty answers of one tool in a row: shown only, because lists of dates or names are looked
            through that way.
        long_answer: characters from which on an answer that this tool already gave is no news to other arguments,
            either. Shorter ones (``ok``, ``[]``, ``none``) are equal by nature.
    """

    reaction: RepetitionReaction = "stop"
    ok_nudge: int | None = 3
    ok_stop: int | None = 4
    error_stop: int | None = 3
    transient_stop: int | None = 6
    same_error_nudge: int | None = 5
    same_error_stop: int | None = 8
    write_event: int | None = 2
    write_stop: int | None = 3
    empty_warning: int | None = 20
    long_answer: int | None = 200

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            UsageError: a word that is no reaction, a number that no repetition can have.
        """
        if self.reaction not in get_args(RepetitionReaction):
            words = " or ".join(repr(word) for word in get_args(RepetitionReaction))
            raise UsageError(f"repetition={self.reaction!r}: write {words}, or RepetitionRules(...)")
        for name, value in self.counts().items():
            count(name, value, of="RepetitionRules", least=2, or_none=True)

    def counts(self) -> dict[str, int | None]:
        """Every number, by its name."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name not in _NO_COUNTS}

    def text(self) -> str:
        """All of it as one short text: ``stop ok_nudge=3 ...``; a rule that is off is ``-``."""
        return " ".join([self.reaction, *(f"{name}={value or '-'}" for name, value in self.counts().items())])


def rules_of(given: RepetitionRules | RepetitionReaction) -> RepetitionRules:
    """The rules behind ``repetition=``: a reaction stands for the usual numbers.

    Raises:
        UsageError: it is neither.
    """
    return given if isinstance(given, RepetitionRules) else RepetitionRules(reaction=given)


def rules_in(text: str) -> RepetitionRules | None:
    """The rules behind such a text, or None where it is none; a name that is not known is passed over."""
    reaction, *pairs = text.split() or [""]
    known = RepetitionRules().counts()
    found: dict[str, Any] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        if name in known:
            found[name] = None if value == "-" else int(value) if value.isdecimal() else value
    try:
        return RepetitionRules(reaction=reaction, **found)  # type: ignore[arg-type]  # checked there
    except UsageError:
        return None
