"""Where content meets the rules of redaction."""

from traced_loop.telemetry.content.masking import masked


def test_credentials_are_masked_wherever_they_stand_in_a_value() -> None:
    """And it is told whether anything was."""
    shown, found = masked({"parts": [{"content": "the key is sk-0123456789abcdefghij."}], "n": 1})
    assert (shown, found) == ({"parts": [{"content": "the key is [REDACTED:api_key]."}], "n": 1}, True)
    assert masked({"parts": ["nothing"]}) == ({"parts": ["nothing"]}, False)
