"""One run on a real model with its progress on stderr: begun by ``run``, gone on with by ``resume``."""

import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from typing import Any

import typer
from rich.console import Console

from traced_loop.cancellation import TERMINATE
from traced_loop.cli import run_options as options
from traced_loop.cli.after_run import said_of_answered, say, say_what_arrived, say_where_to_look, say_why
from traced_loop.cli.ask_person import Person
from traced_loop.cli.live_lines import LiveLines
from traced_loop.cli.loop_options import LoopOptions, repeated_options
from traced_loop.cli.mcp_options import tools_of_servers
from traced_loop.cli.output import write_answer, write_json
from traced_loop.cli.result_json import result_json
from traced_loop.messages import Message, Model
from traced_loop.outcomes import EXIT_CODES
from traced_loop.public_loop import Loop
from traced_loop.run_result import RunResult, partial_result
from traced_loop.setup import DEFAULT_STORE, close

Told = Callable[[RunResult], list[str]]
"""Makes lines of a result that are said on stderr beside it."""


class LiveLoop:
    """A loop, and the terminal that shows what it does."""

    def __init__(self, models: Sequence[Model], given: LoopOptions, context: typer.Context) -> None:
        """Put the loop together.

        Args:
            models: the one that is asked, and those that stand in for it.
            given: the options, the limits among them.
            context: of the command: MCP servers end with it.

        Raises:
            UsageError: an option that makes no sense.
        """
        budget = options.budget_of(given)
        options.send_metrics(given.metrics)
        self._options = repeated_options(context)
        self._console = Console(stderr=True, highlight=False)
        self._lines = LiveLines(self._console)
        chosen = options.chosen_tools(given.tools, given.root)
        tools = [*chosen, *tools_of_servers(context, given.mcp, given.mcp_url)]
        approved, person = options.words_of(given.approve), Person(self._console, self._lines.paused)
        self._loop = Loop(
            models[0],
            tools,
            fallback=models[1:],
            instructions=given.system,
            budget=budget,
            policy=options.policy_of(tools, approved, given.policy, person.ask),
            on_tool_error=options.on_tool_error_of(given.on_tool_error),
            repetition=options.repetition_of(given.repetition),
            content=options.content_of(given.content),
            store=given.store or DEFAULT_STORE,
            otlp=options.otlp_of(given.otlp),
        )

    def run(
        self,
        prompt: str | None,
        messages: Sequence[Message] | None = None,
        *,
        session: str | None = None,
        told: Sequence[Told] = (),
        as_json: bool,
    ) -> int:
        """Run a prompt or a history, say what came of it, and give the exit code."""
        again = session is not None
        loop, lines = self._loop, self._lines

        def act() -> RunResult:
            return loop.run(prompt, messages=messages, session_id=session, continue_session=again, on_event=lines)

        return self._live(act, told, as_json=as_json)

    def resume(self, run: str, *, as_json: bool, **how: Any) -> int:
        """Go on with a run; see ``Loop.resume``."""

        def told(result: RunResult) -> list[str]:
            return said_of_answered(result, how)

        return self._live(lambda: self._loop.resume(run, on_event=self._lines, **how), (told,), as_json=as_json)

    def _live(self, act: Callable[[], RunResult], told: Sequence[Told] = (), *, as_json: bool) -> int:
        result = self._reached(act)
        _tell(self._console, result, [line for say in told for line in say(result)], self._options, as_json=as_json)
        return EXIT_CODES[result.stop_reason]

    def _reached(self, act: Callable[[], RunResult]) -> RunResult:
        """What came of it; after Ctrl-C, SIGTERM or a tool that exits, what it had reached.

        What tools print goes to stderr: stdout is the answer's alone.
        """
        before = signal.signal(signal.SIGTERM, _terminated)
        try:
            with self._lines, redirect_stdout(sys.stderr):
                return act()
        except (KeyboardInterrupt, SystemExit) as interrupt:
            reached = partial_result(interrupt)
            if reached is None:
                raise
            return reached
        finally:
            signal.signal(signal.SIGTERM, before)


def _tell(
    console: Console, result: RunResult, told: Sequence[str], options: Sequence[str] | None, *, as_json: bool
) -> None:
    """The answer to stdout; why it stopped, what arrived and where to look to stderr."""
    if as_json:
        write_json(result_json(result))
    elif result.answer is not None:
        write_answer(result.answer)
    say_why(console, result, options)
    say(console, told)
    close()  # says itself why a collector did not take something
    say_what_arrived(console, result)
    say_where_to_look(console, result)  # last, where people and scripts look for the run's id


def _terminated(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt(TERMINATE)
