"""Logs of plain Chat Completions messages, a line ``{"id": ..., "messages": [...]}`` per run: what they tell of it.

Such a log has no spans, no times and no prices; it has what was asked for, with which arguments, and what came back. A
result is matched to its call within the turn, by id and else by order, because servers use ids again. Whether a result
is an error is asked of the message's own flag first, then of an exit code or a field in it, then of how it begins.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from traced_loop.canonical_json import canonical
from traced_loop.closed_words import ErrorClass
from traced_loop.frozen_value import frozen_value
from traced_loop.json_shapes import as_list, as_object, as_text
from traced_loop.outcomes import Outcome
from traced_loop.read.agent_run import AgentRun, Gap, StoredCall, StoredRequest
from traced_loop.read.shown_name import shown_name
from traced_loop.read.trace import Problem, ProblemKind, StoredTrace
from traced_loop.rules.normalised_result import normalised, signature
from traced_loop.rules.nudge import is_nudge
from traced_loop.rules.number_trend import NumberTrends
from traced_loop.rules.said_error import emptiness, error_text_class, said_error
from traced_loop.rules.undeclared_tools import lasting_arguments

_GAPS: Final = frozenset(
    {
        Gap.NO_TIMES,
        Gap.NO_USAGE,
        Gap.NO_PRICES,
        Gap.NO_REQUESTS,
        Gap.NO_STOP_REASON,
        Gap.NO_FIRST_TOKEN,
    }
)
"""What no such log tells."""


def read_messages_log(path: Path) -> tuple[list[AgentRun], list[Problem]]:
    """The runs of a file, in its order, and the lines that are none."""
    problems: list[Problem] = []
    runs: list[AgentRun] = []
    try:
        with path.open("rb") as lines:
            runs.extend(messages_log_runs(lines, problems, name=path.name))
    except OSError as error:
        text = f"{path} cannot be read: {error.strerror or error}"
        problems.append(Problem(kind=ProblemKind.FILE_UNREADABLE, text=text))
    return runs, problems


def messages_log_runs(lines: Iterable[bytes], problems: list[Problem], name: str = "the input") -> Iterator[AgentRun]:
    """The run of each line; blank lines are skipped, a line that is no run is a problem.

    Args:
        lines: as a binary file gives them.
        problems: what is wrong is appended here.
        name: of the file, for those problems.
    """
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            parsed = as_object(json.loads(line))
        except (ValueError, RecursionError):
            parsed = None
        messages = as_list(parsed.get("messages")) if parsed is not None else None
        if parsed is None or messages is None:
            said = f"line {number} of {name} is no object with messages"
            problems.append(Problem(kind=ProblemKind.UNREADABLE_LINE, text=said, line=number))
            continue
        given = parsed.get("id")
        run_id = str(given) if isinstance(given, (str, int)) and not isinstance(given, bool) else f"line {number}"
        yield messages_run(messages, run_id, line=number)


def messages_run(messages: Sequence[Any], run_id: str, *, line: int | None = None) -> AgentRun:
    """One history as a run; what is no message in it is a problem, the rest is read."""
    reading = _Reading(line=line)
    for place, message in enumerate(messages):
        fields = as_object(message)
        if fields is None or not isinstance(fields.get("role"), str):
            reading.odd(f"message {place} has no role")
            continue
        reading.take(fields)
    reading.end_turn(is_last=True)
    models = [request.model for request in reading.requests if request.model]
    gaps = set(_GAPS)
    if reading.without_ids:
        gaps.add(Gap.NO_CALL_IDS)
    if any(call.outcome is None for call in reading.calls[:-1]):
        gaps.add(Gap.NO_RESULTS)
    return AgentRun(
        id=run_id,
        dialect="messages",
        trace=StoredTrace(),
        model=models[0] if models else "",
        requests=tuple(reading.requests),
        calls=tuple(reading.calls),
        user_messages=tuple(reading.user_messages),
        gaps=frozenset(gaps),
        problems=tuple(reading.problems),
    )


@dataclass(slots=True)
class _Reading:
    """One history while it is read."""

    line: int | None = None
    calls: list[StoredCall] = field(default_factory=list[StoredCall])
    requests: list[StoredRequest] = field(default_factory=list[StoredRequest])
    user_messages: list[int] = field(default_factory=list[int])
    problems: list[Problem] = field(default_factory=list[Problem])
    without_ids: bool = False
    _open: list[StoredCall] = field(default_factory=list[StoredCall])
    _answers: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])
    _step: int = 0
    _trends: NumberTrends = field(default_factory=NumberTrends)

    def take(self, message: Mapping[str, Any]) -> None:
        """The next message."""
        role = message["role"]
        if role in {"tool", "function"}:
            self._answers.append(message)
            return
        self.end_turn()
        if role == "assistant":
            self._begin_turn(message)
        elif role == "user" and not is_nudge(message) and self.calls and self.user_messages[-1:] != [len(self.calls)]:
            self.user_messages.append(len(self.calls))

    def odd(self, text: str) -> None:
        """Note what cannot be read."""
        self.problems.append(Problem(kind=ProblemKind.ODD_VALUE, text=text, line=self.line))

    def end_turn(self, *, is_last: bool = False) -> None:
        """Match the results of a turn to its calls, and note those that do not belong together by their ids."""
        answers, self._answers = self._answers, []
        for position, call in enumerate(self._open):
            answer = _taken(answers, call.call_id)
            if answer is not None:
                self._open[position] = self._answered(call, answer)
        if answers and self._open:
            rest = [n for n, call in enumerate(self._open) if call.outcome is None]
            for position, answer in zip(rest, answers, strict=False):
                self.without_ids = True
                self._by_order(self._open[position], answer)
                self._open[position] = self._answered(self._open[position], answer)
            answers = answers[len(rest) :]
        for answer in answers:
            self._unpaired(ProblemKind.STRAY_RESULT, f"a result without a call: {_id_of(answer)}")
        for call in self._open:
            if call.outcome is None:
                then = "the log ends there" if is_last else "the history goes on without it"
                self._unpaired(ProblemKind.UNANSWERED_CALL, f"{_named(call)} has no result: {then}")
        self.calls += self._open
        self._open = []

    def _by_order(self, call: StoredCall, answer: Mapping[str, Any]) -> None:
        """Two ids that differ are two broken pairs, although one is read as the other's."""
        if call.call_id and answer.get("tool_call_id"):
            said = f"a result without a call: {_id_of(answer)}, read as that of {_named(call)} by its place"
            self._unpaired(ProblemKind.STRAY_RESULT, said)
            self._unpaired(ProblemKind.UNANSWERED_CALL, f"{_named(call)} has no result under its id")

    def _unpaired(self, kind: ProblemKind, text: str) -> None:
        self.problems.append(Problem(kind=kind, text=text, line=self.line))

    def _begin_turn(self, message: Mapping[str, Any]) -> None:
        self._step += 1
        for given in as_list(message.get("tool_calls")) or _old_form(message):
            fields = as_object(given)
            function = as_object(fields.get("function")) if fields is not None else None
            if fields is None or function is None:
                self.odd(f"step {self._step} has a call that is none")
                continue
            self._open.append(self._call(function, as_text(fields.get("id")) or ""))
        text = _text(message.get("content"))
        self.requests.append(
            StoredRequest(
                step=self._step,
                model=as_text(message.get("model")) or "",
                call_ids=tuple(call.call_id for call in self._open),
                called_tools=tuple(call.tool for call in self._open),
                text_characters=len(text),
            )
        )

    def _call(self, function: Mapping[str, Any], call_id: str) -> StoredCall:
        tool, given = shown_name(as_text(function.get("name")) or ""), function.get("arguments")
        text = given if isinstance(given, str) else json.dumps(given)
        return StoredCall(
            index=len(self.calls) + len(self._open),
            step=self._step,
            call_id=call_id,
            tool=tool,
            identity=_digest("call", tool, _arguments(given)),
            arguments_bytes=len(text.encode(errors="surrogatepass")),
        )

    def _answered(self, call: StoredCall, message: Mapping[str, Any]) -> StoredCall:
        told = _Told.of(message)
        size = len(told.text.encode(errors="surrogatepass"))
        form = normalised(told.text)
        answered = replace(call, told_bytes=size, result_bytes=size, result_characters=told.characters)
        if told.error_class is not None or told.outcome is not Outcome.OK:
            return replace(
                answered,
                outcome=told.outcome,
                is_error=True,
                error_class=told.error_class or "deterministic",
                error=_digest("error", signature(form)),
            )
        masked = _digest("masked", form.masked) if form.numbers else None
        return replace(
            answered,
            outcome=Outcome.OK,
            result=_digest("result", form.text),
            masked=masked,
            trend=self._trends.trend(call.identity or "", masked, form.numbers) if masked is not None else None,
            empty=emptiness(told.text),
        )


@frozen_value
class _Told:
    """What one tool message says."""

    text: str
    outcome: Outcome
    error_class: ErrorClass | None

    @property
    def characters(self) -> int:
        """As long as the result would be as JSON text, which is how results are measured in a trace."""
        return len(self.text if self.text[:1] in {"{", "["} else json.dumps(self.text, ensure_ascii=False))

    @staticmethod
    def of(message: Mapping[str, Any]) -> "_Told":
        text = _text(message.get("content"))
        ours = _told_by_us(text)
        if ours is not None:
            return ours
        if message.get("is_error") is True or message.get("status") == "error":
            return _Told(text=text, outcome=Outcome.ERROR, error_class=error_text_class(text))
        error_class = said_error(text)
        outcome = Outcome.OK if error_class is None else Outcome.ERROR
        return _Told(text=text, outcome=outcome, error_class=error_class)


def _told_by_us(text: str) -> _Told | None:
    """What our own loop tells a model, without its envelope; None of another text."""
    if not text.startswith('{"status":"'):
        return None
    try:
        said = as_object(json.loads(text)) or {}
    except (ValueError, RecursionError):
        return None
    if said.get("status") == "completed" and "result" in said:
        result = said["result"]
        inner = result if isinstance(result, str) else canonical(result)
        return _Told(text=inner, outcome=Outcome.OK, error_class=said_error(inner))
    kind, message = said.get("type"), as_text(said.get("message"))
    if said.get("status") != "error" or kind not in set(Outcome) or message is None:
        return None
    outcome = Outcome(str(kind))
    passing = outcome is Outcome.TIMED_OUT or (outcome is Outcome.ERROR and error_text_class(message) == "transient")
    return _Told(text=message, outcome=outcome, error_class="transient" if passing else "deterministic")


def _old_form(message: Mapping[str, Any]) -> list[Any]:
    """A call in the form before tools."""
    function = as_object(message.get("function_call"))
    return [] if function is None else [{"id": "", "function": function}]


def _taken(answers: list[Mapping[str, Any]], call_id: str) -> Mapping[str, Any] | None:
    """The first answer with this id, taken out."""
    for place, answer in enumerate(answers):
        if call_id and answer.get("tool_call_id") == call_id:
            return answers.pop(place)
    return None


def _id_of(answer: Mapping[str, Any]) -> str:
    return str(answer.get("tool_call_id"))[:64]


def _named(call: StoredCall) -> str:
    return f"{call.tool or 'a tool'} ({call.call_id or 'no id'}) of step {call.step}"


def _text(content: object) -> str:
    """Text, or the texts of a list of parts; another value as JSON."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    parts = as_list(content)
    if parts is None:
        return json.dumps(content, ensure_ascii=False)
    fields = [as_object(part) or {} for part in parts]
    return "\n".join(text for part in fields if (text := as_text(part.get("text"))))


def _arguments(given: object) -> str:
    """One text for equal arguments; what is no JSON object counts as it came, and never equals one."""
    value: Any = given
    if isinstance(given, str):
        try:
            value = json.loads(given) if given.strip() else {}
        except (ValueError, RecursionError):
            value = None
    try:
        fields = as_object(value)
        return canonical(lasting_arguments(fields)) if fields is not None else f"text {given}"
    except RecursionError:
        return f"text {given}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()[:16]
