"""Texts and JSON values as strange as they come, made of the pieces that masking looks for."""

import json

from hypothesis import strategies as st

PIECES = (
    *(
        "password",
        "passwd:",
        "api_key=",
        "Authorization: Bearer ",
        "Cookie: sid=",
        "secret",
        "token",
        "my pin is ",
        "密码",
    ),
    *(
        "https://",
        "user:",
        "@",
        "example.com",
        "curl -u ",
        "export ",
        "<password>",
        "</password>",
        "--token ",
        "INSERT (",
    ),
    *(
        "[REDACTED:email]",
        "[REDACTED",
        ":",
        "=",
        "]",
        "[",
        "{",
        "}",
        '"',
        "'",
        "\\",
        "\\n",
        "\n",
        "\t",
        " ",
        ",",
        ";",
        "|",
    ),
    *("%40", "%", "%3D", "&", "\u2028", "\u202e", "\x00", "\ud800", "\u0130", "é", "\U0001f511", "\\u0070", "\\ud83d"),
    *("4111 1111 1111 1111", "+1 (415) 555-0132", "078-05-1120", "203.0.113.42", "GB29 NWBK 6016 1331 9268 19", "1"),
    *(
        "A1b2C3d4E5f6",
        "Tr0ub4dor3",
        "correct horse",
        "ghp_" + "A1b2C3d4" * 5,
        "eyJ" + "hbGciOiJ9" * 3 + ".",
        "c2VjcmV0IGlz" * 3,
    ),
    *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "MIIB" * 8, "$2b$10$" + "Ab1." * 8, "null", "true"),
)

texts = st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=24).map("".join))
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts)
keys = st.one_of(texts, st.sampled_from(("password", "token", "value", "name", "total_tokens", "headers", "kty", "k")))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=6),
        st.dictionaries(keys, inner, max_size=6),
        inner.map(lambda value: json.dumps(value, default=str)),
        inner.map(lambda value: json.dumps(value, ensure_ascii=False, indent=1)),
    ),
    max_leaves=24,
)
