"""Numbers that only their label makes personal: passports, licences, tax and account numbers, birthdays, card codes."""

import re
from collections.abc import Iterator
from typing import Final

from traced_loop.late_pattern import late_pattern
from traced_loop.redaction.check_digits import digits_of
from traced_loop.redaction.rule import Finder, Place, Shape
from traced_loop.redaction.word_lists import terms

LABELS: Final = terms(
    """
    ssn | social security | sin | social insurance | itin | ein | tin | tax id | tax_id | taxpayer | tax number |
    tax file number | tfn | medicare | nhs | national insurance | nino | passport | reisepass | passeport |
    pasaporte | driver license | driver's license | driver\u2019s license | drivers license | driver licence | driver's
    licence | driving licence | driving license | driver_license | driver id | führerschein | license plate |
    national id | national_id | identity card | personalausweis | ausweis | id card | id_card | steuer-id |
    steueridentifikationsnummer | steuernummer | identifikationsnummer | aadhaar | aadhar | pan | pan card | dni |
    nie | nif | cpf | cnpj | nir | sécurité sociale | codice fiscale | bsn | pesel | personnummer | fødselsnummer |
    ahv | avs | nric | fin | rrn | my number | mynumber | account number | account no | account_number | account nr
    | acct | a/c | routing number | routing | routing_number | sort code | bsb | card number | card no | card ending
    | card_number | card | マイナンバー | 個人番号 | 旅券番号 | 护照 | 护照号 | 护照号码 | 護照 | 護照號碼 |
    身份证 | 身份证号 | 身份证号码 | 证件 | 证件号 | 证件号码
    | 社保 | 社保号 | 银行卡 | 银行卡号 | 银行账号 | 账号 | 驾驶证 | 驾驶证号 | 驾照 | 통행증 |
    주민등록번호 | 여권 | 여권번호 | 港澳通行证
    | 台胞证 | 身分證字號 | 社保卡号 | 社保卡 | 運転免許証番号 | hkid | ic number |
    ic no | rg | curp | rfc | sa id | id number | ת.ז. | teudat zehut | tc kimlik | tc kimlik no |
    henkilötunnus |
    cpr | ird | nhi | ni number | dl# | инн | паспорт | снилс | nik | cccd | cnp | rodné číslo | amka | pps |
    ppsn | registre national
    """
)
_BIRTH: Final = terms(
    """
    dob | d.o.b | date of birth | birth date | birthdate | birthday | born on | born | geburtsdatum | geboren am |
    né le | née le | fecha de nacimiento | date de naissance | дата рождения | data di nascita |
    出生日期 | 生日 | 生年月日
    """
)
_CODES: Final = terms(
    """
    cvv2 | cvv | cvc2 | cvc | csc | security code | card code
    """
)
_NUMBER_SIGN: Final = r"(?:[ _-]?(?:n(?:o|r|um|umber|ummer|úmero|uméro)?\b\.?|№|#|id\b|号码?|番号))?"
_JOINED: Final = (
    r"\)?[\"']?[.:]?\s{0,3}(?:[:=#\uff1a]|is\b|was\b|n[or°º]\.?|号|为|是|は)?[\"'\s]{0,3}(?:is |: ?|= ?|# ?)?"
)
_GROUP: Final = r"[A-Za-z0-9]*\d[A-Za-z0-9]*"
_NUMBER: Final = late_pattern(
    rf"(?i){_NUMBER_SIGN}{_JOINED}"
    rf"(?P<value>[A-Za-z]{{0,5}}-?\d[A-Za-z0-9]*(?:[ .\-/]{_GROUP}){{0,6}}(?:-[A-Z])?|(?-i:[A-Z]{{5}}\d{{4}}[A-Z]))"
    r"(?![A-Za-z0-9_])"
)
"""``No. 12 345 678-A`` behind a label; or an Indian PAN."""
_DATE: Final = late_pattern(
    r"[\"']?\s{0,3}[:=\uff1a]?\s{0,3}[\"']?(?P<value>\d{1,4}[./年 -]\s?(?:\d{1,2}|[A-Z][a-z]{2,8})[./月 -]\s?\d{1,4}日?"
    r"|[A-Z][a-z]{2,8} \d{1,2},? \d{4})(?![\dT])"
)
_CODE: Final = late_pattern(r"[\"']?\)?\s{0,3}(?:[:=]|is)?\s{0,3}[\"']?(?P<value>\d{3,4})(?![\d_A-Za-z.])")
_PHONE_WORDS: Final = terms(
    """
    phone | mobile | cell | tel | fax | whatsapp | call | called | calling | ring | sms | text | texted | dial |
    telefon | téléphone | teléfono | telefone | handy | móvil | portable | rufnummer | contact number | callback |
    hotline | 电话 | 手机 | 致电 | 拨打 | 联系方式 | 電話 | 携帯 | 전화
    """
)
_PHONE: Final = late_pattern(r"(?:[ _-]?number)?[^\d\n+(]{0,24}(?P<value>\+?\(?\d[\d ()./-]{5,18}\d)(?![\d_A-Za-z])")
_MAC: Final = late_pattern(
    r"(?i)\b(?:device|subscriber|client|user|handset|phone|customer|cpe)\w{0,8}[\"']?"
    r"[ _-](?:device )?mac(?:[ _-]?addr\w{0,4})?"
    r"[\"']?\s{0,3}[:=]?\s{0,3}[\"']?(?P<value>(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2})"
)


def _after(labels: tuple[str, ...], rest: re.Pattern[str], text: str, lowered: str) -> Iterator[Place]:
    """What follows a label that begins and ends as a word."""
    for label in labels:
        at = lowered.find(label)
        while at >= 0:
            end = at + len(label)
            if not (
                (at and _is_letter(text[at - 1]))
                or (end < len(text) and _is_letter(text[end]) and _is_letter(label[-1]))
            ):
                found = rest.match(text, end)
                if found is not None:
                    yield found.span("value")
            at = lowered.find(label, end)


def _is_letter(sign: str) -> bool:
    return sign.isascii() and sign.isalpha()


def _ids(text: str, lowered: str) -> Iterator[Place]:
    for start, end in _after(LABELS, _NUMBER, text, lowered):
        value = text[start:end]
        if len(digits_of(value)) >= 4 and 6 <= len(value.replace(" ", "")) <= 34:
            yield start, end


def _phones(text: str, lowered: str) -> Iterator[Place]:
    for start, end in _after(_PHONE_WORDS, _PHONE, text, lowered):
        if 7 <= len(digits_of(text[start:end])) <= 15:
            yield start, end


def labelled_numbers() -> tuple[Finder, ...]:
    """What is found by its label, where there is a longer number at all."""
    return (
        Finder(name="national_id", needles=LABELS, find=_ids),
        Finder(name="phone", needles=_PHONE_WORDS, find=_phones),
    )


def labelled_dates() -> tuple[Finder | Shape, ...]:
    """Birthdays, card codes and device addresses, which hold no longer number."""
    return (
        Finder(name="birth_date", needles=_BIRTH, find=lambda text, lowered: _after(_BIRTH, _DATE, text, lowered)),
        Finder(name="card_code", needles=_CODES, find=lambda text, lowered: _after(_CODES, _CODE, text, lowered)),
        Shape(name="mac_address", needles=("mac",), pattern=_MAC),
    )
