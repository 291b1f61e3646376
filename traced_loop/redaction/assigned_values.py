"""Values beside a key that holds secrets, in any text: ``.env`` files, logs, code, YAML, flags, URLs, half a JSON.

It starts from the words that such keys contain, so a text without one costs one scan. Here is decided what the key is
and how it is joined to its value; ``value_behind`` decides how far the value goes and whether it is masked.
"""

import re
from collections.abc import Iterator
from typing import Final

from traced_loop.late_pattern import late_pattern
from traced_loop.redaction.key_names import Strength, Strengths
from traced_loop.redaction.rule import Place
from traced_loop.redaction.value_behind import QUOTE, Key, value_behind
from traced_loop.redaction.word_lists import terms

STEMS: Final = terms(
    """
    pass | pwd | pswd | pw | secret | token | key | auth | cookie | credential | sig | session | sessid | sid | cvv
    | cvc | pin | otp | jwt | pat | psk | mnemonic | code | dsn | kennwort | contrase | clave | senha | mot de passe
    | motdepasse | wachtwoord | parola | şifre | sifre | hasło | haslo | lösenord | passord | heslo | пароль | 密码 |
    口令 | 密钥 | 密碼 | 秘钥 | 令牌 | パスワード | 暗証番号 | 비밀번호 | 验证码 | 驗證碼 | hmac
    """
)
"""What the names of such keys contain, in lower case."""
_STEM: Final = late_pattern("|".join(STEMS))
_HARMLESS: Final = frozenset({"public", "primary", "foreign", "partition", "sort", "cache", "sample"})
_NAMED_PLACE: Final = late_pattern(r"(?:\barn|\burn|\bprojects)[:/][^\s\"']*\Z")
"""In the middle of a resource's name."""
_SHORT: Final = frozenset({"pw", "sid", "pin", "otp", "jwt", "pat", "psk"})
"""Stand alone, or they are part of another word."""
_MAX_AHEAD: Final = 64
"""Characters of a name in front of its stem."""
_MAX_WORD: Final = 18
_REST: Final = late_pattern(r"[A-Za-z0-9À-ɏ_\-]{0,40}+")
_FOR: Final = (
    r"(?:[ ](?:for|of|to|on|in|für|zum|zur|den|der|das|от|для|pour|de|para|del|the|our|this|API|api|key|KEY)"
    r"(?:[ ](?:the|den|der|la|el|le)\b)?[ ][\w@.\-]{1,40}"
    r"(?:[ ](?!is\b|ist\b|es\b|est\b|lautet\b|was\b|are\b|war\b)[\w@.\-]{1,24}){0,2}|[ ](?:API|api)){1,2}"
)
"""``password for the database``, ``Passwort für db``."""
_TYPED: Final = r":\s?[&*]?(?:str|string|[A-Z]\w{0,20}|bytes|Optional\[str\]|str\ ?\|\ ?None)\s{0,2}=(?!=)"
_SIGN: Final = r"(?:=>|:=|<-|\u2039-|%3[dD]|=|:|\uff1a|\uff1d)"
_SAID: Final = (
    r"(?:(?:is\s?(?:now|still)?\s?:?|are|was|ist|war|lautet|es|est|é|è|jest|это|equals|->|→|to)"
    r"(?=[\s\"'`A-Z0-9“「«]|\Z)|是|为|為|は|改成|改为|设为)"
)
_AFTER_NAME: Final = late_pattern(
    rf"""(?x)
    (?:\]|\\?["'`]\]|\))? (?P<closing>{QUOTE}|[”」』»])? (?:\*{{1,2}}|</\w{{1,8}}>(?=[:\uff1a=\s]))?
    (?P<gap>{_FOR}|[ ]\[[\w.*]{{0,20}}\](?=:)|[ ]\d{{1,2}}(?=:))? [ \t]{{0,20}}
    (?: (?P<typed>{_TYPED})
      | (?P<sign>{_SIGN}) (?!=) (?:[ ]?[>|][-+]?[ ]*\n|\\\n)?
      | (?P<cell></t[dh]>\s{{0,8}}<t[dh]>)
      | (?P<listed>,\s{{0,8}}(?=["'])|\((?=["']))
      | (?P<said>\s?{_SAID}|(?<=[\u4e00-\u9fff])(?=[A-Za-z0-9][!-~]{{5}}))
      | (?P<tag>(?:\s[^<>]{{1,120}})?>)
      | (?P<flag>[ \t]) )
    (?:\*{{1,2}}|</\w{{1,8}}>)? [ \t]{{0,40}} (?:[!]\w+[ ])?
    """
)
"""What joins a name to its value: a type and a sign, a sign, a verb, the end of a tag, or the gap behind a flag."""
_PAIRED: Final = late_pattern(
    r"\\{0,8}[\"']?[ \t]{0,4}(?:[,{]|\r?\n)[ \t\r\n]{0,40}"
    r"\\{0,8}[\"']?(?:value|default|val)\\{0,8}[\"']?\s{0,4}[:=]\s{0,4}"
)
"""``name: password, value: ...``"""
_DECLARED: Final = late_pattern(r"(?:^|[\s;&])(?:ENV|ARG|set|SET|setx|setenv|export) \Z")
_SETTER: Final = late_pattern(r"(?i)(?:^|[.\s_])(?:set|with|use)\w*\Z")
_TAG_BEFORE: Final = late_pattern(r"<(?:[\w-]{1,32}:)?\Z")


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


def has_stem(lowered: str) -> bool:
    """Whether any word of such keys is there."""
    return any(stem in lowered for stem in STEMS)


def _stands_alone(lowered: str, start: int, end: int) -> bool:
    return not ((start and lowered[start - 1].isalpha()) or (end < len(lowered) and lowered[end].isalpha()))


def _value_at(text: str, start: int, end: int, strength_of: Strengths) -> Place | None:
    rest = _REST.match(text, end) if text[end - 1].isascii() else None  # CJK puts no space before a value
    named = rest.end() if rest is not None else end
    pair = _PAIRED.match(text, named)
    joined = pair or _AFTER_NAME.match(text, named)
    if joined is None:
        return None
    begun = _name_begin(text, start)
    alone = text[begun:start].strip("[\"'") + text[start:named]
    name = text[_word_before(text, begun) : begun] + alone
    strength = _stronger(name, alone, strength_of)
    if (
        strength in ("none", "digits") or _NAMED_PLACE.search(text[max(0, begun - 160) : begun]) is not None
    ):  # personal numbers in text have their own shapes
        return None
    if pair is not None:
        return value_behind(text, pair.end(), Key(name=name.lower(), strength=strength, tight=True, sign=":"))
    if not _joins(text, begun, start, joined):
        return None
    return value_behind(text, joined.end(), _key(name, strength, text[begun:start], joined))


def _stronger(name: str, alone: str, strength_of: Strengths) -> Strength:
    """The word in front of a name can make it one (``API key``), and few can make it none (``public key``)."""
    whole = strength_of(name)
    if whole != "none" or name.split(" ", 1)[0].lower() in _HARMLESS:
        return whole
    return strength_of(alone)


def _key(name: str, strength: Strength, ahead: str, joined: re.Match[str]) -> Key:
    return Key(
        name=name.lower(),
        strength=strength,
        tight=(joined.end("sign") if joined["sign"] else -1) == joined.end()
        or bool(joined["flag"] and _is_flag(ahead)),
        sign=joined["sign"] or ("</" if joined["cell"] else ""),
        said=joined["said"] is not None,
        listed=joined["listed"] is not None,
        tag=bool(joined["tag"]),
    )


def _joins(text: str, begun: int, stem: int, joined: re.Match[str]) -> bool:
    """Whether what follows the name that begins here really joins it to a value."""
    ahead = text[begun:stem]
    if joined["listed"]:
        return (joined["listed"] != "(" and bool(joined["closing"])) or _SETTER.search(ahead) is not None
    if joined["flag"]:
        return _is_flag(ahead) or _DECLARED.search(text[max(0, begun - 10) : begun]) is not None
    if joined["tag"]:
        return _TAG_BEFORE.search(text[max(0, begun - 34) : begun]) is not None
    if joined["sign"] and ahead[:1] in ("'", '"') and not joined["closing"]:
        # "password:" is a text that only names the key: the quote behind the sign is its end
        return text[joined.end("sign") : joined.end("sign") + 1] != ahead[0]
    return True


def _name_begin(text: str, start: int) -> int:
    """Where the name begins that goes on here."""
    at, least = start, max(0, start - _MAX_AHEAD)
    while at > least and (text[at - 1].isalnum() or text[at - 1] in "_.-[\"'/"):
        at -= 1
    return at


def _word_before(text: str, begun: int) -> int:
    """Where the word in front of the name begins, as in ``API key``; the name's own begin where there is none."""
    at = begun - 1
    if at < 1 or text[at] != " ":
        return begun
    while (
        at and begun - at < _MAX_WORD and ((text[at - 1].isascii() and text[at - 1].isalpha()) or text[at - 1] == "-")
    ):
        at -= 1
    return at if at < begun - 1 else begun


def _is_flag(ahead: str) -> bool:
    return ahead.startswith("-")
