"""Numbers of people by their shape."""

import pytest

from traced_loop.redaction import redact
from traced_loop.redaction.personal_numbers import has_number, is_card


@pytest.mark.parametrize(
    ("rule", "number"),
    [
        *(("card", "4111111111111111"), ("card", "4111 1111 1111 1111"), ("card", "3782-822463-10005")),
        *(
            ("phone", "+1 (415) 555-0132"),
            ("phone", "(415) 555-0132"),
            ("phone", "+44 20 7946 0958"),
            ("phone", "13812345678"),
        ),
        *(("us_ssn", "219-09-9999"), ("uk_nino", "AB 12 34 56 C"), ("cn_id", "11010519491231002X")),
        *(("in_aadhaar", "2341 2341 2346"), ("br_cpf", "111.444.777-35"), ("br_cnpj", "11.222.333/0001-81")),
        *(("es_id", "12345678Z"), ("it_fiscal_code", "RSSMRA85T10A562S"), ("kr_rrn", "900101-1234567")),
        *(("sg_nric", "S1234567D"), ("se_personnummer", "811228-9874"), ("ch_ahv", "756.9217.0769.85")),
        *(("fr_nir", "2 55 08 14 168 025 38"), ("ca_sin", "130-692-544"), ("in_pan", "ABCPE1234F")),
    ],
)
def test_a_number_of_a_person_is_masked(rule: str, number: str) -> None:
    """Between words, signs and Chinese characters alike."""
    for before, behind in (("it is ", " today"), ("(", ")"), ("是", "。"), ("", "")):
        assert redact(before + number + behind) == f"{before}[REDACTED:{rule}]{behind}"


@pytest.mark.parametrize(
    "text",
    [
        *("4111111111111112", "order 4111111111111111", "2026-11-30", "1764475200000", "3.14159265358979", "1.2.3-4"),
        *("0000-0000", "12 34 56 78 90 12 34 56 78 90 12", "978-3-16-148410-0", "666-12-3456", "id: 4111111111111111"),
        *("550e8400-e29b-41d4-a716-446655440000", "10.1038/nphys1170", "v1.800.555.0132"),
    ],
)
def test_other_numbers_stay(text: str) -> None:
    """Wrong check digits, ids, dates, times, rows of a table, versions."""
    assert redact(text) == text


def test_a_card_has_its_issuers_prefix_and_length() -> None:
    """And not one digit only."""
    assert is_card("378282246310005")
    assert not is_card("37828224631000")
    assert not is_card("4" * 16)
    assert not is_card("9111111111111111")


def test_a_number_is_two_digits_with_little_between_them() -> None:
    """Asked once for a whole text."""
    assert has_number("call 555 0132")
    assert not has_number("a1, b2; c3")
