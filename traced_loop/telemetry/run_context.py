"""The run that a context belongs to."""

from typing import Final

from opentelemetry import context as otel_context

from traced_loop.telemetry.span_record import RunScope

_RUN: Final = otel_context.create_key("traced_loop.run")


def in_run(scope: RunScope, context: otel_context.Context) -> otel_context.Context:
    """The same context inside of a run."""
    return otel_context.set_value(_RUN, scope, context)


def running(name: str) -> RunScope:
    """The run that the current context carries.

    Args:
        name: what needs it.

    Raises:
        RuntimeError: there is none.
    """
    scope = otel_context.get_value(_RUN)
    if not isinstance(scope, RunScope):
        raise RuntimeError(f"span {name!r} was opened outside of a run")
    return scope


def run_id_in(context: otel_context.Context | None) -> str | None:
    """The run that a given context belongs to, or None."""
    scope = otel_context.get_value(_RUN, context)
    return scope.run_id if isinstance(scope, RunScope) else None
