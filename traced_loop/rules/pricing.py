"""What an answer costs. Cached tokens are part of the input, reasoning tokens part of the output: neither is added.

What is written into a cache, and audio, are parts likewise, and are billed at rates of their own: where nobody says
these, the cost is unknown, since the rate of the rest would be too little.
"""

from decimal import ROUND_CEILING, Decimal
from typing import Final, Literal, Protocol

from traced_loop.closed_words import CostBand
from traced_loop.errors import UsageError
from traced_loop.frozen_value import frozen_value
from traced_loop.messages import TokenUsage

EXTRA_RATES: Final = ("cache_write", "input_audio", "output_audio")
"""Rates of ``Price`` for parts that are dearer than the rest, each by the name of the count in ``TokenUsage``."""
_EXTRA: Final = frozenset(EXTRA_RATES)
_MILLION: Final = Decimal(1_000_000)


class Pricing(Protocol):
    """How a model's tokens become USD."""

    @property
    def source(self) -> Literal["price_table", "declared"]:
        """Where the numbers come from."""
        ...

    @property
    def rates(self) -> "Price | None":
        """USD per million tokens; None where they depend on the size of the request."""
        ...

    @property
    def table(self) -> str | None:
        """Name and version of the price table; None for a declared price."""
        ...

    def cost(self, usage: TokenUsage) -> Decimal | None:
        """USD of one answer; None when the counts do not say."""
        ...


@frozen_value
class Price:
    """A declared price, in USD per million tokens.

    Attributes:
        input: per million input tokens.
        output: per million output tokens.
        cached_input: per million input tokens from the provider's cache; None bills them as input, an upper bound.
        cache_write: per million input tokens that are written into it; None for unknown, as for audio.
        input_audio: per million input tokens that are audio.
        output_audio: per million output tokens that are audio.
    """

    input: Decimal | float | str
    output: Decimal | float | str
    cached_input: Decimal | float | str | None = None
    cache_write: Decimal | float | str | None = None
    input_audio: Decimal | float | str | None = None
    output_audio: Decimal | float | str | None = None

    def __post_init__(self) -> None:
        """Keep exact decimals.

        Raises:
            UsageError: a price is negative or not a number.
        """
        for name in ("input", "output", "cached_input", *EXTRA_RATES):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _exact(name, value))

    @classmethod
    def free(cls) -> "Price":
        """A model that costs nothing, said on purpose: allowed under a cost limit."""
        return cls(input=0, output=0)

    @property
    def source(self) -> Literal["declared"]:
        """See ``Pricing.source``."""
        return "declared"

    @property
    def rates(self) -> "Price":
        """See ``Pricing.rates``."""
        return self

    @property
    def table(self) -> None:
        """See ``Pricing.table``."""
        return

    @property
    def text(self) -> str:
        """Input, cached input and output, comma-separated, others by name: what ``read_price`` reads."""
        extra = [f",{name}={getattr(self, name)}" for name in EXTRA_RATES if getattr(self, name) is not None]
        return f"{self.input},{self.cached_rate},{self.output}{''.join(extra)}"

    @property
    def cached_rate(self) -> Decimal:
        """What cached input is billed at."""
        return Decimal(self.input if self.cached_input is None else self.cached_input)

    def cost(self, usage: TokenUsage) -> Decimal | None:
        """See ``Pricing.cost``."""
        if self.is_free:
            return Decimal(0)
        parts = priced_parts(usage)
        if parts is None:
            return None
        total = Decimal(0)
        for name, tokens in parts.items():
            rate = self.cached_rate if name == "cached_input" else getattr(self, name)
            if tokens and rate is None:
                return None
            total += tokens * Decimal(rate or 0)
        return total / _MILLION

    @property
    def is_free(self) -> bool:
        """Whether no token costs anything."""
        return not any(getattr(self, name) for name in ("input", "output", *EXTRA_RATES))


def priced_parts(usage: TokenUsage) -> dict[str, int] | None:
    """The tokens of an answer by the rate of ``Price`` that they cost, each token once.

    None where the input or the output is not known, and where cached and audio tokens overlap: what such tokens cost
    is no rate of ``Price``.
    """
    if usage.input is None or usage.output is None:
        return None
    cached = min(usage.cached, usage.input)
    written = min(usage.cache_write, usage.input - cached)
    spoken = min(usage.output_audio, usage.output)
    rest = usage.input - cached - written - usage.input_audio
    if rest < 0:
        return None
    return {
        "input": rest,
        "cached_input": cached,
        "cache_write": written,
        "input_audio": usage.input_audio,
        "output": usage.output - spoken,
        "output_audio": spoken,
    }


def read_price(text: str) -> Price | None:
    """The price that ``Price.text`` wrote; None for anything else."""
    try:
        given, cached, output, *extra = text.split(",")
        named = dict(word.split("=") for word in extra)
        return Price(input=given, cached_input=cached, output=output, **named) if named.keys() <= _EXTRA else None
    except (ValueError, UsageError):
        return None


def microusd(cost: Decimal) -> int:
    """Millionths of a USD, rounded up: nothing that costs something becomes zero."""
    return int((cost * _MILLION).to_integral_value(rounding=ROUND_CEILING))


def cost_band(cost: Decimal) -> CostBand:
    """The word for a cost; the boundary belongs to the upper band."""
    if cost < Decimal("0.01"):
        return "lt_0.01"
    if cost < Decimal("0.10"):
        return "lt_0.10"
    return "lt_1" if cost < 1 else "ge_1"


def _exact(name: str, value: Decimal | float | str) -> Decimal:
    try:
        number = Decimal(str(value))
    except ArithmeticError:
        number = Decimal("NaN")
    if not number.is_finite() or number < 0:
        raise UsageError(f"Price({name}={value!r}): must be USD per million tokens, 0 or more")
    return number
