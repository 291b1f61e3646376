"""A provider of the SDK on our own pipeline: for spans that others start through it, and where only the SDK's spans do.

Made when it is first asked for: a process whose spans are all ours does without.
"""

import os
import secrets
from collections.abc import Callable, Mapping
from typing import Any, Final

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.id_generator import IdGenerator

from traced_loop.export.held_spans import HeldSpans
from traced_loop.export.run_sampler import RunSampler
from traced_loop.rules.run_sampling import RunSampling

_USUAL_SAMPLER: Final = "parentbased_always_on"
_OWN_SAMPLERS: Final = frozenset(
    {"always_on", "always_off", "traceidratio", _USUAL_SAMPLER, "parentbased_always_off", "parentbased_traceidratio"}
)
"""Of the SDK. They look at no more than trace id and parent, and add nothing to the span."""


def needs_sdk_spans(environment: Mapping[str, str]) -> bool:
    """Whether something is configured that only spans of the SDK do: limits, its metrics, the sampler of a plug-in."""
    limits = any(name.startswith("OTEL_") and name.endswith("_LIMIT") and value for name, value in environment.items())
    counted = environment.get("OTEL_PYTHON_SDK_INTERNAL_METRICS_ENABLED", "").strip().lower() == "true"
    return limits or counted or _sampler(environment) not in _OWN_SAMPLERS


def _sampler(environment: Mapping[str, str]) -> str:
    return environment.get("OTEL_TRACES_SAMPLER", "").strip().lower() or _USUAL_SAMPLER


def own_provider(
    resource: Resource,
    take: Callable[[Any], None],
    flush: Callable[[], None],
    sampling: RunSampling | None,
    held: HeldSpans[Any] | None,
) -> TracerProvider:
    """Make it; its samplers and limits come from the environment.

    Args:
        resource: of the process.
        take: takes each span that has ended, also one that is only recorded.
        flush: sends all that was taken.
        sampling: which runs are exported; None for all.
        held: where their spans wait for the end of their run, by the same rule; needed where ``sampling`` is given.
    """
    provider = TracerProvider(resource=resource, shutdown_on_exit=False, id_generator=_SecretIds())
    handing: SpanProcessor = _Handing(take, flush)
    provider.add_span_processor(handing if sampling is None else RunSampler(handing, sampling, held))
    return provider


class _Handing(SpanProcessor):
    """Hands the spans to the pipeline, which knows those that are to be exported."""

    def __init__(self, take: Callable[[Any], None], flush: Callable[[], None]) -> None:
        self._take = take
        self._flush = flush

    def on_end(self, span: ReadableSpan) -> None:
        self._take(span)

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        self._flush()
        return True


class _SecretIds(IdGenerator):
    """Ids that an application's ``random.seed`` does not repeat."""

    def generate_span_id(self) -> int:
        return secrets.randbits(64) or 1

    def generate_trace_id(self) -> int:
        return secrets.randbits(128) or 1


def environment_sampler(provider: Callable[[], TracerProvider]) -> Any:
    """The sampler that the environment names; None for the usual one, which follows the parent and else takes all."""
    return None if _sampler(os.environ) == _USUAL_SAMPLER else provider().sampler
