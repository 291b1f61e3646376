"""Regular expressions that are compiled when a text is first held against them: in one process few of them ever are."""

import re
from typing import Any, cast


class _LatePattern:
    """Stands for a pattern. What is asked of it is kept as its own attribute, so it is as fast as the pattern itself.

    Safe in threads: two that come first at once compile the same.
    """

    def __init__(self, pattern: str, flags: int) -> None:
        self.source = pattern, flags

    def __getattr__(self, name: str) -> Any:
        if name == "source" or name.startswith("__"):  # copy and pickle ask an object that has nothing yet
            raise AttributeError(name)
        value = re.compile(*self.source) if name == "compiled" else getattr(self.compiled, name)
        setattr(self, name, value)
        return value


def late_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """The pattern, compiled when it is first used; one that is no regular expression raises ``re.error`` only then.

    It has the attributes and methods of ``re.Pattern``, but is none: the functions of ``re`` do not take it.
    """
    return cast("re.Pattern[str]", _LatePattern(pattern, flags))
