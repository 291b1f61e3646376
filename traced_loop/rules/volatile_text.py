"""What differs each time in a text and says nothing: masked, so that two texts can be compared for the rest.

Dates and times, epoch times of the years 2014 to 2036, UUIDs, hexadecimal ids of 16 characters and more, request ids,
durations, memory addresses, process ids, ephemeral ports, generated names in temporary folders.

In time proportional to the text, whatever the text: a pattern begins only where a word begins, and reads on no further
than that word or a fixed number of characters.
"""

import re
from typing import Final

from traced_loop.late_pattern import late_pattern

_BEGIN: Final = r"(?<![A-Za-z0-9])"
_END: Final = r"(?![A-Za-z0-9])"
_CLOCK: Final = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:[ ]?[AaPp]\.?[Mm]\b\.?)?"
_ZONE: Final = r"(?:[ ]?(?:Z|UTC|GMT|[A-Z]{2,3}T|[+-]\d\d:?\d\d)(?![A-Za-z0-9]))?"
_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_WEEKDAY: Final = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? )?"
_UNIT: Final = (
    r"(?:ns|[uµμ]s|ms|msecs?|(?:milli|micro|nano)seconds?|s|secs?|seconds?|mins?|minutes?|hrs?|hours?)(?![A-Za-z0-9])"
)
_IS: Final = r"\\?[\"']?(?: ?[:=] ?| )\\?[\"']?"
"""Between a name and its value, in prose, in assignments and in JSON, escaped or not."""

_EPHEMERAL: Final = r"(?:3[2-9]|[45]\d|6[0-5])\d{3}(?![A-Za-z0-9])"
"""A port from 32,000 on: chosen anew for each connection, as against those of servers."""
_PLAIN: Final = r"\d{1,9}(?:[^-/.:A-Za-z0-9 µμ]|[ ](?![nuµμmshAaPp])|\Z)"
"""Most numbers: no form begins with one, which is told here once instead of by each."""
_VALUE: Final = late_pattern(
    rf"""[^A-Za-z0-9](?:
        (?=[0-9])(?!{_PLAIN})(?:
            (?P<time>
                (?:19|20)\d\d(?P<dash>[-/])(?:0[1-9]|1[0-2])(?P=dash)[0-3]\d(?:[T_ ]{_CLOCK}{_ZONE})?{_END}
                |(?:19|20)\d\d[01]\d[0-3]\dT\d{{4,6}}(?:\.\d{{1,9}})?Z?{_END}
                |[0-3]?\d(?P<dot>[./])[0-3]?\d(?P=dot)(?:19|20)\d\d(?:,?\ {_CLOCK}{_ZONE})?(?![A-Za-z0-9./])
                |(?<!:)\d{{1,2}}:[0-5]\d(?::[0-5]\d(?:[.,]\d{{1,9}})?(?:\ ?[AaPp][Mm]\b)?{_ZONE}(?![A-Za-z0-9:])
                    |\ ?[AaPp]\.?[Mm]{_END})
                |(?:1[4-9]|20)\d{{8}}(?:\d{{3}}|\d{{6}}|\d{{9}})?(?:\.\d{{1,9}})?(?![A-Za-z0-9_])
            )
            |(?P<duration>
                \d{{1,15}}(?:\.\d{{1,15}})?(?:e-?\d{{1,3}})?\ ?{_UNIT}
                |(?:\d{{1,6}}\ ?(?:hours?|hrs?|h|minutes?|mins?|m),?\ ?){{1,2}}\d{{1,9}}(?:\.\d{{1,9}})?\ ?{_UNIT}
                |\d{{1,6}}h\ ?\d{{1,2}}m{_END}
            )
            |(?P<address>0x(?:[0-9a-fA-F]{{9,16}}|(?<=\bat\ 0x)[0-9a-fA-F]{{4,16}}){_END})
        )
        |(?P<id>
            (?=[0-9a-fA-F]{{8}})(?:
                [0-9a-fA-F]{{8}}-[0-9a-fA-F]{{4}}-[0-9a-fA-F]{{4}}-[0-9a-fA-F]{{4}}-[0-9a-fA-F]{{12}}{_END}
                |(?=[0-9]*+[a-fA-F])(?=[a-fA-F]*+[0-9])[0-9a-fA-F]{{16,}}+{_END}
            )
            |(?=[0-9]*+[A-Z])[0-7][0-9A-HJKMNP-TV-Z]{{25}}{_END}
        )
    )""",
    re.ASCII | re.VERBOSE,
)
"""What is known by its form, with the character before it: a set of characters is what the engine finds fastest."""

_VALUE_BEGINS: Final = late_pattern(
    rf"[^A-Za-z0-9](?:(?=[0-9])(?!{_PLAIN})|(?=[0-9a-fA-F]{{8}})|(?=[0-7][0-9A-Z]{{25}}))", re.ASCII
)
"""Where one of these forms can begin. Most texts have no such place, and the whole takes 3 ms to compile."""

_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DATE: Final = late_pattern(
    rf"[^A-Za-z0-9](?=[0-9A-Z]){_WEEKDAY}(?:"
    rf"\d{{1,2}}[-/ ]{_MONTH}[-/ ]\d{{2,4}}(?:[: ]{_CLOCK}{_ZONE})?"
    rf"|{_MONTH} \d{{1,2}},? (?:{_CLOCK}{_ZONE}(?: \d{{4}})?|\d{{4}}(?: {_CLOCK}{_ZONE})?)){_END}",
    re.ASCII,
)
_DIGIT: Final = late_pattern("[0-9]")
_ID_NAMES: Final = tuple(
    f"{name}{separator}id"
    for name in ("request", "req", "trace", "span", "correlation", "invocation")
    for separator in ("_", "-", " ", "")
)
_SHAPES: Final[tuple[tuple[tuple[str, ...], str, int, str], ...]] = (
    # Words of which one must be there (lower case), pattern, what stands for it. The first test is far cheaper.
    (
        ("elapsed", "duration", "latency", "took", "runtime", "response_time", "response time", "wall_time"),
        rf"((?:elapsed|duration|latency|took|runtime|(?:response|wall)[_ ]time)"
        rf"(?:[-_ ]?(?:time|secs?|seconds|millis|s|ms|us|ns))?{_IS})"
        rf"\d{{1,15}}(?:\.\d{{1,15}})?(?:e-?\d{{1,3}})?(?: ?{_UNIT}|{_END})",
        re.I,
        r"\1<duration>",
    ),
    (
        _ID_NAMES,
        rf"((?<![A-Za-z])(?:request|req|trace|span|correlation|invocation)[-_ ]?id{_IS})"
        r"(?:(?<=[:=\"' \\][\"' ])|(?<=[:=])|(?=[\w-]{0,127}\d))(?!<)[A-Za-z0-9][\w.:/+-]{0,127}",
        re.I,
        r"\1<id>",
    ),
    (
        ("trace ", "trace: ", "request ", "request: ", "incident ", "correlation "),
        r"((?<![A-Za-z])(?:trace|request|incident|correlation)(?::? |=)#?)(?=[a-f]{0,32}\d)[0-9a-f]{8,64}(?![\w.-])",
        re.I,
        r"\1<id>",
    ),
    (
        ("req_", "req-", "resp_", "chatcmpl-", "msg_"),
        rf"{_BEGIN}((?:req|resp|chatcmpl|msg)[-_])(?=[A-Za-z]*+\d)[A-Za-z0-9]{{8,}}+",
        0,
        r"\1<id>",
    ),
    (("pid",), rf"((?<![A-Za-z])p?pid{_IS})\d{{1,10}}{_END}", re.I, r"\1<pid>"),
    (
        ("process", "thread"),
        rf"([^A-Za-z][PpTt](?:rocess|hread)(?:[-_ ]id)?{_IS})\d{{3,15}}{_END}",
        0,
        r"\1<pid>",
    ),
    (("]:",), r"(\[(?<=[A-Za-z0-9_-]\[))\d{3,7}(?=\]:)", 0, r"\1<pid>"),
    (("port",), rf"(port(?<![A-Za-z]port){_IS}){_EPHEMERAL}", 0, r"\1<port>"),
    (
        ("localhost", "127.0.0.1", "0.0.0.0", "::1"),  # noqa: S104 - a text to be found, not an address
        rf"((?:localhost|127\.0\.0\.1|0\.0\.0\.0|::1\]?)(?::|', )){_EPHEMERAL}",
        0,
        r"\1<port>",
    ),
    (("@",), r"@(?<=[A-Za-z0-9_\]]@)(?=[a-f]{0,15}[0-9])[0-9a-f]{5,16}(?![\w.@-])", 0, "@<address>"),
    (
        ("/tmp", "/t/", "\\temp"),  # noqa: S108 - a text to be found, not a file
        r"((?:/tmp|/var/folders/[^/ ]{1,64}/[^/ ]{1,64}/T|\\Temp)[/\\]{1,2})"
        r"(?:tmp[a-z0-9_]{8}(?![A-Za-z0-9])|tmp\.[A-Za-z0-9]{6,12}|pytest-of-[^/ ]{1,64}/pytest-\d{1,9}"
        r"|[A-Za-z_-]{0,24}[-_.](?=[A-Za-z]{0,32}\d)[A-Za-z0-9]{6,32}|(?=[a-f]{0,32}\d)[0-9a-f]{8,64})",
        re.I,
        r"\1<temporary>",
    ),
)
_NAMED: Final = tuple(
    (words, late_pattern(pattern, re.ASCII | flags), shown) for words, pattern, flags, shown in _SHAPES
)
"""What is known by the words before it."""


def mask_volatile(text: str) -> str:
    """The text with white space collapsed and everything volatile as ``<time>``, ``<id>``, ``<duration>`` and so on."""
    text = " ".join(text.split())
    if not _DIGIT.search(text):
        return text  # all of it holds digits, but for a few ids with names
    lowered, text = text.lower(), f" {text}"
    for words, pattern, shown in _NAMED:
        for word in words:
            if word in lowered:
                text = pattern.sub(shown, text)
                break
    if any(month in text for month in _MONTHS):
        text = _DATE.sub(_dated, text)
    if _VALUE_BEGINS.search(text) is None:
        return text[1:]
    return _VALUE.sub(_word, text)[1:]


def _dated(found: re.Match[str]) -> str:
    return f"{found[0][0]}<time>"


def _word(found: re.Match[str]) -> str:
    return f"{found[0][0]}<{found.lastgroup}>"
