"""The models of a loop, in order, each with the form in which requests reach it."""

from __future__ import annotations

from traced_loop import Price, ScriptedModel
from traced_loop.messages import ModelRequest
from traced_loop.models.routes import routes_of
from traced_loop.models.traits import ModelTraits


class Other(ScriptedModel):
    """A model of another provider, which gives ten tokens at most."""

    def __init__(self) -> None:
        super().__init__([], name="other", price=Price(input=3, output=4))
        self.provider = "elsewhere"
        self.traits = ModelTraits(pricing=self.traits.pricing, output_ceiling=10, server_address="h", server_port=8)


REQUEST = ModelRequest(messages=[{"role": "assistant", "content": "a", "vendor": 1}], output_cap=50)


def test_a_request_reaches_the_only_model_as_it_is() -> None:
    """Its cap and its messages are what the loop made of them."""
    [route] = routes_of([ScriptedModel([])])
    assert route.sent(REQUEST) is REQUEST
    assert (route.where, route.alone, route.foreign) == ("", True, False)


def test_a_model_of_another_provider_gets_no_field_of_the_first_ones() -> None:
    """And no cap that it cannot reach: servers refuse those above their own maximum."""
    first, second = routes_of([ScriptedModel([]), Other()])
    assert first.sent(REQUEST) is REQUEST
    sent = second.sent(REQUEST)
    assert (list(sent.messages), sent.output_cap) == ([{"role": "assistant", "content": "a"}], None)
    assert second.where == " (h:8)"


def test_each_model_has_its_own_price() -> None:
    """The price is that of the one that answers."""
    first, second = routes_of([ScriptedModel([]), Other()])
    assert first.pricing() is None
    assert second.pricing() == Price(input=3, output=4)
