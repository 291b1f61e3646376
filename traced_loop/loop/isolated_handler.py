"""The call itself in the process of an isolated tool: its function found, called, and what came of it packed."""

import asyncio
import importlib
import inspect
import os
import pickle
import sys
from collections.abc import Iterator, Mapping
from multiprocessing import spawn
from typing import Any, cast

from traced_loop.errors import NotApplied
from traced_loop.loop.result_marks import ReadResult, read_value
from traced_loop.telemetry.carried_context import attach_carried
from traced_loop.telemetry.type_names import type_name
from traced_loop.tool_registry import ToolDefinition, definition_in


def outcome(order: Mapping[str, Any], arguments: bytes) -> bytes:
    """What the handler gave, read, and what it raised, one of them None, pickled.

    Raises:
        SystemExit: as the handler raised it: it ends this process alone.
    """
    attach_carried(order["carried"])
    os.environ.update({key.upper(): text for key, text in order["carried"].items() if key.startswith("trace")})
    try:
        handler = _handler(order)
        given = pickle.loads(arguments)  # noqa: S301 - our own parent's
    except Exception as error:  # noqa: BLE001 - the application's modules
        said = f"its module cannot be imported in another process: {type_name(error)}: {error}"
        return pickle.dumps((None, NotApplied(said)))
    try:
        return pickle.dumps((_read(handler(**given)), None))
    except Exception as error:  # noqa: BLE001 - handed to whoever waits
        return _packed(error)


def _handler(order: Mapping[str, Any]) -> Any:
    if order["main_path"]:
        spawn.import_main_path(
            order["main_path"]
        )  # as multiprocessing does: what is under ``if __name__`` does not run
    found: Any = sys.modules["__main__"] if order["main_path"] else importlib.import_module(order["module"])
    for part in order["qualname"].split("."):
        found = getattr(found, part)
    definition: ToolDefinition | None = definition_in(found)
    return definition.handler if definition is not None else found


def _read(value: object) -> object:
    read = read_value(value)
    while not isinstance(read, ReadResult):
        read = read_value(
            asyncio.run(_awaited(read)) if inspect.isawaitable(read) else list(cast("Iterator[Any]", read))
        )
    return read


async def _awaited(value: Any) -> Any:
    return await value


def _packed(error: Exception) -> bytes:
    """The error, or what can be said of one that does not survive the way."""
    try:
        packed = pickle.dumps((None, error))
        if type(pickle.loads(packed)[1]) is type(error):  # noqa: S301 - made above
            return packed
    except Exception:  # noqa: BLE001, S110 - says nothing of itself
        pass
    return pickle.dumps((None, RuntimeError(f"{type_name(error)}: {error}")))
