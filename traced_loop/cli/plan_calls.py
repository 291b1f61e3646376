"""``traced-loop plan``: what a loop would do with some calls, or what it decided in a stored step. Runs nothing."""

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from traced_loop.cli.show_runs import JsonOption, StoreOption
from traced_loop.errors import UsageError
from traced_loop.rules.budget import Budget

if TYPE_CHECKING:
    from traced_loop.loop.batch_plan import Plan
    from traced_loop.messages import ToolCall
    from traced_loop.rules.decision_table import DecisionTable


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plan", short_help="Show what would be decided about some calls, or was.")(plan_calls)


def plan_calls(
    run: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="A stored run or `last`, instead of --calls.")
    ] = None,
    *,
    step: Annotated[int | None, typer.Option(min=1, help="Its step; default the last one with calls.")] = None,
    calls: Annotated[Path | None, typer.Option(metavar="FILE", help="Calls as JSON, or an assistant message.")] = None,
    tools: Annotated[list[str] | None, typer.Option(help="The tools, as for `run`.")] = None,
    root: Annotated[Path | None, typer.Option(help="As for `run`.")] = None,
    approve: Annotated[list[str] | None, typer.Option(metavar="TOOL", help="As for `run`.")] = None,
    policy: Annotated[str | None, typer.Option(metavar="PKG.MOD:ATTR", help="As for `run`.")] = None,
    max_parallel: Annotated[int, typer.Option(min=1, help="Reads that run at the same time.")] = 8,
    max_tool_calls: Annotated[int | None, typer.Option(min=1, help="As for `run`.")] = Budget().tool_calls,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the decision table of some calls, or of a stored step: validation, policy, order. Nothing runs."""
    from traced_loop.cli.output import line_width, write_json, write_lines
    from traced_loop.cli.run_options import chosen_tools, policy_of, words_of
    from traced_loop.loop.batch_plan import Plan
    from traced_loop.rules.decision_table import named_as_asked
    from traced_loop.tool_registry import ToolRegistry
    from traced_loop.views.decision_table import decision_json, decision_lines

    if (run is None) == (calls is None):
        raise UsageError("say which calls: --calls FILE.json with the --tools, or RUN with --step")
    found: dict[str, Any] = {}
    if run is not None:
        found, table, asked = _of_run(run, step, store)
    else:
        given = chosen_tools(tools, root)
        plan = Plan(
            registry=ToolRegistry(given),
            policy=policy_of(given, words_of(approve), policy),
            budget=Budget(tool_calls=max_tool_calls),
            max_parallel=max_parallel,
        )
        table, asked = _of_file(plan, calls or Path(), are_chosen=tools is not None)
    table = named_as_asked(table, asked)  # whoever is here may see what was written
    if as_json:
        write_json({**found, **decision_json(table)})
    else:
        write_lines(decision_lines(table, width=line_width()))


def _of_run(run: str, step: int | None, store: Path | None) -> "tuple[dict[str, Any], DecisionTable, dict[str, str]]":
    """What was decided in a stored step, where that is, and the names as the model wrote them, by call id."""
    from traced_loop.read.local_store import LocalStore
    from traced_loop.read.stored_plan import asked_names, stored_table

    with LocalStore.open(store) as opened:
        run_id = opened.find(run)
        number, table = stored_table(opened.trace(run_id), step)
        return {"run_id": run_id, "step": number}, table, asked_names(opened.messages(run_id).messages)


def _of_file(plan: "Plan", calls: Path, *, are_chosen: bool) -> "tuple[DecisionTable, dict[str, str]]":
    """What would be decided about the calls of a file, and their names by call id."""
    from traced_loop.cli.output import note
    from traced_loop.tools import DEFAULT_NAMES

    proposed = calls_in(calls)
    if not are_chosen:
        note(f"decided for the tools that ship ({', '.join(DEFAULT_NAMES)}): --tools names others")
    return asyncio.run(plan.decide(proposed)), {call.id: call.name for call in proposed}


def calls_in(path: Path) -> "tuple[ToolCall, ...]":
    """The calls of a file: a list of ``{"name", "arguments"[, "id"]}``, or an assistant message.

    Raises:
        UsageError: it cannot be read, or is neither.
    """
    from traced_loop.json_shapes import as_list, as_object
    from traced_loop.rules.call_repair import repair

    try:
        value: object = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"--calls {path}: {getattr(error, 'strerror', None) or error}") from error
    listed, message = as_list(value), as_object(value) or {}
    entries = (
        as_list(message.get("tool_calls")) if listed is None else [_entry(item, n) for n, item in enumerate(listed, 1)]
    )
    made = iter(range(1, 100_000))
    repaired = repair({**message, "role": "assistant", "tool_calls": entries}, lambda: f"call{next(made):05d}")
    if not repaired.calls or repaired.malformed:
        raise UsageError(f'--calls {path}: write [{{"name": ..., "arguments": {{...}}}}], or a message with tool_calls')
    return repaired.calls


def _entry(item: object, place: int) -> object:
    """One call of a list, in the form of a message; arguments may be an object or its text."""
    from traced_loop.json_shapes import as_object

    call = as_object(item)
    if call is None or "function" in call:
        return item
    arguments = call.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps({} if arguments is None else arguments)
    return {"id": call.get("id") or f"call_{place}", "function": {"name": call.get("name"), "arguments": text}}
