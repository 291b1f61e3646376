"""Check digits of card numbers and national ids: what tells a number of a person from a number like it."""

from itertools import cycle
from typing import Final

from traced_loop.late_pattern import late_pattern

_NO_DIGIT: Final = late_pattern(r"[^0-9]+")

_IBAN_LENGTHS: Final[dict[str, int]] = {
    country: int(size)
    for size, countries in {
        "15": "NO", "16": "BE", "18": "DK FI FO GL NL SD", "19": "MK SI", "20": "AT BA EE KZ LT LU XK MN",
        "21": "CH HR LI LV", "22": "BG BH CR DE GB GE IE ME RS VA", "23": "AE GI IL IQ OM TL SO",
        "24": "AD CZ ES MD PK RO SA SE SK TN VG", "25": "LY PT ST", "26": "IS TR",
        "27": "BI DJ FR GR IT MC MR SM",
        "28": "AL AZ BY CY DO GT HU LB NI PL SV", "29": "BR EG PS QA UA", "30": "JO KW MU YE",
        "31": "MT SC", "32": "LC", "33": "RU",
    }.items()
    for country in countries.split()
}  # fmt: skip
"""SWIFT's IBAN registry."""

_VERHOEFF_TIMES: Final = (
    "0123456789", "1234067895", "2340178956", "3401289567", "4012395678",
    "5987604321", "6598710432", "7659821043", "8765932104", "9876543210",
)  # fmt: skip
_VERHOEFF_TURN: Final = (
    "0123456789", "1576283094", "5803796142", "8916043527", "9453126870", "4286573901", "2793806415", "7046913258",
)  # fmt: skip
_CN_WEIGHTS: Final = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_ITALIAN_ODD: Final = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
_DNI_LETTERS: Final = "TRWAGMYFPDXBNJZSQVHLCKE"


def digits_of(text: str) -> str:
    """The ASCII digits of a text, in order."""
    return _NO_DIGIT.sub("", text)


def luhn(digits: str) -> bool:
    """ISO/IEC 7812-1 annex B: cards, Canadian SIN, Swedish personnummer."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def iban_size(country: str) -> int | None:
    """Characters of an IBAN of this country, or None where there are none."""
    return _IBAN_LENGTHS.get(country)


def iban(compact: str) -> bool:
    """ISO 13616, remainder 97 of a compact IBAN."""
    moved = compact[4:] + compact[:4]
    return int("".join(str(int(c, 36)) for c in moved)) % 97 == 1


def cn_resident(number: str) -> bool:
    """GB 11643: 17 digits and a check sign; the birthday in it must be one."""
    if not (1900 <= int(number[6:10]) <= 2099 and 1 <= int(number[10:12]) <= 12 and 1 <= int(number[12:14]) <= 31):
        return False
    total = sum(weight * int(digit) for weight, digit in zip(_CN_WEIGHTS, number, strict=False))
    return "10X98765432"[total % 11] == number[17].upper()


def verhoeff(digits: str) -> bool:
    """Indian Aadhaar."""
    state = 0
    for place, digit in enumerate(reversed(digits)):
        state = int(_VERHOEFF_TIMES[state][int(_VERHOEFF_TURN[place % 8][int(digit)])])
    return state == 0


def cpf(digits: str) -> bool:
    """Brazilian CPF of 11 digits."""
    return len(set(digits)) > 1 and all(
        int(digits[size]) == sum(int(d) * (size + 1 - n) for n, d in enumerate(digits[:size])) * 10 % 11 % 10
        for size in (9, 10)
    )


def cnpj(digits: str) -> bool:
    """Brazilian CNPJ of 14 digits."""

    def check(head: str) -> int:
        weighted = sum(int(d) * w for d, w in zip(reversed(head), cycle(range(2, 10)), strict=False))
        return 0 if weighted % 11 < 2 else 11 - weighted % 11

    return int(digits[12]) == check(digits[:12]) and int(digits[13]) == check(digits[:13])


def spanish(number: str) -> bool:
    """DNI and NIE: eight digits, or X, Y, Z and seven, and a letter."""
    return _DNI_LETTERS[int(number[:-1].upper().translate(str.maketrans("XYZ", "012"))) % 23] == number[-1].upper()


def french(digits: str) -> bool:
    """NIR of 15 digits, Corsica left out."""
    return 97 - int(digits[:13]) % 97 == int(digits[13:])


def italian(code: str) -> bool:
    """Codice fiscale of 16 characters."""

    def value(c: str) -> int:
        return int(c) if c.isdigit() else ord(c) - ord("A")

    total = sum(_ITALIAN_ODD[value(c)] if place % 2 == 0 else value(c) for place, c in enumerate(code[:15].upper()))
    return chr(total % 26 + ord("A")) == code[15].upper()


def swiss(digits: str) -> bool:
    """AHV number of 13 digits: EAN-13."""
    return sum(int(d) * (3 if n % 2 else 1) for n, d in enumerate(digits)) % 10 == 0


def singapore(number: str) -> bool:
    """NRIC and FIN: S, T, F, G or M, seven digits, a letter."""
    number = number.upper()
    total = sum(int(d) * w for d, w in zip(number[1:8], (2, 7, 6, 5, 4, 3, 2), strict=True))
    total += {"T": 4, "G": 4, "M": 3}.get(number[0], 0)
    letters = {"S": "JZIHGFEDCBA", "T": "JZIHGFEDCBA", "F": "XWUTRQPNMLK", "G": "XWUTRQPNMLK", "M": "XWUTRQPNJLK"}
    return letters[number[0]][total % 11] == number[8]
