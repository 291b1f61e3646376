"""What a loop asks of whatever carries its runs: keep a task, run each step once, say when a run is to be cancelled.

A port: the loop asks, and what answers is the process itself (``loop/embedded_engine.py``), or a durable engine that
somebody else has built. The loop's code is the same behind each. An engine that keeps steps runs the code of a run
again after its process died, from the beginning; a step that it has kept is answered with what it gave and not done
again, so that the run comes to where it was without a request and without a tool.

What an engine must hold:

- Of one run and one name ``step`` gives the same text for good once it was kept. It keeps a text before it returns it.
  What ``do`` raises leaves ``step`` as it is and is not kept. Names do not repeat within a run.
- A step is done at least once: one that was going on when its process died is done again. For a model request that is
  one more request; a write is claimed in the ledger inside of its step, which then answers with what was done, or says
  that nobody knows. So the ledger has to outlive the process and be the same for every process that may go on.
- Of one run one process at a time runs the code. Steps of one run may go on side by side (parallel reads), on one event
  loop, and begin in the same order each time.
- The texts are JSON in ASCII. They hold content, as transcripts do: messages, results, tool errors.

Names are stable data, and so is what a step gives: a run that was begun by an older version is gone on with.

===============================  ===================================================================================
``model.{step}``                 one model request, its tries included; steps count from 1
``model.last``                   the last request of a run that a limit stops
``keys.{step}``                  which idempotency keys the writes of an answer have, before any of them runs
``tool.{step}.{index}.{tool}``   the turn of one call: asked about, waited for, claimed, run; ``index`` is its 0-based
                                 place in the answer
===============================  ===================================================================================

What is between two steps is done again each time: validation, rules, budget checks, events, spans. Rules have to come
to the same opinion; where another answer's step is found under a name, the run ends with ``harness_error``.
"""

from collections.abc import Awaitable, Callable
from typing import Final, Protocol

Body = Callable[[str], Awaitable[None]]
"""The code of a run; it is given the task as ``start`` was."""

LAST_REQUEST_STEP: Final = "model.last"
"""Name of the step of a last request."""


def model_step(step: int) -> str:
    """Name of the model request of a step, 1-based."""
    return f"model.{step}"


def keys_step(step: int) -> str:
    """Name of the step that gives the writes of an answer their keys."""
    return f"keys.{step}"


def tool_step(step: int, index: int, tool: str) -> str:
    """Name of the turn of a call; ``index`` is its 0-based place in the answer."""
    return f"tool.{step}.{index}.{tool}"


class Engine(Protocol):
    """Carries runs. ``cancel`` may be called from any thread, the others on the run's event loop."""

    @property
    def keeps_steps(self) -> bool:
        """Whether what steps give is ever read again; if not, they give an empty text, and tasks are empty, too."""
        ...

    async def start(self, run_id: str, task: str, body: Body) -> None:
        """Keep the task of a new run, then run ``body`` with it to its end.

        A run that ``cancel`` ended is ended, and not raised.

        Raises:
            UsageError: another task was started under this id.
            BaseException: what left ``body``; the run is then not over, and may be resumed.
        """
        ...

    async def resume(self, run_id: str, body: Body) -> None:
        """Run ``body`` again with the task that ``start`` has kept; steps that were kept are not done again.

        Raises:
            UsageError: there is no such task.
            BaseException: what left ``body``.
        """
        ...

    def cancel(self, run_id: str) -> bool:
        """End a run as soon as it can be told; False where it is known that no such run goes on."""
        ...

    def is_cancelled(self, run_id: str) -> bool:
        """Whether ``cancel`` was called for a run that goes on; asked before each step."""
        ...

    async def step(self, run_id: str, name: str, do: Callable[[], Awaitable[str]]) -> str:
        """What the step of this name gave, if that is kept; else do it, keep what it gives, and return that.

        Raises:
            BaseException: what ``do`` raised, or the engine itself, which ends the run.
        """
        ...
