"""Numbers of people by their shape: cards, phones, national ids.

Check digits, issuers and separators tell them from other numbers. A text is cut into runs of digit groups first, and
only these are searched; a long row of groups is a table, not a number.
Boundaries are ASCII, because a word boundary does not exist between a digit and a Chinese character.
"""

import re
from collections.abc import Callable, Collection, Iterator
from functools import cache
from typing import Final

from traced_loop.late_pattern import late_pattern
from traced_loop.redaction import check_digits
from traced_loop.redaction.check_digits import digits_of
from traced_loop.redaction.rule import Marked, Shape

_GROUP: Final = r"[0-9A-Za-z]*\d[0-9A-Za-z]*+"
_RUN: Final = late_pattern(
    rf"""(?x)
    (?: \+ | \(\+? | (?<![0-9A-Za-z]) (?:[A-Z]{{1,3}}[ ])? )
    (?: (?<=[A-Z][ ]) | (?<![0-9A-Za-z]) ) {_GROUP}
    (?: (?: \)[ ]? | [ .\-/\u00a0]\(? ) {_GROUP} (?: [ -][A-Z](?![A-Za-z0-9]) )? )*
    """
)
_MAX_GROUPS: Final = 10
_MIN_PLAIN: Final = 8
_MIN_LETTERED: Final = 4
_MAX_LABEL: Final = 24
_SEPARATORS: Final = late_pattern(r"[ .\-/()\u00a0]+")
_LETTERED: Final = frozenset({"uk_nino", "in_pan", "es_id", "it_fiscal_code", "sg_nric"})
"""Numbers with letters in them."""
_FREE: Final = r"(?<![A-Za-z0-9_])(?<![A-Za-z0-9][.\-/:=])"
"""No word, and no part of a version, a path, an id or a ratio before it."""
_AFTER: Final = r"(?![A-Za-z0-9_]|[.\-/:][A-Za-z0-9])"

_START: Final = r"(?<![A-Za-z0-9_])(?<![A-Za-z0-9][.\-/])"
_END: Final = r"(?![A-Za-z0-9_]|[.\-/][A-Za-z0-9])"

_CARD_PLAIN: Final = late_pattern(r"(?<![A-Za-z0-9_])(?<![0-9][.,:/-])(?<![#])[2-9]\d{12,18}(?![A-Za-z0-9_]|[.,:/-]\d)")
_CARD_GROUPS: Final = late_pattern(
    r"(?<![A-Za-z0-9_])(?<![0-9][ .,:/-])(?:[2-9]\d{3}([ \u00a0-])\d{4}\1\d{4}\1\d{4}(?:\1\d{1,3})?"
    r"|3\d{3}([ -])\d{6}\2\d{4,5}|6\d{5}([ -])\d{13}|6\d{3}([ -])\d{4}\4\d{4}\4\d{4}\4\d{2,3})"
    r"(?![A-Za-z0-9_]|[ .,:/-]\d)"
)
_BRANDS: Final[tuple[tuple[re.Pattern[str], tuple[int, ...]], ...]] = (
    (late_pattern(r"4"), (13, 16, 19)),
    (late_pattern(r"5[1-5]|22(?:2[1-9]|[3-9])|2[3-6]|27[01]|2720"), (16,)),
    (late_pattern(r"3[47]"), (15,)),
    (late_pattern(r"30[0-5]|3[689]"), (14, 16, 19)),
    (late_pattern(r"35(?:2[89]|[3-8])"), (16, 17, 18, 19)),
    (late_pattern(r"6011|64[4-9]|65"), (16, 17, 18, 19)),
    (late_pattern(r"62|81"), (16, 17, 18, 19)),
    (late_pattern(r"50(?:18|20|38)|5893|6304|6759|676[1-3]|6[08]|508|9792|220[0-5]"), (16, 17, 18, 19)),
)
_PHONES: Final = late_pattern(
    rf"""(?x)
    (?<![A-Za-z0-9_.+-]) (?:\+|(?<!\d[ ])\b00(?=[1-9]\d[ ]))[1-9]\d{{0,2}}
        (?:[ .\-\u00a0]?\(?\d{{1,5}}\)?){{2,6}} (?![A-Za-z0-9_]|[.-]\d) |
    (?<![A-Za-z0-9_.+-]) (?:1[ .-])?\([2-9]\d\d\)[ .-]?\d{{3}}[ .-]\d{{4}} (?![A-Za-z0-9_]|[.-]\d) |
    {_FREE} (?:1[ .-])?[2-9]\d\d([.-])[2-9]\d\d\1\d{{4}} {_AFTER} |
    {_FREE} (?<!\d\ ) (?:\(0\d{{2,4}}\)|0\d{{1,4}})[ ]\d{{3,4}}[ ]\d{{3,4}} (?![A-Za-z0-9_]|[ .,:/-]\d) |
    {_FREE} 8[ ]\(\d{{3}}\)[ ]\d{{3}}-\d\d-\d\d {_AFTER} |
    {_FREE} 0[1-9](?:[ .]\d\d){{4}} (?![A-Za-z0-9_]|[ .,:/-]\d) |
    {_FREE} 0\d{{1,4}}-\d{{1,4}}-\d{{4}} {_AFTER} |
    {_FREE} 0\d{{2,3}}-\d{{7,8}} {_AFTER}
    """
)
_CN_MOBILE: Final = late_pattern(
    rf"(?:{_FREE}|(?<=\+86)|(?<=\+86[ -])|(?<=[:=]))(?<!\d[ -])1[3-9]\d([ -]?)\d{{4}}\1\d{{4}}"
    r"(?![A-Za-z0-9_]|[.,/-]\d| \d{3})"
)
_COUNTED: Final = late_pattern(
    r"(?i)(?:\bid|[_-]id|Id|order|runs?/|seq\w*|count|size|bytes|offset|\bts|time\w*|total|number|\bno\.?|#|amount"
    r"|版本|订单|编号)[\"']?\s{0,2}[:=\uff1a号#/]{0,2}\s{0,2}[\"']?\Z"
)
_NATIONAL: Final[tuple[tuple[str, str, Callable[[str], bool] | None], ...]] = (
    (
        "us_ssn",
        r"(?<![A-Za-z0-9_])(?<![0-9][.\-/: ])(?!000|666)\d{3}([ -])(?!00)\d{2}\1(?!0000)\d{4}"
        r"(?![A-Za-z0-9_]|[.\-/: ]?\d)",
        lambda v: not v.startswith("9") or v[4] in "56789",  # an ITIN
    ),
    ("cn_id", r"(?<![A-Za-z0-9_])(?<![0-9][.\-/:])[1-9]\d{16}[0-9Xx](?![A-Za-z0-9_])", check_digits.cn_resident),
    (
        "uk_nino",
        rf"{_START}(?!BG|GB|NK|KN|TN|NT|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z](?: ?\d{{2}}){{3}} ?[A-D]{_END}",
        None,
    ),
    ("ca_sin", rf"{_START}[1-79]\d{{2}}-\d{{3}}-\d{{3}}{_END}", lambda v: check_digits.luhn(digits_of(v))),
    (
        "in_aadhaar",
        r"(?<![A-Za-z0-9_])(?<![0-9][ .,:/-])[2-9]\d{3}([ ])\d{4}\1\d{4}(?![A-Za-z0-9_]|[ .,:/-]\d)",
        lambda v: check_digits.verhoeff(digits_of(v)),
    ),
    ("in_pan", rf"{_START}[A-Z]{{3}}[ABCFGHLJPT][A-Z]\d{{4}}[A-Z]{_END}", None),
    ("br_cpf", rf"{_START}\d{{3}}\.\d{{3}}\.\d{{3}}-\d{{2}}{_END}", lambda v: check_digits.cpf(digits_of(v))),
    ("br_cnpj", rf"{_START}\d{{2}}\.\d{{3}}\.\d{{3}}/\d{{4}}-\d{{2}}{_END}", lambda v: check_digits.cnpj(digits_of(v))),
    ("es_id", rf"{_START}(?:\d{{8}}|[XYZ]-?\d{{7}})-?[A-Z]{_END}", lambda v: check_digits.spanish(v.replace("-", ""))),
    (
        "fr_nir",
        rf"{_START}[12][ ]?\d{{2}}[ ]?(?:0[1-9]|1[0-2])[ ]?\d{{2}}[ ]?\d{{3}}[ ]?\d{{3}}[ ]?\d{{2}}{_END}",
        lambda v: check_digits.french(digits_of(v)),
    ),
    (
        "it_fiscal_code",
        rf"{_START}[A-Z]{{6}}\d{{2}}[A-EHLMPR-T]\d{{2}}[A-Z]\d{{3}}[A-Z]{_END}",
        check_digits.italian,
    ),
    ("kr_rrn", rf"{_START}\d{{2}}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])-[1-8]\d{{6}}{_END}", None),
    ("sg_nric", rf"{_START}[STFGM]\d{{7}}[A-Z]{_END}", check_digits.singapore),
    (
        "se_personnummer",
        rf"{_START}(?:19|20)?\d{{2}}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])[-+]\d{{4}}{_END}",
        lambda v: check_digits.luhn(digits_of(v)[-10:]),
    ),
    ("ch_ahv", rf"{_START}756\.\d{{4}}\.\d{{4}}\.\d{{2}}{_END}", lambda v: check_digits.swiss(digits_of(v))),
)
_SPAN: Final = late_pattern(r"\d[0-9a-z .\-/()\u00a0]{2,}\d")


def is_card(number: str) -> bool:
    """Whether these digits are a payment card: an issuer's prefix, its length, and Luhn."""
    digits = digits_of(number)
    known = any(len(digits) in sizes and prefix.match(digits) for prefix, sizes in _BRANDS)
    return known and len(set(digits)) > 1 and check_digits.luhn(digits)


def has_number(lowered: str) -> bool:
    """Whether two digits stand apart with nothing but letters, digits and separators between them."""
    return _SPAN.search(lowered) is not None


class Numbers:
    """All of them in one walk over the runs of digits of a text."""

    name = "number"

    def __init__(self, without: Collection[str] = ()) -> None:
        """Leave these rules out."""
        chosen = [rule for rule in _rules() if ("phone" if rule.name == "cn_mobile" else rule.name) not in without]
        self._lettered = tuple(rule for rule in chosen if rule.name in _LETTERED)
        self._plain = tuple(rule for rule in chosen if rule.name not in _LETTERED)

    def wanted(self, lowered: str) -> bool:
        """See ``has_number``."""
        return has_number(lowered)

    def marked(self, text: str, lowered: str) -> Iterator[Marked]:
        """What the rules find, run by run."""
        del lowered
        for run in _RUN.finditer(text):
            if len(run[0]) < 7:
                continue
            if len(_SEPARATORS.findall(run[0])) >= _MAX_GROUPS:
                continue
            digits = len(digits_of(run[0]))
            rules = self._plain if digits >= _MIN_PLAIN else ()
            if digits >= _MIN_LETTERED and digits < len(_SEPARATORS.sub("", run[0])):
                rules = (*rules, *self._lettered)
            for rule in rules:
                yield from self._counted_out(rule, text, run.start(), run.end() + 2)

    def _counted_out(self, rule: Shape, text: str, start: int, end: int) -> Iterator[Marked]:
        for place in rule.between(text, start, min(end, len(text))):
            begin, stop, _ = place
            found = text[begin:stop]
            plain = rule.name in ("card", "cn_mobile") and found.isdigit()
            if plain and _COUNTED.search(text[max(0, begin - _MAX_LABEL) : begin]):
                continue
            stop -= found.endswith(")") and found.count(")") > found.count("(")  # it closes what was opened before
            yield begin, stop, "phone" if rule.name == "cn_mobile" else rule.name


@cache
def _rules() -> tuple[Shape, ...]:
    return (
        Shape(name="card", pattern=_CARD_PLAIN, check=is_card),
        Shape(name="card", pattern=_CARD_GROUPS, check=is_card),
        Shape(name="phone", pattern=_PHONES, check=lambda found: 8 <= len(digits_of(found)) <= 15),
        Shape(name="cn_mobile", pattern=_CN_MOBILE),
        *(Shape(name=name, pattern=pattern, check=check) for name, pattern, check in _NATIONAL),
    )


def number_names() -> tuple[str, ...]:
    """The names under which numbers are masked."""
    return tuple(dict.fromkeys("phone" if rule.name == "cn_mobile" else rule.name for rule in _rules()))
