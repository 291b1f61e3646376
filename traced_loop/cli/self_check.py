"""``traced-loop self-check``: does this installation keep its promises?"""

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("self-check")(self_check)


def self_check() -> None:
    """Play small scripted runs and check the promises on their spans; no key, no network, nothing stored."""
    from traced_loop.scenarios.self_checks import NOT_CHECKED, self_checks

    failed = 0
    for check in self_checks():
        wrong = check.run()
        failed += wrong is not None
        print(f"{'ok    ' if wrong is None else 'FAILED'} {check.promise}{f': {wrong}' if wrong else ''}")
    print(NOT_CHECKED)
    print("self-check passed" if failed == 0 else f"self-check failed: {failed} checks")
    if failed:
        raise typer.Exit(1)
