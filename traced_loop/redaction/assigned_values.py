"""Values beside a key that holds secrets, in any text: ``.env`` files, logs, code, YAML, flags, URLs, prose, half a JSON.

It starts from the words that such keys contain, so a text without one costs one scan.
"""

import re
from collections.abc import Iterator
from typing import Final

from traced_loop.redaction.key_names import Strength, Strengths
from traced_loop.redaction.opaque import (
    MARKER,
    is_code,
    is_location,
    is_marked,
    is_placeholder,
    is_sentence,
    is_word,
    looks_opaque,
)
from traced_loop.redaction.rule import Place
from traced_loop.redaction.word_lists import terms

_STEMS: Final = terms(
    """
    pass | pwd | pswd | pw | secret | token | key | auth | cookie | credential | sig | session | sessid | sid | cvv
    | cvc | pin | otp | jwt | pat | psk | mnemonic | code | dsn | kennwort | contrase | clave | senha | mot de passe
    | motdepasse | wachtwoord | parola | şifre | sifre | hasło | haslo | lösenord | passord | heslo | пароль | 密码 |
    口令 | 密钥 | 密碼 | 秘钥 | 令牌 | パスワード | 暗証番号 | 비밀번호
    """
)
_STEM: Final = re.compile("|".join(_STEMS))
_SHORT: Final = frozenset({"pw", "sid", "pin", "otp", "jwt", "pat", "psk"})
"""Stand alone, or they are part of another word."""
_QUOTE: Final = r"(?:\\{0,8}[\"'`]|&quot;|&\x233[49];|&apos;|[“”「『]|«\s?)"
_FOR: Final = r"(?:[ ](?:for|of|to|on|in|für|zum|zur|den|der|das|pour|de|para|del|the|our|this|API|api|key|KEY)(?:[ ](?:the|den|der|la|el|le)\b)?[ ][\w@.\-]{1,40}|[ ](?:API|api)){1,2}"
_AFTER_NAME: Final = re.compile(
    rf"""(?x)
    (?P<rest>[A-Za-z0-9À-ɏ_\-]{{0,40}}+) (?:\]|\\?["'`]\]|\))? (?P<closing>{_QUOTE})? (?P<gap>{_FOR})? [ \t]{{0,20}}
    (?: (?P<typed>:\s?(?:str|string|String|SecretStr|bytes|Optional\[str\]|str\ ?\|\ ?None)\s{{0,2}}=(?!=))
      | (?P<sign>=>|:=|%3[dD]|=|:|\uff1a|\uff1d)(?!=) (?:[ ]?[>|][-+]?[ ]*\n|\\\n)?
      | (?P<said>\s?(?:is\s?(?:now|still)?\s?:?|are|was|ist|war|lautet|es|est|é|jest|это|是|为|為|は|equals|->|→|to)
          (?=[\s"'`A-Z0-9“「«]|\Z))
      | (?P<tag>(?:\s[^<>]{{1,120}})?>) | (?P<flag>[ \t]) )
    [ \t]{{0,40}} (?:[!]\w+[ ])?
    """
)
_REST: Final = re.compile(r"[A-Za-z0-9À-ɏ_\-]{0,40}+")
_PAIRED: Final = re.compile(
    r"\\{0,8}[\"']?[ \t]{0,4}(?:[,{]|\r?\n)[ \t\r\n]{0,40}\\{0,8}[\"']?(?:value|default|val)\\{0,8}[\"']?\s{0,4}[:=]\s{0,4}"
)
_DECLARED: Final = re.compile(r"(?:^|[\s;&])(?:ENV|ARG|set|SET|setx|setenv|export) \Z")
_TAG_BEFORE: Final = re.compile(r"<(?:[\w-]{1,32}:)?\Z")
_OPENING: Final = re.compile(rf"(?:\(\s{{0,8}})?[bfru]{{0,2}}(?P<quote>{_QUOTE})")
_NEXT_PIECE: Final = re.compile(r"[ \t]*[+\\]?[ \t]*\r?\n[ \t]*[bfru]?(?P<quote>[\"'])")
_SCHEME: Final = re.compile(
    r"(?i)(?:bearer|basic|token|apikey|api-key|key|digest|negotiate|ssws|splunk|bot|discogs|hmac|pre|plain"
    r"|aws4-hmac-sha256|genie\w*)[ :=]+"
)
_UNQUOTED: Final = re.compile(r"[^\s\"'`<>&;,|“”「」»\uff0c\u3002\uff1b\u3001\uff08\uff09(){}]{1,16384}+")
_ENCODED_END: Final = re.compile(r"%26|%23|%22|%7[dD]|%0[aAdD]|%20|%2[cC]")
_TAGGED: Final = re.compile(r"[^<>\n]{1,4096}+(?=</)")
_CLOSERS: Final = {"“": "”", "「": "」", "『": "』", "«": "»"}
_MAX_QUOTED: Final = 8_192
_MAX_JUDGED: Final = 512
_TRAILING: Final = ".:!?)]*"
_AUTH_SCHEME: Final = re.compile(r"[A-Za-z][\w-]{1,30} +")
_AUTH_VALUE: Final = re.compile(r"[^\r\n\"'`\\<>|{}]{1,4096}+(?:\"[^\"\r\n]{0,512}\"[^\r\n\"'`\\<>|{}]{0,512}){0,16}")


def assigned_values(text: str, lowered: str, strength_of: Strengths) -> Iterator[Place]:
    """Where values lie whose key says that they are secret."""
    done = 0
    for stem in _STEM.finditer(lowered):
        if stem.start() < done or (stem[0] in _SHORT and not _stands_alone(lowered, stem.start(), stem.end())):
            continue
        place = _value_at(text, stem.start(), stem.end(), strength_of)
        if place is not None:
            yield place
            done = place[1]


def _stands_alone(lowered: str, start: int, end: int) -> bool:
    return not ((start and lowered[start - 1].isalpha()) or (end < len(lowered) and lowered[end].isalpha()))


def has_stem(lowered: str) -> bool:
    """Whether any word of such keys is there."""
    return any(stem in lowered for stem in _STEMS)


def _value_at(text: str, start: int, end: int, strength_of: Strengths) -> Place | None:
    rest = _REST.match(text, end)
    pair = _PAIRED.match(text, rest.end()) if rest is not None else None
    after = _AFTER_NAME.match(text, end) if pair is None else None
    if rest is None or (pair is None and after is None):
        return None
    begun = _name_begin(text, start)
    name_ahead = text[begun:start]
    name = text[_word_before(text, begun) : start].strip("[\"'") + text[start:end] + rest[0]
    strength = strength_of(name)
    if strength in ("none", "digits"):  # personal numbers in text have their own shapes
        return None
    if after is None or pair is not None:
        if pair is None:
            return None
        return _Value(text, pair.end(), strength, name, tight=True).place()
    if after["flag"] and not (_is_flag(name_ahead) or _DECLARED.search(text[max(0, begun - 10) : begun])):
        return None
    if after["tag"] and not _TAG_BEFORE.search(text[max(0, begun - 34) : begun]):
        return None
    if (
        after["sign"]
        and name_ahead[:1] in ("'", '"')
        and not after["closing"]
        and text[after.end("sign") : after.end("sign") + 1] == name_ahead[0]
    ):
        return None  # the quote closes a text that only names the key: "password:"
    tight = (bool(after["sign"]) and after.end("sign") == after.end()) or (bool(after["flag"]) and _is_flag(name_ahead))
    return _Value(text, after.end(), strength, name, after=after, tight=tight).place()


def _name_begin(text: str, start: int) -> int:
    """Where the name begins that goes on here, 64 characters back at most."""
    at = start
    while at and start - at < 64 and (text[at - 1].isalnum() or text[at - 1] in "_.-[\"'/"):
        at -= 1
    return at


def _word_before(text: str, begun: int) -> int:
    """Where the word in front of the name begins, as in ``API key``; the name's own begin where there is none."""
    at = begun - 1
    if at < 1 or text[at] != " ":
        return begun
    while at and begun - at < 18 and ((text[at - 1].isascii() and text[at - 1].isalpha()) or text[at - 1] == "-"):
        at -= 1
    return at if at < begun - 1 else begun


def _is_flag(ahead: str) -> bool:
    return ahead.startswith("-")


class _Value:
    """What stands behind a key, read once and judged."""

    def __init__(
        self, text: str, at: int, strength: Strength, name: str, *, tight: bool, after: re.Match[str] | None = None
    ) -> None:
        self.text = text
        self.at = at
        self.strength = strength
        self.name = name.lower()
        self.tight = tight
        self.said = after is not None and bool(after["said"])
        self.tag = after is not None and bool(after["tag"])
        sign = (after["sign"] or "") if after is not None else ":"
        self.colon = sign in (":", "\uff1a")
        self.encoded = sign.startswith("%")

    def place(self) -> Place | None:
        """The part to mask, or None."""
        if self.tag:
            return self._judged(*_span(_TAGGED.match(self.text, self.at)), quoted=True)
        opening = _OPENING.match(self.text, self.at)
        return self._quoted(opening) if opening is not None else self._unquoted()

    def _quoted(self, opening: re.Match[str]) -> Place | None:
        quote = opening["quote"].strip()
        close = self.text.find(_CLOSERS.get(quote, quote), opening.end(), opening.end() + _MAX_QUOTED)
        if close < 0:
            line = self.text.find("\n", opening.end())
            close = line if line >= 0 else len(self.text)
        end, value = close, self.text[opening.end() : close]
        while (piece := _NEXT_PIECE.match(self.text, end + 1)) is not None and piece["quote"] == quote:
            end = self.text.find(quote, piece.end(), piece.end() + _MAX_QUOTED)
            if end < 0:
                break
            value += self.text[piece.end() : end]
            close = end
        return self._judged(opening.end(), close, quoted=True, value=value)

    def _unquoted(self) -> Place | None:
        at = self.at
        if "authorization" in self.name:
            return self._header(at)
        scheme = _SCHEME.match(self.text, at)
        if scheme is not None and self.strength == "any":
            at = scheme.end()
        marker = MARKER.match(self.text, at)
        if marker is not None:
            rest = _UNQUOTED.match(self.text, marker.end())
            if rest is None or not rest[0][0].isalnum():
                return None
        found = _UNQUOTED.match(self.text, at, at + _MAX_JUDGED)
        if found is None:
            return None
        value = re.split(r"\\[nrt]", found[0], maxsplit=1)[0]
        if self.encoded:
            value = _ENCODED_END.split(value, maxsplit=1)[0]
        value = value.rstrip(".:)]\\" if self.tight else _TRAILING)
        place = self._judged(at, at + len(value), quoted=False)
        if place is not None and len(found[0]) == _MAX_JUDGED and len(value) == _MAX_JUDGED:  # judged by its beginning
            rest = _UNQUOTED.match(self.text, place[1])
            return (place[0], rest.end()) if rest is not None else place
        return place

    def _header(self, at: int) -> Place | None:
        """The credentials of an Authorization header, whatever the scheme: up to the end of the line or a quote."""
        scheme = _AUTH_SCHEME.match(self.text, at)
        begin = scheme.end() if scheme is not None else at
        found = _AUTH_VALUE.match(self.text, begin)
        if found is None or is_placeholder(found[0]) or is_word(found[0].strip()):
            return None
        value = found[0]
        if " " in value and "=" not in value:
            value = value.split(" ", 1)[0].rstrip(",;")
        value = value.rstrip()
        return (begin, begin + len(value)) if len(value) >= 4 and not is_marked(value) else None

    def _judged(self, start: int, end: int, *, quoted: bool, value: str | None = None) -> Place | None:
        value = self.text[start:end] if value is None else value
        if not value or is_placeholder(value) or is_marked(value):
            return None
        if self.strength == "opaque":
            return (start, end) if looks_opaque(value) else None
        return (start, end) if self._accepted(value, end, quoted=quoted) else None

    def _accepted(self, value: str, end: int, *, quoted: bool) -> bool:
        if is_location(value) and not value.lower().startswith(("postgres", "mysql", "mongodb", "redis", "amqp")):
            return False
        if quoted:
            return not is_sentence(value) and not (self.said and is_word(value) and " " in value)
        if (is_code(value) and not (self.tight and looks_opaque(value))) or not any(
            c.isascii() and c.isalnum() for c in value
        ):
            return False
        if self.said:
            return len(value) >= 4 and any(c.isdigit() for c in value) and value[0] not in "(["
        if is_word(value) and not self.tight:
            return self._ends_line(end) and not self.colon
        return len(value) >= 3

    def _ends_line(self, end: int) -> bool:
        rest = self.text[end : end + 2].lstrip(" \t")
        return not rest or rest[0] in "\r\n\\"


def _span(match: re.Match[str] | None) -> Place:
    return match.span() if match is not None else (0, 0)
