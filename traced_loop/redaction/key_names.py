"""What a key's name says about its value: ``apiKey``, ``DB_PASSWORD``, ``x-auth-token``, ``密码`` hold secrets."""

from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal

from traced_loop.late_pattern import late_pattern
from traced_loop.redaction.word_lists import terms, words

Strength = Literal["any", "digits", "opaque", "random", "none"]
"""``any``: whatever the value is, it is masked, unless it only stands for one. ``digits``: when it holds three digits
and more (personal numbers). ``opaque``: when it is more than a word. ``random``: when nobody wrote it by hand.
``none``: never because of the key."""
Strengths = Callable[[str], Strength]
"""Gives the strength of a key."""

_WORDS: Final = late_pattern(r"[A-ZÀ-Þ]+(?![a-zß-ÿ])|[A-ZÀ-Þ]?[a-zß-ɏ]+|[0-9]+|[^\x00-\x7fÀ-ɏ]+")
_MAX_KEY: Final = 96
_MIN_LAST: Final = 5
"""At the end of a longer name a shorter word is one only by the rules that look at its neighbours."""
_TWO: Final = late_pattern(
    r"(?i)^(?:api|access|secret|private|account|signing|encryption|shared|master|auth|app|consumer|license)keys?$"
)

_ALWAYS: Final = words(
    """
    aadhaar accesscode accesskey accesstoken accountkey accountno apikey apitoken appkey appsecret authkey
    authorization authtoken bankaccount bearertoken birthdate birthday bottoken cardno cardnumber ccnumber clave
    clientsecret connectionstring contrasena contraseña cookie cookies cpf creditcard csc cvc cvc2 cvv cvv2
    dateofbirth dbpass dni dob driverlicense driverslicence driverslicense encryptionkey haslo hasło heslo iban idcard
    idcardno idnumber idtoken jwt kennwort lösenord masterkey mfacode mnemonic mot_de_passe motdepasse mypass
    nationalid nric otp otpcode pan parola pass passcode passord passphrase passport passportno passportnumber passw
    passwd password passwort pin pincode privatekey pswd pw pwd refreshtoken secret secretkey securitycode seedphrase
    senha sessiontoken setcookie sharedkey sifre signingkey socialsecuritynumber ssn taxid taxnumber totp userpass
    usertoken wachtwoord şifre авторизация пароль хпароль パスワード 令牌 出生日期 口令 密码 密碼 密钥 手机
    手机号 暗証番号 电话 秘钥 身份证 身份证号 银行卡
    비밀번호
    """
)
_PAIRS: Final = terms(
    """
    access code | access key | access token | account key | account number | admin token | api key | api token | app
    key | app secret | auth key | auth token | backup code | bank account | bearer token | birth date | bot token |
    card no | card number | cc number | client key | client secret | connection string | consumer key | cookie value
    | credit card | csrf token | date of | deploy key | deploy token | driver license | drivers license | driving
    licence | encryption key | function key | hmac key | id card | id number | id token | key data | license key |
    master key | mfa code | mobile number | mot de | national id | oauth token | one time | otp code | passport no |
    passport number | personal token | phone number | pin code | private key | push key | recovery code | recovery
    phrase | refresh token | root token | routing number | secret key | security code | security token | seed phrase
    | service key | service token | session key | session token | set cookie | shared key | signing key | social
    security | ssh key | storage key | subscription key | tax id | tax number | user token | verification code |
    webhook secret | xsrf token
    """
)
_PAIRS_INSIDE: Final = frozenset({"date of", "mot de"})
"""Pairs that count wherever they stand."""
_LOCAL: Final = (
    *("密码", "口令", "密钥", "令牌", "密碼", "秘钥"),
    *("验证码", "驗證碼"),
    *("パスワード", "暗証番号", "비밀번호", "пароль"),
)
"""Ends of words in scripts that put no space between words."""
_ENDS_ALWAYS: Final = words(
    """
    cookie credential credentials jwt pass passcode passphrase passwd password pat pin psk pw pwd secret
    """
)
_OPAQUE: Final = words(
    """
    auth bearer credential credentials dsn hmac jsessionid otp pat phpsessid psk secrets sessid session sessionid sid
    sig sign signature token tokens webhook
    """
)
_RANDOM: Final = words("assertion code key keys salt ticket")
"""Names of many harmless values, too."""
_GLUED: Final = late_pattern(
    r"(?:passwor[dt]|passwd|passphrase|storepass|keypass|userpass|dbpass|adminpass"
    r"|secret|apikey|accesskey|secretkey|privatekey)s?\Z"
)
"""Ends of words that were written together, as in ``PGPASSWORD``."""
_FILLER: Final = words(
    "value raw plain plaintext base b encrypted data old new current v confirm confirmation number no num nr"
)
_NOT_LAST: Final = words(
    """
    age alg algorithm arn at audience avg budget bytes changed check checks class cost count
    counts created days description detail details dir disabled duration enabled endpoint env error errors expiration
    expire expired expires expiry field fields file filename format header headers hint hints hours id ids index
    issuer kind label labels len length level limit limits logprob logprobs manager max message method methods min
    minutes mode ms name names offset p95 param params path pattern per placeholder policies policy pos position
    prefix price prompt provider providers rate ratio ref reference refs regex required reset rotated rotation rule
    rules s scheme schemes scope scopes seconds set size source state status storage store str strength subject suffix
    sum text timeout title total ttl type types updated uri uris url urls usage usd used valid validated var variable
    verified version window
    """
)
_NOT_FIRST: Final = words(
    """
    allow answer area arrow audio available bar bos cache cached change changed chat cls code color colour completion
    composite continuation count country currency cursor dedup dial dict disable draft enable end enter eos error
    escape exit first foreign forgot forgotten group has hot http i18n idempotency image index input invalid is item
    join key_ lang language last line lookup map mask max message min missing msg n natural needs new_line next no num
    num_ object order output pad page partition postal prev previous primary product prompt public qr question range
    reasoning remaining require requires reset response return routing row sep shard short should sort source space
    special speculative start status stop surrogate sync tab text think thinking total tracking translation unique unk
    usage use used vat wrong zip
    """
)
_PERSONAL: Final = words(
    """
    aadhaar accountno accountnumber acctno bankaccount birth birthdate birthday bsn cardno cardnumber ccnumber
    cellphone clientmac cnpj cpf creditcard csc cvc cvc2 cvv cvv2 dateofbirth devicemac dni dob
    driverlicense driverslicence driverslicense drivinglicence ein fax iban idcard idcardno identitynumber idnumber itin
    mobile mobileno mobilenumber mobilephone
    mynumber nationalid nie nif nin nino nir nric pan passport passportno passportnumber personnummer pesel phone
    phoneno phonenumber routingnumber rrn sin socialsecuritynumber ssn taxid taxnumber taxpayerid tel telephone tin
    出生日期 手机 手机号 手机号码 护照号 生日 电话 联系电话 護照 证件号 证件号码 身份证 身份证号 身份证号码
    银行卡 银行卡号
    """
)
_IDENTIFIER: Final = words(
    """
    bytes count id ids ms nano nanos ns offset order seq sequence size time timestamp us version
    """
)
_PERSONAL_STEMS: Final = words(
    """
    phone mobile tel fax ssn social sin nation card idn nin passport tax tin ein licen aadhaar cpf cnpj nric rrn dni
    nie nif nir bsn pesel personn mynum iban account acct routing dob birth ccn pan csc cvv cvc 身份 证件 银行
    出生 生日 电话 手机
    護照 护照 kty
    """
)


def may_hold_personal_key(lowered: str) -> bool:
    """Whether a text in lower case can hold the name of a field with a number of a person."""
    return any(stem in lowered for stem in _PERSONAL_STEMS)


@lru_cache(maxsize=4096)
def is_identifier(key: str) -> bool:
    """Whether the key names an id, a time or an amount: digits in it are not a person's number."""
    names = _words_of(key)
    return bool(names) and names[-1] in _IDENTIFIER and strength_of(key) == "none"


@lru_cache(maxsize=4096)
def strength_of(key: str) -> Strength:
    """How secret the values of this key are.

    Case, separators and nesting (``db.password``, ``user[password]``) do not matter. The last words count, for
    they say
    what the key holds: ``token_count`` is a count, ``page_token`` a token of pages.
    """
    names = _words_of(key)
    if not names:
        return "none"
    bare = _without_filler(names)
    if _is_personal(bare, _singular(bare[-1])) or _is_personal(names, names[-1]):
        return "digits"
    if _tells_about(names):
        return "none"
    names = bare
    last = _singular(names[-1])
    if _is_secret(names, last):
        return "any"
    if _is_secret_pair(names):
        return "none" if names[0] == "public" else "any"
    if len(names) > 1 and names[-2] in _NOT_FIRST:
        return "none"
    if last in _ENDS_ALWAYS:
        return "any"
    if last in _OPAQUE or last.endswith("token"):
        return "opaque"
    return "random" if last in _RANDOM else "none"


def _words_of(key: str) -> list[str]:
    """The words that the key is written of, in lower case: at most those of its last 96 characters."""
    return [word.lower() for word in _WORDS.findall(key[-_MAX_KEY:])]


def _tells_about(names: list[str]) -> bool:
    """Whether the key holds something about a secret, as in ``password_hint`` and ``token-limit-2``."""
    return names[-1] in _NOT_LAST or (len(names) > 1 and names[-1].isdigit() and names[-2] in _NOT_LAST)


def _without_filler(names: list[str]) -> list[str]:
    """``token_2``, ``password_raw``: the last word says nothing."""
    while len(names) > 1 and (names[-1].isdigit() or names[-1] in _FILLER):
        names = names[:-1]
    return names


def _singular(name: str) -> str:
    return name[:-1] if name.endswith("s") and name[:-1] in _ENDS_ALWAYS and name not in _OPAQUE else name


def _is_personal(names: list[str], last: str) -> bool:
    together = ("".join(names), last, "".join(names[-2:]), "".join(names[-3:]))
    return any(name in _PERSONAL for name in together)


def _is_secret(names: list[str], last: str) -> bool:
    """Whether the key is a secret's in one word, or ends with a long one."""
    if last.endswith(_LOCAL) or "".join(names) in _ALWAYS or (last in _ALWAYS and len(last) >= _MIN_LAST):
        return True
    return _TWO.match(last) is not None or _GLUED.search(last) is not None


def _is_secret_pair(names: list[str]) -> bool:
    inside = (" ".join(pair) for pair in pairwise(names))
    last = names[-1].removesuffix("s")
    return (
        " ".join([*names[-2:-1], last]) in _PAIRS
        or " ".join(names[-2:]) in _PAIRS
        or any(pair in _PAIRS_INSIDE for pair in inside)
    )
