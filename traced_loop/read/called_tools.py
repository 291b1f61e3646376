"""Which tools the model of a run asked for, from the bytes of its span file, without making spans of them.

The index does not have them: a run would write more at its end, and older stores would lack it. Our own lines say it
in one way, and in a text of JSON no quotation mark stands alone, so that nothing that a tool gave can look like it.
"""

import json
import re
from pathlib import Path
from typing import Final

from traced_loop import names

_TOOL: Final = re.compile(
    rb'"%s"\s*,\s*"value"\s*:\s*\{\s*"stringValue"\s*:\s*("(?:[^"\\]|\\.)*")' % re.escape(names.CALL_TOOL).encode()
)


def called_tools(path: Path) -> frozenset[str]:
    """The registered names, ``_unknown`` for any other; none of a file that is missing or cannot be read."""
    try:
        content = path.read_bytes()
    except (OSError, ValueError):  # a run id of a damaged index may be no name of a file
        return frozenset()
    return frozenset(name for found in set(_TOOL.findall(content)) if (name := _text(found)))


def _text(quoted: bytes) -> str:
    try:
        text = json.loads(quoted)
    except ValueError:
        return ""
    return text if isinstance(text, str) else ""
