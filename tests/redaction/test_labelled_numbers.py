"""Numbers that only their label makes personal."""

import pytest

from traced_loop.redaction import redact


@pytest.mark.parametrize(
    "text",
    [
        *("passport no. @X1234567@", "SSN: @078051120@", "护照号码\uff1a@E12345678@", "account number is @12345678@"),
        *("date of birth: @1984-02-29@", "né le @29/02/1984@", "cvv: @123@"),
        *(
            "call @555 013 2222@",
            "电话 @010 8765 4321@",
            "client mac: @00:1a:2b:3c:4d:5e@",
            "driver's license @D1234567@",
        ),
    ],
)
def test_a_label_makes_a_number_personal(text: str) -> None:
    """The label stays."""
    before, number, _ = text.split("@")
    masked = redact(text.replace("@", ""))
    assert masked.startswith(before + "[REDACTED:")
    assert number not in masked


@pytest.mark.parametrize(
    "text",
    [
        "passport office 12",
        "born in 1984",
        "cvv must have 3 digits",
        "call me",
        "mac: 00:1a:2b:3c:4d:5e",
        "company 12345678",
    ],
)
def test_a_label_alone_or_another_word_masks_nothing(text: str) -> None:
    """A number too short, no number, a word that only contains a label."""
    assert redact(text) == text
