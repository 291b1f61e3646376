"""Passwords on command lines, in statements and forms."""

import pytest

from traced_loop.redaction import redact


@pytest.mark.parametrize(
    "text",
    [
        *("curl -u me:@ https://a.b/c", "mysql -u root -p@ db", "sshpass -p @ ssh a", "redis-cli -a @ ping"),
        *("docker login -u me -p @ registry", "openssl rsa -passin pass:@ -in a", "echo 'me:@' | chpasswd"),
        *("net use z: \\\\a\\b @ /user:me", "machine a login me password @", "db:5432:app:me:@"),
        *("ALTER USER me IDENTIFIED BY '@'", '<input type="password" value="@">', 'send "@\\r"'),
    ],
)
def test_the_option_of_each_program_is_known(text: str) -> None:
    """Nothing else of the line is masked."""
    masked = redact(text.replace("@", "sw0rdfish"))
    before, behind = text.split("@", 1)
    assert masked.startswith(before)
    assert masked.endswith(behind)
    assert "sw0rdfish" not in masked


@pytest.mark.parametrize(
    "text", ["docker run -p 8080:80 web", "mysql -u root -p db", "mkdir -p a/b", "curl -u $USER:$PASS a"]
)
def test_other_options_stay(text: str) -> None:
    """Ports, directories, variables, a password that is asked for."""
    assert redact(text) == text
