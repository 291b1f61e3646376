"""Check digits accept what is right, and refuse it when one digit of it is another."""

from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.redaction import check_digits
from traced_loop.redaction.check_digits import digits_of


def completed(check: Callable[[str], bool], candidates: Iterable[str]) -> str:
    """The one candidate that the check accepts, or an empty text."""
    return next((number for number in candidates if check(number)), "")


def ending(head: str, size: int) -> list[str]:
    """All numbers that begin like this and end with so many digits."""
    return [head + str(tail).zfill(size) for tail in range(10**size)]


NUMBERS: dict[str, tuple[Callable[[str], bool], int, Callable[[str], list[str]]]] = {
    # the check, how many digits are free, what to try for the rest
    "luhn": (check_digits.luhn, 15, lambda d: ending(d, 1)),
    "verhoeff": (check_digits.verhoeff, 11, lambda d: ending(d, 1)),
    "french": (check_digits.french, 13, lambda d: ending(d, 2)),
    "swiss": (check_digits.swiss, 12, lambda d: ending(d, 1)),
    "iban": (check_digits.iban, 18, lambda d: [f"DE{n:02}{d}" for n in range(2, 99)]),
    "cn_resident": (check_digits.cn_resident, 9, lambda d: [f"{d[:6]}19840229{d[6:]}{c}" for c in "0123456789X"]),
    "spanish": (check_digits.spanish, 8, lambda d: [d + c for c in "TRWAGMYFPDXBNJZSQVHLCKE"]),
    "italian": (
        check_digits.italian,
        5,
        lambda d: [f"RSSMRA{d[:2]}A{d[2:4]}H50{d[4]}{chr(65 + n)}" for n in range(26)],
    ),
    "singapore": (check_digits.singapore, 7, lambda d: [f"S{d}{c}" for c in "JZIHGFEDCBA"]),
}


@pytest.mark.parametrize("name", NUMBERS)
@given(st.data())
def test_one_changed_digit_is_refused(name: str, data: st.DataObject) -> None:
    """Whatever the number, and whichever of its digits is changed to whatever other."""
    check, size, tries = NUMBERS[name]
    digits = data.draw(st.text("0123456789", min_size=size, max_size=size))
    number = completed(check, tries(digits))
    if not number:  # one in eleven of some has no check digit
        return
    place = data.draw(st.sampled_from([n for n, sign in enumerate(number) if sign.isdigit()]))
    other = data.draw(st.sampled_from([d for d in "0123456789" if d != number[place]]))
    assert not check(number[:place] + other + number[place + 1 :])


@pytest.mark.parametrize(("check", "size"), [(check_digits.cpf, 9), (check_digits.cnpj, 12)])
@given(st.data())
def test_brazilian_numbers_have_one_pair_of_check_digits(
    check: Callable[[str], bool], size: int, data: st.DataObject
) -> None:
    """Of the hundred ends of a number one is right; of a CPF of one digit only, none."""
    digits = data.draw(st.text("0123456789", min_size=size, max_size=size))
    right = [number for number in ending(digits, 2) if check(number)]
    assert len(right) == 1 or (size == 9 and len(set(digits)) == 1)


@pytest.mark.parametrize(
    ("check", "number"),
    [
        (check_digits.luhn, "4111111111111111"),
        (check_digits.iban, "GB29NWBK60161331926819"),
        (check_digits.cn_resident, "11010519491231002X"),
        (check_digits.verhoeff, "234123412346"),
        (check_digits.cpf, "11144477735"),
        (check_digits.cnpj, "11222333000181"),
        (check_digits.spanish, "12345678Z"),
        (check_digits.spanish, "X1234567L"),
        (check_digits.french, "255081416802538"),
        (check_digits.italian, "RSSMRA85T10A562S"),
        (check_digits.swiss, "7569217076985"),
        (check_digits.singapore, "S1234567D"),
    ],
)
def test_the_examples_of_the_issuers_are_right(check: Callable[[str], bool], number: str) -> None:
    """Numbers from the documents that define them."""
    assert check(number)


def test_a_birthday_that_is_none_makes_a_chinese_id_wrong() -> None:
    """The 13th month and the 32nd day are refused before anything is summed up."""
    assert not check_digits.cn_resident("110105194913310020")
    assert not check_digits.cn_resident("110105194912320020")


def test_only_countries_with_ibans_have_a_size() -> None:
    """Norway's are the shortest; the United States have none."""
    assert check_digits.iban_size("NO") == 15
    assert check_digits.iban_size("US") is None


def test_digits_are_ascii() -> None:
    """Arabic and full-width digits are no digits of an identity number."""
    assert digits_of("1-2\u0663\uff14 5") == "125"
