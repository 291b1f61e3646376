"""What the functions beside a tool are given: arguments of its call, by name.

A compensation gets the result, too, a reconciliation all arguments together where it asks for them. Checked when the
tool is declared, so that neither fails for want of an argument.
"""

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from traced_loop.argument_schema import HIDDEN_PARAMETER, cancellation_parameter
from traced_loop.errors import UsageError

RESULT_PARAMETER: Final = "result"
"""A compensation's parameter of this name gets the result of the call, as plain JSON values, whole."""


def check_undo(undo: Callable[..., Any], *, given: Collection[str], always: Collection[str], of: str) -> None:
    """Check that a compensation can be given all that it asks for.

    Args:
        undo: the function.
        given: parameters of the tool.
        always: those that have a value in every call.
        of: the tool, for messages.

    Raises:
        UsageError: it cannot; the message names the parameter.
    """
    if RESULT_PARAMETER in given and RESULT_PARAMETER in inspect.signature(undo).parameters:
        raise UsageError(f"{of}: its own parameter 'result' hides the result from its compensation: rename it")
    filled = {HIDDEN_PARAMETER, RESULT_PARAMETER, cancellation_parameter(undo)}
    _check_given(undo, filled, given=given, always=always, of=of, what="compensation", instead=RESULT_PARAMETER)


def undo_arguments(
    undo: Callable[..., Any], call: Callable[..., Any], arguments: Mapping[str, Any], result: Callable[[], Any]
) -> dict[str, Any]:
    """The keyword arguments of a compensation, without what the executor fills in.

    Args:
        undo: the function.
        call: the handler of the call that it undoes, whose defaults hold for what the model left out.
        arguments: what that was called with.
        result: gives the result; asked only where it is wanted.
    """
    wanted, takes_all = _wanted(undo)
    known = {**defaults_of(call), **arguments}
    found = {name: value for name, value in known.items() if takes_all or name in wanted}
    if RESULT_PARAMETER in wanted or (takes_all and RESULT_PARAMETER not in known):
        found[RESULT_PARAMETER] = result()
    return found


ALL_PARAMETER: Final = "arguments"
"""A reconciliation's parameter of this name gets all arguments of the call, unless the tool has one called so."""


def check_reconcile(ask: Callable[..., Any], *, given: Collection[str], always: Collection[str], of: str) -> None:
    """Check that a reconciliation can be given all that it asks for.

    Args:
        ask: the function.
        given: parameters of the tool.
        always: those that have a value in every call.
        of: the tool, for messages.

    Raises:
        UsageError: it cannot; the message names the parameter.
    """
    filled = {HIDDEN_PARAMETER, cancellation_parameter(ask), *({ALL_PARAMETER} - set(given))}
    _check_given(ask, filled, given=given, always=always, of=of, what="reconcile", instead=ALL_PARAMETER)


def reconcile_arguments(
    ask: Callable[..., Any], call: Callable[..., Any], arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """The keyword arguments of a reconciliation, without what is filled in.

    Args:
        ask: the function.
        call: the handler of the call, whose defaults hold for what the model left out.
        arguments: what that was called with.
    """
    wanted, takes_all = _wanted(ask)
    known = {**defaults_of(call), **arguments}
    found = {name: value for name, value in known.items() if takes_all or name in wanted}
    if ALL_PARAMETER in wanted and ALL_PARAMETER not in known:
        found[ALL_PARAMETER] = known
    return found


def defaults_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Its parameters that may be left out, each with its value then; without those that a loop fills in."""
    filled = {HIDDEN_PARAMETER, cancellation_parameter(function)}
    return {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.default is not parameter.empty and name not in filled
    }


def _wanted(function: Callable[..., Any]) -> tuple[Mapping[str, inspect.Parameter], bool]:
    """The parameters of a function, and whether it takes any other name, too."""
    parameters = inspect.signature(function).parameters
    return parameters, any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())


def _check_given(
    function: Callable[..., Any],
    filled: Collection[str | None],
    *,
    given: Collection[str],
    always: Collection[str],
    of: str,
    what: str,
    instead: str,
) -> None:
    """Check each parameter that is not filled in; ``instead`` names the one that can always be had."""
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in {parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL} or name in filled:
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise UsageError(f"{of}: parameter {name!r} of its {what} cannot be given by name")
        if parameter.default is parameter.empty and name not in always:
            missing = "may be left out of a call" if name in given else "is no parameter of the tool"
            raise UsageError(f"{of}: its {what} wants {name!r}, which {missing}; it may take {instead!r}")
