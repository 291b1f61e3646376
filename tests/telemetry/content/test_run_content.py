"""The content of one run, read once."""

import json
from typing import Any

from traced_loop import ContentCapture
from traced_loop.telemetry.attributes import Hygiene
from traced_loop.telemetry.content.fitting import Piece, fit_list
from traced_loop.telemetry.content.run_content import RunContent


class Counting(dict[str, Any]):
    """A message that counts how often anybody looks at its content."""

    reads = 0

    def get(self, key: str, default: Any = None) -> Any:
        self.reads += key == "content"
        return super().get(key, default)


def user(text: str) -> Counting:
    """What a user says."""
    return Counting(role="user", content=text)


def texts(pieces: Any) -> list[str]:
    """The texts of some messages, as they are shown."""
    shown = json.loads(fit_list(pieces, 8_192).text)
    return [message["parts"][0]["content"] for message in shown]


def test_each_request_holds_what_is_new_and_where_that_begins() -> None:
    """The history is sent again each time, and is not shown again."""
    content = RunContent(ContentCapture(), (), Hygiene())
    history = [user("a"), user("b")]
    first = content.sent(history)
    second = content.sent([*history, user("c")])
    assert (texts(first.pieces), first.first) == (["a", "b"], 0)
    assert (texts(second.pieces), second.first) == (["c"], 2)


def test_the_full_history_is_shown_each_time_and_read_once() -> None:
    """Work follows what is new, also where all of it is shown."""
    content = RunContent(ContentCapture(history="full"), (), Hygiene())
    history = [user(f"message {n}") for n in range(20)]
    for length in range(1, 21):
        sent = content.sent(history[:length])
        assert (len(sent.pieces), sent.first) == (length, 0)
    assert [message.reads for message in history] == [1] * 20


def test_credentials_are_masked_unless_somebody_says_otherwise() -> None:
    """Counted for the receipt, a value each."""
    secret = user("the key is sk-0123456789abcdefghij")
    for redact, shown, count in ((True, "the key is [REDACTED:openai_key]", 1), (False, secret["content"], 0)):
        hygiene = Hygiene()
        content = RunContent(ContentCapture(redact=redact), (), hygiene)
        assert texts(content.sent([secret]).pieces) == [shown]
        assert hygiene.redacted == count


def test_masking_comes_before_cutting() -> None:
    """Half a credential at the edge of a cut would not be known as one."""
    text = "x" * 6_130 + " sk-0123456789abcdefghij " + "y" * 9_000
    (shown,) = texts(RunContent(ContentCapture(), (), Hygiene()).sent([user(text)]).pieces)
    assert "[REDACTED:" in shown
    assert "sk-0" not in shown


def test_a_shorter_history_is_a_new_one() -> None:
    """Nothing of the old one is taken for it."""
    content = RunContent(ContentCapture(history="full"), (), Hygiene())
    content.sent([user("a"), user("b")])
    assert texts(content.sent([user("c")]).pieces) == ["c"]


def test_definitions_are_the_same_pieces_for_each_request() -> None:
    """Serialised once per run."""
    content = RunContent(ContentCapture(definitions=True), (), Hygiene())
    tools = [{"type": "function", "function": {"name": "look", "description": "Look."}}]
    first = content.definitions(tools)
    assert content.definitions(tools) is first
    assert isinstance(first[0], Piece)
    assert json.loads(fit_list(first, 8_192).text) == [{"type": "function", "name": "look", "description": "Look."}]
