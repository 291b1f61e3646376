"""What is compared of calls, results and errors whose content is in the trace: digests of their canonical forms.

The rules are those of a run of ours; the digests are not keyed, since the content stands beside them.
"""

import hashlib
import json
from typing import Final

from traced_loop.canonical_json import canonical
from traced_loop.json_shapes import as_object
from traced_loop.rules.normalised_result import NormalForm, normalised, normalised_error
from traced_loop.rules.undeclared_tools import lasting_arguments

_PERHAPS_CUT: Final = 120
"""From so many characters on, arguments that begin as JSON and are none may have been cut by a limit on attributes:
two of them can be equal in what is left."""


def arguments_identity(tool: str, arguments: str | None) -> str | None:
    """Identity of a call without what is new for each try by its name; None where its arguments are not known whole."""
    if arguments is None:
        return None
    try:
        value: object = json.loads(arguments.strip() or "{}")
        if isinstance(value, str):
            value = json.loads(value)
        fields = as_object(value)
        return digest("call", tool, canonical(value if fields is None else lasting_arguments(fields)))
    except (ValueError, RecursionError):
        may_be_cut = len(arguments) >= _PERHAPS_CUT and arguments.lstrip()[:1] in "{["
        return None if may_be_cut else digest("text", tool, arguments)


def result_form(text: str) -> NormalForm:
    """The normal form of a result."""
    return normalised(text)


def result_identity(form: NormalForm) -> str:
    """Identity of a result without times, ids and the like."""
    return digest("result", form.text)


def masked_identity(form: NormalForm) -> str | None:
    """The same without numbers; None where it has none."""
    return digest("masked", form.masked) if form.numbers else None


def error_identity(error_type: str | None, text: str | None) -> str | None:
    """Identity of an error without numbers and quotes; None where nothing is said of it."""
    if not error_type and not text:
        return None
    return digest("error", error_type or "", normalised_error(text or "")[1])


def digest(*parts: str) -> str:
    """32 hexadecimal digits of some texts, equal for equal ones."""
    text = "\0".join(parts).encode(errors="surrogatepass")
    return hashlib.blake2b(text, digest_size=16).hexdigest()
