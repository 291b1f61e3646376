"""What a model of a random run does: answers of every kind, failures, silence. Plain data, so that it can be shrunk."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import strategies as st

from traced_loop import ModelError
from traced_loop.messages import ModelRequest

TOOLS: Final = ("read", "later", "apart", "heeds", "save", "pay")
WRITES: Final = frozenset({"save", "pay"})

# The n-th says ``a=n``.
GOOD: Final = ('{"a":1}', '{"a":2}', {"a": 3}, '"{\\"a\\":4}"')
BAD: Final = ("{}", "", None, '{"a":"1"}', '{"a":1,"b":2}', '{"a":', "[]", "{'a':1}", '{"a":1.0}', '{"a":true}')
NAMES: Final = st.sampled_from([*TOOLS * 8, "nothing", "functions.read", "", None])
ARGUMENTS: Final = st.sampled_from(GOOD * 20 + BAD)
IDS: Final = st.sampled_from([*["c1", "c2", "c3", "c4", "c5"] * 3, "", None, "long" * 50, 7])
FINISH: Final = st.sampled_from(
    ["tool_calls"] * 60 + ["stop", "stop", "length", "length", "length", "content_filter", "error", None, "pause"]
)
TEXT: Final = st.sampled_from([None, "", " ", "Let me see."])
USAGE: Final = st.sampled_from(
    [
        *[{"prompt_tokens": 50, "completion_tokens": 20}] * 8,
        {"prompt_tokens": 900, "completion_tokens": 900},
        {"prompt_tokens": 50},
        {"total_tokens": 900},
        {"prompt_tokens": "many", "completion_tokens": -5},
        None,
    ]
)


@dataclass(frozen=True)
class Answer:
    """One answer of the model.

    Attributes:
        body: the response, an exception, or None: there is none.
        takes: seconds until it comes.
        clings: whether the request swallows its cancellation.
    """

    body: Any
    takes: float = 0.0
    clings: bool = False

    def right_calls(self) -> Iterator[tuple[str, int]]:
        """Tool and argument of the calls that may run, said here once more and apart from the validator."""
        choices = self.body.get("choices", ()) if isinstance(self.body, dict) else ()
        for call in [call for choice in choices for call in choice["message"].get("tool_calls") or ()]:
            name, given = call["function"]["name"], call["function"]["arguments"]
            if name in TOOLS and given in GOOD:
                yield name, GOOD.index(given) + 1
            elif name == "later" and given in ("{}", "", None):
                yield name, 0

    def line(self) -> Any:
        """For ``ScriptedModel``."""
        return self.body if self.body is not None and not self.takes and not self.clings else self._late()

    def _late(self) -> Callable[[ModelRequest], Any]:
        async def give(_: ModelRequest) -> Any:
            while True:
                try:
                    await (asyncio.sleep(self.takes) if self.body is not None else asyncio.Event().wait())
                except asyncio.CancelledError:
                    if not self.clings:
                        raise
                    continue
                return self.body

        return give


def body(message: dict[str, Any], finish: str | None, usage: Any) -> dict[str, Any]:
    """A response body."""
    return {"choices": [{"message": {"role": "assistant", **message}, "finish_reason": finish}], "usage": usage}


@st.composite
def batches(draw: st.DrawFn) -> dict[str, Any]:
    """Calls of every kind, under a finish reason that fits or does not."""
    entries = [
        {"id": draw(IDS), "type": "function", "function": {"name": draw(NAMES), "arguments": draw(ARGUMENTS)}}
        for _ in range(draw(st.sampled_from([2, 1, 3, 4, 5])))
    ]
    if draw(st.integers(0, 15)) < 15:  # an entry without a name makes the whole answer suspect
        entries = [entry for entry in entries if entry["function"]["name"]]
    return body({"content": draw(TEXT), "tool_calls": entries}, draw(FINISH), draw(USAGE))


TEXTS: Final = st.builds(
    lambda text, refusal, finish, usage: body({"content": text, "refusal": refusal}, finish, usage),
    st.sampled_from(["42", "42", "", None]),
    st.sampled_from([None, None, None, "I cannot."]),
    st.sampled_from(["stop"] * 8 + ["length", "content_filter", None, "tool_calls"]),
    USAGE,
)
FAILURES: Final = st.sampled_from(
    [
        ModelError("busy", error_type="503", retryable=True),
        ModelError("wait", error_type="429", retryable=True, retry_after=2.0),
        ModelError("wait long", error_type="429", retryable=True, retry_after=1_000.0),
        ModelError("no", error_type="400"),
        {"error": {"message": "overloaded", "code": 529}, "usage": {"prompt_tokens": 30, "completion_tokens": 1}},
        {"error": {"message": "broken", "code": 500}},
        {"choices": []},
        ValueError("the model object is broken"),
        asyncio.CancelledError(),
        KeyboardInterrupt(),
    ]
)
KINDS: Final = st.sampled_from([*["calls"] * 14, "late_calls", "late_calls", "text", "failure", "silence"])


@st.composite
def answers(draw: st.DrawFn) -> Answer:
    """One answer: mostly calls."""
    kind = draw(KINDS)
    if kind == "late_calls":
        return Answer(draw(batches()), takes=draw(st.sampled_from([1.0, 3.0, 30.0])), clings=draw(st.booleans()))
    if kind == "silence":
        return Answer(None, clings=draw(st.booleans()))
    return Answer(draw(batches() if kind == "calls" else TEXTS if kind == "text" else FAILURES))
