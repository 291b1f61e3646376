"""The form by which a person answers: bound to exactly what was shown, by a keyed digest that nobody else can make."""

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import Final

from traced_loop.canonical_json import canonical
from traced_loop.frozen_value import frozen_value
from traced_loop.waiting_calls import WaitingCall, WaitingRun

MAX_CALLS: Final = 40
"""Calls of one run that can be answered one by one: a form has a bound of fields."""
MAX_NAME_CHARACTERS: Final = 64
APPROVE: Final = "approve"
REJECT: Final = "reject"


class BoundForms:
    """Makes and checks the digests of one server, with a key that lives as long as it does."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def digest(self, run: WaitingRun, tools_version: str) -> str:
        """Of where a run stands, of every call that was shown, and of the tools that would run them.

        Args:
            run: as it was shown.
            tools_version: digest of the tools that this server would run; ``""`` for none.
        """
        place = [run.run_id, run.trace_id, run.answer, run.tools_version, tools_version]
        calls = [[_bound(call) for call in part] for part in (run.waiting, run.behind)]
        text = canonical([place, calls]).encode(errors="surrogatepass")
        return hmac.new(self._key, text, hashlib.sha256).hexdigest()

    def accepts(self, given: str, run: WaitingRun, tools_version: str) -> bool:
        """Whether a form was made for exactly this."""
        return hmac.compare_digest(given.encode(errors="replace"), self.digest(run, tools_version).encode())


@frozen_value
class Answers:
    """What a person said: of calls by id whether they may run, and who it was.

    Attributes:
        said: nothing of a call that is left as it is; empty where what waits is to be asked about anew.
        by: the person's name.
    """

    said: Mapping[str, bool]
    by: str


def answers_of(form: Mapping[str, str], run: WaitingRun, otherwise: str) -> Answers | None:
    """What a form says; None where it says nothing about a call that waits now.

    Args:
        form: its fields.
        run: what it is about.
        otherwise: who says so where the form names nobody.
    """
    act, by = form.get("act", ""), _name(form.get("by", "")) or otherwise
    calls = (*run.waiting, *run.behind)
    if act == "ask_again":
        return Answers(said={}, by=by)
    words = {call.id: act if act in {APPROVE, REJECT} else form.get(f"call.{n}", "") for n, call in enumerate(calls)}
    said = {call: word == APPROVE for call, word in words.items() if word in {APPROVE, REJECT}}
    return Answers(said=said, by=by) if any(call.id in said for call in run.waiting) else None


def _bound(call: WaitingCall) -> list[str | bool]:
    return [
        call.id,
        call.tool,
        call.arguments is not None,
        call.canonical_arguments,
        call.fingerprint,
        call.effect,
        call.risk,
        call.rule,
        call.reason,
        call.identity,
    ]


def _name(given: str) -> str:
    return "".join(character for character in given if character.isprintable()).strip()[:MAX_NAME_CHARACTERS]
