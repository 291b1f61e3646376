"""A server as a child process, spoken to over its standard input and output.

Its process group ends with it, however it ends: ``npx`` and ``uvx`` start others, which the SDK's own transport leaves
behind where the first process ends by itself.
"""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage

from traced_loop import names
from traced_loop.mcp_tools.server_messages import message_of
from traced_loop.mcp_tools.transport import MAX_MESSAGE_BYTES, Streams
from traced_loop.redaction import redact_text

GRACE_SECONDS: Final = 2.0
"""How long a server may take to end after its input was closed, and again after SIGTERM."""
FLUSH_SECONDS: Final = 0.5
"""How long what was accepted may take to be written before the input is closed."""
MAX_STDERR_BYTES: Final = 4_096
"""How much is kept of what it last wrote on standard error."""
STDERR_LINES: Final = 10
"""How many of these lines are shown."""

_Incoming = MemoryObjectSendStream[SessionMessage | Exception]


class ChildServer:
    """See ``Transport``."""

    def __init__(
        self, command: str, args: Sequence[str], env: Mapping[str, str] | None, cwd: str | os.PathLike[str] | None
    ) -> None:
        """Nothing is started yet.

        Args:
            command: the program.
            args: of the program.
            env: variables beside the few that the SDK passes on (``HOME``, ``PATH`` and the like).
            cwd: its working directory, or None for ours.
        """
        self._command = command
        self._args = tuple(args)
        self._env = dict(env or {})
        self._cwd = cwd
        self._group: int | None = None
        self._stderr = b""
        self._ended = ""

    @property
    def label(self) -> str:
        """See ``Transport``; arguments may hold credentials."""
        return f"MCP server {Path(self._command).name!r}"

    def marks(self) -> Mapping[str, str | int]:
        """See ``Transport``."""
        return {names.NETWORK_TRANSPORT: "pipe"}

    def last_words(self) -> str:
        """See ``Transport``."""
        lines = redact_text(self._stderr.decode(errors="replace")).splitlines()[-STDERR_LINES:]
        # On one line: the command line shows what a foreign program says with its line breaks escaped.
        shown = " | ".join("".join(c for c in line if c.isprintable()) for line in lines if line.strip())
        return self._ended + (f"; its last lines on stderr: {shown}" if shown else "")

    def kill(self) -> None:
        """See ``Transport``."""
        if self._group is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._group, signal.SIGKILL)

    @asynccontextmanager
    async def opened(self, lost: Callable[[], None]) -> AsyncGenerator[Streams, None]:
        """See ``Transport``.

        Raises:
            OSError: the program cannot be started.
        """
        process = await asyncio.create_subprocess_exec(
            self._command,
            *self._args,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**get_default_environment(), **self._env},
            cwd=self._cwd,
            limit=MAX_MESSAGE_BYTES,
            start_new_session=True,  # Ctrl-C in a terminal is for us, and the group is its own
        )
        self._group, self._stderr, self._ended = process.pid, b"", ""
        incoming, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        to_server, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        reader = asyncio.create_task(self._read(process, incoming, lost))
        writer = asyncio.create_task(_write(process, outgoing, incoming))
        stderr = asyncio.create_task(self._keep_stderr(process))
        try:
            yield from_server, to_server
        finally:
            for stream in (from_server, to_server):
                stream.close()
            try:
                await asyncio.wait({writer}, timeout=FLUSH_SECONDS)
                await self._end(process)
            finally:
                self.kill()
                self._group = None  # the system may give the number to others
                tasks = (reader, writer, stderr)
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)
                _let_go(process)

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        """By closing its input, else by SIGTERM, else by SIGKILL; with all of its group that is left."""
        if process.stdin is not None:
            process.stdin.close()
        if not await _has_ended(process) and self._group is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._group, signal.SIGTERM)
            await _has_ended(process)
        self.kill()
        await _has_ended(process)

    async def _read(self, process: asyncio.subprocess.Process, incoming: _Incoming, lost: Callable[[], None]) -> None:
        if process.stdout is None:
            raise RuntimeError("the process was started without a pipe")
        try:
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # nobody reads any more
                while line := await process.stdout.readline():
                    if line.strip():
                        await incoming.send(message_of(line))
        except ValueError:
            self._ended = f"; it sent a message of more than {MAX_MESSAGE_BYTES} bytes"
        except OSError as error:
            self._ended = f"; reading from it failed ({type(error).__name__})"
        finally:
            # What follows cannot be told from the middle of a message, or is nothing.
            lost()
            incoming.close()
        if not self._ended and await _has_ended(process):
            self._ended = f"; it ended with status {process.returncode}"

    async def _keep_stderr(self, process: asyncio.subprocess.Process) -> None:
        if process.stderr is not None:
            with suppress(OSError):
                while part := await process.stderr.read(MAX_STDERR_BYTES):
                    self._stderr = (self._stderr + part)[-MAX_STDERR_BYTES:]


async def _write(
    process: asyncio.subprocess.Process, outgoing: MemoryObjectReceiveStream[SessionMessage], incoming: _Incoming
) -> None:
    if process.stdin is None:
        raise RuntimeError("the process was started without a pipe")
    try:
        async with outgoing:
            async for item in outgoing:
                process.stdin.write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                await process.stdin.drain()
    except OSError:
        pass  # it has closed its input, or ended
    finally:
        incoming.close()  # so that nobody waits for an answer for ever


async def _has_ended(process: asyncio.subprocess.Process) -> bool:
    """Whether it has within the grace, and nobody holds its pipes any more."""
    waiting = asyncio.ensure_future(process.wait())
    try:
        done, _ = await asyncio.wait({waiting}, timeout=GRACE_SECONDS)
    finally:
        waiting.cancel()
    return bool(done)


def _let_go(process: asyncio.subprocess.Process) -> None:
    """Close what is left open where a process that left the group holds a pipe; asyncio names no other way."""
    transport: Any = getattr(process, "_transport", None)
    if transport is not None:
        with suppress(PermissionError):
            transport.close()
