"""Options of commands that ask a model: which one, at which server, by which API, at which price."""

from typing import TYPE_CHECKING, Any, cast

from traced_loop.cli.run_options import words_of
from traced_loop.errors import UsageError

if TYPE_CHECKING:
    from traced_loop.cli.loop_options import LoopOptions
    from traced_loop.models.chosen_api import Api
    from traced_loop.models.openai_model import OpenAIModel
    from traced_loop.rules.pricing import Price


def models_of(given: "LoopOptions", key: str = "") -> "list[OpenAIModel]":
    """The model, and those that stand in for it at the same server; a declared price is the first one's.

    Args:
        given: the options.
        key: for that server; ``""`` for the one of the environment.

    Raises:
        UsageError: what cannot work, as for ``OpenAIModel``.
    """
    from traced_loop.models.openai_model import OpenAIModel

    named = [given.model, *(given.fallback or [])]
    if "" in named[1:]:
        raise UsageError("--fallback '': name a model")
    how = of_model(given)
    prices = [how.pop("price"), *(None for _ in named[1:])]
    return [
        OpenAIModel(name, base_url=given.base_url, api_key=key or None, price=own, stream=given.stream, **how)
        for name, own in zip(named, prices, strict=True)
    ]


def of_model(given: "LoopOptions") -> dict[str, Any]:
    """Arguments of ``OpenAIModel`` beside its name, its address and its key: profile, price, tolerate, api.

    Raises:
        UsageError: what cannot work.
    """
    from traced_loop.models.provider_profiles import BY_NAME

    profile = given.profile
    if profile is not None and profile not in BY_NAME:
        raise UsageError(f"--profile {profile}: write one of {', '.join(sorted(BY_NAME))}")
    return {
        "profile": profile,
        "price": price_of(given.price),
        "tolerate": words_of(given.tolerate),
        "api": api_of(given.api),
    }


def price_of(given: str | None) -> "Price | None":
    """``INPUT,OUTPUT`` as a price, with other rates by their names after it, as ``cached_input=0.025``.

    Raises:
        UsageError: not two numbers of 0 or more, or no such rate.
    """
    from traced_loop.rules.pricing import EXTRA_RATES, Price

    if given is None:
        return None
    try:
        first, second, *more = given.split(",")
        named = dict(word.split("=") for word in more)
        if not named.keys() <= {"cached_input", *EXTRA_RATES}:
            raise ValueError(given)
        return Price(input=first, output=second, **named)
    except (UsageError, ValueError) as error:
        others = ", ".join(f"{name}=" for name in ("cached_input", *EXTRA_RATES))
        raise UsageError(
            f"--price {given}: write INPUT,OUTPUT in USD per million tokens, 0 or more each, as --price 0.25,2;"
            f" after them, where they differ: {others}"
        ) from error


def api_of(given: str) -> "Api":
    """Which of OpenAI's APIs is asked.

    Raises:
        UsageError: none of the words.
    """
    from traced_loop.models.chosen_api import APIS

    if given not in APIS:
        raise UsageError(f"--api {given}: write {' or '.join(APIS)}")
    return cast("Api", given)


def model_prices_of(given: list[str] | None) -> "dict[str, Price]":
    """``[MODEL=]INPUT,OUTPUT`` as prices by model, ``""`` for the one without a model.

    Raises:
        UsageError: one is no price.
    """
    found: dict[str, Price] = {}
    for text in given or ():
        first, comma, rest = text.partition(",")
        model, _, amount = first.rpartition("=")
        price = price_of(f"{amount}{comma}{rest}")
        if price is not None:
            found[model] = price
    return found
