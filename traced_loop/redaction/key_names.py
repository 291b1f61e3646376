"""What a key's name says about its value: ``apiKey``, ``DB_PASSWORD``, ``x-auth-token``, ``密码`` hold secrets."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, Literal

from traced_loop.redaction.word_lists import terms, words

Strength = Literal["any", "digits", "opaque", "none"]
"""``any``: whatever the value is, it is masked, unless it only stands for one. ``digits``: when it holds three digits
and more (personal numbers). ``opaque``: when it looks random."""


Strengths = Callable[[str], Strength]
"""Gives the strength of a key."""

_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\x00-\x7f]+")
_TWO: Final = re.compile(
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
    usertoken wachtwoord şifre авторизация пароль хпароль パスワード 令牌 出生日期 口令 密码 密碼 密钥 手机 手机号 暗証番号 电话 秘钥 身份证 身份证号 银行卡
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
    webhook secret | webhook url | xsrf token
    """
)
_LOCAL: Final = (
    "密码",
    "口令",
    "密钥",
    "令牌",
    "密碼",
    "秘钥",
    "パスワード",
    "暗証番号",
    "비밀번호",
    "пароль",
    "şifre",
    "hasło",
    "lösenord",
    "contraseña",
)
_ENDS_ALWAYS: Final = words(
    """
    cookie credential credentials jwt pass passcode passphrase passwd password pat pin psk pw pwd secret
    """
)
_OPAQUE: Final = words(
    """
    assertion auth bearer code credential credentials dsn hash hmac jsessionid key keys license nonce otp pat
    phpsessid psk salt secrets sessid session sessionid sid sig sign signature state ticket token tokens webhook
    """
)
_GLUED: Final = re.compile(
    r"(?:passwor[dt]|passwd|passphrase|storepass|keypass|userpass|dbpass|adminpass|secret|apikey|accesskey|secretkey|privatekey)s?\Z"
)
"""Ends of words that were written together, as in ``PGPASSWORD``."""
_NOT_LAST: Final = words(
    """
    age alg algorithm arn at audience avg budget bytes changed check checks class confirm confirmation cost count
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
    cellphone cnpj cpf creditcard csc cvc cvc2 cvv cvv2 dateofbirth dni dob driverlicense driverslicence
    driverslicense drivinglicence ein fax iban idcard idcardno idnumber itin mobile mobileno mobilenumber mobilephone
    mynumber nationalid nie nif nin nino nir nric pan passport passportno passportnumber personnummer pesel phone
    phoneno phonenumber routingnumber rrn sin socialsecuritynumber ssn taxid taxnumber taxpayerid tel telephone tin
    出生日期 手机 手机号 手机号码 护照号 生日 电话 联系电话 護照 证件号 证件号码 身份证 身份证号 身份证号码 银行卡 银行卡号
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
    nie nif nir bsn pesel personn mynum iban account acct routing dob birth ccn pan csc cvv cvc 身份 证件 银行 出生 生日 电话 手机
    護照 护照 kty
    """
)


def may_hold_personal_key(lowered: str) -> bool:
    """Whether a text in lower case can hold the name of a field with a number of a person."""
    return any(stem in lowered for stem in _PERSONAL_STEMS)


@lru_cache(maxsize=4096)
def is_identifier(key: str) -> bool:
    """Whether the key names an id, a time or an amount: digits in it are not a person's number."""
    words = [word.lower() for word in _WORDS.findall(key[-96:])]
    return bool(words) and words[-1] in _IDENTIFIER and strength_of(key) == "none"


@lru_cache(maxsize=4096)
def strength_of(key: str) -> Strength:
    """How secret the values of this key are. Case, separators and nesting (``db.password``, ``user[password]``) do not matter."""
    words = [word.lower() for word in _WORDS.findall(key[-96:])]
    if not words:
        return "none"
    if not words[-1].isascii() and words[-1].endswith(_LOCAL):
        return "any"
    if words[-1] in _NOT_LAST or (words[-1].isdigit() and len(words) > 1 and words[-2] in _NOT_LAST):
        return "none"
    if words[-1].isdigit() or words[-1] in {
        "value",
        "raw",
        "plain",
        "plaintext",
        "base",
        "b",
        "encrypted",
        "data",
        "old",
        "new",
        "current",
    }:
        words = words[:-1] if len(words) > 1 else words
    joined, last = "".join(words), words[-1]
    if last.endswith("s") and last[:-1] in _ENDS_ALWAYS and last not in _OPAQUE:
        last = last[:-1]
    if joined in _PERSONAL or last in _PERSONAL or "".join(words[-2:]) in _PERSONAL or "".join(words[-3:]) in _PERSONAL:
        return "digits"
    if joined in _ALWAYS or (last in _ALWAYS and len(last) > 4) or _TWO.match(last) or _GLUED.search(last):
        return "any"
    pair = " ".join(words[-2:])
    if pair in _PAIRS or any(" ".join(words[n : n + 2]) in {"date of", "mot de"} for n in range(len(words) - 1)):
        return "none" if words[0] == "public" else "any"
    if len(words) > 1 and words[-2] in _NOT_FIRST:
        return "none"
    if last in _ENDS_ALWAYS:
        return "any"
    return "opaque" if last in _OPAQUE or last.endswith("token") else "none"
