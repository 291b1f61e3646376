"""The loop that a form asks for, with the key that was typed for it or the one of the environment."""

from pathlib import Path
from typing import Any

from traced_loop.errors import UsageError
from traced_loop.models.openai_model import OpenAIModel
from traced_loop.models.server_address import host_and_port, is_local
from traced_loop.public_loop import Loop
from traced_loop.rules import price_table
from traced_loop.rules.pricing import Pricing
from traced_loop.web.live_choices import LiveChoices
from traced_loop.web.live_form import LiveForm
from traced_loop.web.provider_choices import ProviderChoice


def asked_loop(form: LiveForm, key: str, offered: LiveChoices, store: Path) -> Loop:
    """A loop that nothing holds but its caller.

    Args:
        form: without anything wrong.
        key: as it was typed; ``""`` for the one of the environment, or none where the server needs none.
        offered: what the command was started with.
        store: its folder.

    Raises:
        UsageError: it cannot work; the message says what to do.
    """
    provider = form.provider
    if provider is None:
        raise UsageError("no such provider: take one of the list")
    how: dict[str, Any] = {"profile": provider.profile}
    if provider.profile is None:
        how = {"base_url": None if provider.is_of_profile else provider.base_url, **offered.of_model}
    how.update(api_key=key or None, stream=form.stream)
    model = OpenAIModel(form.model, **how)
    return Loop(model, form.tools, budget=form.budget, store=store, **offered.of_loop)


def known_price(model: str, provider: ProviderChoice, offered: LiveChoices) -> Pricing | None:
    """The price of a model there: a declared one, else that of the price table; None where nobody knows.

    Raises:
        UsageError: the address is none.
    """
    declared: Pricing | None = offered.of_model.get("price") if provider.profile is None else None
    if declared is not None or is_local(host_and_port(provider.base_url)[0]):
        return declared
    return price_table.table_pricing(model, provider.base_url)
