"""Every span name, attribute key, metric and label, each with its meaning; their words are in ``closed_words``.

Nothing else spells one.

Keys that begin with ``gen_ai.``, ``openai.``, ``mcp.``, ``network.``, ``server.``, ``error.``, ``http.`` or
``session.`` follow the OpenTelemetry conventions (repository ``open-telemetry/semantic-conventions-genai``, Development
status). They are our own constants, because the constants of the semantic-conventions package are frozen and marked as
moved. ``openinference.``, ``input.`` and ``output.`` are OpenInference's. All other keys are ours and begin with
``traced_loop.``. ``gen_ai.*`` keys stand on ``invoke_agent``, ``chat`` and ``execute_tool`` only: backends classify a
span by their presence.
"""

from typing import Final

SCOPE: Final = "traced_loop"
"""Name of the instrumentation scope."""

OPENTRACING_SCOPE: Final = "traced_loop.opentracing"
"""Instrumentation scope of the spans that tools start through OpenTracing."""

SERVICE_NAME_DEFAULT: Final = "traced_loop"
"""``service.name`` where neither the application nor ``OTEL_SERVICE_NAME`` gives one."""

# --- span names -------------------------------------------------------------------------------------------

INVOKE_AGENT: Final = "invoke_agent"
"""The run, the root of ours; the span's name adds the agent's: ``invoke_agent support``."""
STEP: Final = "traced_loop.step"
"""One model request and the handling of every call that it proposed."""
CHAT: Final = "chat"
"""One usage-bearing answer of the model; the span's name adds the requested model."""
ATTEMPT: Final = "traced_loop.attempt"
"""One try of a request or of a tool; only when there was more than one."""
VALIDATE_CALL: Final = "traced_loop.validate_call"
"""One proposed call against its tool's schema; before anything of the batch runs."""
AUTHORIZE_CALL: Final = "traced_loop.authorize_call"
"""The policy engine's decision about one valid call."""
EXECUTE_TOOL: Final = "execute_tool"
"""One authorised call carried out; the span's name adds the tool."""
REPLAY: Final = "traced_loop.replay"
"""A write that was done before is answered with its stored result; nothing runs. Linked to the execution."""
RECONCILE: Final = "traced_loop.reconcile"
"""A write of which nobody knows what came of it is asked about: below its execution, or before a later call of it."""
APPEND_RESULTS: Final = "traced_loop.append_results"
"""The results of a batch go into the history, one message per call, in call order."""
CHECK_BUDGET: Final = "traced_loop.check_budget"
"""The limits against the usage: before each request, before each batch, after each step."""
LATE_COMPLETION: Final = "traced_loop.late_completion"
"""A tool that was left behind has ended: from when nobody waited any more to its end, perhaps after the run's."""

DOCTOR: Final = "traced_loop.doctor"
"""The one span of the doctor's test trace; no part of a run."""

# --- GenAI conventions ------------------------------------------------------------------------------------

GEN_AI_OPERATION: Final = "gen_ai.operation.name"
"""``invoke_agent``, ``chat`` or ``execute_tool``."""
GEN_AI_PROVIDER: Final = "gen_ai.provider.name"
"""Who serves the model: ``openai``, or what the model object says."""
OPENAI_API_TYPE: Final = "openai.api.type"
"""``chat_completions`` or ``responses``: which API was asked."""
GEN_AI_AGENT_NAME: Final = "gen_ai.agent.name"
"""The name given to the loop."""
GEN_AI_CONVERSATION_ID: Final = "gen_ai.conversation.id"
"""The caller's session id; absent when the caller gave none."""
GEN_AI_REQUEST_MODEL: Final = "gen_ai.request.model"
"""The model that was asked for."""
GEN_AI_RESPONSE_MODEL: Final = "gen_ai.response.model"
"""The model that answered, in the provider's words."""
GEN_AI_RESPONSE_ID: Final = "gen_ai.response.id"
"""The provider's id of the answer."""
GEN_AI_FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
"""The provider's words for why the answer ended, raw; ``error`` when none arrived."""
GEN_AI_INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
"""Tokens of the request, cached ones included; absent when unknown."""
GEN_AI_OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
"""Tokens of the answer, reasoning included; absent when unknown."""
GEN_AI_CACHED_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
"""The part of the input tokens that came from the provider's cache."""
GEN_AI_REASONING_TOKENS: Final = "gen_ai.usage.reasoning.output_tokens"
"""The part of the output tokens that was reasoning."""
GEN_AI_CACHE_WRITE_TOKENS: Final = "gen_ai.usage.cache_write.input_tokens"
"""The part of the input tokens that was written into the provider's cache."""
GEN_AI_AUDIO_INPUT_TOKENS: Final = "gen_ai.usage.audio.input_tokens"
"""The part of the input tokens that was audio."""
GEN_AI_AUDIO_OUTPUT_TOKENS: Final = "gen_ai.usage.audio.output_tokens"
"""The part of the output tokens that was audio."""
GEN_AI_REQUEST_MAX_TOKENS: Final = "gen_ai.request.max_tokens"
"""The cap on the answer, the caller's or ours."""
GEN_AI_REQUEST_TEMPERATURE: Final = "gen_ai.request.temperature"
"""Sampling temperature, as the caller set it."""
GEN_AI_REQUEST_TOP_P: Final = "gen_ai.request.top_p"
"""Nucleus sampling, as the caller set it."""
GEN_AI_REQUEST_FREQUENCY_PENALTY: Final = "gen_ai.request.frequency_penalty"
"""As the caller set it."""
GEN_AI_REQUEST_PRESENCE_PENALTY: Final = "gen_ai.request.presence_penalty"
"""As the caller set it."""
GEN_AI_REQUEST_SEED: Final = "gen_ai.request.seed"
"""As the caller set it."""
GEN_AI_REQUEST_STOP: Final = "gen_ai.request.stop_sequences"
"""As the caller set it."""
GEN_AI_REQUEST_REASONING: Final = "gen_ai.request.reasoning.level"
"""``reasoning_effort`` as the caller set it."""
GEN_AI_REQUEST_STREAM: Final = "gen_ai.request.stream"
"""True where the answer was asked for in pieces; absent where not."""
GEN_AI_FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"
"""Seconds from the start of the span to the first piece of the last streamed try, failed tries and waits included."""
STREAM_CHUNKS: Final = "traced_loop.stream.chunks"
"""Pieces in which the answer of the last try came."""
STREAM_LONGEST_GAP_MS: Final = "traced_loop.stream.longest_gap_ms"
"""Longest time between two pieces of it that follow one another."""
STREAM_MEAN_GAP_MS: Final = "traced_loop.stream.mean_gap_ms"
"""Mean time between them; absent for less than two pieces, as the longest is."""
GEN_AI_TOOL_NAME: Final = "gen_ai.tool.name"
"""The registered tool that is executed."""
GEN_AI_TOOL_TYPE: Final = "gen_ai.tool.type"
"""Always ``function``."""
GEN_AI_TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
"""The call's id, as it stands in the history."""
GEN_AI_INPUT_MESSAGES: Final = "gen_ai.input.messages"
"""With content on: what was sent, JSON of the GenAI message schema; on a run what the user said."""
GEN_AI_OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
"""With content on: what the model answered, on a run its end; JSON of the GenAI message schema."""
GEN_AI_SYSTEM_INSTRUCTIONS: Final = "gen_ai.system_instructions"
"""With content on: the instructions of a run, JSON parts; a ``chat`` span has them among its messages."""
GEN_AI_TOOL_DEFINITIONS: Final = "gen_ai.tool.definitions"
"""The tools that were offered, JSON; only where ``ContentCapture(definitions=True)`` asks for them."""
GEN_AI_TOOL_CALL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
"""With content on: the validated arguments, JSON."""
GEN_AI_TOOL_CALL_RESULT: Final = "gen_ai.tool.call.result"
"""With content on: the result as the model was told it, or the error, JSON."""
GEN_AI_OPERATION_DETAILS: Final = "gen_ai.client.inference.operation.details"
"""Name of the log event that carries the content of one ``chat`` span."""
SERVER_ADDRESS: Final = "server.address"
"""Host of the model server; on ``execute_tool`` of the MCP server that has the tool."""
SERVER_PORT: Final = "server.port"
"""Port of the same."""
ERROR_TYPE: Final = "error.type"
"""Qualified exception type, a provider's code, ``timeout``, ``tool_error`` or ``_OTHER``."""
HTTP_STATUS: Final = "http.response.status_code"
"""Status of a failed attempt's response; absent where none arrived."""
SESSION_ID: Final = "session.id"
"""The caller's session id again, under the general name."""

# --- MCP conventions, on ``execute_tool`` of a tool that an MCP server has -----------------------------------

MCP_METHOD: Final = "mcp.method.name"
"""Always ``tools/call``."""
MCP_SESSION_ID: Final = "mcp.session.id"
"""The server's id of the session; absent where it has none, as over stdio."""
MCP_PROTOCOL_VERSION: Final = "mcp.protocol.version"
"""What both sides agreed to speak, a date; absent before they did."""
NETWORK_TRANSPORT: Final = "network.transport"
"""``pipe`` for a child process, ``tcp`` for an address."""
MCP_SERVER_NAME: Final = "traced_loop.mcp.server.name"
"""What the server calls itself; the conventions have no key for it."""
MCP_SERVER_VERSION: Final = "traced_loop.mcp.server.version"
"""The version that it says it has."""

# --- OpenInference, by option -----------------------------------------------------------------------------

OPENINFERENCE_KIND: Final = "openinference.span.kind"
"""``AGENT``, ``CHAIN``, ``LLM``, ``TOOL`` or ``GUARDRAIL``; on every span of ours."""
INPUT_VALUE: Final = "input.value"
"""What a run, a request or a tool was given: its content where that is on; else a tool's ``args.summary``."""
INPUT_MIME_TYPE: Final = "input.mime_type"
"""``application/json`` or ``text/plain``."""
OUTPUT_VALUE: Final = "output.value"
"""What it gave, where content is on."""
OUTPUT_MIME_TYPE: Final = "output.mime_type"
"""``application/json`` or ``text/plain``."""
CONTENT_KEYS: Final = frozenset(
    {
        GEN_AI_INPUT_MESSAGES,
        GEN_AI_OUTPUT_MESSAGES,
        GEN_AI_SYSTEM_INSTRUCTIONS,
        GEN_AI_TOOL_DEFINITIONS,
        GEN_AI_TOOL_CALL_ARGUMENTS,
        GEN_AI_TOOL_CALL_RESULT,
        INPUT_VALUE,
        OUTPUT_VALUE,
    }
)
"""Keys whose values are content: masked and fitted where they are made, and left out whole where a span has no room for
them, since cut they would be no JSON any more."""

# --- ours: on every span ----------------------------------------------------------------------------------

RUN_ID: Final = "traced_loop.run.id"
"""The run; on every span of ours."""

# --- ours: the run ----------------------------------------------------------------------------------------

RUN_STOP_REASON: Final = "traced_loop.run.stop_reason"
"""Why the run ended, of the closed list; on the root and on the span that decided it."""
RUN_STOP_DETAIL: Final = "traced_loop.run.stop_detail"
"""One short sentence: the numbers or the name behind the stop reason, without content."""
RUN_REPLAYED: Final = "traced_loop.run.replayed"
"""On a run whose code an engine ran again: how many of its steps the engine had kept. Their usage is in the run's sums
and on no span of this trace. Absent otherwise."""
RUN_RESUMED: Final = "traced_loop.run.resumed"
"""On the span of a resumed run: how often it was resumed by now, from 1. Its sums are those of the whole run; the span
links to the run's span before it."""
RUN_STEPS: Final = "traced_loop.run.steps"
"""Steps begun; a last request is none."""
RUN_MODEL_REQUESTS: Final = "traced_loop.run.model_requests"
"""Requests sent to the model, attempts included."""
RUN_TOOL_CALLS: Final = "traced_loop.run.tool_calls"
"""Calls that were executed."""
RUN_FAILED_TOOL_CALLS: Final = "traced_loop.run.failed_tool_calls"
"""Executed calls that ended in anything but ``ok``."""
RUN_TOKENS: Final = "traced_loop.run.usage.tokens"
"""Input and output together, estimates included: what counted against the token limit."""
RUN_INPUT_TOKENS: Final = "traced_loop.run.usage.input_tokens"
"""Sum over the run's answers; absent when any part is unknown."""
RUN_OUTPUT_TOKENS: Final = "traced_loop.run.usage.output_tokens"
"""Sum over the run's answers; absent when any part is unknown."""
RUN_CACHED_TOKENS: Final = "traced_loop.run.usage.cached_tokens"
"""Sum of the input tokens that came from the provider's cache."""
RUN_REASONING_TOKENS: Final = "traced_loop.run.usage.reasoning_tokens"
"""Sum of the output tokens that were reasoning."""
RUN_CACHE_WRITE_TOKENS: Final = "traced_loop.run.usage.cache_write_tokens"
"""Sum of the input tokens that were written into the provider's cache; absent for none, as in both below."""
RUN_AUDIO_INPUT_TOKENS: Final = "traced_loop.run.usage.input_audio_tokens"
"""Sum of the input tokens that were audio."""
RUN_AUDIO_OUTPUT_TOKENS: Final = "traced_loop.run.usage.output_audio_tokens"
"""Sum of the output tokens that were audio."""
RUN_COST_USD: Final = "traced_loop.run.cost.usd"
"""What the run cost in USD; absent when any answer has no known price."""
RUN_COST_MICROUSD: Final = "traced_loop.run.cost.microusd"
"""The same in millionths of a USD, rounded up: an integer that any store can compare."""
RUN_COST_BAND: Final = "traced_loop.run.cost.band"
"""``lt_0.01``, ``lt_0.10``, ``lt_1``, ``ge_1``: an exact word that any store can search."""
RUN_COST_SOURCE: Final = "traced_loop.run.cost.source"
"""``price_table``, ``declared``, ``provider`` (its own bill) or ``unknown``."""
RUN_COST_UPPER_BOUND: Final = "traced_loop.run.cost.upper_bound"
"""True where the cost of any answer is an upper bound, so that the run cost at most that. Else absent."""
RUN_WAITED_MS: Final = "traced_loop.run.waited_ms"
"""Milliseconds that people took to confirm: no part of the run's ``seconds``; absent where nobody was asked."""
RUN_REPETITIONS: Final = "traced_loop.run.repetitions"
"""Calls that repeated one of the previous step."""
RUN_FLAGGED: Final = "traced_loop.run.flagged"
"""True when at least one repetition was flagged, or found by the rules; absent otherwise."""
CONFIG_HASH: Final = "traced_loop.config.hash"
"""Digest of model, instructions, tools, request parameters and limits: equal for equal set-ups."""
PROMPT_VERSION: Final = "traced_loop.prompt.version"
"""Digest of the instructions."""
TOOLS_VERSION: Final = "traced_loop.tools.version"
"""Digest of the tool definitions."""
FINGERPRINT_KEY_ID: Final = "traced_loop.fingerprint.key_id"
"""Digest of the key under which the run's fingerprints were made: where it differs, they do not compare."""
VERSION: Final = "traced_loop.version"
"""Version of the package that ran the loop."""
RECOVERED: Final = "traced_loop.recovered"
"""True on a span that its process left open when it ended, and that ``recover`` has ended since: its end is the last
sign of life of the run, and what is not known of it is left out."""
RECEIPT_STARTED: Final = "traced_loop.receipt.spans_started"
"""Spans of the run started before the root ended, the root included."""
RECEIPT_ENDED: Final = "traced_loop.receipt.spans_ended"
"""Spans of the run that had ended before the root did: one less than started, unless one was left open."""
RECEIPT_RECORDED: Final = "traced_loop.receipt.spans_recorded"
"""Spans of the run that the local store had taken before the root ended."""
RECEIPT_TRUNCATED: Final = "traced_loop.receipt.values_truncated"
"""Attribute values and links of the run that were cut or left out to fit."""
RECEIPT_REDACTED: Final = "traced_loop.receipt.values_redacted"
"""Attribute values of the run in which something was masked."""
RECEIPT_OVERHEAD_MS: Final = "traced_loop.receipt.overhead_ms"
"""Milliseconds that the run's telemetry took before the root ended: spans, their attributes, the local store."""

# --- ours: budgets ----------------------------------------------------------------------------------------

BUDGET_PREFIX: Final = "traced_loop.budget."
"""``traced_loop.budget.<limit>.{limit,used,remaining}`` for every limit that is set; of ``request_seconds`` and
``tool_seconds`` without ``remaining``, and ``used`` is the longest one."""
BUDGET_SHARED_PREFIX: Final = "traced_loop.budget.shared."
"""``traced_loop.budget.shared.<limit>.*`` for every limit of a budget that several runs share: ``limit``, ``used`` and
``reserved`` by all of them on a check, ``limit`` and ``remaining`` on the run."""
BUDGET_SHARED_NAME: Final = "traced_loop.budget.shared.name"
"""The shared budget, as whoever made it calls it; absent where the run shares none."""
BUDGET_WARN_AT: Final = "traced_loop.budget.warn_at"
"""Part of a limit from which a check warns; absent where none does."""
BUDGET_PHASE: Final = "traced_loop.budget.phase"
"""``request``, ``batch`` or ``step``: what is about to be spent, or was."""
BUDGET_OUTCOME: Final = "traced_loop.budget.outcome"
"""``ok``, ``warning`` (once for each limit) or ``exceeded``."""
BUDGET_EXCEEDED: Final = "traced_loop.budget.exceeded"
"""The limit that would have been passed, a shared budget's as ``shared.tokens``; absent unless the outcome is
``exceeded``."""
BUDGET_WARNED: Final = "traced_loop.budget.warned"
"""The limits of which this check warns, comma-separated."""
BUDGET_NEXT: Final = "traced_loop.budget.next"
"""The limit of which the largest part is spent: the one that would be hit first, a shared budget's as
``shared.tokens``."""
BUDGET_RESERVED_TOKENS: Final = "traced_loop.budget.reserved_tokens"
"""Tokens that the request may spend at worst, as far as that can be known: its input and the longest answer. On the
check before it, and again after the step beside what was settled."""
BUDGET_EXPECTED_TOKENS: Final = "traced_loop.budget.expected_tokens"
"""Tokens that the request's input is expected to take, estimated: the part of what is reserved that no cap shortens."""
BUDGET_RESERVED_MICROUSD: Final = "traced_loop.budget.reserved_microusd"
"""The same in millionths of a USD; absent without a cost limit."""
BUDGET_RESERVED_CALLS: Final = "traced_loop.budget.reserved_calls"
"""Calls of the batch that may run."""
BUDGET_RESERVED_SECONDS: Final = "traced_loop.budget.reserved_seconds"
"""Seconds that the request or the batch may take at most: its share of what the run has left."""
BUDGET_SETTLED_TOKENS: Final = "traced_loop.budget.settled_tokens"
"""Tokens that the step was billed, estimates included."""
BUDGET_SETTLED_MICROUSD: Final = "traced_loop.budget.settled_microusd"
"""The same in millionths of a USD, estimates included; absent without a cost limit."""
BUDGET_SETTLED_CALLS: Final = "traced_loop.budget.settled_calls"
"""Calls that the step executed."""
BUDGET_SETTLED_SECONDS: Final = "traced_loop.budget.settled_seconds"
"""Active seconds that the step took."""
BUDGET_KEPT_TOKENS: Final = "traced_loop.budget.kept_tokens"
"""Tokens that are set aside for a last request, beside those reserved; absent without one."""
BUDGET_KEPT_MICROUSD: Final = "traced_loop.budget.kept_microusd"
"""The same in millionths of a USD; absent without a cost limit."""

# --- ours: steps and model requests -----------------------------------------------------------------------

STEP_INDEX: Final = "traced_loop.step.index"
"""1-based."""
LAST_REQUEST: Final = "traced_loop.last_request"
"""True on the step, the request and the checks of a limit's last request, which is made without tools, and on a run
that made one; absent otherwise. It counts as no step and changes no stop reason."""
STEP_RESUMED: Final = "traced_loop.step.resumed"
"""True on a step in which a resumed run takes up the calls of an earlier answer: it has the index of the step in which
that was given, and counts as no other one. Absent otherwise."""
STEP_PROMPTED: Final = "traced_loop.step.prompted"
"""True on the step before which a person spoke while the run was stopped: repetitions are counted anew from there.
Absent otherwise."""
STEP_OUTCOME: Final = "traced_loop.step.outcome"
"""``final``, ``calls_handled`` or ``stopped``."""
COST_USD: Final = "traced_loop.cost.usd"
"""Cost of one answer in USD; absent when the model has no known price or the usage is missing."""
COST_SOURCE: Final = "traced_loop.cost.source"
"""``price_table``, ``declared``, ``provider`` (its own bill) or ``unknown``."""
COST_RATES: Final = "traced_loop.cost.rates"
"""USD per million tokens behind the cost: input, input from the cache, output, comma-separated; then, where known, as
``name=USD``, ``cache_write``, ``input_audio`` and ``output_audio``. Absent where the cost is unknown or the provider's
own, and where a price depends on the size of the request."""
COST_UPPER_BOUND: Final = "traced_loop.cost.upper_bound"
"""True where cached input was billed as input because nobody says its rate: it cost at most that. Else absent."""
COST_TABLE: Final = "traced_loop.cost.table"
"""Name and version of the price table behind the cost; absent where it came from elsewhere."""
USAGE_SOURCE: Final = "traced_loop.usage.source"
"""``provider``, ``estimated`` or ``missing``."""
CALL_IDS: Final = "traced_loop.call.ids"
"""The ids of a batch, comma-separated, at most 32 of them."""
ANOMALIES: Final = "traced_loop.anomalies"
"""What was odd in an answer, words of ``Anomaly``, comma-separated."""
ATTEMPT_NUMBER: Final = "traced_loop.attempt.number"
"""1-based."""
ATTEMPT_KIND: Final = "traced_loop.attempt.kind"
"""``model`` or ``tool``."""
ATTEMPT_DELAY_MS: Final = "traced_loop.attempt.delay_ms"
"""Milliseconds waited before this attempt."""
ATTEMPT_MODEL: Final = "traced_loop.attempt.model"
"""The model that this attempt asked; only where a loop has more than one."""
ATTEMPT_PROVIDER: Final = "traced_loop.attempt.provider"
"""Who serves that model, a word of ``gen_ai.provider.name``."""
FALLBACK_MODEL: Final = "traced_loop.fallback.model"
"""The model that answered in place of the one that was asked; absent where that one answered."""
MODEL_ERROR_KIND: Final = "traced_loop.model_error.kind"
"""Why a request or one try of it failed, a word of ``ModelErrorKind``."""
MODEL_ERROR_RETRY_AFTER_MS: Final = "traced_loop.model_error.retry_after_ms"
"""Milliseconds that the server asked to wait, however long; absent where it asked for nothing."""
ATTEMPT_INPUT_TOKENS: Final = "traced_loop.attempt.input_tokens"
"""Tokens that a failed attempt was billed for its input; absent where the provider counted none. They are part of the
``chat`` span's."""
ATTEMPT_OUTPUT_TOKENS: Final = "traced_loop.attempt.output_tokens"
"""Likewise for its answer."""
ATTEMPT_CACHED_TOKENS: Final = "traced_loop.attempt.cached_tokens"
"""The part of its input tokens that came from the provider's cache; absent for none."""

# --- ours: calls ------------------------------------------------------------------------------------------

CALL_ID: Final = "traced_loop.call.id"
"""The call's id, as it stands in the history."""
CALL_INDEX: Final = "traced_loop.call.index"
"""0-based place in the response."""
CALL_TOOL: Final = "traced_loop.call.tool"
"""The registered tool, or ``_unknown``."""
CALL_OUTCOME: Final = "traced_loop.call.outcome"
"""How the call ended, of the closed list; on exactly one span per call."""
VALIDATION_OUTCOME: Final = "traced_loop.validation.outcome"
"""``valid``, ``repaired`` or ``rejected``."""
VALIDATION_ERROR_CODE: Final = "traced_loop.validation.error_code"
"""A word of ``ErrorCode``; absent when valid."""
VALIDATION_ERROR_PATHS: Final = "traced_loop.validation.error_paths"
"""Schema fields that were refused, comma-separated; fields that the schema does not know are ``<extra>``."""
ARGS_BYTES: Final = "traced_loop.args.bytes"
"""Size of the arguments as the model sent them, UTF-8 bytes."""
ARGS_SUMMARY: Final = "traced_loop.args.summary"
"""Field names with booleans, enum values and small numbers; strings and lists as their size. Of refused arguments the
fields that the schema knows."""
ARGS_FINGERPRINT: Final = "traced_loop.args.fingerprint"
"""Keyed digest of tool and canonical arguments: equal calls, equal fingerprint, under one key. Of arguments that are no
JSON object the text counts as it came. On ``validate_call``, ``authorize_call`` and ``execute_tool``."""
ARGS_STABLE_FINGERPRINT: Final = "traced_loop.args.stable_fingerprint"
"""The same without the fields that the tool declares volatile, equal for calls that repeat one another; absent where
the call has no such field: then it is ``traced_loop.args.fingerprint``."""
IDENTITY: Final = "traced_loop.identity"
"""Id of the caller on whose behalf the run acts."""
EFFECT: Final = "traced_loop.effect"
"""``read`` or ``write``, as the tool declares it."""
RISK: Final = "traced_loop.risk"
"""``low`` or ``high``, as the tool declares it."""
TOOL_TIMEOUT: Final = "traced_loop.tool.timeout_seconds"
"""Seconds that the tool declares for a call, on ``authorize_call``; absent where it declares none."""
POLICY_RULE: Final = "traced_loop.policy.rule"
"""Name of the rule that had the first opinion."""
POLICY_DECISION: Final = "traced_loop.policy.decision"
"""``allow``, ``deny`` or ``needs_confirmation``."""
POLICY_REASON: Final = "traced_loop.policy.reason"
"""The rule's own short words."""
CONFIRMATION_STATE: Final = "traced_loop.confirmation.state"
"""``pending``, ``approved`` or ``rejected``."""
CONFIRMATION_WAIT_MS: Final = "traced_loop.confirmation.wait_ms"
"""Milliseconds that the approver took; not part of the tool's timeout."""
CONFIRMATION_BY: Final = "traced_loop.confirmation.by"
"""Who approved or rejected, where the approver says so."""
REPLAY_STEP: Final = "traced_loop.replay.step"
"""Name of the engine's step that was not done again, since the engine had kept it: ``model.2``, ``tool.2.0.pay``."""
REPLAY_AGE_S: Final = "traced_loop.replay.age_s"
"""Seconds from the end of the execution to the replay of its result."""
RECONCILIATION_ANSWER: Final = "traced_loop.reconciliation.answer"
"""What came of it: ``done``, ``not_done``, ``unknown``, or ``failed`` where its tool could not tell."""
RECONCILIATION_CAUSE: Final = "traced_loop.reconciliation.cause"
"""Why it was asked: ``timeout``, ``error``, or ``earlier`` where an earlier call is unknown."""
COMPENSATION_CALL_ID: Final = "traced_loop.compensation.call_id"
"""The call that is undone, on the ``authorize_call`` and ``execute_tool`` spans of its compensation. These have no call
id of their own: no model asked for them."""
COMPENSATION_OUTCOME: Final = "traced_loop.compensation.outcome"
"""How a compensation ended, in the words of ``call.outcome``; ``ok`` where the call is undone."""
EXECUTION_ID: Final = "traced_loop.execution.id"
"""Unique for every try of a request or of a tool."""
LATE_SECONDS: Final = "traced_loop.late.seconds"
"""Seconds that a tool ran on after nobody waited for it any more."""
LATE_OUTCOME: Final = "traced_loop.late.outcome"
"""How it ended at last: ``ok``, ``error``, ``invalid``, ``cancelled``, or ``unknown`` of a write that raised."""
SCHEDULE_MODE: Final = "traced_loop.schedule.mode"
"""``parallel``, ``serial`` or ``barrier``."""
SCHEDULE_REASON: Final = "traced_loop.schedule.reason"
"""Why that mode: ``only_call``, ``reads_together``, ``write``, ``confirmation``, ``serial_group``, ``depends``,
``max_parallel`` or ``compensation``."""
SCHEDULE_GROUP: Final = "traced_loop.schedule.group"
"""Turn of the call in its batch, 1-based: calls of one turn run at the same time, the next turn waits for them."""
SCHEDULE_QUEUED_MS: Final = "traced_loop.schedule.queued_ms"
"""Milliseconds from the batch's start to the call's, without waits for people."""
SCHEDULE_WAITED_MS: Final = "traced_loop.schedule.waited_ms"
"""Milliseconds that people were asked in that time, about this call and those before it; absent where nobody was."""
RESULT_BYTES: Final = "traced_loop.result.bytes"
"""True size of the serialised result, before any cut, UTF-8 bytes."""
RESULT_TOLD_BYTES: Final = "traced_loop.result.told_bytes"
"""UTF-8 bytes of what the model is told about an executed call, result or error, after any cut."""
RESULT_CHARACTERS: Final = "traced_loop.result.characters"
"""Length of the serialised result, before any cut, in characters: whether an answer is a long one."""
RESULT_FINGERPRINT: Final = "traced_loop.result.fingerprint"
"""Keyed digest of the serialised result, whole."""
RESULT_NORMALIZED_FINGERPRINT: Final = "traced_loop.result.normalized_fingerprint"
"""Keyed digest of the result without times, ids, durations, addresses and the order of keys: equal for results that say
the same."""
RESULT_NORMALIZED_PARTLY: Final = "traced_loop.result.normalized_partly"
"""True where the result is so long that only its head and its tail are in the two digests beside; absent otherwise."""
RESULT_MASKED_FINGERPRINT: Final = "traced_loop.result.masked_fingerprint"
"""Keyed digest of the normalised result without its numbers; absent where it has none, or too many."""
RESULT_TREND: Final = "traced_loop.result.trend"
"""How its numbers moved since the last result of the same call with the same masked fingerprint: ``up`` or ``down``
where one has moved that way only, ``mixed``, ``same``; absent for the first."""
RESULT_EMPTY: Final = "traced_loop.result.empty"
"""``silent`` (no text, or null) or ``nothing`` (an empty list or object); absent where the result holds something."""
RESULT_ERROR_CLASS: Final = "traced_loop.result.error_class"
"""``deterministic`` or ``transient`` where a result tells of an error instead of the tool raising one (``Error: ...``,
``{"error": ...}``, an exit code): it counts as one for repetitions, and the call is ``ok`` all the same."""
RESULT_ERROR_FINGERPRINT: Final = "traced_loop.result.error_fingerprint"
"""Keyed digest of such a result without numbers and what stands in quotes."""
RESULT_SHAPE: Final = "traced_loop.result.shape"
"""Kinds and sizes of the result's values: ``object[3:int|str]``, ``list[2]``; no keys, which can be content."""
RESULT_TRUNCATED: Final = "traced_loop.result.truncated"
"""True when the model was told only a part; absent otherwise."""
ERROR_CLASS: Final = "traced_loop.error.class"
"""``deterministic`` or ``transient``: whether the same call can be expected to fail again."""
ERROR_FINGERPRINT: Final = "traced_loop.error.fingerprint"
"""Keyed digest of the error's type and normalised text: equal for the same error at another time."""
ERROR_MASKED_FINGERPRINT: Final = "traced_loop.error.masked_fingerprint"
"""The same without numbers and what stands in quotes: equal for the same error about other arguments."""
IDEMPOTENCY_KEY_FINGERPRINT: Final = "traced_loop.idempotency.key_fingerprint"
"""Keyed digest of a write's idempotency key; of a declared one it is equal in all runs under one fingerprint key. On
``authorize_call`` and ``execute_tool``, so that a call that was denied or waits is known again."""
REPETITION_KIND: Final = "traced_loop.repetition.kind"
"""A word of ``RepetitionKind``, of a call that equals one of the previous step, or of what a step showed."""
REPETITION_COUNT: Final = "traced_loop.repetition.count"
"""How often the call has now been made in a row of steps, this one included; on a check, occurrences of the same thing,
the first one included."""
REPETITION_VERDICT: Final = "traced_loop.repetition.verdict"
"""``observe``, ``nudge`` or ``stop``: what was done about a repetition that has reached a number of the rules; absent
where none has. The span links to the call that did it first."""
REPETITION_DUE: Final = "traced_loop.repetition.due"
"""What the rules would have done with the reaction ``stop``; absent where that was done."""
REPETITION_STREAK: Final = "traced_loop.repetition.streak"
"""Steps in a row, up to this one, that brought nothing new; absent where this one did."""
REPETITION_PERIOD: Final = "traced_loop.repetition.period"
"""Steps until the same comes again, 1 for equal steps; absent where that is not told."""
REPETITION_THRESHOLD: Final = "traced_loop.repetition.threshold"
"""The number of the rules that the count has reached."""
REPETITION_TOOL: Final = "traced_loop.repetition.tool"
"""The tool whose call completed it, or ``_unknown``."""
REPETITION_RULES: Final = "traced_loop.repetition.rules"
"""On the run: the reaction and every number of the rules, as one text; ``-`` for a rule that is off."""
POLL_UNCHANGED: Final = "traced_loop.poll.unchanged"
"""How often in a row the same answer may come, of a tool that is declared a poll; absent otherwise."""
POLL_OVER: Final = "traced_loop.poll.over"
"""True where a poll's answer names a state that stays (``failed``, ``done``): the same answer again is a repetition;
absent otherwise."""
NEUTRAL: Final = "traced_loop.neutral"
"""True where the tool is declared to think or plan only: its calls are no repetition, and no news; absent otherwise."""
REPEATABLE: Final = "traced_loop.repeatable"
"""True where each call of a write is declared to be its own; absent otherwise."""
NUDGED: Final = "traced_loop.nudged"
"""True where a message of the loop's own follows the results: what to try instead; absent otherwise."""
RESULTS_COUNT: Final = "traced_loop.results.count"
"""Results appended by one batch."""
RESULTS_BYTES: Final = "traced_loop.results.bytes"
"""UTF-8 bytes of the contents appended by one batch, what the model is told."""
RESULTS_OUTCOMES: Final = "traced_loop.results.outcomes"
"""How many calls of the batch ended how, in the order of the closed list: ``ok:2,error:1``."""
RESULTS_COMPENSATED: Final = "traced_loop.results.compensated"
"""Calls of the batch that were done and have been undone; absent where there are none."""
TRANSCRIPT_MESSAGES: Final = "traced_loop.transcript.messages"
"""Messages in the history after the append."""

CONTENT_FIRST_MESSAGE: Final = "traced_loop.content.first_message"
"""0-based place, among the messages that were sent, of the first one that the span holds."""
TRUNCATED_PREFIX: Final = "traced_loop.truncated."
"""``traced_loop.truncated.<key>``: true UTF-8 bytes of a value that was cut, or left out whole, to fit."""
EXPORT_TRIMMED: Final = "traced_loop.export.trimmed"
"""Values of a span or process that were cut or left out to fit a message to a receiver; not in the local store."""

# --- ours: delivery, on the scope of a stored span and on no span -------------------------------------------

DELIVERY_DESTINATION: Final = "traced_loop.delivery.destination"
"""Which collector a stored span is owed to: a keyed digest of its address, protocol and headers. Only in the local
store, and only where an exporter of ours was to send the span; never sent."""
DELIVERY_SAMPLING: Final = "traced_loop.delivery.sampling"
"""By which rule the span's run is exported when it ends, as ``ratio=0.1 cost_usd=1 seconds=60``; beside the former."""

# --- metrics ----------------------------------------------------------------------------------------------

# Their names, units and buckets are those of the official Python instrumentation where it has them. Never the unit
# ``1``: what Prometheus makes of its name depends on the way that it comes.

METRIC_TOKEN_USAGE: Final = "gen_ai.client.token.usage"  # noqa: S105 - no password
"""Histogram, tokens: input and output of each answer, where its ``chat`` span has them; estimates are in no metric."""
METRIC_OPERATION_DURATION: Final = "gen_ai.client.operation.duration"
"""Histogram, seconds: each ``chat`` span."""
METRIC_FIRST_CHUNK: Final = "gen_ai.client.operation.time_to_first_chunk"
"""Histogram, seconds: each ``chat`` span whose answer came in pieces."""
METRIC_TOOL_DURATION: Final = "gen_ai.execute_tool.duration"
"""Histogram, seconds: each ``execute_tool`` span."""
METRIC_RUN_DURATION: Final = "gen_ai.invoke_agent.duration"
"""Histogram, seconds: each run, waits for people included."""
METRIC_RUN_COUNT: Final = "traced_loop.run.count"
"""Counter: runs that have ended, by stop reason; one that is resumed has been counted."""
METRIC_RUN_CONTINUED: Final = "traced_loop.run.continued"
"""Counter: runs that were resumed and have ended again, by stop reason."""
METRIC_RUN_COST: Final = "traced_loop.run.cost"
"""Histogram, USD: what each run cost; a run of which that is unknown is not in it."""
METRIC_RUN_STEPS: Final = "traced_loop.run.steps"
"""Histogram: steps of each run."""
METRIC_RUN_ACTIVE: Final = "traced_loop.run.active"
"""Gauge: runs that go on, each counted once, under what it has waited for longest."""
METRIC_RUN_LONGEST_WAIT: Final = "traced_loop.run.longest_wait"
"""Gauge, seconds: how long the longest of these waits has lasted by now."""
METRIC_COST: Final = "traced_loop.cost"
"""Counter, USD: what answers cost, as soon as they are there; also by the tool whose results were answered."""
METRIC_CACHED_TOKENS: Final = "traced_loop.cached_tokens"
"""Counter: input tokens that came from the provider's cache."""
METRIC_CALL_OUTCOMES: Final = "traced_loop.call.outcomes"
"""Counter: calls that the model asked for, by how they ended."""
METRIC_RESULT_SIZE: Final = "traced_loop.result.size"
"""Histogram, bytes: true size of each result, before any cut."""
METRIC_REPETITIONS: Final = "traced_loop.repetitions"
"""Counter: repetitions, by kind: calls that repeat one of the step before, and what else a step shows."""
METRIC_REPETITION_LENGTH: Final = "traced_loop.repetition.length"
"""Histogram: how often in a row by then, at each repetition."""
METRIC_BUDGET_USED: Final = "traced_loop.budget.used"
"""Histogram: the part of each limit that a run had used when it ended, 1 being all of it."""
METRIC_ATTEMPT_FAILURES: Final = "traced_loop.attempt.failures"
"""Counter: tries of requests and tools that failed, of those that were tried again."""
METRIC_LATE_COMPLETIONS: Final = "traced_loop.late_completions"
"""Counter: tools that ended after nobody waited for them any more."""
METRIC_TELEMETRY_SPANS: Final = "traced_loop.telemetry.spans"
"""Counter: spans that our own exporters were given, by what became of them; those that wait are in none of these."""
METRIC_TELEMETRY_QUEUE: Final = "traced_loop.telemetry.queue"
"""Gauge: spans that wait to be sent, or for the answer to their request."""
METRIC_TELEMETRY_ERRORS: Final = "traced_loop.telemetry.errors"
"""Counter: spans that the local store or the tracer did not take."""
METRIC_TELEMETRY_OVERHEAD: Final = "traced_loop.telemetry.overhead"
"""Counter, seconds: what telemetry took of the runs that have ended."""

GEN_AI_TOKEN_TYPE: Final = "gen_ai.token.type"  # noqa: S105 - no password
"""Label: ``input`` or ``output``."""
WAITS_FOR: Final = "traced_loop.waits_for"
"""Label: a word of ``WaitsFor``; beside ``tool`` the tool's name is ``gen_ai.tool.name``."""
AFTER_TOOL: Final = "traced_loop.after_tool"
"""Label: the tool whose results a request answered, ``_none`` for a run's first request; of several tools each has its
equal part of the cost."""
LIMIT: Final = "traced_loop.limit"
"""Label: a limit, a shared budget's as ``shared.tokens``."""
TELEMETRY_STATE: Final = "traced_loop.telemetry.state"
"""Label: a word of ``SpanFate``."""
TELEMETRY_PART: Final = "traced_loop.telemetry.part"
"""Label: ``store`` or ``tracer``."""

OTHER: Final = "_other"
"""Stands in a label for every value beyond those that a process shows."""
NO_TOOL: Final = "_none"
"""Stands in a label for the tool before a run's first request."""

UNKNOWN_TOOL: Final = "_unknown"
"""Stands for a name that is not registered: a model's invention never becomes a span or metric label."""
EXTRA_FIELD: Final = "<extra>"
"""Stands for a field that the schema does not know."""
MAX_CALL_IDS: Final = 32
"""Ids that a span lists; of a longer batch it shows the first ones."""

OWN_NAMESPACES: Final = (
    "traced_loop.",
    "gen_ai.",
    "error.",
    "session.",
    "server.",
    "openai.",
    "openinference.",
    "input.",
    "output.",
)
"""Keys that begin so say what the loop knows; what a tool says of the current span stands under others."""
MADE_HERE: Final = frozenset(
    {
        RUN_ID,
        CONFIG_HASH,
        PROMPT_VERSION,
        TOOLS_VERSION,
        FINGERPRINT_KEY_ID,
        ARGS_SUMMARY,
        ARGS_FINGERPRINT,
        ARGS_STABLE_FINGERPRINT,
        EXECUTION_ID,
        RESULT_FINGERPRINT,
        RESULT_NORMALIZED_FINGERPRINT,
        RESULT_MASKED_FINGERPRINT,
        RESULT_SHAPE,
        RESULT_ERROR_FINGERPRINT,
        ERROR_FINGERPRINT,
        ERROR_MASKED_FINGERPRINT,
        IDEMPOTENCY_KEY_FINGERPRINT,
        GEN_AI_OPERATION,
        GEN_AI_TOOL_TYPE,
        VERSION,
        STEP_OUTCOME,
        BUDGET_PHASE,
        BUDGET_OUTCOME,
        VALIDATION_OUTCOME,
        EFFECT,
        RISK,
        SCHEDULE_MODE,
        SCHEDULE_REASON,
        USAGE_SOURCE,
        COST_SOURCE,
        RUN_COST_SOURCE,
    }
)
"""Keys whose values are digests, ids, shapes and closed words that this package makes: there is nothing of anybody's in
them to mask. The summary of arguments is masked field by field where it is made."""
