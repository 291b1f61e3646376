"""Values beside a key, in any text."""

import pytest

from traced_loop.redaction import redact

SECRET = "Tr0ub4dor3"
MASK = "[REDACTED:assigned_secret]"


@pytest.mark.parametrize(
    "text",
    [
        *("DB_PASSWORD=@", "export API_KEY='@'", 'password: "@"', "password = @  # as told", "'secret_key': '@',"),
        *("--password=@ --verbose", "--token @", "?access_token=@&page=2", "password%3D@%26page", "client_secret := @"),
        *("<password>@</password>", "<ns:apiKey type='a'>@</ns:apiKey>", "password: str = '@'", "the password is @."),
        *(
            "password for the database: @",
            "Passwort: @",
            "contraseña = @",
            "密码\uff1a@\uff0c谢谢",
            "「パスワード」は「@」です",
        ),
        *('{\\"password\\": \\"@\\"', "&quot;password&quot;: &quot;@&quot;", "config['password'] = '@'", "ENV TOKEN @"),
        *("name: password, value: @", "my API key is @", "password: !vault @", "psk=@", "PASSWORD => @"),
    ],
)
def test_a_value_behind_a_key_is_masked(text: str) -> None:
    """By whatever sign, quote, tag or verb they are joined; what is around it stays."""
    assert redact(text.replace("@", SECRET)) == text.replace("@", MASK)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "password: str",
            "if token == 'abc12345':",
            "token = get_token()",
            "password = config.password",
            "keyboard=abc1",
        ),
        *("the password is wrong", "password must be set", "'password:' 'x'", "token_count=12345", "spin=Tr0ub4dor3"),
        *("secret: /run/secrets/db", "api_key=<your key>", "password=${PASSWORD}", "next_token=abc", "password"),
        *("Passwords are stored as hashes", "echo password in the log", "the key to success"),
    ],
)
def test_what_only_looks_like_a_key_or_a_value_stays(text: str) -> None:
    """Code, types, prose, paths, placeholders, counts."""
    assert redact(text) == text
