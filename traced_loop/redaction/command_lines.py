"""Passwords on command lines, in statements and forms: each program has its own option for them."""

from functools import cache
from typing import Final

from traced_loop.redaction.named_shapes import is_value
from traced_loop.redaction.rule import Shape

_VALUE: Final = r"[\"']?(?P<value>[^\s\"']{1,256})"

_COMMANDS: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    # words of which one is in the text, then the option that holds a password
    (
        ("curl",),
        r"\bcurl\b[^\n]{0,160}?\s(?:-u\s?|--user[ =]|--proxy-user[ =]|-U\s?)[\"']?[^\s:\"']{1,128}:"
        r"(?P<value>[^\s\"']{1,256})",
    ),
    (
        ("wget", "http", "xh "),
        r"\b(?:wget|http|https|xh)\s[^\n]{0,160}?\s(?:-a|--auth)[ =][\"']?[^\s:\"']{1,128}:(?P<value>[^\s\"']{1,256})",
    ),
    (("sshpass",), rf"\bsshpass\s+-p\s?{_VALUE}"),
    (
        ("mysql", "mariadb"),
        r"\b(?:mysql|mariadb)[a-z-]{0,10}\b[^\n]{0,160}?\s-p[\"']?(?P<value>[^\s\"'-][^\s\"']{0,255})",
    ),
    (
        (" -p ",),
        r"(?i)\b(?:docker|podman|nerdctl|buildah|skopeo|helm|oc|az|twine|mongo|mongosh|mongodump"
        r"|influx|rabbitmqadmin|7z|unzip|zip|vault|npm)\b[^\n]{0,160}?\s-p\s+[\"']?"
        r"(?P<value>(?!-)(?!\d{2,5}(?::\d+)?(?:\s|\Z))[^\s\"':/]{4,256})(?=[\s\"']|\Z)",
    ),
    (("mosquitto",), rf"\bmosquitto_\w+\b[^\n]{{0,160}}?\s-P\s+{_VALUE}"),
    (("redis-cli",), rf"\bredis-cli\b[^\n]{{0,160}}?\s(?:-a|--pass)\s+{_VALUE}"),
    (("ldap",), rf"\bldap\w{{3,12}}\b[^\n]{{0,200}}?\s-w\s+{_VALUE}"),
    (
        ("smb", "rpcclient"),
        r"\b(?:smb\w+|rpcclient)\b[^\n]{0,160}?\s-U\s+[\"']?[^\s%\"']{1,64}%(?P<value>[^\s\"']{1,256})",
    ),
    (
        ("openssl",),
        r"\bopenssl\b[^\n]{0,200}?\s-(?:passin|passout|pass|k)\s+[\"']?(?:pass:)?(?P<value>(?!file:|env:|stdin)[^\s\"']{1,256})",
    ),
    (("htpasswd",), rf"\bhtpasswd\s+-[a-zA-Z]{{0,4}}b[a-zA-Z]{{0,4}}\s+\S{{1,128}}\s+\S{{1,64}}\s+{_VALUE}"),
    (
        ("echo",),
        r"\becho\s+(?:-n\s+)?[\"']?(?P<value>[^\s\"'|]{4,256})[\"']?\s{0,2}\|\s{0,2}"
        r"(?:sudo\s+-S|docker\s+login|passwd|kinit|gh\s+auth|cryptsetup)",
    ),
    (
        ("net use", "runas", "psexec"),
        r"(?i)\b(?:net\s+use|runas|psexec)\b[^\n]{0,160}?\s(?:/user:\S+|-p)\s+(?P<value>[^\s\"'/]{4,128})",
    ),
    (("chpasswd",), r"(?P<value>(?<=:)[^\s\"':|]{4,256})[\"']?\s{0,2}\|\s{0,2}(?:sudo\s+)?chpasswd"),
    (("chpasswd",), r"\bchpasswd\b[^\n]{0,40}<<<\s*[\"']?[^\s:\"']{1,64}:(?P<value>[^\s\"']{1,256})"),
    (("net use",), r"(?i)\bnet\s+use\s+\S{1,8}\s+\S{1,128}\s+(?P<value>[^\s\"'/*]{4,128})\s+/user:"),
    (("securestring",), r"(?i)to-securestring\s+(?:-string\s+)?[\"'](?P<value>[^\"'\n]{1,256})[\"']"),
    (("sonar.login",), r"sonar\.login=(?P<value>[^\s\"']{16,128})"),
    (("algoliasearch",), r"\balgoliasearch\([\"']\w+[\"'],\s{0,4}[\"'](?P<value>\w{32})"),
    (("master.key", "credentials.key"), r"\b(?:master|credentials)\.key[^\n]{0,40}\n(?P<value>[0-9a-f]{32})\b"),
    # password files: .netrc, .pgpass
    (("password",), r"\b(?:login|user|account)\s+[^\s|]{1,128}\s+password\s+(?P<value>[^\s|]{3,256})"),
    (
        (":*:", ":5432:", ":5433:", ":6432:", ":3306:", ":6543:"),
        r"(?:^|(?<=\n))[ \t]{0,8}(?:[\w*-]{1,64}(?:\.[\w-]{1,64}){0,8}):(?:\d{4,5}|\*)(?::(?!\d+:)[^:\s]{1,64}){2}:"
        r"(?P<value>[^\s:]{4,256})(?=\s|\Z)",
    ),
    # statements and forms
    (
        ("identified",),
        r"(?i)\bidentified\s+(?:with\s+\S+\s+)?(?:by|as)\s+(?:password\s+)?"
        r"[\"'](?P<value>[^\"'\n]{1,256})[\"']",
    ),
    (("password",), r"(?i)\bpassword\s{0,3}(?:\s\(?|=\s?n?|\()\s?'(?P<value>[^\"'\n]{1,256})'"),
    (
        ("password",),
        r"(?i)<input\b[^>]{0,200}?type=[\"']?password[\"']?[^>]{0,200}?\bvalue=[\"'](?P<value>[^\"'\n]{1,256})",
    ),
    (
        ("<input",),
        r"(?i)<input\b[^>]{0,200}?\bname=[\"']?[\w-]{0,40}(?:token|secret|csrf|nonce|passw)[\w-]{0,20}[\"']?"
        r"[^>]{0,200}?\bvalue=[\"'](?P<value>[^\"'\n]{4,512})",
    ),
    (("requirepass", "masterauth"), r"\b(?:requirepass|masterauth)\s+[\"']?(?P<value>[^\s\"']{3,256})"),
    (("enable ",), r"(?i)\benable (?:password|secret) (?:\d )?(?P<value>[^\s\"']{4,128})"),
    (("snmp-server",), r"(?i)\bsnmp-server community (?P<value>[^\s\"']{3,64})"),
    (
        ("pass ", "auth "),
        r"(?:^|(?<=\n))(?:[<>] ?)?(?:PASS|AUTH) (?P<value>(?!PLAIN|LOGIN|CRAM|XOAUTH)[^\s]{4,128})(?=\s|\Z)",
    ),
    (("login ",), r"\b[A-Za-z]?\d{1,4} LOGIN [^\s]{1,64} (?P<value>[^\s]{4,128})"),
    (("name=",), r"(?i)\bname=\"?(?:password|passwd|pwd|secret|token|api_?key)\"?\r?\n\r?\n(?P<value>[^\r\n]{1,256})"),
    (("sqlcmd",), rf"\bsqlcmd\b[^\n]{{0,160}}?\s-P\s?{_VALUE}"),
    (("snmp",), rf"\bsnmp\w+\b[^\n]{{0,160}}?\s-A\s+{_VALUE}"),
    (("snmp",), rf"\bsnmp\w+\b[^\n]{{0,160}}?\s-X\s+{_VALUE}"),
    (("auth plain",), r"\bAUTH PLAIN (?P<value>[A-Za-z0-9+/=]{8,512})"),
    (
        ("auth",),
        r"(?i)\b(?:auth|HTTPBasicAuth|BasicAuth)\s{0,2}=?\s{0,2}\(\s{0,2}[\"'][^\"'\n]{1,64}[\"'],\s{0,4}[\"'](?P<value>[^\"'\n]{3,256})",
    ),
    (("freerdp",), r"\bx?freerdp\b[^\n]{0,160}?\s/p:[\"']?(?P<value>[^\s\"']{1,256})"),
    (("http-basic",), r"\bhttp-basic\.?\S{0,80} \S{1,80} (?P<value>[^\s\"']{4,256})"),
    (("bundle config",), r"\bbundle config (?:set )?(?:--\w+ )?\S{1,80} [^\s:]{1,64}:(?P<value>[^\s\"']{4,256})"),
    (("@tcp(", "@unix("), r":(?P<value>[^\s:@\"'/]{1,256})@(?:tcp|unix)\("),
    (("user_",), r"\buser_\w{1,40}=\\?\"(?P<value>[^\"\\\n]{1,256})"),
    (
        ("variable ",),
        r"\bvariable \"\w{0,40}(?:password|secret|token|key)\w{0,20}\"\s{0,3}"
        r"\{[^}]{0,200}?\bdefault\s{0,8}=\s{0,8}\"(?P<value>[^\"\n]{3,256})",
    ),
    (
        ("<meta",),
        r"(?i)<meta\b[^>]{0,80}?name=[\"'][\w-]{0,20}(?:csrf|token)[\w-]{0,20}[\"'][^>]{0,80}?content=[\"'](?P<value>[^\"'\n]{8,512})",
    ),
    (
        ("<input",),
        r"(?i)<input\b[^>]{0,80}?value=[\"']?(?P<value>[^\"'\s>]{8,512})[\"']?[^>]{0,80}?name=[\"']?[\w-]{0,40}(?:token|secret|csrf)",
    ),
    (("open-apis/bot", "lark"), r"/open-apis/bot/v2/hook/(?P<value>[\w-]{16,64})"),
    (("0x",), r"(?i)private[ _-]?key[\"']?\s{0,3}[:=]?\s{0,3}[\"']?(?P<value>0x[0-9a-f]{64})"),
    (("send ",), r"\bsend\s+(?:--\s+)?\"(?P<value>[^\"\\\n]{4,128})\\r"),
)


@cache
def command_rules() -> tuple[Shape, ...]:
    """The patterns, the same for all."""
    return tuple(
        Shape(name="password", needles=n, pattern=p, check=_is_typed if n == ("send ",) else _is_password)
        for n, p in _COMMANDS
    )


def _is_password(value: str) -> bool:
    return is_value(value) and not value.startswith("$")


def _is_typed(value: str) -> bool:
    return _is_password(value) and any(c.isdigit() for c in value)
