"""What an answer costs. Cached tokens are part of the input, reasoning tokens part of the output: neither is added."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Final, Literal, Protocol

from traced_loop.closed_words import CostBand
from traced_loop.errors import UsageError
from traced_loop.messages import TokenUsage

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """A declared price, in USD per million tokens.

    Attributes:
        input: per million input tokens.
        output: per million output tokens.
        cached_input: per million input tokens from the provider's cache; None bills them as input, an upper bound.
    """

    input: Decimal | float | str
    output: Decimal | float | str
    cached_input: Decimal | float | str | None = None

    def __post_init__(self) -> None:
        """Keep exact decimals.

        Raises:
            UsageError: a price is negative or not a number.
        """
        for name in ("input", "output", "cached_input"):
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
        """Input, cached input and output, comma-separated: what ``read_price`` reads."""
        cached = self.input if self.cached_input is None else self.cached_input
        return f"{self.input},{cached},{self.output}"

    def cost(self, usage: TokenUsage) -> Decimal | None:
        """See ``Pricing.cost``."""
        rates = Decimal(self.input), Decimal(self.output)
        if not any(rates):
            return Decimal(0)
        if usage.input is None or usage.output is None:
            return None
        cached = min(usage.cached, usage.input)
        cached_rate = rates[0] if self.cached_input is None else Decimal(self.cached_input)
        return ((usage.input - cached) * rates[0] + cached * cached_rate + usage.output * rates[1]) / _MILLION


def read_price(text: str) -> Price | None:
    """The price that ``Price.text`` wrote; None for anything else."""
    parts = text.split(",")
    try:
        given, cached, output = parts
        return Price(input=given, cached_input=cached, output=output)
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
