"""The models that a loop may ask, in their order: the one that is meant, then those that stand in for it."""

from collections.abc import Sequence
from dataclasses import replace

from traced_loop.frozen_value import frozen_value
from traced_loop.messages import Model, ModelRequest
from traced_loop.models.message_form import in_form
from traced_loop.models.traits import ModelTraits, traits_of
from traced_loop.rules.pricing import Pricing


@frozen_value
class Route:
    """One model, and how requests reach it.

    Attributes:
        model: what is asked.
        traits: what is known of it.
        foreign: whether the history may hold messages of another provider.
        alone: whether it is the only model of its loop.
    """

    model: Model
    traits: ModelTraits
    foreign: bool = False
    alone: bool = True

    def sent(self, request: ModelRequest) -> ModelRequest:
        """The request as this model gets it; itself where nothing differs.

        A cap that the model cannot reach is left out: servers refuse caps above their own maximum.
        """
        messages = in_form(request.messages, self.traits, foreign=self.foreign)
        cap = request.output_cap
        beyond = not self.alone and cap is not None and cap >= self.traits.output_ceiling
        if messages is request.messages and not beyond:
            return request
        return replace(request, messages=messages, output_cap=None if beyond else cap)

    def pricing(self, model: str | None = None) -> Pricing | None:
        """The price of the given model, else of the one that is asked; None when nobody knows."""
        return self.traits.pricing(model or self.model.name)

    @property
    def where(self) -> str:
        """The server as words may name it, or ``""``."""
        host, port = self.traits.server_address, self.traits.server_port
        return "" if host is None else f" ({host}:{port})" if port else f" ({host})"


def routes_of(models: Sequence[Model]) -> tuple[Route, ...]:
    """A route for each model, in order; the first is the one that is meant."""
    return tuple(
        Route(
            model=model,
            traits=traits_of(model),
            foreign=model.provider != models[0].provider,
            alone=len(models) == 1,
        )
        for model in models
    )
