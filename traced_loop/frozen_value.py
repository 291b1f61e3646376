"""The decorator of every value: what ``@dataclass(frozen=True, kw_only=True, slots=True)`` makes, for less.

The standard decorator writes a text for each of six methods of each class, and compiles it. Here five methods need no
text, and that of ``__init__`` is compiled once for all classes with as many fields, which take its code under the names
of their own.
"""

import sys
from abc import update_abstractmethods
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, InitVar, dataclass, field, fields
from functools import cache
from inspect import signature
from operator import attrgetter
from threading import get_ident
from types import CellType, CodeType, FunctionType
from typing import Any, Final, TypeVar, cast, dataclass_transform

_Value = TypeVar("_Value")
_Fields = Sequence[Field[Any]]
_Method = Callable[..., Any]


class _ToBeMade:
    """Stands for the value of a default factory in a signature."""

    def __repr__(self) -> str:
        return "<factory>"


_TO_BE_MADE: Final = _ToBeMade()
_shown: Final[set[tuple[int, int]]] = set()
"""Values whose text is being made, and in which thread: one that holds itself is told as ``...``."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen_value(cls: type[_Value]) -> type[_Value]:
    """Make a class a frozen dataclass with slots, whose fields are given by keyword.

    It is one for everybody: ``dataclasses.fields``, ``replace``, ``asdict``, ``field(...)``, ``__post_init__``, and
    methods that the class defines itself stay. A new name is refused by ``FrozenInstanceError``, too.

    Raises:
        TypeError: as the standard decorator does, for the same reasons.
    """
    if not _usual(cls):
        return dataclass(frozen=True, kw_only=True, slots=True)(cls)
    for name in ("__setattr__", "__delattr__"):
        if name in vars(cls):
            raise TypeError(f"Cannot overwrite attribute {name} in class {cls.__name__}")
    documented = bool(cls.__doc__)
    made: Any = dataclass(init=False, repr=False, eq=False, kw_only=True, slots=True)(cls)
    parameters = made.__dataclass_params__
    parameters.init = parameters.repr = parameters.eq = parameters.frozen = True
    own: dict[str, Any] = {**cast("Mapping[str, Any]", vars(made))}
    if own.get("__hash__", MISSING) is None and "__eq__" in own:
        del own["__hash__"]  # Python's own, of a class that says what is equal
    for name, method in _methods(made, fields(made)).items():
        if name not in own:
            setattr(made, name, method)
    if not documented:
        made.__doc__ = made.__name__ + str(signature(made)).replace(" -> None", "")
    update_abstractmethods(made)
    return cast("type[_Value]", made)


def _usual(cls: type) -> bool:
    """Whether no field is inherited, positional, or for ``__post_init__`` alone: the standard decorator knows how."""
    if hasattr(cls, "__dataclass_fields__"):
        return False
    if any(isinstance(value, Field) and cast("Field[Any]", value).kw_only is False for value in vars(cls).values()):
        return False
    return not any(
        "InitVar" in kind if isinstance(kind, str) else kind is InitVar or isinstance(kind, InitVar)
        for kind in cls.__annotations__.values()
    )


def _methods(cls: type, each: _Fields) -> dict[str, _Method]:
    """Every method that the standard decorator makes, by its name."""
    equal = _values([one.name for one in each if one.compare])
    hashed = _values([one.name for one in each if (one.compare if one.hash is None else one.hash)])

    def __eq__(self: Any, other: Any) -> bool:
        return equal(self) == equal(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(hashed(self))

    methods: dict[str, _Method] = {
        "__init__": _init(cls, each),
        "__repr__": _repr([one.name for one in each if one.repr]),
        "__eq__": __eq__,
        "__hash__": __hash__,
        **_refusals(cls, frozenset(one.name for one in each)),
    }
    for name, method in methods.items():
        method.__qualname__ = f"{cls.__qualname__}.{name}"
    return {**methods, "__getstate__": _state, "__setstate__": _set_state}


def _values(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)  # which gives one value bare, and none not at all
    return lambda self: tuple([getattr(self, name) for name in names])


def _repr(names: Sequence[str]) -> _Method:
    values, text = _values(names), ", ".join(f"{name}=%r" for name in names)

    def __repr__(self: Any) -> str:
        key = id(self), get_ident()
        if key in _shown:
            return "..."
        _shown.add(key)
        try:
            return f"{self.__class__.__qualname__}({text % values(self)})"
        finally:
            _shown.discard(key)

    return __repr__


def _refusals(cls: Any, names: frozenset[str]) -> dict[str, _Method]:
    """Setting and deleting, which a class that inherits from this one may do with names of its own."""

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        cast("Any", super(cls, self)).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        cast("Any", super(cls, self)).__delattr__(name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


def _state(self: Any) -> list[Any] | tuple[list[Any], dict[str, Any]]:
    """The fields, and what a child that is no value has beside them."""
    values = [getattr(self, one.name) for one in fields(self)]
    own = {name: getattr(self, name) for name in _own_names(self) if hasattr(self, name)}
    own.update(getattr(self, "__dict__", {}))
    return (values, own) if own else values


def _own_names(value: Any) -> list[str]:
    """The slots of a child that is no value; none of a value, whose slots are its fields."""
    known = {one.name for one in fields(value)} | {"__dict__", "__weakref__"}
    slots = (each.__dict__.get("__slots__", ()) for each in type(value).__mro__)
    return [name for some in slots for name in ((some,) if isinstance(some, str) else some) if name not in known]


def _set_state(self: Any, state: list[Any] | tuple[list[Any], dict[str, Any]]) -> None:
    values, own = state if isinstance(state, tuple) else (state, {})
    for one, value in zip(fields(self), values, strict=False):
        object.__setattr__(self, one.name, value)
    for name, value in own.items():
        object.__setattr__(self, name, value)


def _init(cls: type, each: _Fields) -> FunctionType:
    given = [one for one in each if one.init]
    begun = [one for one in each if one.default is not MISSING or one.default_factory is not MISSING]
    rest = [one for one in begun if not one.init]
    names = {"self": "__dataclass_self__" if any(one.name == "self" for one in each) else "self"}
    names.update((f"f{at}", one.name) for at, one in enumerate(given))
    setters = {f"set{at}": _setter(cls, one) for at, one in enumerate([*given, *rest])}
    code = _init_code(len(given), len(rest), hasattr(cls, "__post_init__"))
    closure = tuple(CellType(setters[name]) for name in code.co_freevars)
    code = code.replace(co_varnames=tuple(names[name] for name in code.co_varnames))
    module = sys.modules.get(cls.__module__)
    init = FunctionType(code, vars(module) if module else {}, "__init__", None, closure)
    defaults = {one.name: one.default if one.default_factory is MISSING else _TO_BE_MADE for one in given}
    init.__kwdefaults__ = {name: value for name, value in defaults.items() if value is not MISSING}
    init.__annotations__ = {**{one.name: one.type for one in given}, "return": None}
    return init


def _setter(cls: type, one: Field[Any]) -> _Method:
    """Sets the field to a value; of one that is no parameter, to what it begins with."""
    slot: _Method = getattr(cls, one.name).__set__  # object.__setattr__ takes twice as long
    first: Any = one.default
    make = one.default_factory if one.default_factory is not MISSING else lambda: first

    def given_or_made(self: Any, value: Any) -> None:
        slot(self, make() if value is _TO_BE_MADE else value)

    def made(self: Any) -> None:
        slot(self, make())

    if not one.init:
        return made
    return slot if one.default_factory is MISSING else given_or_made


@cache
def _init_code(given: int, rest: int, has_post_init: bool) -> CodeType:  # noqa: FBT001 - part of the key
    """Of a function within another one, neither of which is ever run."""
    parameters = "".join(f",f{at}" for at in range(given))
    lines = [f"set{at}(self,f{at})" for at in range(given)]
    lines += [f"set{at}(self)" for at in range(given, given + rest)]
    body = ";".join([*lines, "self.__post_init__()" if has_post_init else "pass"])
    free = ",".join(f"set{at}" for at in range(given + rest))
    code = compile(f"def _({free}):\n def __init__(self{parameters and ',*'}{parameters}):{body}", "<string>", "exec")
    while inner := [const for const in code.co_consts if isinstance(const, CodeType)]:
        [code] = inner
    return code
