"""Credentials by where they travel: key blocks, tokens of three parts, URLs, headers, cookies, hooks."""

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Final

from traced_loop.redaction.opaque import is_marked, is_placeholder, is_word, looks_opaque, looks_random
from traced_loop.redaction.rule import Finder, Place, RedactionRule

_PEM_BEGIN: Final = re.compile(
    r"-{4,5} ?BEGIN (?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|SSH2 ENCRYPTED PRIVATE KEY) ?-{4,5}"
)
_PEM_END: Final = re.compile(r"-{4,5} ?END [A-Z0-9 ]{0,50}-{4,5}")
_PEM_BODY: Final = re.compile(r"(?:[A-Za-z0-9+/=\s\\|>\"',:.-]|\(.{0,40}\))*+")


def key_blocks(text: str, lowered: str) -> Iterator[Place]:
    """Private keys between their lines; without a last line, as far as the body goes."""
    del lowered
    done, end = 0, -1
    for begin in _PEM_BEGIN.finditer(text):
        if begin.start() < done:
            continue
        if -1 <= end < begin.end():  # asked once for all the beginnings before it
            found = _PEM_END.search(text, begin.end())
            end, done = found.span() if found is not None else (len(text) + _MAX_BLOCK, 0)
        whole = end <= begin.end() + _MAX_BLOCK and end < len(text)
        done = done if whole and done > begin.end() else _truncated_block(text, begin.end())
        yield begin.start(), done


_MAX_BLOCK: Final = 65_536


def _truncated_block(text: str, at: int) -> int:
    """The end of a block without a last line: the lines that hold nothing but base64 or a header of it."""
    line = re.compile(
        r"(?:\\n|\\r|[\r\n])*[ \t>|]*(?:[A-Za-z0-9+/=]{8,}+|[A-Z][A-Za-z-]{1,30}+: [^\n\\]{1,80}|-{4,5} ?BEGIN [A-Z0-9 ]{1,50}-{4,5})(?=\\|[\r\n\"'.… ]|\Z)"
    )
    while (more := line.match(text, at)) is not None:
        at = more.end()
    return at


_JWT: Final = re.compile(
    r"eyJ[A-Za-z0-9_-]{8,}+(?:(?:\.|\s{0,2}\\?\n\s{0,8}(?=[A-Za-z0-9_.-]*\.))[A-Za-z0-9_-]{0,}+){1,40}"
)
_JWT_RUN: Final = re.compile(r"[A-Za-z0-9_-]++")
_JWT_LINE: Final = re.compile(r"(?:\\|\\n)?\s{0,2}\n[ \t]{0,16}([A-Za-z0-9_.-]{16,}+)(?=[\s\"'`,;)]|\Z)")


def web_tokens(text: str, lowered: str) -> Iterator[Place]:
    """JWT, JWS and JWE in their compact form, over lines too."""
    at, done = lowered.find("eyj"), 0
    while at >= 0:
        match = _JWT.match(text, at) if at >= done and _free(text, at) else None
        run = _JWT_RUN.match(text, at)  # a token never begins inside a word
        past = run.end() if run is not None else at + 3
        if match is not None and "." in match[0] and len(match[0]) >= 24:
            done = match.end()
            while (more := _JWT_LINE.match(text, done)) is not None and looks_random(more[1]):
                done = more.end()
            yield at, done
        at = lowered.find("eyj", max(done, past))


def _free(text: str, at: int) -> bool:
    return (
        at == 0
        or not (text[at - 1].isascii() and text[at - 1].isalnum())
        or text[at - 2 : at] in ("\\n", "\\t")
        or text[at - 3 : at].startswith("%")
    )


_USERINFO: Final = re.compile(r"(?P<user>[^\s/@:\"'<>?#]{0,200}+):(?P<value>[^\s@\"'<>\\]{1,400}+)@(?=[\w\[$.-])")
_MAX_USERINFO: Final = 600
_USERINFO_AT: Final = re.compile(r"[^\s/@\"'<>\\]{0,100}+@(?=[\w.-]{1,200}(?:[:/,?]|\Z|[\s\"']))")
_USERINFO_SLASH: Final = re.compile(r"[^\s\"'<>]{0,100}@(?=[\w.-]{1,200}(?::\d{1,5})?(?:[/?]|\Z|[\s\"']))")
_HOLDER: Final = re.compile(r"(?P<value>[A-Za-z0-9_\-]{20,512}+)(?P<colon>:(?:x-oauth-basic)?)?@(?=[\w.-])")


def url_credentials(text: str, lowered: str) -> Iterator[Place]:
    """The password in a URL's authority, and a token that stands alone in front of the host."""
    at, sign = lowered.find("://"), -1
    while at >= 0:
        begin = at + 3
        if sign < begin:
            sign = text.find("@", begin)
        if sign < 0:
            return
        if sign - begin > _MAX_USERINFO:
            at = lowered.find("://", max(begin, sign - _MAX_USERINFO))
            continue
        match = _USERINFO.match(text, begin)
        if match is not None and _in_authority(match["value"]):
            start, end = match.span("value")
            web = lowered[max(0, at - 5) : at].endswith(("http", "https"))
            more = (_USERINFO_AT if web else _USERINFO_SLASH).match(text, end + 1)  # a raw @ in the password
            end = more.end() - 1 if more is not None else end
            if not is_placeholder(text[start:end]) and text[start:end] not in ("x-oauth-basic",):
                yield start, end
            if len(match["user"]) >= 20 and looks_random(match["user"]):
                yield match.span("user")
        else:
            holder = _HOLDER.match(text, begin)
            if holder is not None and looks_random(holder["value"], least=20):
                yield holder.span("value")
        at = lowered.find("://", begin)


def _in_authority(password: str) -> bool:
    """Whether this stands in front of a host: a slash in it is a password's only when no path and no port begin there."""
    head, slash, _ = password.partition("/")
    return not slash or (not head.isdigit() and "." not in head and "?" not in password and head != "")


_PAIR: Final = re.compile(r"(?P<name>[!#$%&*+.^_|~\w-]{1,64}+)=(?P<value>\"?[^;\s\"'\\,]{1,4096}+)")
_COOKIE: Final = re.compile(r"cookie(?:2|s)?(?:\\{0,8}[\"']\]?)?\s{0,3}[:=]\s{0,3}(?:\\{0,8}[\"'])?")
_HARMLESS: Final = re.compile(
    r"(?i)(?:path|domain|expires|max-age|samesite|version|priority|secure|httponly|partitioned|theme|lang|language|locale|currency|tz|timezone|country|consent|region)\Z"
)


def cookies(text: str, lowered: str) -> Iterator[Place]:
    """The values of Cookie and Set-Cookie headers; names and attributes stay."""
    for header in _COOKIE.finditer(lowered):
        at = header.end()
        for _ in range(64):
            pair = _PAIR.match(text, at)
            if pair is None:
                break
            value = pair["value"].lstrip('"')
            if (
                not _HARMLESS.match(pair["name"])
                and len(value) >= 4
                and not is_placeholder(value)
                and not is_marked(value)
            ):
                yield pair.end() - len(value), pair.end()
            rest = re.compile(r"\"?;\s{0,3}(?:(?:secure|httponly|partitioned)\b;?\s{0,3})*", re.IGNORECASE).match(
                text, pair.end()
            )
            if rest is None:
                break
            at = rest.end()


_BASIC: Final = re.compile(r"(?i)(?<![\w-])basic[ :]+(?P<value>[A-Za-z0-9+/_-]{6,}={0,2})")


def basic_credentials(text: str, lowered: str) -> Iterator[Place]:
    """``Basic`` and the base64 of a user and a password."""
    if "basic" not in lowered:
        return
    for match in _BASIC.finditer(text):
        if _is_user_and_password(match["value"]):
            yield match.span("value")


def _is_user_and_password(value: str) -> bool:
    try:
        plain = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except (binascii.Error, ValueError):
        return False
    return ":" in plain and plain.isprintable()


_CRYPT: Final = r"(?<![\w$])\$(?:1|2[abxy]?|5|6|7|y|gy|sha1|md5|apr1|argon2(?:id|i|d)|scrypt|pbkdf2[\w-]*|P|H)\$(?P<value>[A-Za-z0-9./$=,+]{16,256}+)"
_NAMED: Final[tuple[tuple[str, tuple[str, ...], str], ...]] = (
    (
        "slack_webhook",
        ("hooks.slack",),
        r"https?://hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{8,200}",
    ),
    (
        "discord_webhook",
        ("/webhooks/",),
        r"(?i)https?://(?:\w+\.)?discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d{15,22}/(?P<value>[\w-]{40,100})",
    ),
    (
        "teams_webhook",
        ("webhook.office.com", "logic.azure.com", "powerplatform"),
        r"https?://[\w.-]+\.webhook\.office\.com/webhookb2/(?P<value>[\w@/-]{40,400})",
    ),
    (
        "chat_webhook",
        ("chat.googleapis",),
        r"https?://chat\.googleapis\.com/v1/spaces/[\w-]+/messages\?(?P<value>key=[^\s\"'&]+&token=[^\s\"'&]+)",
    ),
    (
        "hook_url",
        ("hooks.zapier", "hook.", "webhook", "/hooks/"),
        r"https?://hooks?\.(?:zapier|eu\d|us\d|make|integromat|stripe)[\w.]*/(?:hooks/catch/)?(?P<value>[\w/-]{16,200})",
    ),
    ("telegram_token", (":aa",), r"(?<![0-9])\d{8,10}:AA[A-Za-z0-9_-]{30,}"),
    (
        "discord_token",
        (".",),
        r"(?<![A-Za-z0-9_.-])(?:mfa\.[\w-]{60,}|[MNO][A-Za-z0-9_-]{22,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40})(?![A-Za-z0-9_.-])",
    ),
    ("azure_secret", ("q~",), r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~.-])"),
    (
        "azure_key",
        ("==", "acdb", "asti"),
        r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{80,90}(?:AC[a-zA-Z]|ASt)[A-Za-z0-9+/]{4,12}(?:==)?|(?<![A-Za-z0-9])[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{20,40}",
    ),
    ("mailchimp_key", ("-us",), r"(?<![A-Za-z0-9])[0-9a-f]{32}-us\d{1,2}(?![A-Za-z0-9])"),
    (
        "sentry_dsn",
        ("ingest", "sentry"),
        r"https?://(?P<value>[0-9a-f]{32}(?::[0-9a-f]{32})?)@[\w.-]*(?:sentry|ingest)[\w.-]*/\d+",
    ),
    ("otp_url", ("otpauth:",), r"otpauth://[^\s\"'?]{1,200}\?[^\s\"']{0,200}?secret=(?P<value>[A-Za-z2-7=]{8,128})"),
    (
        "putty_key",
        ("private-lines",),
        r"Private-Lines: \d+\s+(?P<value>(?:[A-Za-z0-9+/=]{4,}\s+)+)(?:Private-MAC: \w+)?",
    ),
    ("password_hash", ("$",), _CRYPT),
    ("facebook_token", ("|",), r"(?<![0-9A-Za-z])\d{13,17}\|[A-Za-z0-9_-]{20,40}(?![A-Za-z0-9_-])"),
    (
        "password_hash",
        ("pbkdf2_", "argon2", "bcrypt"),
        r"(?<![\w$])(?:pbkdf2_\w+|bcrypt_\w+|scrypt|argon2)\$[\w$./+=,-]{20,300}",
    ),
    ("ssh_key", ("b3blbnnzac1rzxktdje",), r"b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/=\s\\]{20,}"),
    ("bearer", ("bearer ",), r"(?i)(?<![\w-])bearer\s+(?P<value>(?!\[REDACTED)[A-Za-z0-9._~+/=|:%-]{8,4096})"),
    (
        "oauth_code",
        ("code=", "code_verifier="),
        r"(?:[?&](?:code|id_token_hint|ticket)|\bcode_verifier)=(?P<value>[^\s&\"'#<>]{12,2048})",
    ),
    (
        "signature",
        ("x-amz-", "x-goog-"),
        r"(?i)x-(?:amz|goog)-(?:signature|security-token|credential)(?:=|%3d)(?P<value>[^\s&\"'#<>]{8,4096})",
    ),
    (
        "signature",
        ("signature=", "credential="),
        r"(?i)(?:\bsignature|\bcredential|\bresponse|\boauth_\w{0,20}signature)=\"?(?P<value>[A-Za-z0-9+/=_%.-]{16,1024})",
    ),
    (
        "url_key",
        ("/",),
        r"https?://[\w.-]*(?:infura\.io|alchemy\.com|alchemyapi\.io|quiknode\.pro|quicknode\.pro|ankr\.com)/(?:v\d/)?(?P<value>[A-Za-z0-9_-]{24,64})",
    ),
)


def transport_rules() -> tuple[RedactionRule, ...]:
    """The shapes of this module that are patterns, compiled."""
    checks = {"bearer": _is_bearer, "discord_token": looks_random, "oauth_code": looks_opaque}
    return tuple(
        RedactionRule(name=n, needles=needles, pattern=p, check=checks.get(n, is_value)) for n, needles, p in _NAMED
    )


def is_value(value: str) -> bool:
    """Whether something is there to be masked: no placeholder, and not masked already."""
    return not is_placeholder(value) and not is_marked(value)


def _is_bearer(value: str) -> bool:
    return is_value(value) and not is_word(value) and (looks_opaque(value) or len(value) >= 20)


def transport_finders() -> tuple[Finder, ...]:
    """What is found by functions."""
    return (
        Finder(name="private_key", needles=("private key",), find=key_blocks),
        Finder(name="jwt", needles=("eyj",), find=web_tokens),
        Finder(name="url_credentials", needles=("://",), find=url_credentials),
        Finder(name="cookie", needles=("cookie",), find=cookies),
        Finder(name="basic_auth", needles=("basic",), find=basic_credentials),
    )
