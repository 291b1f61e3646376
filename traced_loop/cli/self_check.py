"""``traced-loop self-check``: does this installation keep its promises?"""

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from traced_loop.scenarios.self_checks import SelfCheck


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("self-check", short_help="Check the promises of this installation.")(self_check)


def self_check() -> None:
    """Play small scripted runs and check the promises on their spans; no key, no network, nothing stored."""
    from traced_loop.scenarios.self_checks import self_checks

    if report(self_checks()):
        raise typer.Exit(1)


def report(checks: "Sequence[SelfCheck]") -> int:
    """Run the checks and print a line for each; how many failed."""
    from traced_loop.scenarios.self_checks import NOT_CHECKED

    failed = 0
    for check in checks:
        wrong = _wrong(check)
        failed += wrong is not None
        print(f"ok     {check.promise}" if wrong is None else f"FAILED {check.promise}: {wrong}")
    print(NOT_CHECKED)
    print(f"self-check failed: {failed} of {len(checks)} checks" if failed else "self-check passed")
    return failed


def _wrong(check: "SelfCheck") -> str | None:
    from traced_loop.views.visible import visible

    try:
        return check.run()
    except Exception as error:  # noqa: BLE001 - a check that raises has failed, and the others are still of interest
        return visible(f"{type(error).__name__}: {error}")
