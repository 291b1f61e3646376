"""Masking of credentials and personal data before anything leaves the process."""

from traced_loop.redaction.own_secrets import register_environment, register_secret
from traced_loop.redaction.redactor import (
    FAILED,
    Finding,
    Found,
    Redactor,
    default_redactor,
    redact,
    redact_text,
    rule_names,
)
from traced_loop.redaction.rule import RedactionRule

__all__ = [
    "FAILED",
    "Finding",
    "Found",
    "RedactionRule",
    "Redactor",
    "default_redactor",
    "redact",
    "redact_text",
    "register_environment",
    "register_secret",
    "rule_names",
]
