"""In which order is looked for what."""

from traced_loop.redaction import RedactionRule, Redactor, redact, rule_names


def test_what_names_itself_comes_before_its_key() -> None:
    """The marker says more then."""
    key = "ghp_" + "A1b2C3d4" * 5
    assert redact(f"token={key}") == "token=[REDACTED:github_token]"


def test_added_rules_share_the_first_place() -> None:
    """Where two overlap, the longer one names the marker."""
    rule = RedactionRule(name="house", pattern=r"token=\w+")
    key = "ghp_" + "A1b2C3d4" * 5
    assert Redactor(add=[rule]).text(f"token={key}") == "[REDACTED:house]"


def test_each_rule_is_listed_once() -> None:
    """Own credentials first, what is encoded last."""
    names = rule_names()
    assert len(set(names)) == len(names)
    assert (names[0], names[-1]) == ("own_credential", "encoded")
    assert {"email", "card", "assigned_secret", "secret_field", "openai_key", "jwt"} <= set(names)


def test_what_masking_lays_bare_is_found_in_the_next_round() -> None:
    """A digit before a hash hides it until the digit is masked."""
    masked = redact("gho_" + "0123456789abcdefghij" + "$1$" + "0" * 16)
    assert masked == "[REDACTED:github_token]$1$[REDACTED:password_hash]"
