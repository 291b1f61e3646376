"""A frozen value is what the standard's dataclass of the same body is, for whoever uses it and for whoever looks."""

import copy
import inspect
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import (
    FrozenInstanceError,
    InitVar,
    asdict,
    astuple,
    dataclass,
    field,
    fields,
    is_dataclass,
    replace,
)
from typing import Any, ClassVar, Generic, Protocol, TypeVar, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traced_loop.frozen_value import frozen_value

T = TypeVar("T")
Decorator = Callable[[type], Any]
STANDARD: Decorator = dataclass(frozen=True, kw_only=True, slots=True)
BOTH = [pytest.param(STANDARD, id="standard"), pytest.param(frozen_value, id="ours")]
NO_VALUE = object()
NAMES = [
    "a",
    "b",
    "c",
    "self",
    "other",
    "name",
    "f0",
    "f1",
    "set0",
    "make1",
    "to_be_made",
    "cls",
    "hash",
    "_d",
    "values",
]


@frozen_value
class Point:
    """A place."""

    x: int
    y: int = 0
    seen: list[str] = field(default_factory=list[str], repr=False, compare=False)


@frozen_value
class Empty:
    """Nothing."""


@frozen_value
class Holder(Generic[T]):
    """Of anything, also of itself."""

    held: T
    more: list[Any] = field(default_factory=list[Any])


class Named(Protocol):
    """What has a name."""

    @property
    def name(self) -> str:
        """It."""
        ...

    def shown(self) -> str:
        """Its name, shown."""
        return f"<{self.name}>"


def outcome(act: Callable[[], Any]) -> Any:
    """What comes of it: the value, or the exception's type and words."""
    try:
        return act()
    except (TypeError, AttributeError, ValueError) as error:
        return type(error), str(error)


def same(act: Callable[[Any], Any], ours: Any, standard: Any) -> None:
    """Both do the same, as far as their texts tell."""
    assert outcome(lambda: repr(act(ours))) == outcome(lambda: repr(act(standard)))


@st.composite
def one_field(draw: st.DrawFn) -> dict[str, Any]:
    """Arguments of ``field(...)``, by which the standard makes a class."""
    asked: dict[str, Any] = {}
    kind = draw(st.sampled_from(["needed", "default", "factory"]))
    if kind == "default":
        asked["default"] = draw(st.sampled_from([0, 1.5, "x", None, ()]))
    if kind == "factory":
        asked["default_factory"] = draw(st.sampled_from([list, dict, lambda: 7]))
    for flag in draw(st.sets(st.sampled_from(["init", "repr", "compare", "hash"]))):
        asked[flag] = draw(st.booleans())
    if kind == "needed":
        asked.pop("init", None)  # nothing could be read of a field that nobody sets
    if draw(st.booleans()):
        asked["metadata"] = {"unit": "s"}
    return asked


def made(decorator: Decorator, asked: dict[str, dict[str, Any]], *, late: bool) -> Any:
    """A class with these fields; ``late`` has a ``__post_init__``, which sets the first one."""
    body: dict[str, Any] = {
        "__module__": __name__,
        "__annotations__": {name: int if at % 2 else "str | None" for at, name in enumerate(asked)},
        **{name: field(**arguments) for name, arguments in asked.items()},
    }
    if late:
        body["__post_init__"] = lambda self: object.__setattr__(self, next(iter(asked)), "late")
    return decorator(type("Made", (), body))


@given(
    st.dictionaries(st.sampled_from(NAMES), one_field(), min_size=1, max_size=8),
    st.lists(st.integers(0, 3), min_size=16, max_size=16),
    st.booleans(),
)
def test_classes_of_any_fields_are_those_of_the_standard(
    asked: dict[str, dict[str, Any]], given_values: list[int], late: bool
) -> None:
    """Their signatures, fields and values: made, shown, compared, hashed, replaced and copied."""
    ours, standard = (made(decorator, asked, late=late) for decorator in (frozen_value, STANDARD))
    assert str(inspect.signature(ours)) == str(inspect.signature(standard))
    assert ours.__doc__ == standard.__doc__
    assert ours.__slots__ == standard.__slots__
    assert ours.__init__.__qualname__ == standard.__init__.__qualname__
    assert list(ours.__init__.__annotations__.items()) == list(standard.__init__.__annotations__.items())
    assert get_type_hints(ours.__init__) == get_type_hints(standard.__init__)
    same(lambda cls: [*map(str, fields(cls))], ours, standard)
    same(lambda cls: cls.__dataclass_params__, ours, standard)
    same(lambda cls: cls.__match_args__, ours, standard)
    needed = {name: value for (name, each), value in zip(asked.items(), given_values, strict=False) if takes(each)}
    other = dict(zip(needed, given_values[8:], strict=False))
    some = {name: value for name, value in needed.items() if not {"default", "default_factory"} & asked[name].keys()}
    for act in (
        lambda cls: cls(**needed),
        lambda cls: cls(**some),
        lambda cls: cls(),
        lambda cls: cls(**needed, unknown=1),
        lambda cls: cls(1, **needed),
        lambda cls: cls(**needed) == cls(**needed),
        lambda cls: cls(**needed) == cls(**other),
        lambda cls: cls(**needed) != cls(**other),
        lambda cls: hash(cls(**needed)),
        lambda cls: hash(cls(**needed)) == hash(cls(**other)),
        lambda cls: asdict(cls(**needed)),
        lambda cls: astuple(cls(**needed)),
        lambda cls: replace(cls(**needed), **other),
        lambda cls: copy.copy(cls(**needed)),
        lambda cls: copy.deepcopy(cls(**needed)),
        lambda cls: cls(**needed).__getstate__(),
        lambda cls: setattr(cls(**needed), next(iter(asked)), 1),
        lambda cls: delattr(cls(**needed), next(iter(asked))),
    ):
        same(act, ours, standard)


def takes(asked: dict[str, Any]) -> bool:
    """Whether a field is a parameter."""
    return bool(asked.get("init", True))


def test_a_frozen_value_is_a_dataclass() -> None:
    """For every function of the standard module, and for ``match``."""
    assert is_dataclass(Point)
    assert [each.name for each in fields(Point)] == ["x", "y", "seen"]
    assert asdict(replace(Point(x=1), y=2)) == {"x": 1, "y": 2, "seen": []}
    match Point(x=3):
        case Point(x=3, y=found):
            assert found == 0
        case _:
            pytest.fail("no match")
    assert Point.__match_args__ == ()


def test_values_made_by_a_factory_are_not_shared() -> None:
    """Each has its own."""
    one, other = Point(x=1), Point(x=1)
    one.seen.append("here")
    assert other.seen == []


def test_a_field_cannot_be_set_or_deleted() -> None:
    """In the words of the standard; nor can a new name."""
    point: Any = Point(x=1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'z'"):
        point.z = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'z'"):
        del point.z
    assert point == Point(x=1)


@pytest.mark.parametrize("given_values", [{}, {"y": 1}, {"x": 1, "z": 2}])
def test_missing_and_unknown_arguments_are_told_as_by_the_standard(given_values: dict[str, int]) -> None:
    """The same type, the same words, the same name of the function."""
    body = {"__annotations__": {"x": int, "y": int}, "y": 0, "__qualname__": "Outer.Point"}
    ours, standard = (decorator(type("Point", (), dict(body))) for decorator in (frozen_value, STANDARD))
    told = outcome(lambda: ours(**given_values))
    assert told == outcome(lambda: standard(**given_values))
    assert told[0] is TypeError
    assert told[1].startswith("Outer.Point.__init__() ")


def test_a_value_equals_only_values_of_its_own_class() -> None:
    """Another one is asked in its turn, and a field that is no number equals itself."""
    other = frozen_value(type("Point", (), {"__annotations__": {"x": int, "y": int}}))
    assert Point(x=1) != other(x=1, y=0)
    assert Point(x=1).__eq__(1) is NotImplemented
    no_number = float("nan")
    assert Holder(held=no_number) == Holder(held=no_number)
    assert Empty() == Empty()
    assert hash(Empty()) == hash(())
    assert len({Point(x=1), Point(x=1, seen=["there"]), Point(x=2)}) == 2


@pytest.mark.parametrize("value", [Point(x=1, y=2, seen=["here"]), Empty(), Holder(held=Point(x=1))])
def test_a_value_survives_pickle_and_copies(value: Any) -> None:
    """With all of its fields, at every protocol."""
    copies = [pickle.loads(pickle.dumps(value, protocol)) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)]
    for each in [*copies, copy.copy(value), copy.deepcopy(value)]:
        assert type(each) is type(value)
        assert repr(each) == repr(value)
        assert astuple(each) == astuple(value)


class Child(Point):
    """No value itself, with something of its own."""

    def __init__(self, own: object, **fields: Any) -> None:
        super().__init__(**fields)
        self.own = own


class SlottedChild(Point):
    """The same in a slot; another one is never filled."""

    __slots__ = ("empty", "own")

    def __init__(self, own: object, **fields: Any) -> None:
        super().__init__(**fields)
        self.own = own


@pytest.mark.parametrize("of", [Child, SlottedChild])
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_what_a_child_has_beside_the_fields_survives_too(protocol: int, of: type[Any]) -> None:
    """A child that is no value may have names of its own."""
    child = of("mine", x=1)
    for each in [pickle.loads(pickle.dumps(child, protocol)), copy.copy(child), copy.deepcopy(child)]:
        assert (type(each), each.own, each.x) == (of, "mine", 1)


def test_a_value_that_holds_itself_is_shown_once() -> None:
    """As the standard does; also after a field failed to show itself."""
    value = Holder(held="it")
    value.more.append(value)
    assert repr(value) == "Holder(held='it', more=[...])"
    faulty = type("Faulty", (), {"__repr__": lambda _: 1 // 0})()
    broken = Holder(held=faulty)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            repr(broken)


@pytest.mark.parametrize("decorator", BOTH)
def test_methods_that_the_class_defines_stay(decorator: Decorator) -> None:
    """Its own text, equality and hash, its own start."""

    class Own:
        x: int

        def __init__(self, x: int) -> None:
            object.__setattr__(self, "x", x)

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 5

    own: Any = decorator(Own)
    assert (repr(own(1)), own(1) == 2, hash(own(1)), own(1).x) == ("own", True, 5, 1)


def test_a_class_may_say_itself_what_is_kept_of_it() -> None:
    """When it is pickled or copied."""

    class Own:
        x: int

        def __getstate__(self) -> list[int]:
            return [9]

    assert copy.copy(frozen_value(Own)(x=1)).x == 9  # type: ignore[call-arg]


@pytest.mark.parametrize("decorator", BOTH)
def test_a_hash_is_made_where_the_standard_makes_one(decorator: Decorator) -> None:
    """Where a class only says what is equal; one that says it has none keeps that."""

    class Equal:
        x: int

        def __eq__(self, other: object) -> bool:
            return self is other

    class Unhashable:
        x: int
        __hash__ = None  # type: ignore[assignment]

    assert hash(decorator(Equal)(x=3)) == hash((3,))
    with pytest.raises(TypeError, match="unhashable"):
        hash(decorator(Unhashable)(x=3))


@pytest.mark.parametrize("decorator", BOTH)
@pytest.mark.parametrize("name", ["__setattr__", "__delattr__"])
def test_a_class_that_sets_its_own_way_is_refused(decorator: Decorator, name: str) -> None:
    """It would not be frozen."""
    with pytest.raises(TypeError, match=f"Cannot overwrite attribute {name} in class Loose"):
        decorator(type("Loose", (), {name: lambda *_: None}))


@pytest.mark.parametrize("decorator", BOTH)
def test_what_is_no_field_of_an_instance_is_left_alone(decorator: Decorator) -> None:
    """Class variables, properties, and methods."""

    class Counted:
        most: ClassVar[int] = 3
        x: int

        @property
        def left(self) -> int:
            """Of the most."""
            return self.most - self.x

    counted: Any = decorator(Counted)
    assert (counted(x=1).left, counted.most, [each.name for each in fields(counted)]) == (2, 3, ["x"])
    assert counted.__doc__ == "Counted(*, x: int)"


@pytest.mark.parametrize("decorator", BOTH)
def test_a_value_may_have_parents(decorator: Decorator) -> None:
    """Protocols, abstract classes, other values: fields, slots and methods are inherited."""

    class Shown(ABC):
        __slots__ = ()

        @abstractmethod
        def __eq__(self, other: object) -> bool: ...

    class First(Named):
        name: str
        place: int = 0

    class Second(Shown):
        name: str

    first: Any = decorator(First)
    second: Any = decorator(Second)
    third: Any = decorator(type("Third", (first,), {"__annotations__": {"size": int}, "size": 4, "place": 9}))
    assert first(name="a").shown() == "<a>"
    assert second(name="a") == second(name="a")
    assert repr(third(name="a")) == "Third(name='a', place=0, size=4)".replace("Third", third.__qualname__)
    assert third(name="a") == third(name="a") != first(name="a")
    with pytest.raises(FrozenInstanceError):
        third(name="a").place = 1
    with pytest.raises(TypeError, match="cannot inherit non-frozen dataclass from a frozen one"):
        dataclass(type("Thawed", (first,), {}))


@pytest.mark.parametrize("decorator", BOTH)
def test_a_child_that_is_no_value_may_have_names_of_its_own(decorator: Decorator) -> None:
    """Only the fields stay frozen."""
    child: Any = type("Child", (decorator(type("Parent", (), {"__annotations__": {"x": int}})),), {})(x=1)
    with pytest.raises(FrozenInstanceError):
        child.x = 2
    with pytest.raises(FrozenInstanceError):
        del child.x
    if decorator is frozen_value:  # the standard's refers to the class as it was before it had slots
        child.own = 3
        assert child.own == 3
        del child.own
        assert not hasattr(child, "own")


@pytest.mark.parametrize("decorator", BOTH)
def test_what_is_unusual_is_made_as_by_the_standard(decorator: Decorator) -> None:
    """Fields that are positional, and those that only ``__post_init__`` is given."""

    class Unusual:
        x: int = field(kw_only=False)
        scale: InitVar[int]
        size: int = field(init=False)

        def __post_init__(self, scale: int) -> None:
            object.__setattr__(self, "size", scale * 10)

    unusual: Any = decorator(Unusual)
    assert (unusual(1, scale=2).size, unusual.__match_args__) == (20, ("x",))


@pytest.mark.parametrize("decorator", BOTH)
def test_a_field_may_be_set_by_the_class_alone(decorator: Decorator) -> None:
    """It is no parameter, and cannot be read before it is set."""

    class Doubled:
        x: int
        twice: int = field(init=False)
        thrice: int = field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "twice", self.x * 2)

    doubled: Any = decorator(Doubled)
    assert doubled(x=2).twice == 4
    assert str(inspect.signature(doubled)) == "(*, x: int) -> None"
    with pytest.raises(AttributeError, match="thrice"):
        _ = doubled(x=2).thrice


def test_a_frozen_value_can_be_found_where_it_is() -> None:
    """Name, module and text of a class are those it was written with, and so are those of its methods."""
    assert (Point.__module__, Point.__qualname__, Point.__doc__) == (__name__, "Point", "A place.")
    assert Point.__init__.__module__ == __name__
    assert [method.__qualname__ for method in (Point.__init__, Point.__eq__, Point.__repr__, Point.__setattr__)] == [
        "Point.__init__",
        "Point.__eq__",
        "Point.__repr__",
        "Point.__setattr__",
    ]
    assert Holder[int](held=1) == Holder(held=1)
