"""What can be odd in a provider's answer, and what is done with it: one line for each word of ``Anomaly``."""

from collections.abc import Mapping
from typing import Final

from traced_loop.closed_words import Anomaly

ANOMALY_TABLE: Final[Mapping[Anomaly, str]] = {
    Anomaly.STOP_WITH_TOOL_CALLS: "stop beside calls: nothing runs, unless the server is known for it or tolerated",
    Anomaly.FINISH_REASON_CONTRADICTS_CALLS: "the finish reason contradicts the calls: nothing runs",
    Anomaly.TOOL_CALLS_MISSING: "finish reason tool_calls without a call: the run stops, its text is kept",
    Anomaly.FINISH_REASON_MISSING: "no finish reason: nothing runs, the text is kept",
    Anomaly.FINISH_REASON_UNKNOWN: "an unknown finish reason: no final answer, the text is kept",
    Anomaly.CALL_AS_TEXT: "a call written as text: it is not run; let the server read calls (vLLM: --tool-call-parser)",
    Anomaly.CALL_DEPRECATED: "a call in the field function_call: it is not run, and not sent back",
    Anomaly.NAME_NOT_VALID: "a call of a name that no tool can have: answered as unknown, nothing runs on a guess",
    Anomaly.CONTENT_NOT_TEXT: "content that is no text: taken as none, and sent back as null",
    Anomaly.CONTENT_TYPE_WRONG: "JSON under another content type: read as JSON",
    Anomaly.HIDDEN_TRUNCATION: "calls that break off at the output limit: nothing runs",
    Anomaly.ID_SYNTHESIZED: "a call without a usable id: it got one before it was stored",
    Anomaly.ID_DUPLICATE: "one id for two calls: the later one got another",
    Anomaly.CALL_ECHO: "the same call twice under one id: run once, kept once",
    Anomaly.ARGUMENTS_NOT_TEXT: "arguments as a value instead of JSON text: written as text",
    Anomaly.ARGUMENTS_EMPTY: "blank arguments of a tool that needs none: taken as {}",
    Anomaly.ARGUMENTS_DOUBLE_ENCODED: "an object inside a JSON string: one layer was removed",
    Anomaly.ARGUMENTS_FENCED: "a markdown fence around the arguments: removed",
    Anomaly.TEXT_NOT_UNICODE: "unpaired surrogates: replaced by U+FFFD",
    Anomaly.NUMBER_NOT_JSON: "NaN or an infinity: replaced by null",
    Anomaly.USAGE_MISSING: "no token counts: estimated from the text, the cost is unknown",
    Anomaly.USAGE_INCONSISTENT: "token counts that contradict one another: what can be read counts",
    Anomaly.MALFORMED_CALL: "an entry that is no function call: nothing of the answer runs",
    Anomaly.ITEM_INCOMPLETE: "a part that is not complete, in an answer that is: taken as cut, nothing runs",
    Anomaly.STREAM_IGNORED: "a whole answer where a stream was asked for: read as it is",
    Anomaly.STREAM_INDEX_MISSING: "pieces of calls without an index: put together by id or order",
    Anomaly.STREAM_INDEX_REUSED: "several calls under one index: told apart by id or by where arguments end",
    Anomaly.STREAM_INDEX_GAP: "a hole in the indexes of calls: the calls that came are taken",
    Anomaly.STREAM_CALL_UNCLEAR: "a piece of a call that can be read in two ways: nothing of the answer runs",
    Anomaly.STREAM_UNFINISHED: "a stream that was over before its finish reason: nothing runs",
    Anomaly.STREAM_FINISH_CHANGED: "two finish reasons in one stream: the one that permits less counts",
    Anomaly.STREAM_AFTER_FINISH: "text or calls after the finish reason: they count",
    Anomaly.STREAM_EVENT_ODD: "an event that is no object: skipped",
    Anomaly.REPLAY_DIVERGED: "a recorded answer to another request: given, since the caller wants it so",
    Anomaly.SEVERAL_CHOICES: "several choices: the first is used",
}
