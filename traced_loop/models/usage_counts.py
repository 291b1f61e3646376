"""The ``usage`` of a response body: token counts and the provider's own cost, under the names that servers use.

The counts of every server are brought to one form. Cached input, input written into the cache and audio are parts of
the input; reasoning and audio are parts of the output; a part is never added to its whole. Two servers count otherwise
and are read as they document it: Anthropic's own ``input_tokens`` leaves out what its cache counts hold, and xAI's
``completion_tokens`` leaves out reasoning, which its total shows.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from traced_loop.closed_words import Anomaly
from traced_loop.json_shapes import as_object
from traced_loop.messages import TokenUsage

_INPUT: Final = ("prompt_tokens", "input_tokens")
_OUTPUT: Final = ("completion_tokens", "output_tokens")
_INPUT_PARTS: Final = ("prompt_tokens_details", "input_tokens_details")
_OUTPUT_PARTS: Final = ("completion_tokens_details", "output_tokens_details")
_CACHE_READ: Final = "cache_read_input_tokens"
_CACHE_WRITE: Final = "cache_creation_input_tokens"
_CACHED: Final = ("prompt_cache_hit_tokens", _CACHE_READ, "cached_tokens")
"""Beside the counts instead of in their details: DeepSeek's, Anthropic's, Moonshot's name."""
_NOTHING: Final[Mapping[str, Any]] = {}
_TICKS_PER_USD: Final = 10**10
_MAX_USD: Final = Decimal(1_000_000)
"""No single answer costs as much: such a number is another unit, or none."""


def read_usage(raw: object) -> tuple[TokenUsage, tuple[Anomaly, ...]]:
    """Token counts of a response; what is missing or of the wrong type is unknown, never zero.

    All-zero counts are unknown too: no answer costs nothing, servers that cannot count send zeros. So is a cost of
    zero, for the same reason.
    """
    fields = as_object(raw)
    if fields is None:
        return TokenUsage(), (Anomaly.USAGE_MISSING,)
    cost, odd_cost = _cost(fields)
    given, answered, total = (
        _first(fields, _INPUT),
        _first(fields, _OUTPUT),
        _count(fields.get("total_tokens")),
    )
    if not given and not answered and not total:
        return TokenUsage(cost_usd=cost), (Anomaly.USAGE_MISSING,)
    if total and not given and not answered:
        given = answered = None  # a sum of nothing and nothing is no split
    parts = _parts(fields)
    if given is not None and _leaves_out_cache(fields):
        given += parts.cached + parts.cache_write
    if given is not None and answered is not None and parts.reasoning and total == given + answered + parts.reasoning:
        answered += parts.reasoning
    whole = given + answered if given is not None and answered is not None else total
    usage = _fitted(parts, given, answered, whole, cost)
    lost = _is_lost(fields, _INPUT, given) or _is_lost(fields, _OUTPUT, answered)
    odd = odd_cost or lost or _larger_than_whole(parts, given, answered)
    return usage, (Anomaly.USAGE_INCONSISTENT,) if odd else ()


def _parts(fields: Mapping[str, Any]) -> TokenUsage:
    """What the whole counts hold, as it is told."""
    inside, outside = _group(fields, _INPUT_PARTS), _group(fields, _OUTPUT_PARTS)
    cached = _count(inside.get("cached_tokens"))
    write = _first(inside, ("cache_write_tokens", "cache_creation_tokens"))
    return TokenUsage(
        cached=(cached if cached else _first(fields, _CACHED)) or 0,
        cache_write=(write if write else _count(fields.get(_CACHE_WRITE))) or 0,
        reasoning=_count(outside.get("reasoning_tokens")) or 0,
        input_audio=_count(inside.get("audio_tokens")) or 0,
        output_audio=_count(outside.get("audio_tokens")) or 0,
    )


def _fitted(
    parts: TokenUsage, given: int | None, answered: int | None, total: int | None, cost: Decimal | None
) -> TokenUsage:
    """What the provider counts, with the parts, none larger than its whole."""
    cached = _at_most(parts.cached, given)
    return TokenUsage(
        input=given,
        output=answered,
        cached=cached,
        cache_write=_at_most(parts.cache_write, None if given is None else given - cached),
        reasoning=_at_most(parts.reasoning, answered),
        input_audio=_at_most(parts.input_audio, given),
        output_audio=_at_most(parts.output_audio, answered),
        total=total,
        source="provider",
        cost_usd=cost,
    )


def _at_most(part: int, whole: int | None) -> int:
    return part if whole is None else min(part, whole)


def _larger_than_whole(parts: TokenUsage, given: int | None, answered: int | None) -> bool:
    too_much_in = given is not None and max(parts.cached + parts.cache_write, parts.input_audio) > given
    return too_much_in or (answered is not None and max(parts.reasoning, parts.output_audio) > answered)


def _is_lost(fields: Mapping[str, Any], names: tuple[str, ...], count: int | None) -> bool:
    """Whether something stands there, and no count came of it."""
    return count is None and any(fields.get(name) is not None for name in names)


def _leaves_out_cache(fields: Mapping[str, Any]) -> bool:
    """Whether the input is counted as Anthropic counts it: what its two cache counts hold stands beside it."""
    has_cache = _CACHE_READ in fields or _CACHE_WRITE in fields
    return has_cache and all(name not in fields for name in ("prompt_tokens", *_INPUT_PARTS))


def _cost(fields: Mapping[str, Any]) -> tuple[Decimal | None, bool]:
    """USD as the provider says it, and whether something stands there that is no cost."""
    ticks = _count(fields.get("cost_in_usd_ticks"))
    if ticks:
        return _plausible(Decimal(ticks) / _TICKS_PER_USD)
    raw = fields.get("cost")
    said = as_object(raw)
    cost = _amount(raw if said is None else said.get("total_cost"))
    if cost is None:
        return None, raw is not None and said is None
    # With a key of the caller's own, OpenRouter's cost is its fee alone: the model's provider bills the rest.
    upstream = _amount(_group(fields, ("cost_details",)).get("upstream_inference_cost")) or Decimal(0)
    is_fee = fields.get("is_byok")
    if upstream > 0 and (is_fee is True or (is_fee is None and upstream > cost)):
        cost += upstream
    return _plausible(cost)


def _plausible(cost: Decimal) -> tuple[Decimal | None, bool]:
    if not 0 <= cost < _MAX_USD:
        return None, True
    return cost or None, False


def _amount(raw: object) -> Decimal | None:
    if isinstance(raw, bool) or not isinstance(raw, (int, float, str)) or (isinstance(raw, str) and len(raw) > 40):
        return None
    if isinstance(raw, int) and abs(raw) >= 2**53:
        return None
    try:
        amount = Decimal(str(raw))
    except ArithmeticError:
        return None
    # What is below every price is no cost, and exponents without a bound are no numbers to calculate with.
    return amount if amount.is_finite() and (not amount or -20 <= amount.adjusted() <= 15) else None


def _group(fields: Mapping[str, Any], names: tuple[str, ...]) -> Mapping[str, Any]:
    """The first of these fields that is an object."""
    groups = (as_object(fields.get(name)) for name in names)
    return next((group for group in groups if group is not None), _NOTHING)


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    """The first of these counts that is more than nothing, else one that is there."""
    found = [count for name in names if (count := _count(fields.get(name))) is not None]
    return next(filter(None, found), found[0] if found else None)


def _count(raw: object) -> int | None:
    if raw is None or isinstance(raw, bool):
        return None
    if isinstance(raw, int):
        return raw if 0 <= raw < 2**53 else None
    if isinstance(raw, str) and raw.strip().isascii() and raw.strip().isdigit() and len(raw) <= 18:
        return int(raw)
    if isinstance(raw, float) and raw.is_integer() and 0 <= raw < 2**53:
        return int(raw)
    return None
