"""Credentials with a shape of their own: hooks, signed links, tokens without a prefix, hashes of passwords."""

from functools import cache
from typing import Final

from traced_loop.redaction.markers import is_marked
from traced_loop.redaction.opaque import is_placeholder, is_word, looks_opaque, looks_random
from traced_loop.redaction.rule import Shape

_CRYPT: Final = (
    r"(?<![\w$])\$(?:1|2[abxy]?|5|6|7|y|gy|sha1|md5|apr1|argon2(?:id|i|d)|scrypt|pbkdf2[\w-]*|P|H)\$"
    r"(?P<value>[A-Za-z0-9./$=,+]{16,256}+)"
)
_SHAPES: Final[tuple[tuple[str, tuple[str, ...], str], ...]] = (
    # the rule, words of which one is in the text, the shape
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
        r"(?<![A-Za-z0-9_.-])"
        r"(?:mfa\.[\w-]{60,}|[MNO][A-Za-z0-9_-]{22,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40})"
        r"(?![A-Za-z0-9_.-])",
    ),
    (
        "azure_secret",
        ("q~",),
        r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~.-])",
    ),
    (
        "azure_key",
        ("==", "acdb", "asti"),
        r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{80,90}(?:AC[a-zA-Z]|ASt)[A-Za-z0-9+/]{4,12}(?:==)?"
        r"|(?<![A-Za-z0-9])[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{20,40}",
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
        r"(?i)(?:\bsignature|\bcredential|\bresponse|\boauth_\w{0,20}signature)=\"?"
        r"(?P<value>[A-Za-z0-9+/=_%.-]{16,1024})",
    ),
    (
        "url_key",
        ("/",),
        r"https?://[\w.-]*(?:infura\.io|alchemy\.com|alchemyapi\.io|quiknode\.pro|quicknode\.pro|ankr\.com)/"
        r"(?:v\d/)?(?P<value>[A-Za-z0-9_-]{24,64})",
    ),
)


@cache
def named_rules() -> tuple[Shape, ...]:
    """The shapes, the same for all."""
    checks = {"bearer": _is_bearer, "discord_token": looks_random, "oauth_code": looks_opaque}
    return tuple(Shape(name=n, needles=needles, pattern=p, check=checks.get(n, is_value)) for n, needles, p in _SHAPES)


def is_value(value: str) -> bool:
    """Whether something is there to be masked: no placeholder, and not masked already."""
    return not is_placeholder(value) and not is_marked(value)


def _is_bearer(value: str) -> bool:
    return is_value(value) and not is_word(value) and (looks_opaque(value) or len(value) >= 20)
