"""One try of a handler, in a task, a thread or a process of its own, bounded by the clock whatever it does about it."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from traced_loop.cancellation import Cancellation
from traced_loop.errors import NotApplied
from traced_loop.loop.bounded_wait import (
    GRACE_SECONDS,
    Ended,
    TimedOut,
    cancel_all,
    done_within,
    leave_behind,
    result_of,
    start,
)
from traced_loop.loop.daemon_threads import DaemonThreads
from traced_loop.loop.result_marks import ReadResult, read_value
from traced_loop.loop.running_work import RunningWork
from traced_loop.tool_registry import ToolDefinition

if TYPE_CHECKING:
    from traced_loop.loop.isolated_call import IsolatedCall

HEEDING_SECONDS: Final = 0.5
"""How long a tool that was told to end (one that takes a cancellation, one in a process) may take to do so."""

Given = tuple[Any, BaseException | None]
"""A ``ReadResult`` and what the handler raised, one of them None."""


class HandlerRun:
    """A handler that is called once."""

    def __init__(self, tool: ToolDefinition, arguments: Mapping[str, Any], threads: DaemonThreads) -> None:
        """Nothing is started yet.

        Args:
            tool: the tool.
            arguments: of its handler, complete but for its cancellation.
            threads: where it runs when it is synchronous.
        """
        self._threads = threads
        self._cancellation: Cancellation | None = None
        self._isolated = _isolated(tool, arguments)
        self._heeds = tool.cancellation is not None or tool.isolate is not None
        self._handler = tool.handler
        self._arguments = dict(arguments)
        if self._heeds:
            self._cancellation = Cancellation()
        if tool.cancellation is not None:
            self._arguments[tool.cancellation] = self._cancellation
        self._ended = False
        self.work = RunningWork()
        """What may go on after everybody has stopped waiting."""

    async def within(self, seconds: float) -> Given:
        """Run the handler and read what it gives, where it may block in its thread.

        Raises:
            TimedOut: nothing came within that many seconds; the handler was told to end.
            CancelledError: the caller was cancelled; the handler was told to end.
        """
        if self._heeds or inspect.iscoroutinefunction(self._handler):
            return await self._waited_for(self._started(self._call()), seconds)
        # A plain function that nothing can tell to end needs no task beside its thread.
        clock = asyncio.get_running_loop().time
        ends, ended, task = clock() + seconds, None, None
        self.work.begin()  # the wait: what the function gives may have to be waited for, too
        try:
            ended = await self._from_thread(seconds)
            if ended is not None and not _is_read(ended):
                task = self._started(self._read(*ended))
        finally:
            value, error = ended or (None, asyncio.CancelledError())
            self.work.end(error, value)
        if task is not None:
            return await self._waited_for(task, ends - clock())
        if ended is None:
            raise TimedOut(abandoned=not self.work.over)
        return ended

    async def _from_thread(self, seconds: float) -> Given | None:
        """What the function gives or raises, unread where that takes more than reading; None when it is too late."""
        future = self._begun(lambda: read_value(self._handler(**self._arguments)))
        if isinstance(future, tuple):
            return future
        return future.result() if await done_within(future, seconds) else None

    def _started(self, work: Coroutine[Any, Any, Given]) -> "asyncio.Task[Ended[Given]]":
        task = start(work)
        self.work.begin()
        task.add_done_callback(self._task_ended)
        return task

    async def _waited_for(self, task: "asyncio.Task[Ended[Given]]", seconds: float) -> Given:
        try:
            done = await done_within(task, seconds)
        except BaseException:
            await self._stop(task)
            raise
        if done:
            return _given(task)
        await self._stop(task)
        value, error = _given(task) if task.done() else (None, None)
        if value is None and not isinstance(error, NotApplied):
            raise TimedOut(abandoned=not self.work.over)
        return value, error  # it ended in the same moment: what was paid for, or is known, is not thrown away

    async def _stop(self, task: "asyncio.Task[Any]") -> None:
        if self._cancellation is not None:
            self._cancellation.set()
        try:
            await cancel_all([task], HEEDING_SECONDS if self._heeds else GRACE_SECONDS)
        finally:
            if task.done():
                self._task_ended(task)  # its callbacks may come a turn later
            leave_behind(task)

    def _task_ended(self, task: "asyncio.Task[Ended[Given]]") -> None:
        if not self._ended:
            self._ended = True
            value, error = _given(task)
            self.work.end(error, value)

    async def _call(self) -> Given:
        """Run the handler.

        Raises:
            BaseException: the run's own cancellation, or what a hostile value raises when it is looked at.
        """
        handler, arguments = self._handler, self._arguments
        if self._isolated is not None and self._cancellation is not None:
            self._cancellation.when_set(self._isolated.kill)
            return await self._in_thread(self._isolated.run)
        if inspect.iscoroutinefunction(handler):
            try:
                begun = handler(**arguments)
            except Exception as refused:  # noqa: BLE001 - arguments that it does not take
                return None, _not_started(refused)
            value, error = await _awaited(begun)
        else:
            value, error = await self._in_thread(lambda: read_value(handler(**arguments)))
        return await self._read(value, error)

    async def _read(self, value: object, error: BaseException | None) -> Given:
        """What was given, read: where that is a coroutine or an iterator, it is run to its end.

        Raises:
            BaseException: see ``_call``.
        """
        if error is None and inspect.isawaitable(value):
            value, error = await _awaited(value)  # a plain function that returned a coroutine
        if error is not None or isinstance(value, ReadResult):
            return value, error
        if isinstance(value, Iterator):
            return await self._in_thread(lambda: read_value(cast("object", value)))
        return read_value(value), None

    async def _in_thread(self, act: Callable[[], object]) -> Given:
        """What comes of it in a thread; a tool that is told to end is waited for a little longer."""
        future = self._begun(act)
        if isinstance(future, tuple):
            return future
        try:
            await asyncio.wait({future})
        except asyncio.CancelledError:
            if not self._heeds:
                raise
            await asyncio.wait({future})
        return future.result()

    def _begun(self, act: Callable[[], object]) -> "asyncio.Future[Given] | Given":
        """What will come of it in a thread; or what came of it at once, where there is none to be had."""

        def job() -> object:
            error: BaseException | None = None
            value: object = None
            try:
                value = act()
            except BaseException as raised:
                error = raised
                raise
            finally:
                self.work.end(error, value)
            return value

        self.work.begin()
        try:
            return self._threads.run(job)
        except Exception as refused:  # noqa: BLE001 - no thread to be had
            self.work.end(None)
            return None, _not_started(refused)


def _not_started(refused: Exception) -> NotApplied:
    return NotApplied(f"the tool could not be started: {type(refused).__name__}")


def _is_read(ended: Given) -> bool:
    """Whether nothing is left to be waited for."""
    return ended[1] is not None or isinstance(ended[0], ReadResult)


def _given(task: "asyncio.Task[Ended[Given]]") -> Given:
    """What an ended task gave."""
    given, error = result_of(task)
    return given if given is not None else (None, error)


async def _awaited(value: Awaitable[Any]) -> Given:
    try:
        return await value, None
    except (KeyboardInterrupt, SystemExit) as error:
        return None, error  # would end the event loop
    except GeneratorExit:
        raise  # it was left behind, and its event loop is gone
    except NotApplied as error:
        return None, error  # says what happened, also when it was told to end
    except BaseException as error:
        if is_cancelled():  # timed out or cancelled, whatever the tool makes of it
            raise asyncio.CancelledError from error
        return None, error


def is_cancelled() -> bool:
    """Whether the current task was asked to end, as against a tool that raises or cancels on its own."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _isolated(tool: ToolDefinition, arguments: Mapping[str, Any]) -> "IsolatedCall | None":
    if tool.isolate is None:
        return None
    from traced_loop.loop.isolated_call import IsolatedCall  # few tools are; it takes all propagators of OpenTelemetry

    return IsolatedCall(tool.handler, arguments)
