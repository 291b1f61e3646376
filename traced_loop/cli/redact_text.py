"""``redact``: a filter that masks what the telemetry would mask, for logs and for trying rules out."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from traced_loop.redaction import Found, RedactionRule, Redactor


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("redact", short_help="Mask credentials and personal data in a text or in JSON.")(redact_text)


def redact_text(
    file: Annotated[str, typer.Argument(help="What to read; - for standard input.")] = "-",
    *,
    lines: Annotated[
        bool, typer.Option("--lines", help="Mask line by line, as they come (tail -f); a key block is not seen then.")
    ] = False,
    without: Annotated[list[str] | None, typer.Option(help="Leave this rule out; again for more.")] = None,
    rule: Annotated[list[str] | None, typer.Option(help="Add a rule, NAME=PATTERN; again for more.")] = None,
    secret_key: Annotated[list[str] | None, typer.Option(help="Mask the values of fields of this name.")] = None,
    open_key: Annotated[list[str] | None, typer.Option(help="Show the values of fields of this name.")] = None,
    rules: Annotated[bool, typer.Option("--rules", help="List the rules instead.")] = False,
    report: Annotated[bool, typer.Option("--report", help="Say on stderr what each rule masked.")] = False,
) -> None:
    """Mask credentials and personal data in a text or in JSON, as they are masked on spans."""
    from traced_loop.cli.output import note, write_answer
    from traced_loop.redaction import Redactor, register_environment, rule_names

    if rules:
        write_answer("\n".join(rule_names()))
        return
    register_environment()
    redactor = Redactor(
        add=[_rule(given) for given in rule or ()],
        without=without or (),
        secret_keys=secret_key or (),
        open_keys=open_key or (),
    )
    found: Found = {}
    _filter(_read(file, lines=lines), redactor, found)
    if report:
        counted = ", ".join(f"{name} {count}" for name, count in sorted(found.items(), key=lambda one: -one[1]))
        note(f"masked: {counted or 'nothing'}")


def _rule(given: str) -> "RedactionRule":
    from traced_loop.errors import UsageError
    from traced_loop.redaction import RedactionRule

    name, sign, pattern = given.partition("=")
    if not sign or not pattern:
        raise UsageError(f"--rule wants NAME=PATTERN, such as employee='EMP-[0-9]{{6}}', not {given!r}")
    return RedactionRule(name=name, pattern=pattern)


def _read(file: str, *, lines: bool) -> "Iterable[str]":
    """The input whole, or line by line; bytes that are no UTF-8 pass unchanged."""
    from contextlib import nullcontext

    from traced_loop.errors import UsageError

    try:
        opened = (
            nullcontext(sys.stdin.buffer) if file == "-" else open(file, "rb")  # noqa: SIM115, PTH123 - closed by the with below
        )
        with opened as stream:
            if lines:
                yield from (line.decode(errors="surrogateescape") for line in stream)
            else:
                yield stream.read().decode(errors="surrogateescape")
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror or error}") from error


def _filter(texts: "Iterable[str]", redactor: "Redactor", found: "Found") -> None:
    for text in texts:
        sys.stdout.buffer.write(redactor.text(text, found).encode(errors="surrogateescape"))
        sys.stdout.buffer.flush()
