"""Types by their name."""

import asyncio

import pytest

from traced_loop.telemetry.type_names import class_name, type_name


class Local(Exception):
    pass


class Odd(type):
    def __getattribute__(cls, name: str) -> object:
        raise RuntimeError(name)


@pytest.mark.parametrize(
    ("error", "name"), [(ValueError(), "ValueError"), (asyncio.CancelledError(), "asyncio.exceptions.CancelledError")]
)
def test_an_error_type_is_qualified_except_for_builtins(error: BaseException, name: str) -> None:
    """As ``error.type`` asks for it."""
    assert type_name(error) == name
    assert type_name(Local()).endswith("test_type_names.Local")


def test_a_class_whose_attributes_raise_has_a_name() -> None:
    """It is asked of ``type`` itself."""
    assert class_name(Odd("Hostile", (), {})).endswith(".Hostile")
