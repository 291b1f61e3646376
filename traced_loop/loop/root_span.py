"""What the root span carries at the start and at the end of a run, and the result that says the same."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from traced_loop import names
from traced_loop.frozen_value import frozen_value
from traced_loop.loop.continued_run import Continued
from traced_loop.loop.run_state import RunState
from traced_loop.rules.budget import EACH, SHARED_PREFIX, Budget, check, headroom
from traced_loop.rules.pricing import cost_band, microusd
from traced_loop.rules.repetition_rules import RepetitionRules
from traced_loop.run_result import Delivery, ExportKind, LiveDelivery, Receipt, RunResult, Usage, fixed_delivery
from traced_loop.telemetry.content.capture import ContentCapture
from traced_loop.telemetry.dialects import Dialect
from traced_loop.telemetry.spans import RunScope, Span
from traced_loop.telemetry.wanted_extras import Wanted
from traced_loop.version import __version__


@frozen_value
class RunSettings:
    """What stays the same for every run of a loop.

    Attributes:
        agent: name of the loop.
        model: name of the model.
        budget: the limits.
        repetition: from when on a repetition is told to the model, or ends the run.
        digests: ``config.hash``, ``prompt.version``, ``tools.version`` and ``fingerprint.key_id``, by attribute key.
        kept_home: tools whose arguments and results are shown to nobody.
        compat: other conventions whose keys the spans carry, too.
        store: path of the local store, or None.
        export: who exports the spans.
        delivery: asks our own exporter what became of a run's spans, by run id and by how many it was given; or None.
    """

    agent: str
    model: str
    budget: Budget
    repetition: RepetitionRules = field(default_factory=RepetitionRules)
    digests: Mapping[str, str] = field(default_factory=dict[str, str])
    kept_home: frozenset[str] = frozenset()
    compat: frozenset[Dialect] = frozenset()
    store: str | None = None
    export: ExportKind = "none"
    delivery: Callable[[str, int], Delivery] | None = None

    def wanted(self, content: ContentCapture) -> Wanted:
        """What the spans of a run with that content carry by option."""
        return Wanted(content=content, kept_home=self.kept_home, compat=self.compat)


def start_attributes(
    settings: RunSettings, session_id: str | None, continued: Continued | None = None
) -> dict[str, Any]:
    """All that is known before the first request."""
    limits = {
        f"{names.BUDGET_PREFIX}{name}.limit": room.limit for name, room in headroom(settings.budget, Usage()).items()
    }
    return {
        names.GEN_AI_OPERATION: names.INVOKE_AGENT,
        names.GEN_AI_AGENT_NAME: settings.agent,
        names.GEN_AI_REQUEST_MODEL: settings.model,
        names.GEN_AI_CONVERSATION_ID: session_id,
        names.SESSION_ID: session_id,
        names.RUN_RESUMED: None if continued is None else continued.number,
        names.VERSION: __version__,
        names.BUDGET_WARN_AT: settings.budget.warn_at,
        names.REPETITION_RULES: settings.repetition.text(),
        **settings.digests,
        **limits,
    }


def final_attributes(state: RunState, budget: Budget) -> dict[str, Any]:
    """Why the run ended, what it used, and how far it was from every limit."""
    usage = state.usage()
    cost = usage.cost_usd
    scope = state.scope
    return {
        names.RUN_STOP_REASON: state.stop,
        names.RUN_STOP_DETAIL: state.stop_detail or None,
        names.RUN_STEPS: usage.steps,
        names.RUN_MODEL_REQUESTS: usage.model_requests,
        names.RUN_TOOL_CALLS: usage.tool_calls,
        names.RUN_FAILED_TOOL_CALLS: usage.failed_tool_calls,
        names.RUN_TOKENS: usage.tokens,
        names.RUN_INPUT_TOKENS: usage.input_tokens,
        names.RUN_OUTPUT_TOKENS: usage.output_tokens,
        names.RUN_CACHED_TOKENS: usage.cached_tokens,
        names.RUN_REASONING_TOKENS: usage.reasoning_tokens,
        names.RUN_CACHE_WRITE_TOKENS: usage.cache_write_tokens or None,
        names.RUN_AUDIO_INPUT_TOKENS: usage.input_audio_tokens or None,
        names.RUN_AUDIO_OUTPUT_TOKENS: usage.output_audio_tokens or None,
        names.RUN_COST_USD: float(cost) if cost is not None else None,
        names.RUN_COST_MICROUSD: microusd(cost) if cost is not None else None,
        names.RUN_COST_BAND: cost_band(cost) if cost is not None else None,
        names.RUN_COST_SOURCE: usage.cost_source,
        names.RUN_COST_UPPER_BOUND: usage.cost_is_upper_bound or None,
        names.RUN_REPLAYED: state.replayed or None,
        names.RUN_REPETITIONS: state.repetitions,
        names.RUN_FLAGGED: True if state.repetitions or state.repeated else None,
        names.RUN_WAITED_MS: round(usage.waited_seconds * 1000) or None,
        names.LAST_REQUEST: state.last_request or None,
        names.BUDGET_NEXT: _next_limit(state, budget, usage),
        names.RECEIPT_STARTED: scope.started,
        names.RECEIPT_ENDED: scope.ended,
        names.RECEIPT_RECORDED: scope.recorded,
        names.RECEIPT_TRUNCATED: scope.hygiene.truncated,
        names.RECEIPT_REDACTED: scope.hygiene.redacted,
        names.RECEIPT_OVERHEAD_MS: _overhead_ms(scope),
        **_rooms(state, budget, usage),  # last: of too many attributes the last ones give way
    }


def result_of(state: RunState, root: Span, settings: RunSettings) -> RunResult:
    """The run as its caller gets it; to be asked once the root has ended."""
    usage = state.usage()
    if state.stop is None:
        raise RuntimeError("a run without a stop reason has no result")
    return RunResult(
        answer=state.answer,
        partial=state.partial,
        stop_reason=state.stop,
        stop_detail=state.stop_detail,
        messages=tuple(state.history.messages),
        usage=usage,
        headroom={
            **headroom(settings.budget, usage),
            **{f"{SHARED_PREFIX}{name}": room for name, room in state.shared_rooms.items()},
        },
        next_limit=_next_limit(state, settings.budget, usage),
        last_request=state.last_request,
        run_id=state.run_id,
        trace_id=f"{root.id[0]:032x}",
        pending=tuple(state.pending),
        repetitions=tuple(state.repeated),
        abandoned=tuple(left.tool for left in state.left_behind if not left.work.over),
        error=state.error,
        receipt=_receipt(state.scope, settings),
    )


def _rooms(state: RunState, budget: Budget, usage: Usage) -> dict[str, Any]:
    """How far the run was from every limit; what is left is shown where it can be hit by going on.

    Of its own limits that comes last: it is the limit without what is used.
    """
    rooms = headroom(budget, usage)
    found: dict[str, Any] = {f"{names.BUDGET_PREFIX}{name}.used": room.used for name, room in rooms.items()}
    if state.share is not None:
        found[names.BUDGET_SHARED_NAME] = state.share.budget.name
    for name, room in state.shared_rooms.items():
        found[f"{names.BUDGET_SHARED_PREFIX}{name}.limit"] = room.limit
        found[f"{names.BUDGET_SHARED_PREFIX}{name}.remaining"] = room.remaining
    left = {
        f"{names.BUDGET_PREFIX}{name}.remaining": room.remaining for name, room in rooms.items() if name not in EACH
    }
    return {**found, **left}


def _next_limit(state: RunState, budget: Budget, usage: Usage) -> str | None:
    """The limit of which the largest part is spent, the run's own or one that it shares."""
    parts: dict[str, float] = {str(name): part for name, part in check(budget, usage).fractions.items()}
    parts |= {f"{SHARED_PREFIX}{name}": room.used / room.limit for name, room in state.shared_rooms.items()}
    return max(parts, key=lambda name: parts[name], default=None)


def _receipt(scope: RunScope, settings: RunSettings) -> Receipt:
    return Receipt(
        spans_started=scope.started,
        spans_ended=scope.ended,
        spans_recorded=scope.recorded,
        values_truncated=scope.hygiene.truncated,
        values_redacted=scope.hygiene.redacted,
        redactions=dict(scope.hygiene.redactions),
        overhead_ms=_overhead_ms(scope),
        store_errors=scope.store_errors,
        store_full=scope.store_full,
        export_errors=scope.export_errors,
        store=settings.store,
        export=settings.export,
        ask=_ask(scope, settings.delivery),
    )


def _ask(scope: RunScope, delivery: Callable[[str, int], Delivery] | None) -> LiveDelivery | None:
    if delivery is None:
        return None
    run_id, given = scope.run_id, scope.exported
    if not given:  # a sampler in front of the exporter wanted nothing of this run
        return fixed_delivery(Delivery(state="not_sampled", accepted=0, refused=0, waiting=0))
    return LiveDelivery(lambda: delivery(run_id, given))


def _overhead_ms(scope: RunScope) -> float:
    return round(scope.overhead_ns / 1e6, 3)
