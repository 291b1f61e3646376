"""The few exceptions, and the errors that a tool raises to say what happened.

    TracedLoopError
    ├── UsageError            your code or configuration: says what to write instead
    │   └── StoreError        the local store cannot be opened, read or written
    │       └── StoreFull     ... has no room for the run: counted in its receipt
    ├── ModelError            the model server: raised by adapters, a value by the time a run ends
    ├── ToolError             a handler tells the model what went wrong
    │   ├── InvalidArguments  ... with these arguments: the call counts as refused
    │   └── NotApplied        ... and nothing was changed: a write may be tried again
    ├── ProcessDied           an isolated tool's process ended before it gave anything: a value by the time a run ends
    ├── ScriptError           a scripted model got a request it has no line for, or kept unused lines
    └── RunStopped            only from ``RunResult.raise_for_stop``

Refusals, exhausted budgets and failed tools are values in the result, never exceptions.
"""

from traced_loop.closed_words import ModelErrorKind, StoreFault


class TracedLoopError(Exception):
    """Root of all exceptions of this package."""


class UsageError(TracedLoopError):
    """The calling code or the configuration is wrong; the message says what to do instead.

    Attributes:
        typed: the same for somebody who types commands, or has a page before them, and writes no Python.
    """

    def __init__(self, message: str, *, typed: str = "") -> None:
        """Say what is wrong.

        Args:
            message: of what is wrong and what to do, for whoever writes a program.
            typed: see above; ``""`` where the message does for both.
        """
        super().__init__(message)
        self.typed = typed or message


class StoreError(UsageError):
    """The local store cannot be opened, read or written; the message names the path and what to do.

    Attributes:
        why: the same in a closed word, which may be shown where the message, with its path, may not.
    """

    def __init__(self, message: str, *, why: StoreFault = "unusable", typed: str = "") -> None:
        super().__init__(message, typed=typed)
        self.why: StoreFault = why


class StoreFull(StoreError):
    """The local store has no room for a run, and none of those in it may go: never raised by a run, which goes on."""


def typed_words(error: BaseException) -> str:
    """What an exception says to somebody who types commands."""
    return error.typed if isinstance(error, UsageError) else str(error)


class ModelError(TracedLoopError):
    """The model server failed. Adapters raise it; the Model Client decides on another attempt.

    Attributes:
        error_type: low-cardinality word for ``error.type``: a status (``429``), ``timeout``, ``connection``,
            ``stalled`` (a stream went silent in the middle), ``invalid_response``, ``invalid_request`` (it cannot be
            written at all), or the client's exception type.
        retryable: whether the same request can be expected to work later; decides on another try, whatever the kind.
        retry_after: seconds that the server asks to wait, or None.
        status: HTTP status, or None when no response arrived.
        kind: the closed word for what failed; None lets the loop tell it from status and ``error_type``.
        answer: the ``ModelAnswer`` that was read out of the error's body where tokens were counted for it, or None.
        detail: what to say of it on a span and in ``stop_detail``, without anything that is content; or ``""``.
    """

    def __init__(
        self,
        message: str,
        *,
        error_type: str,
        retryable: bool = False,
        retry_after: float | None = None,
        status: int | None = None,
        kind: ModelErrorKind | None = None,
        answer: object = None,
        detail: str = "",
    ) -> None:
        super().__init__(message)
        self.error_type = error_type
        self.detail = detail
        self.retryable = retryable
        self.retry_after = retry_after
        self.status = status
        self.kind = kind
        self.answer = answer


class ToolError(TracedLoopError):
    """Raised by a handler: its text is told to the model, so it should say what to do.

    Args:
        message: short, for the model.
        transient: the same call may work later (a busy service), as against a deterministic failure.
    """

    def __init__(self, message: str, *, transient: bool = False) -> None:
        super().__init__(message)
        self.transient = transient


class InvalidArguments(ToolError):
    """Raised by a handler for limits of its own that a schema cannot say; the call's outcome is ``invalid``."""


class NotApplied(ToolError):
    """Raised by a write that knows that it changed nothing; the outcome is ``error`` instead of ``unknown``."""


class ProcessDied(TracedLoopError):
    """The process of a tool with ``isolate="process"`` ended, or was ended, before it gave a result."""


class ScriptError(TracedLoopError):
    """A scripted model was asked for more than its script holds, for something else, or not for all of it."""


class RunStopped(TracedLoopError):
    """The run ended in anything but a final answer.

    Attributes:
        stop_reason: the word of the closed list.
        stop_detail: one short sentence, or ``""``.
        run_id: for ``traced-loop show``.
    """

    def __init__(self, *, stop_reason: str, stop_detail: str, run_id: str) -> None:
        super().__init__(f"{stop_reason}: {stop_detail}" if stop_detail else stop_reason)
        self.stop_reason = stop_reason
        self.stop_detail = stop_detail
        self.run_id = run_id
