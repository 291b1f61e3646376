"""A model without traits has the defaults; traits of another kind are none."""

import pytest

from traced_loop.errors import UsageError
from traced_loop.messages import ModelAnswer, ModelRequest
from traced_loop.models.scripted import ScriptedModel
from traced_loop.models.traits import QUIRKS, ModelTraits, checked_quirks, traits_of


class Plain:
    name = "plain"
    provider = "own"

    async def complete(self, request: ModelRequest) -> ModelAnswer:
        raise AssertionError


class Odd(Plain):
    traits = ("tolerate", "everything")


@pytest.mark.parametrize("model", [Plain(), Odd()])
def test_a_model_without_traits_has_the_defaults(model: Plain) -> None:
    """Nothing is tolerated, no price is known."""
    traits = traits_of(model)
    assert (traits.tolerate, traits.pricing("plain"), traits.server_address) == (frozenset(), None, None)


def test_a_models_own_traits_are_used() -> None:
    """As they are."""
    model = ScriptedModel([], strip={"x"})
    assert traits_of(model) is model.traits
    assert isinstance(model.traits, ModelTraits)


def test_known_quirks_are_taken_and_unknown_ones_named() -> None:
    """With the list of the known ones."""
    assert checked_quirks(QUIRKS, of="a model") == QUIRKS
    with pytest.raises(UsageError, match=r"'nothing'.*stop_with_tool_calls"):
        checked_quirks(frozenset({"nothing"}), of="a model")
