"""``McpServer``: a server's tools for a loop, for as long as it is open."""

import asyncio
import atexit
import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypedDict, TypeVar, Unpack

from traced_loop import names
from traced_loop.errors import NotApplied, UsageError
from traced_loop.given_values import amount, words
from traced_loop.mcp_tools.offered_tools import Handler, Offer, Treatment, Unusable, definitions_of
from traced_loop.mcp_tools.sending import Sending, answer_of
from traced_loop.mcp_tools.session_thread import SessionThread
from traced_loop.mcp_tools.transport import ConnectionFailed, Transport
from traced_loop.outcomes import Effect, Risk
from traced_loop.redaction import register_credentials, register_secret
from traced_loop.shown_url import shown_url
from traced_loop.tool_registry import ToolDefinition

if TYPE_CHECKING:
    import concurrent.futures

    from traced_loop.mcp_tools.session import Session

T = TypeVar("T")

EXTRA: Final = "pip install 'traced-loop[mcp]', or in a clone of it uv sync --extra mcp"
"""What brings the SDK, as a package and as a clone."""
START_SECONDS: Final = 30.0
"""How long a server may take to start and to list its tools."""
END_SECONDS: Final = 5.0
"""How long the thread of a session that was closed may take to end."""
SIGNAL_SECONDS: Final = 0.25
"""How long a signal may go unnoticed while the server is waited for: another thread may have been handed it."""
_PUBLIC_HEADERS: Final = frozenset({"accept", "accept-encoding", "accept-language", "content-type", "user-agent"})


class McpOptions(TypedDict, total=False):
    """What may be said of a server's tools, whose names here are the server's own, without the prefix.

    A server's annotations are hints of a program that nobody vouches for: where they matter, say it here.

    Attributes:
        effects: ``read`` or ``write`` by tool.
        effect: of every tool that ``effects`` does not name; None takes the server's word: ``readOnlyHint`` true, and
            ``destructiveHint`` not, is a read, everything else a write.
        risk: of every tool; None is ``high`` where the server says ``destructiveHint``, else ``low``.
        timeout: seconds of a call, as in ``tool``.
        prefix: put before each name, since two servers may use the same.
        only: the tools that are wanted; None for all.
        error_is_not_applied: writes whose declared errors say that nothing was changed. An error of any other write
            leaves open what it did, so its outcome is ``unknown`` and stops the run.
        skip_unusable: leave out tools that cannot be used (a schema that cannot be judged, a name that a provider
            refuses) instead of refusing all; ``McpServer.unusable`` says which and why.
        start_timeout: seconds for the server to start and list its tools.
    """

    effects: Mapping[str, Effect]
    effect: Effect | None
    risk: Risk | None
    timeout: float | None
    prefix: str
    only: Collection[str] | None
    error_is_not_applied: Collection[str]
    skip_unusable: bool
    start_timeout: float


class McpServer:
    """A server of the Model Context Protocol, open between entering and leaving its ``with`` or ``async with``.

    Its tools may be called from any thread and any event loop. A session that was lost is opened again by the next
    call. A tool whose definition has changed since ``tools`` gave it is refused, once the server has said that its
    tools changed: ask ``tools`` again, and look at what you get.
    """

    def __init__(self, transport: "Transport", options: McpOptions) -> None:
        """Use ``McpServer.stdio`` or ``McpServer.http``.

        Raises:
            UsageError: an option makes no sense.
        """
        self._transport = transport
        given: dict[str, Any] = {**options}
        self._start_timeout: float = given.pop("start_timeout", START_SECONDS)
        amount("start_timeout", self._start_timeout, of="McpServer")
        for name in {"only", "error_is_not_applied"} & set(given):
            if given[name] is not None or name == "error_is_not_applied":
                given[name] = words(name, given[name], of="McpServer")
        self._treatment = Treatment(**given)
        self._treatment.check()
        self._thread: SessionThread | None = None
        self._session: Session | None = None
        self.unusable: tuple[Unusable, ...] = ()
        """The tools that the latest ``tools()`` left out."""

    @classmethod
    def stdio(
        cls,
        command: str,
        *args: str,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        **options: Unpack[McpOptions],
    ) -> "McpServer":
        """A server as a child process, started when it is opened and ended with its process group.

        Args:
            command: the program.
            args: of the program.
            env: variables beside ``HOME``, ``PATH`` and the few others that the SDK passes on; nothing else of ours.
            cwd: its working directory; None for ours.
            options: see ``McpOptions``.

        Raises:
            UsageError: the extra is not installed, or an option makes no sense.
        """
        _check_extra()
        from traced_loop.mcp_tools.child_server import ChildServer

        register_credentials(env or {})
        return cls(ChildServer(command, args, env, cwd), options)

    @classmethod
    def http(cls, url: str, *, headers: Mapping[str, str] | None = None, **options: Unpack[McpOptions]) -> "McpServer":
        """A server at an address, over streamable HTTP.

        Args:
            url: of its MCP endpoint.
            headers: of every request; what they carry is masked wherever a trace would show it.
            options: see ``McpOptions``.

        Raises:
            UsageError: the extra is not installed, it is no such address, or an option makes no sense.
        """
        _check_extra()
        from traced_loop.mcp_tools.http_server import HttpServer

        if not url.startswith(("http://", "https://")):
            said = "write an address, as https://example.com/mcp"
            raise UsageError(f"McpServer.http({shown_url(url)!r}): {said}", typed=f"--mcp-url {shown_url(url)}: {said}")
        for name, value in (headers or {}).items():
            if name.lower() not in _PUBLIC_HEADERS:
                register_secret(value)
                register_secret(value.rpartition(" ")[2])  # behind ``Bearer``
        return cls(HttpServer(url, headers or {}), options)

    def tools(self) -> list[ToolDefinition]:
        """The server's tools as they are now; asks the server where it said that they changed.

        Raises:
            UsageError: it is not open, cannot be reached any more, or has a tool that cannot be used.
        """
        if self._session is None or self._thread is None:
            raise UsageError("the MCP server is not open: write `with McpServer...(...) as server:`")
        offers = self._wait(self._thread.submit(self._session.offers()))
        found, left_out = definitions_of(offers, self._treatment, self._handler, self._marks, of=self._transport.label)
        self.unusable = tuple(left_out)
        return found

    def open(self) -> None:
        """Start the server, as ``with`` does; ``close`` ends it.

        Raises:
            UsageError: it is open already, or does not start in time; the message shows what it last said.
        """
        opening = self._begin()
        try:
            self._wait(opening)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the session and the server's process; bounded in time, and nothing where it is not open."""
        thread, session = self._thread, self._session
        if thread is None:
            return
        self._thread = self._session = None
        atexit.unregister(self.close)
        if not thread.is_ours:  # of the process that this one was forked from, which goes on with it
            return
        try:
            if session is not None:
                with suppress(UsageError):  # the thread has ended
                    self._wait(thread.submit(session.close()))
        finally:
            try:
                thread.end(END_SECONDS)
            finally:
                self._transport.kill()

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        opening = self._begin()
        try:
            await asyncio.wrap_future(opening)
        except ConnectionFailed as failed:
            await asyncio.to_thread(self.close)
            raise UsageError(str(failed)) from failed
        except BaseException:
            await asyncio.to_thread(self.close)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)

    def _begin(self) -> "concurrent.futures.Future[None]":
        """Begin to open it.

        Raises:
            UsageError: it is open already.
        """
        from traced_loop.mcp_tools.sdk_logs import keep_quiet
        from traced_loop.mcp_tools.session import Session

        keep_quiet()
        if self._thread is not None:
            raise UsageError("the MCP server is open already: one `with` at a time")
        self._thread = SessionThread()
        self._session = Session(self._transport, self._start_timeout)
        # What nobody closes ends with the program: the thread is a daemon, and the child would be left to itself.
        atexit.register(self.close)
        return self._thread.submit(self._session.open())

    def _handler(self, offer: Offer) -> Handler:
        told = offer.name in self._treatment.error_is_not_applied

        async def call(**arguments: Any) -> Any:
            thread, session = self._thread, self._session
            if thread is None or session is None:
                raise NotApplied("the MCP server is closed: run the loop inside of its `with`")
            sending = Sending()
            try:
                future = thread.submit(session.call(offer, arguments, sending, error_is_not_applied=told))
            except UsageError as error:
                raise NotApplied(str(error)) from error
            return await answer_of(future, sending)

        return call

    def _marks(self) -> Mapping[str, str | int]:
        session = self._session
        return {names.MCP_METHOD: "tools/call", **(session.marks if session is not None else {})}

    def _wait(self, future: "concurrent.futures.Future[T]") -> T:
        """The result; Ctrl-C cancels what is waited for.

        Raises:
            UsageError: the server cannot be reached.
        """
        try:
            while True:
                try:
                    return future.result(SIGNAL_SECONDS)
                except TimeoutError:
                    if future.done():
                        raise
        except ConnectionFailed as failed:
            raise UsageError(str(failed)) from failed
        except BaseException:
            future.cancel()
            raise


def _check_extra() -> None:
    """Check that the SDK is there.

    Raises:
        UsageError: it is not, or is an old one.
    """
    if find_spec("mcp_types") is None or find_spec("mcp") is None:  # the first comes with a new enough SDK
        raise UsageError(f"tools of MCP servers need the extra: {EXTRA}")
