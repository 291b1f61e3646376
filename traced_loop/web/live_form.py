"""The form of a run with a real model: what was written into it, read field by field, and nothing of it lost."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from traced_loop.errors import UsageError
from traced_loop.frozen_value import frozen_value
from traced_loop.rules.budget import Budget
from traced_loop.tool_definition import ToolDefinition
from traced_loop.tool_registry import Tool, definition_of
from traced_loop.tools import DEFAULT_NAMES, shipped
from traced_loop.web.live_choices import LiveChoices
from traced_loop.web.provider_choices import ProviderChoice

MAX_PROMPT: Final = 16_000
"""Characters."""
MAX_MODEL: Final = 200
TOOL: Final = "tool."
"""Before a tool's name in the name of its checkbox."""
_NUMBERS: Final[Mapping[str, type]] = {"steps": int, "tokens": int, "seconds": float, "cost": Decimal}
_FIELDS: Final = ("prompt", "provider", "model", "stream", *_NUMBERS)


@frozen_value
class Wrong:
    """What is wrong with a field: the key of the words for it, or a sentence in English."""

    key: str = ""
    said: str = ""


@frozen_value
class LiveForm:
    """What is asked for, as far as it can be read.

    Attributes:
        written: the fields as they were written, without the key.
        wrong: by field, what is wrong with it; empty where all is right.
        prompt: what to ask.
        provider: where; None where it is none of the list.
        model: its name.
        tools: that the model may call.
        budget: the limits.
        stream: whether the answer is asked for in pieces.
    """

    written: Mapping[str, str]
    wrong: Mapping[str, Wrong]
    prompt: str
    provider: ProviderChoice | None
    model: str
    tools: tuple[Tool, ...]
    budget: Budget
    stream: bool

    @property
    def tool_definitions(self) -> tuple[ToolDefinition, ...]:
        """Of its tools."""
        return definitions(self.tools)


def definitions(tools: Iterable[Tool]) -> tuple[ToolDefinition, ...]:
    """What is known of tools."""
    return tuple(definition_of(each) for each in tools)


def offered_tools(offered: LiveChoices) -> tuple[Tool, ...]:
    """The reads that ship, then those that were named at the start; of two of one name the latter."""
    reads = {name: each for name, each in shipped().items() if definition_of(each).effect == "read"}
    return tuple({**reads, **{definition_of(each).name: each for each in offered.tools}}.values())


def first_fields(offered: LiveChoices, providers: Sequence[ProviderChoice], model: str) -> dict[str, str]:
    """What the form holds before anybody wrote into it."""
    budget, named = offered.budget, {definition_of(each).name for each in offered.tools}
    limits = {"steps": budget.steps, "tokens": budget.tokens, "seconds": budget.seconds, "cost": budget.cost_usd}
    chosen = [name for each in offered_tools(offered) if (name := definition_of(each).name) in {*DEFAULT_NAMES, *named}]
    return {
        "prompt": "",
        "provider": providers[0].name,
        "model": offered.model or model,
        **{
            name: "" if limit is None else f"{limit:g}" if name == "seconds" else str(limit)
            for name, limit in limits.items()
        },
        **{f"{TOOL}{name}": "on" for name in chosen},
    }


def every_field(fields: Mapping[str, str], tools: Iterable[ToolDefinition]) -> dict[str, str]:
    """All fields of the form, ``""`` for those that nobody wrote into."""
    return {**dict.fromkeys([*_FIELDS, *(f"{TOOL}{each.name}" for each in tools)], ""), **fields}


def read_form(fields: Mapping[str, str], offered: LiveChoices, providers: Sequence[ProviderChoice]) -> LiveForm:
    """Read it; whatever is wrong with it is in the result."""
    tools = offered_tools(offered)
    # Browsers end the lines of a form with two characters.
    written = {name: fields[name].replace("\r\n", "\n") for name in _FIELDS if name in fields}
    chosen = tuple(each for each in tools if fields.get(f"{TOOL}{definition_of(each).name}"))
    written |= {f"{TOOL}{definition_of(each).name}": "on" for each in chosen}
    prompt, model = written.get("prompt", "").strip(), written.get("model", "").strip()
    provider = next((each for each in providers if each.name == fields.get("provider")), None)
    wrong = {
        **_wrong_text("prompt", prompt, MAX_PROMPT),
        **_wrong_text("model", model, MAX_MODEL),
        **({"provider": Wrong(key="provider")} if provider is None else {}),
    }
    budget, wrong_numbers = _budget(written, offered.budget)
    return LiveForm(
        written=written,
        wrong={**wrong, **wrong_numbers},
        prompt=prompt,
        provider=provider,
        model=model,
        tools=chosen,
        budget=budget,
        stream=bool(fields.get("stream")),
    )


def _wrong_text(name: str, text: str, most: int) -> dict[str, Wrong]:
    if not text:
        return {name: Wrong(key=f"no_{name}")}
    return {name: Wrong(key="too_long")} if len(text) > most else {}


def _budget(written: Mapping[str, str], given: Budget) -> tuple[Budget, dict[str, Wrong]]:
    """The limits: an empty field is the start's own, an empty cost no limit; what is no limit is told by field."""
    wrong: dict[str, Wrong] = {}
    budget = given if "cost" not in written else replace(given, cost_usd=None)
    for name, kind in _NUMBERS.items():
        text = written.get(name, "").strip()
        if not text:
            continue
        limit = "cost_usd" if name == "cost" else name
        try:
            value: Any = kind(text)
            budget = replace(budget, **{limit: value})
        except (ValueError, ArithmeticError):
            wrong[name] = Wrong(key="number")
        except UsageError as error:
            wrong[name] = Wrong(said=error.typed)
    return budget, wrong
