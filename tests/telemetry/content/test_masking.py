"""Where content meets the rules of redaction."""

from traced_loop.telemetry.content.masking import masked


def test_credentials_are_masked_wherever_they_stand_in_a_value() -> None:
    """And it is told whether anything was."""
    shown, found = masked({"parts": [{"content": "the key is sk-0123456789abcdefghij."}], "n": 1})
    assert (shown, found) == ({"parts": [{"content": "the key is [REDACTED:api_key]."}], "n": 1}, True)
    assert masked({"parts": ["nothing"]}) == ({"parts": ["nothing"]}, False)


def test_a_text_beside_a_key_that_names_a_secret_is_masked() -> None:
    """As in the JSON text that the model wrote; other kinds of values and other names are not."""
    shown, found = masked({"arguments": [{"api_key": "blue", "max_tokens": "9", "password": "", "token": 7}]})
    assert shown == {"arguments": [{"api_key": "[REDACTED:secret]", "max_tokens": "9", "password": "", "token": 7}]}
    assert found
