"""Templates of the page. Every value that one of them shows is made visible and escaped here, whoever wrote it."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Undefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from traced_loop import amount_text
from traced_loop.views.visible import visible
from traced_loop.web.word_marks import outcome_mark, stop_mark

FOLDER: Final = Path(__file__).parent / "templates"
_KEPT: Final = re.compile(r"[\n\t]")
"""What breaks a text into lines and columns on a page, too, where its style says so."""
_WORD: Final = re.compile(r"[^._]*[._]+|[^._]+")


def shown(text: str) -> str:
    r"""A text with its unsafe characters (controls, bidi marks, what shows as nothing) as ``\x1b``; line ends stay."""
    if text.isprintable() and text.isascii():
        return text
    parts = re.split(r"([\n\t])", text)
    return "".join(part if _KEPT.fullmatch(part) else visible(part) for part in parts)


@cache
def templates() -> Environment:
    """The environment of all templates; a name that a template uses and nobody gives is an error."""
    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown_value,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(_FILTERS)
    return made


def _shown_value(value: Any) -> Any:
    """What stands where a template has a value: never an unsafe character, and no ``None`` by accident."""
    if value is None:
        raise ValueError("a template shows None: say what unknown is called")
    if isinstance(value, (Markup, Undefined)):  # made by a template of ours; one that raises
        return value
    return shown(str(value))


def _amounts(write: Callable[[Any], str]) -> Callable[[Context, Any], str]:
    """A filter that writes an amount, and says in the page's language that one is unknown."""

    @pass_context
    def written(context: Context, value: Any) -> str:
        text = write(value)
        return str(context["t"]("page.unknown")) if text == amount_text.UNKNOWN else text

    return written


def _exact_time(time: datetime | None) -> str:
    """To a millisecond."""
    return amount_text.UNKNOWN if time is None else f"{time:%Y-%m-%d %H:%M:%S}.{time.microsecond // 1000:03} UTC"


def _words_of(name: str) -> list[str]:
    """The parts of a dotted name, each with what stands behind it: between them a line may end."""
    return _WORD.findall(name)


_FILTERS: Final[Mapping[str, Callable[..., Any]]] = {
    "amount": _amounts(amount_text.count_text),
    "cost": _amounts(amount_text.cost_text),
    "seconds": _amounts(amount_text.seconds_text),
    "nanoseconds": _amounts(amount_text.nanoseconds_text),
    "utc": _amounts(amount_text.time_text),
    "utc_exact": _amounts(_exact_time),
    "words_of": _words_of,
    "stop_mark": stop_mark,
    "outcome_mark": outcome_mark,
}
