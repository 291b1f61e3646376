"""What the options of ``traced-loop run`` mean; what is wrong with one is said in the option's own words."""

import importlib
import os
import sys
import traceback
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast, get_args

from traced_loop.errors import UsageError
from traced_loop.rules.budget import Budget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from traced_loop.cli.loop_options import LoopOptions
    from traced_loop.closed_words import OnToolError
    from traced_loop.loop.policy import Approver, Policy
    from traced_loop.rules.repetition_rules import RepetitionRules
    from traced_loop.telemetry.content.capture import ContentCapture
    from traced_loop.tool_registry import Tool

Number = TypeVar("Number", int, float, Decimal)

NO_TOOLS: Final = "none"
"""The word of ``--tools`` that means no tools; so does an empty text."""

MAX_LIMIT: Final = 10**12
"""Above it no limit means anything."""

_WANTED_OF_LIMITS: Final[Mapping[str, tuple[str, str]]] = {
    "steps": ("a whole number", "5"),
    "tool_calls": ("a whole number", "10"),
    "seconds": ("a number of seconds", "60"),
    "tokens": ("a whole number", "20000"),
    "cost_usd": ("an amount in USD", "0.5"),
}
"""What can be added to each limit, and an example."""


def chosen_tools(given: list[str] | None, root: Path | None) -> "list[Tool]":
    """The tools by their names or import paths, as ``--tools`` was given; None for the default ones.

    Raises:
        UsageError: a name that is none, an import that fails, ``read_text_file`` without ``--root``, ``none`` beside
            a tool.
    """
    from traced_loop.tools import DEFAULT_NAMES, read_text_file, shipped

    found: list[Tool] = []
    chosen = list(DEFAULT_NAMES) if given is None else words_of(given)
    if NO_TOOLS in chosen:
        if set(chosen) != {NO_TOOLS}:
            raise UsageError(f"--tools {','.join(chosen)}: {NO_TOOLS} means no tools, and stands alone")
        return found
    for word in chosen:
        if word == "read_text_file":
            if root is None:
                raise UsageError("read_text_file needs the folder that it may read: add --root DIR")
            found.append(read_text_file(root))
        elif ":" in word:
            found.extend(_imported(word))
        elif word in shipped():
            found.append(shipped()[word])
        else:
            known = ", ".join([*shipped(), "read_text_file"])
            raise UsageError(f"no tool {word!r}: known are {known}, your own as pkg.mod:attr, or {NO_TOOLS}")
    return found


def policy_of(
    tools: "Sequence[Tool]", approved: list[str], path: str | None = None, confirm: "Approver | None" = None
) -> "Policy":
    """The policy of a command: the application's own first, then what was approved by name, then somebody is asked.

    Args:
        tools: the chosen tools.
        approved: names; what the application's policy denies or asks about is not for the command line to allow.
        path: ``pkg.mod:attr`` of a policy, or None.
        confirm: who is asked where that policy names nobody.

    Raises:
        UsageError: a name that no chosen tool has, or what is no policy.
    """
    from traced_loop.loop.policy import Policy
    from traced_loop.loop.policy_rules import allow_when
    from traced_loop.tool_registry import ToolRegistry

    registry = ToolRegistry(tools)
    for name in approved:
        if name not in registry:
            known = ", ".join(definition.name for definition in registry.values())
            raise UsageError(f"--approve {name}: no tool of this run; its tools: {known}")
    own = Policy() if path is None else _found("--policy", path)
    if not isinstance(own, Policy):
        raise UsageError(f"--policy {path}: it is a {type(own).__name__}, not a Policy(rules=[...], allow=[...])")
    for where, named in own.named_tools.items():
        registry.check_registered(where, named, of=f"--policy {path}")
    rules = [allow_when(approved, name="approved_on_command_line")] if approved else []
    return replace(own, rules=[*own.rules, *rules], confirm=own.confirm or confirm)


def budget_of(given: "LoopOptions") -> Budget:
    """The limits of a command; ``--warn-at`` is 0 for no warnings.

    Raises:
        UsageError: a number that makes no sense.
    """
    cost, warn_at = given.max_cost, given.warn_at
    if warn_at is not None and not 0 <= warn_at <= 1:
        raise UsageError(f"--warn-at {warn_at}: must be a part of a limit, above 0 and at most 1, or 0 for never")
    return Budget(
        tool_seconds=limit_of("--tool-seconds", given.tool_seconds) or given.tool_seconds,
        steps=limit_of("--max-steps", given.max_steps),
        tool_calls=limit_of("--max-tool-calls", given.max_tool_calls),
        tokens=limit_of("--max-tokens", given.max_tokens),
        seconds=limit_of("--max-seconds", given.max_seconds),
        cost_usd=limit_of("--max-cost", None if cost is None else amount_of("--max-cost", cost)),
        warn_at=warn_at or None,
        last_request=given.last_request,
    )


def added_of(given: list[str] | None) -> dict[str, float]:
    """What ``--add`` adds to limits: ``steps=5,tokens=10000``.

    Raises:
        UsageError: no such limit, or no number.
    """
    from traced_loop.rules.budget import LIMITS

    found: dict[str, float] = {}
    for word in words_of(given):
        name, _, text = word.partition("=")
        if name not in LIMITS or not text:
            raise UsageError(f"--add {word}: write LIMIT=N, as steps=5; the limits are {', '.join(LIMITS)}")
        wanted, example = _WANTED_OF_LIMITS[name]
        number = _number(text)
        whole = name in {"steps", "tool_calls", "tokens"}
        if number is None or (whole and number != int(number)):
            raise UsageError(f"--add {word}: {name} wants {wanted}, as --add {name}={example}")
        limit_of(f"--add {name}", number)
        found[name] = int(number) if whole else float(number)
    return found


def words_of(given: list[str] | None) -> Any:
    """The words of a repeated option, each of which may hold several, with commas or spaces between them."""
    return [word for item in given or () for word in item.replace(",", " ").split()]


def check_texts(**given: str | None) -> None:
    """Refuse an empty prompt, and bytes on the command line that no server takes.

    Raises:
        UsageError: names the text.
    """
    for name, text in given.items():
        if text is not None and any("\ud800" <= character <= "\udfff" for character in text):
            raise UsageError(f"the {name} is not valid UTF-8")
    if not (given["prompt"] or "").strip():
        raise UsageError("the prompt is empty: write what to ask")


def limit_of(option: str, value: Number | None) -> Number | None:
    """The limit, if it is one; None is none.

    Raises:
        UsageError: not above 0, not finite, or too large to mean anything.
    """
    if value is None:
        return None
    if not value > 0:
        raise UsageError(f"{option} {value}: must be more than 0")
    if not value <= MAX_LIMIT:
        raise UsageError(f"{option} {value}: must be at most {MAX_LIMIT:,}")
    return value


def amount_of(option: str, given: str) -> Decimal:
    """An exact amount in USD.

    Raises:
        UsageError: not a number.
    """
    amount = _number(given)
    if amount is None:
        raise UsageError(f"{option} {given}: not an amount in USD, as {option} 0.5")
    return amount


def _number(given: str) -> Decimal | None:
    """The number that is written, exactly; None for none, and for one that is not finite."""
    try:
        number = Decimal(given.strip())
    except ArithmeticError:
        return None
    return number if number.is_finite() else None


def repetition_of(given: str) -> "RepetitionRules":
    """What is done about a run that repeats itself.

    Raises:
        UsageError: none of the words.
    """
    from traced_loop.closed_words import RepetitionReaction
    from traced_loop.rules.repetition_rules import RepetitionRules

    words = get_args(RepetitionReaction)
    if given not in words:
        raise UsageError(f"--repetition {given}: write one of {', '.join(reversed(words))}")
    return RepetitionRules(reaction=cast("RepetitionReaction", given))


def on_tool_error_of(given: str) -> "OnToolError":
    """What a tool that fails does to the run.

    Raises:
        UsageError: none of the words.
    """
    from traced_loop.closed_words import OnToolError

    if given not in get_args(OnToolError):
        raise UsageError(f"--on-tool-error {given}: write one of {', '.join(get_args(OnToolError))}")
    return cast("OnToolError", given)


def otlp_of(given: str | None) -> str | None:
    """The address of a collector.

    Raises:
        UsageError: it cannot be used.
    """
    from traced_loop.export.otlp_endpoint import resolve

    if given is not None:
        resolve(os.environ, given, "--otlp")
    return given


def send_metrics(given: str | None) -> None:
    """Let metrics go where the option says, as if the standard variable said so; None leaves that as it is.

    Raises:
        UsageError: none of the words, or an address beside it that cannot be used.
    """
    from traced_loop.export.metrics_endpoint import EXPORTER_VARIABLE, metrics_targets

    if given is None:
        return
    try:
        metrics_targets({**os.environ, EXPORTER_VARIABLE: given})
    except UsageError as error:
        raise UsageError(str(error).replace(f"{EXPORTER_VARIABLE}=", "--metrics ")) from error
    os.environ[EXPORTER_VARIABLE] = given


def content_of(given: str | None) -> "ContentCapture | None":
    """What goes into telemetry of what is said.

    Raises:
        UsageError: none of the words.
    """
    from traced_loop.telemetry.content.capture import SHORTHANDS

    if given is not None and given not in SHORTHANDS:
        raise UsageError(f"--content {given}: write one of {', '.join(SHORTHANDS)}")
    return None if given is None else SHORTHANDS[given]


def _imported(path: str) -> "list[Tool]":
    from traced_loop.tool_registry import definition_of

    found = _found("--tools", path)
    candidates: list[Any] = list(cast("list[Any]", found)) if isinstance(found, (list, tuple)) else [found]
    try:
        for candidate in candidates:
            definition_of(candidate)
    except UsageError as error:
        raise UsageError(f"--tools {path}: {error}") from error
    return candidates


def _found(option: str, path: str) -> Any:
    """What ``pkg.mod:attr`` names, also in the folder that one is in."""
    module_name, _, attribute = path.partition(":")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return getattr(importlib.import_module(module_name), attribute)
    except (Exception, SystemExit) as error:
        raise UsageError(f"{option} {path}: {_why(error)}") from error


def _why(error: BaseException) -> str:
    """What an import raised, on one line, and where in the user's own file."""
    from traced_loop.views.visible import visible

    own = (__file__, importlib.__file__)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename not in own and "<" not in f.filename]
    kind = "" if isinstance(error, (ImportError, AttributeError)) else f"{type(error).__name__}: "
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{kind}{visible(str(error))}{where}"
