"""Messages with secrets masked that can still be answered: ids stay apart, roles and calls stay what they are."""

from typing import Any

from traced_loop.json_shapes import as_list, as_object
from traced_loop.messages import Message
from traced_loop.redaction import Found, Redactor


class MessageMask:
    """Masks the messages of one recording, in their order; the same messages in the same order give the same forms.

    A call id that looks like a secret becomes ``masked_1``, ``masked_2``, ... since a result is matched to its call by
    it. Masking what is masked changes nothing.

    Attributes:
        found: what was masked by now, by rule.
    """

    def __init__(self, redactor: Redactor) -> None:
        """Nothing is masked yet."""
        self.found: Found = {}
        self._redactor = redactor
        self._ids: dict[str, str] = {}

    def message(self, message: Message) -> Message:
        """The message as it may be written."""
        masked = self._redactor.value(dict(message), self.found)
        if not isinstance(masked, dict):  # it nests too deep to be looked through
            masked = {"content": masked}
        found: Message = {**masked, "role": message.get("role")}
        if "tool_call_id" in message:
            found["tool_call_id"] = self._id(message["tool_call_id"])
        calls, given = as_list(found.get("tool_calls")), as_list(message.get("tool_calls"))
        if calls is not None and given is not None:
            found["tool_calls"] = [self._call(*each) for each in zip(calls, given, strict=True)]
        return found

    def text(self, text: str | None) -> str | None:
        """A text as it may be written."""
        return None if text is None else self._redactor.text(text, self.found)

    def _call(self, masked: Any, given: Any) -> Any:
        call, was = as_object(masked), as_object(given)
        if call is None or was is None or "id" not in was:
            return masked
        return {**call, "id": self._id(was["id"])}

    def _id(self, given: Any) -> Any:
        if not isinstance(given, str) or self._redactor.text(given) == given:
            return given
        return self._ids.setdefault(given, f"masked_{len(self._ids) + 1}")
