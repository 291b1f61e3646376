"""Which tools the model of a run asked for, from the bytes of its span files, without making spans of them.

The index does not have them: a run would write more at its end, and older stores would lack it. Our own lines say it
in one way, and in a text of JSON no quotation mark stands alone, so that nothing that a tool gave can look like it.
"""

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from traced_loop import names
from traced_loop.records.private_files import open_regular

_TOOL: Final = re.compile(
    rb'"%s"\s*,\s*"value"\s*:\s*\{\s*"stringValue"\s*:\s*("(?:[^"\\]|\\.)*")' % re.escape(names.CALL_TOOL).encode()
)


def called_tools(files: Iterable[Path]) -> frozenset[str]:
    """The registered names, ``_unknown`` for any other; none of a file that is missing or cannot be read."""
    found: set[bytes] = set()
    for path in files:
        with suppress(OSError), open_regular(path) as file:
            found.update(_TOOL.findall(file.read()))
    return frozenset(name for quoted in found if (name := _text(quoted)))


def _text(quoted: bytes) -> str:
    try:
        text = json.loads(quoted)
    except ValueError:
        return ""
    return text if isinstance(text, str) else ""
