"""The idempotency key of a call: the tool's business key, else one from run, tool and its handler's arguments.

Arguments that the tool declares volatile make no other key: a nonce is new each time, and the write is the same.
"""

import copy
import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, cast

from traced_loop.canonical_json import canonical
from traced_loop.errors import ToolError
from traced_loop.frozen_value import frozen_value
from traced_loop.telemetry.fingerprint import Fingerprints
from traced_loop.tool_registry import ToolDefinition

MAX_KEY: Final = 255
"""Characters of a tool's own key; services that take keys take no longer ones."""


@frozen_value
class CallKey:
    """A key, or why there is none.

    Attributes:
        text: handed to the tool; it is content, as arguments are.
        fingerprint: what a trace shows of it: equal for equal keys, in all runs under one fingerprint key.
        broken: what the tool's key function raised; the call then fails at its turn, before anything has started.
        declared: whether the tool's own function made it.
        write_fingerprint: what tells the write of the key from another: digest of the arguments as the handler gets
            them, without volatile ones, and of the tool's version; equal however the model wrote them; ``""`` where
            there is no key.
        repeats: how often this run has done the same write in earlier steps without a key that would make it one.
        number: of this key among those of the same write, from 1.
        first: the text of number 1, where this is a later one.
    """

    text: str | None = None
    fingerprint: str | None = None
    broken: BaseException | None = None
    declared: bool = False
    write_fingerprint: str = ""
    repeats: int = 0
    number: int = 1
    first: str | None = None

    def again(self, number: int, repeats: int, fingerprints: Fingerprints) -> "CallKey":
        """The key of the ``number``-th such write: what is done once more is another one to its service.

        A tool's own key gets a longer end, since the tool may number its keys itself.
        """
        first = self.first or self.text
        text = f"{first}:again:{number}" if self.declared else f"{first}:{number}"
        shown = fingerprints.of("key", text)
        return replace(self, text=text, fingerprint=shown, repeats=repeats, number=number, first=first)


def key_of(
    tool: ToolDefinition,
    arguments: Mapping[str, Any],
    json_arguments: Mapping[str, Any],
    *,
    run_id: str,
    fingerprints: Fingerprints,
    place: str = "",
) -> CallKey:
    """The key of one valid call; empty for a read that takes none. Never raises.

    Args:
        tool: the registered tool.
        arguments: as the handler gets them; a business key is made from a copy.
        json_arguments: the same as the model wrote them.
        run_id: a derived key holds in this run only.
        fingerprints: for what is shown.
        place: of the call in its run, which makes each call of a repeatable tool a write of its own.
    """
    if tool.effect != "write" and not tool.takes_key:
        return CallKey()
    from traced_loop.loop.equal_arguments import equal_form  # a read needs none of the types that it knows

    own = tool.key is not None
    try:
        same = _digest(equal_form(tool, arguments, json_arguments))
        # No part of the derived key: that must find what the run did before the tool was given another version.
        compared = same if not tool.version else _digest({"arguments": same, "version": tool.version})
        derived = f"{run_id}:{tool.name}:{same}{f':{place}' if tool.repeatable else ''}"
        text = derived if tool.key is None else _declared(tool.key, arguments)
    except BaseException as broken:  # noqa: BLE001 - the application's function; the executor tells what it raised
        return CallKey(broken=broken)
    return CallKey(text=text, fingerprint=fingerprints.of("key", text), write_fingerprint=compared, declared=own)


def _declared(function: Any, arguments: Mapping[str, Any]) -> str:
    # A copy: what was authorised is what runs, whatever the function does with what it is shown.
    key = cast("object", function(**copy.deepcopy(dict(arguments))))
    if not isinstance(key, str) or not key.strip():
        # One key for calls that have nothing in common would answer one of them with another's result.
        raise ToolError(f"its key function gave {'a blank text' if isinstance(key, str) else type(key).__name__}")
    if len(key) > MAX_KEY or not key.isprintable():
        raise ToolError(
            f"its key function gave a text of more than {MAX_KEY} characters, or one that cannot be printed"
        )
    return str.__str__(key)


def _digest(stable: Mapping[str, Any]) -> str:
    """Long, because it decides over a write; and under no fingerprint key, which may change before a run goes on."""
    return hashlib.sha256(canonical(stable).encode(errors="surrogatepass")).hexdigest()[:32]
