"""The words of the page in each of its languages, from the files beside it: one file a view, one table a language."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

from traced_loop.frozen_value import frozen_value

FOLDER: Final = Path(__file__).parent / "words"
LANGUAGES: Final[Mapping[str, str]] = {"en": "English", "zh": "中文"}
"""Codes as in ``lang`` of a page, and what a reader of the language calls it. The first one is the default."""

_NUMBER: Final = re.compile(r"[01](?:\.[0-9]{0,3})?")


@frozen_value
class PageWords:
    """The words of one language.

    Attributes:
        language: its code.
        texts: by key, ``runs.empty`` for ``empty`` in the file ``runs.toml``.
    """

    language: str
    texts: Mapping[str, str]

    def __call__(self, key: str, **values: object) -> str:
        """A text with its values put in; a key that ends in ``_one`` is taken where ``count`` is 1.

        Raises:
            KeyError: there is no such text.
        """
        if values.get("count") == 1 and f"{key}_one" in self.texts:
            key = f"{key}_one"
        return self.texts[key].format_map(values)

    def known(self, key: str, otherwise: str) -> str:
        """A text that may be there, as for a word of a closed list; else what is given."""
        return self.texts.get(key, otherwise)


@cache
def page_words(language: str) -> PageWords:
    """The words of a language.

    Raises:
        KeyError: there is no such language.
    """
    texts: dict[str, str] = {}
    for path in sorted(FOLDER.glob("*.toml")):
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        texts.update(_flat(path.stem, tables[language]))
    return PageWords(language=language, texts=texts)


def _flat(prefix: str, table: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in table.items():
        name = f"{prefix}.{key}"
        found.update(_flat(name, cast("Mapping[str, Any]", value)) if isinstance(value, dict) else {name: value})
    return found


def wanted_language(chosen: str | None, accepted: str) -> str:
    """The language of a page.

    Args:
        chosen: by the reader, before; any text.
        accepted: the header ``Accept-Language``.
    """
    if chosen is not None and chosen in LANGUAGES:
        return chosen
    liked: list[tuple[float, int, str]] = []
    for place, part in enumerate(accepted.split(",")):
        code, _, weight = part.partition(";")
        liked.append((-_weight(weight), place, code.strip().lower().partition("-")[0]))
    codes = [code for weight, _, code in sorted(liked) if weight < 0 and code in LANGUAGES]
    return next(iter([*codes, *LANGUAGES]))


def _weight(parameter: str) -> float:
    name, _, number = parameter.strip().lower().partition("=")
    if name.strip() != "q":
        return 1.0
    return float(number) if _NUMBER.fullmatch(number.strip()) else 0.0
