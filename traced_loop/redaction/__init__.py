"""Masking of credentials and personal data before anything leaves the process.

Importing this costs little: a pattern is compiled when a text can hold what it finds.
"""

from traced_loop.redaction.markers import Found
from traced_loop.redaction.own_secrets import register_credentials, register_environment, register_secret
from traced_loop.redaction.redactor import Finding, Redactor, default_redactor, redact, redact_text, rule_names
from traced_loop.redaction.rule import RedactionRule

__all__ = [
    "Finding",
    "Found",
    "RedactionRule",
    "Redactor",
    "default_redactor",
    "redact",
    "redact_text",
    "register_credentials",
    "register_environment",
    "register_secret",
    "rule_names",
]
