"""Whether a result is an error that a tool tells instead of raising it, and whether the same call can work later.

Many tools, those of other programs above all, answer ``Error: ...`` or ``{"error": ...}``. Structure decides before
words: an exit code or a flag of the tool, where there is one. Words count at the beginning of the text only.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final, cast

from traced_loop.closed_words import Emptiness, ErrorClass
from traced_loop.json_shapes import as_object
from traced_loop.late_pattern import late_pattern

MAX_LOOKED_AT: Final = 2_000
"""Characters of the head, and again of the tail, in which words are looked for."""
_MAX_JSON: Final = 65_536
"""A longer JSON text is data."""

_EXIT_CODE: Final = late_pattern(
    r"(?:<(?:returncode|exit_code)>"
    r"|\b(?:exit(?:ed)?(?: with)?[ _-]?(?:code|status)|return[ _-]?code)(?: is|:| =)? ?)(-?\d{1,3})\b",
    re.I,
)
_BEGINS: Final = late_pattern(
    r"""(?:
        (?:\[?(?:error|exception|fatal|failure)\b\]?)(?P<rest>)
        |(?:failed\ (?:to|with)\b|failed:|invalid\b|malformed\b|illegal\b)(?P<brief>)
        |(?:unknown|no\ such|unsupported)\ (?:tool|function|command|action|method)\b
        |traceback\ \(most\ recent\ call\ last\)
        |(?:[a-z_]\w{0,63}\.){0,8}[A-Za-z_]\w{0,63}(?:Error|Exception)\b\s?[:(]
        |(?:/\w{1,32}){0,4}/?(?:ba|z|da|k)?sh:\ [^\n]{1,300}:\ [^\n]
        |[\w./-]{1,64}:\ [^\n]{1,300}:\ (?:no\ such\ file\ or\ directory|permission\ denied|is\ a\ directory
            |not\ a\ directory|command\ not\ found)\b
    )""",
    re.I | re.X,
)
_PASSING_BEGINS: Final = late_pattern(
    r"(?:http(?:/[\d.]+)? ?)?(?:429|50[234])\b|(?:the )?(?:request|connection|operation|call|tool) timed out|timed out"
    r"|timeout\b|rate limit|too many requests|service (?:temporarily |is )?unavailable|bad gateway|gateway timeout"
    r"|connection (?:reset|refused|aborted|error|closed)|temporar(?:y|ily) ",
    re.I,
)
_PASSING: Final = late_pattern(
    r"\b(?:429|50[234])\b(?! ?(?:bytes|lines|rows|items|[kmg]b))|rate.?limit|too many requests|\btimed out\b"
    r"|\btimeout(?:error| error| exceeded| after| expired| while)|\btimeout$|temporary (?:failure|error)"
    r"|temporarily|service unavailable|bad gateway|connection (?:reset|refused|aborted|error|closed)|overloaded"
    r"|(?:try|retry) again (?:later|in )",
    re.I,
)
_EMPTY: Final[Mapping[str, Emptiness]] = {
    **dict.fromkeys(("", '""', "null", "None"), "silent"),
    **dict.fromkeys(("[]", "{}", '"[]"', '"{}"'), "nothing"),
}
_BRIEF: Final = 300
"""A text that begins with an error's word is an error where it is short, or where that line has a colon."""
_PASSING_BRIEF: Final = late_pattern(
    r"(?:try|retry) again (?:later|in \d)|temporarily (?:unavailable|overloaded|busy|down)|retry[- ]after\b"
    r"|(?:server|service|system|resource|backend) (?:is )?(?:currently )?(?:busy|overloaded|unavailable)",
    re.I,
)
"""In a text of less than ``_BRIEF`` characters, wherever it stands."""
_EXIT_FIELDS: Final = ("exit_code", "exitCode", "exitcode", "returncode", "return_code")
_FIELDS: Final = late_pattern(
    r'"(?:error|status(?:_?[cC]ode)?|http_status|success|ok|isError|is_error|exit_?[cC]ode|return_?code)"'
)
"""Without one of these a JSON object tells of no error, and need not be read."""
_STATUS_FIELDS: Final = ("status_code", "statusCode", "code", "http_status")
_SAID_STATUS: Final = ("status_code", "statusCode", "http_status", "status")
_FAILED_STATUS: Final = range(400, 600)
_PASSING_STATUS: Final = (408, 429, 502, 503, 504)
_FLAGS: Final = ("retryable", "retriable", "transient")


def said_error(text: str) -> ErrorClass | None:
    """The class of the error that a result tells of, given as JSON text or plain text; None where it tells of none."""
    plain = _unquoted(text)
    if plain[:1] != "{":
        return _said_in(plain)
    if len(plain) > _MAX_JSON or not _FIELDS.search(plain):
        return None
    value: Any = _parsed(plain)
    return _said_by(cast("dict[str, Any]", value)) if isinstance(value, dict) else _said_in(plain)


def error_text_class(text: str) -> ErrorClass:
    """The class of a text that is known to be an error's."""
    return "transient" if _PASSING.search(text[:MAX_LOOKED_AT]) else "deterministic"


def _unquoted(text: str) -> str:
    """Of a JSON string its text, which is how a tool's text is recorded; of a long one only the quotes come off."""
    if text[:1] != '"':
        return text.strip()
    value: Any = _parsed(text) if len(text) <= _MAX_JSON else text[1:-1]
    return value.strip() if isinstance(value, str) else text


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _said_by(value: Mapping[str, Any]) -> ErrorClass | None:
    """By a JSON object's own fields."""
    words = " ".join(str(value[key]) for key in ("error", "message", "stderr", "type") if value.get(key))
    for key in _EXIT_FIELDS:
        code = value.get(key)
        if isinstance(code, int) and not isinstance(code, bool):
            said = words or str(value.get("output") or value.get("stdout") or "")
            return error_text_class(said) if code != 0 and said.strip() else None
    status = next((value[key] for key in _SAID_STATUS if isinstance(value.get(key), int)), 0)
    failed = (
        status in _FAILED_STATUS
        or value.get("error") not in (None, False, "", 0, [], {})
        or value.get("status") in ("error", "Error", "ERROR")
        or value.get("success") is False
        or value.get("ok") is False
        or value.get("isError") is True
        or value.get("is_error") is True
    )
    if not failed:
        return None
    both = [value, as_object(value.get("error")) or {}]
    flags = [fields[key] for fields in both for key in _FLAGS if isinstance(fields.get(key), bool)]
    if flags:
        return "transient" if flags[0] else "deterministic"
    statuses = [status, *(fields.get(key) for fields in both for key in _STATUS_FIELDS)]
    return "transient" if any(each in _PASSING_STATUS for each in statuses) else error_text_class(words)


def _said_in(text: str) -> ErrorClass | None:
    """By a plain text's exit code, or by how it begins."""
    stripped = text.strip()
    head, tail = stripped[:MAX_LOOKED_AT], stripped[-200:]
    code = _EXIT_CODE.search(head[:200]) or _EXIT_CODE.search(tail)
    if code is not None and len(stripped) > len(code[0]):
        if int(code[1]) == 0:
            return None
        rest = stripped.replace(code[0], "")
        return error_text_class(rest) if re.search(r"[A-Za-z]", re.sub(r"<[^>]{0,40}>", "", rest)) else None
    if len(stripped) < _BRIEF and (_PASSING_BEGINS.match(head) or _PASSING_BRIEF.search(head)):
        return "transient"
    found = _BEGINS.match(head)
    if found is None or not _reads_as_error(stripped, found):
        return None
    return error_text_class(head[:_BRIEF])


def _reads_as_error(text: str, found: re.Match[str]) -> bool:
    if found["rest"] is None and found["brief"] is None:
        return True
    return len(text) < _BRIEF or ":" in text[:80].partition("\n")[0]


def emptiness(text: str) -> Emptiness | None:
    """In which way a result holds nothing, given as JSON text or plain text; None where it holds something."""
    return _EMPTY.get(text.strip()) if len(text) < 64 else None
