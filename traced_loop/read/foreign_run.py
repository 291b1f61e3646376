"""A run out of the spans of other people's instrumentations: requests, calls, agents, and what cannot be told."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from traced_loop.read.agent_run import AgentRun, Dialect, Gap, StoredAttempt, StoredCall, StoredRequest
from traced_loop.read.asked_calls import asked_calls, user_messages
from traced_loop.read.doubled_spans import ShownRequest, roll_up, shown_calls, shown_requests
from traced_loop.read.foreign_call import CallReading
from traced_loop.read.history_pairs import unpaired
from traced_loop.read.run_parts import RunPart, part_of_trace
from traced_loop.read.span_facts import RequestFacts, RunFacts, SaidMessage, SpanFacts
from traced_loop.read.trace import Problem, StoredSpan, StoredTrace

_ASKS: frozenset[str] = frozenset({"tool_calls", "tool_call", "tool-calls", "function_call", "tool_use"})
"""Finish reasons that say that tools were asked for."""


def foreign_run(trace: StoredTrace, facts: Sequence[SpanFacts | None], part: RunPart, *, run_id: str) -> AgentRun:
    """The run of one part of a trace; ``facts`` are those of the trace's spans, by position."""
    problems: list[Problem] = []
    shown = shown_requests(trace, facts, part.positions, problems)
    ran = shown_calls(trace, facts, part.positions, problems)
    runs = [(n, found.run) for n in part.positions if (found := facts[n]) is not None and found.run is not None]
    problems += [roll_up(trace.spans[n]) for n, run in runs if run.usage is not None and shown]
    names = tuple(dict.fromkeys(name for n in part.positions if (name := part.agents[n])))
    agents = [part.agents[found.position] for found in shown]
    requests = tuple(
        _request(trace, found, step, agent if len(names) > 1 else "")
        for step, (found, agent) in enumerate(zip(shown, agents, strict=True), start=1)
    )
    asked = asked_calls([found.facts for found in shown], agents)
    runners = [part.agents[found.position] if len(names) > 1 else "" for found in ran]
    times = [(found.start_ns, found.end_ns) for found in requests]
    calls = CallReading(trace, asked, ran).calls(times, [found.agent for found in requests], runners)
    histories = [found.facts.history for found in shown]
    problems += unpaired([(r.span, a, h) for r, a, h in zip(requests, agents, histories, strict=True) if r.span])
    run = replace(
        _frame(trace, part, [run for _, run in runs]),
        id=run_id,
        dialect=_dialect(facts, part),
        agents=names,
        requests=requests,
        calls=calls,
        user_messages=_user_messages(histories, agents, calls),
    )
    model = next((found.model for found in requests if found.model), "") or run.model
    gaps = frozenset(_gaps(run, has_tools=bool(ran)))
    return replace(run, model=model, gaps=gaps, problems=(*run.trace.problems, *problems))


def _frame(trace: StoredTrace, part: RunPart, runs: Sequence[RunFacts]) -> AgentRun:
    """What the run's own span says, or all its spans together."""
    spans = part_of_trace(trace, part.positions)
    top = None if part.top is None else trace.spans[part.top]
    usage = runs[0].usage if runs and runs[0].usage is not None else RequestFacts()
    return AgentRun(
        id="",
        dialect="gen_ai",
        trace=spans,
        run_span=None if top is None else top.key,
        model=next((run.model for run in runs if run.model), ""),
        start_ns=spans.begun_ns if top is None else top.start_ns,
        end_ns=spans.last_ns if top is None or top.is_open else top.end_ns,
        is_open=any(span.is_open for span in spans.spans) if top is None else top.is_open,
        session_id=next((run.session_id for run in runs if run.session_id), None),
        stated_input_tokens=usage.input_tokens,
        stated_output_tokens=usage.output_tokens,
    )


def _request(trace: StoredTrace, shown: ShownRequest, step: int, agent: str) -> StoredRequest:
    span, facts = trace.spans[shown.position], shown.facts
    asked = facts.asked or ()
    answered = not span.is_error and not span.is_open
    return StoredRequest(
        span=span.key,
        step=step,
        agent=agent,
        model=facts.model,
        response_model=facts.response_model,
        response_id=facts.response_id,
        provider=facts.provider,
        start_ns=span.start_ns,
        end_ns=span.end_ns,
        first_token_ns=facts.first_token_ns,
        finish_reasons=facts.finish_reasons,
        input_tokens=facts.input_tokens,
        output_tokens=facts.output_tokens,
        cached_tokens=facts.cached_tokens,
        reasoning_tokens=facts.reasoning_tokens,
        cache_write_tokens=facts.cache_write_tokens,
        input_audio_tokens=facts.input_audio_tokens,
        output_audio_tokens=facts.output_audio_tokens,
        usage_source="provider" if facts.has_usage else "missing" if answered else None,
        cost_usd=facts.cost_usd,
        error_type=_error_type(span) if span.is_error else None,
        is_open=span.is_open,
        attempts=tuple(_attempt(trace.spans[n], number) for number, n in enumerate(shown.tries, start=1)),
        call_ids=tuple(call.call_id for call in asked),
        called_tools=tuple(call.tool for call in asked),
        text_characters=_text_characters(facts.answer),
        history_messages=None if facts.history is None else len(facts.history),
        doubled=tuple(trace.spans[n].key for n in shown.others),
    )


def _attempt(span: StoredSpan, number: int) -> StoredAttempt:
    return StoredAttempt(
        span=span.key,
        number=number,
        start_ns=span.start_ns,
        end_ns=span.end_ns,
        error_type=_error_type(span) if span.is_error else None,
        http_status=span.count("http.response.status_code"),
    )


def _error_type(span: StoredSpan) -> str:
    named = [span.text("error.type"), *(event.attributes.get("exception.type") for event in span.events)]
    return next((kind for kind in named if isinstance(kind, str) and kind), "_OTHER")


def _text_characters(answer: tuple[SaidMessage, ...] | None) -> int | None:
    """None where the content is hidden; 0 of an answer that has calls with their arguments and no text."""
    if answer is None:
        return None
    texts = [message.text for message in answer if message.text is not None]
    if texts or any(call.arguments is not None for message in answer for call in message.calls):
        return sum(map(len, texts))
    return None


def _user_messages(
    histories: Sequence[tuple[SaidMessage, ...] | None], agents: Sequence[str], calls: Sequence[StoredCall]
) -> tuple[int, ...]:
    """Where a history has more of a user's messages than the same agent's last one."""
    known: dict[str, int] = {}
    steps: list[int] = []
    for step, (history, agent) in enumerate(zip(histories, agents, strict=True), start=1):
        if history is not None:
            count = user_messages(history)
            if count > known.get(agent, count):
                steps.append(step)
            known[agent] = count
    first = {step: next((call.index for call in calls if call.step >= step), None) for step in steps}
    return tuple(dict.fromkeys(index for step in steps if (index := first[step])))


def _dialect(facts: Sequence[SpanFacts | None], part: RunPart) -> Dialect:
    """That of the requests, else that of what there is; the one that builds on the conventions, where both are."""
    found = [known for n in part.positions if (known := facts[n]) is not None]
    spoken = next((known for known in found if known.request is not None), found[0]).dialect
    if spoken == "gen_ai" and any(known.dialect == "openllmetry" for known in found):
        return "openllmetry"
    return spoken


def _gaps(run: AgentRun, *, has_tools: bool) -> Iterator[Gap]:
    answered = [found for found in run.requests if not found.is_open and found.error_type is None]
    asks = any(found.call_ids or _ASKS.intersection(found.finish_reasons) for found in run.requests)
    unseen = asks and not run.calls
    yield Gap.NO_STOP_REASON
    for gap, is_there in (
        (Gap.NO_ARGUMENTS, unseen or any(call.identity is None for call in run.calls)),
        (Gap.NO_RESULTS, unseen or any(_lacks_result(call) for call in run.calls)),
        (Gap.NO_CALL_IDS, unseen or any(not call.call_id for call in run.calls)),
        (Gap.NO_TIMES, not run.start_ns),
        (Gap.NO_USAGE, not run.requests or any(found.usage_source == "missing" for found in answered)),
        (Gap.NO_PRICES, not run.requests or any(found.cost_usd is None for found in answered)),
        (Gap.NO_REQUESTS, not run.requests),
        (Gap.NO_TOOLS, asks and not has_tools),
        (Gap.NO_FIRST_TOKEN, not any(found.first_token_ns for found in run.requests)),
        (Gap.NO_HISTORY, not any(found.history_messages is not None for found in run.requests)),
    ):
        if is_there:
            yield gap


def _lacks_result(call: StoredCall) -> bool:
    return call.result is None and not call.is_open and (not call.is_error or call.error is None)
