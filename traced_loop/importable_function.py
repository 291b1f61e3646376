"""Functions by the names under which another process finds them: module and qualified name."""

import inspect
import sys
from collections.abc import Callable
from typing import Any

from traced_loop.errors import UsageError
from traced_loop.frozen_value import frozen_value


@frozen_value
class FunctionAddress:
    """Where a function is found.

    Attributes:
        module: to be imported; ``__main__`` for the program's own file.
        qualname: dotted, inside the module.
        main_path: the program's file where ``module`` is ``__main__``, else None.
    """

    module: str
    qualname: str
    main_path: str | None = None


def address_of(function: Callable[..., Any], *, of: str) -> FunctionAddress:
    """The address of a function.

    Args:
        function: what is to run in another process.
        of: the tool, for the message.

    Raises:
        UsageError: nobody else can find it: a lambda, a function inside of a function, one of an interactive session.
    """
    module, qualname = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not inspect.isfunction(function) or module is None or qualname is None or "<" in qualname:
        said = "a lambda or is made inside of a function" if inspect.isfunction(function) else "no plain function"
        raise UsageError(f'{of}: isolate="process" needs a function of a module, and this one is {said}: move it there')
    if module != "__main__":
        return FunctionAddress(module=module, qualname=qualname)
    main: Any = sys.modules["__main__"]
    spec, path = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    if spec is not None and spec.name != "__main__":
        return FunctionAddress(module=spec.name, qualname=qualname)
    if path is None or path.startswith("<"):
        raise UsageError(
            f'{of}: isolate="process" cannot find a function of an interactive session: put it into a module'
        )
    return FunctionAddress(module=module, qualname=qualname, main_path=path)


def check_found(address: FunctionAddress, function: Callable[..., Any], *, of: str) -> None:
    """Check that what another process will find under the address leads to this function; it may be wrapped there.

    Raises:
        UsageError: it is something else, or nothing.
    """
    found: Any = sys.modules.get("__main__" if address.main_path else address.module)
    if found is None or (address.main_path is None and function.__module__ == "__main__"):
        return  # run by ``python -m``: under its own name it is imported only over there
    for part in address.qualname.split("."):
        found = getattr(found, part, None)
    if inspect.unwrap(found) is not function if callable(found) else True:
        where = f"{address.module}.{address.qualname}"
        raise UsageError(
            f'{of}: isolate="process" finds something else under {where}: give the function a name of its own'
        )
