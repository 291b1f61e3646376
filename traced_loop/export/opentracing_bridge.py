"""An OpenTracing tracer whose spans are OpenTelemetry spans, so that tools instrumented long ago join the run's trace.

    opentracing.set_global_tracer(opentracing_tracer(provider))

Inside a tool the active span is our ``execute_tool`` span. ``opentelemetry-opentracing-shim`` 0.66b1 loses just that:
under a span that it did not start, its ``active_span`` is None and its ``start_span`` begins a new trace.

Importing this module needs jaeger-client, with which the package ``opentracing`` comes.
"""

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import Any, Final, Self
from urllib.parse import quote, unquote

from opentelemetry import context as otel_context
from opentelemetry import propagate, trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, NonRecordingSpan, SpanKind, Status, StatusCode

from traced_loop import names
from traced_loop.export import opentracing_types, uber_trace_id
from traced_loop.telemetry.type_names import type_name
from traced_loop.version import __version__

BAGGAGE: Final = "uberctx-"
"""Begins the headers in which Jaeger's own clients pass baggage on."""
ERROR: Final = "error"
KIND: Final = "span.kind"
_SCOPE: Final = otel_context.create_key("traced_loop.opentracing_scope")
_KINDS: Final = {kind.name.lower(): kind for kind in SpanKind}


def opentracing_tracer(provider: trace.TracerProvider | None = None) -> Any:
    """An ``opentracing.Tracer`` on that provider, or on the global one.

    Its spans are children of whatever OpenTelemetry span is current. ``inject`` writes ``uber-trace-id``, ``uberctx-*``
    and what the global propagator writes; ``extract`` reads them in this order and gives None for malformed headers.
    Where an exception leaves a span, its type is noted; its text is content, and is not.
    """
    known = trace.get_tracer_provider() if provider is None else provider
    return _Tracer(known.get_tracer(names.OPENTRACING_SCOPE, __version__))


class _Context(opentracing_types.SpanContext):
    """Names a span to its children, here or elsewhere."""

    def __init__(self, otel: trace.SpanContext, baggage: Mapping[str, str]) -> None:
        self.otel = otel
        self._baggage = dict(baggage)

    @property
    def baggage(self) -> dict[str, str]:
        return self._baggage


class _Span(opentracing_types.Span):
    """Writes to an OpenTelemetry span. One that was started elsewhere is not ours to finish."""

    def __init__(self, tracer: "_Tracer", otel: trace.Span, baggage: Mapping[str, str], *, ours: bool) -> None:
        self._context = _Context(otel.get_span_context(), baggage)
        super().__init__(tracer, self._context)
        self.otel = otel
        self._ours = ours

    def set_operation_name(self, operation_name: str) -> Self:
        self.otel.update_name(operation_name)
        return self

    def finish(self, finish_time: float | None = None) -> None:
        if self._ours:
            self.otel.end(_nanoseconds(finish_time))

    def set_tag(self, key: str, value: object) -> Self:
        self.otel.set_attribute(key, _plain(value))
        if key == ERROR and _is_true(value):
            self.otel.set_status(Status(StatusCode.ERROR))
        return self

    def log_kv(self, key_values: Mapping[str, object], timestamp: float | None = None) -> Self:
        fields = {str(key): _plain(value) for key, value in key_values.items()}
        self.otel.add_event(str(fields.pop("event", "log")), fields, _nanoseconds(timestamp))
        return self

    def set_baggage_item(self, key: str, value: str) -> Self:
        self._context = _Context(self._context.otel, {**self._context.baggage, key: value})
        return self

    def get_baggage_item(self, key: str) -> str | None:
        return self._context.baggage.get(key)

    def fail(self, error: BaseException) -> None:
        self.set_tag(ERROR, value=True).set_tag(names.ERROR_TYPE, type_name(error))

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is not None:
            self.fail(error)
        self.finish()


class _Scope(opentracing_types.Scope):
    """The time in which a span is current. Closing one that was not activated here does nothing."""

    def __init__(self, manager: "_Scopes", span: _Span, *, finish_on_close: bool) -> None:
        super().__init__(manager, span)
        self.activated = span
        self._finish_on_close = finish_on_close
        self.token: Any = None

    def close(self) -> None:
        if self.token is not None:
            otel_context.detach(self.token)
            self.token = None
            if self._finish_on_close:
                self.activated.finish()

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is not None:
            self.activated.fail(error)
        self.close()


class _Scopes(opentracing_types.ScopeManager):
    """OpenTelemetry's current span is the active one, whoever made it current."""

    def __init__(self, tracer: "_Tracer") -> None:
        super().__init__()
        self._tracer = tracer

    def activate(self, span: _Span, finish_on_close: bool) -> _Scope:  # noqa: FBT001 - OpenTracing's signature
        scope = _Scope(self, span, finish_on_close=finish_on_close)
        scope.token = otel_context.attach(otel_context.set_value(_SCOPE, scope, trace.set_span_in_context(span.otel)))
        return scope

    @property
    def active(self) -> _Scope | None:
        current = trace.get_current_span()
        if not current.get_span_context().is_valid:
            return None
        scope = otel_context.get_value(_SCOPE)
        if isinstance(scope, _Scope) and scope.activated.otel is current:
            return scope
        return _Scope(self, _Span(self._tracer, current, {}, ours=False), finish_on_close=False)


class _Tracer(opentracing_types.Tracer):
    """Starts spans, and passes them on in headers."""

    def __init__(self, otel: trace.Tracer) -> None:
        super().__init__(_Scopes(self))
        self._otel = otel

    def start_active_span(
        self,
        operation_name: str,
        child_of: object = None,
        references: Sequence[Any] | None = None,
        tags: Mapping[str, object] | None = None,
        start_time: float | None = None,
        ignore_active_span: bool = False,  # noqa: FBT001, FBT002 - OpenTracing's signature
        finish_on_close: bool = True,  # noqa: FBT001, FBT002 - OpenTracing's signature
    ) -> _Scope:
        span = self.start_span(operation_name, child_of, references, tags, start_time, ignore_active_span)
        scope: _Scope = self.scope_manager.activate(span, finish_on_close)
        return scope

    def start_span(
        self,
        operation_name: str | None = None,
        child_of: object = None,
        references: Sequence[Any] | None = None,
        tags: Mapping[str, object] | None = None,
        start_time: float | None = None,
        ignore_active_span: bool = False,  # noqa: FBT001, FBT002 - OpenTracing's signature
    ) -> _Span:
        parents = list(_parents(child_of, references))
        if not parents and not ignore_active_span:
            parents = list(_parents(self.active_span, None))
        parent = NonRecordingSpan(parents[0].otel) if parents else trace.INVALID_SPAN
        given = dict(tags or {})
        otel = self._otel.start_span(
            operation_name or "_",
            # Upon the current context, which also says what run this is.
            context=trace.set_span_in_context(parent),
            kind=_KINDS.get(str(given.pop(KIND, "internal")), SpanKind.INTERNAL),
            attributes={key: _plain(value) for key, value in given.items()},
            links=[Link(other.otel) for other in parents[1:]],
            start_time=_nanoseconds(start_time),
        )
        baggage = {key: value for other in parents for key, value in other.baggage.items()}
        span = _Span(self, otel, baggage, ours=True)
        return span.set_tag(ERROR, given[ERROR]) if ERROR in given else span

    def inject(self, span_context: object, format: str, carrier: MutableMapping[str, str]) -> None:  # noqa: A002
        _only_text(format)
        for passed_on in _parents(span_context, None):
            context = trace.set_span_in_context(NonRecordingSpan(passed_on.otel))
            propagate.inject(carrier, context)
            uber_trace_id.inject(carrier, context)
            carrier.update({BAGGAGE + key: quote(str(value)) for key, value in passed_on.baggage.items()})

    def extract(self, format: str, carrier: Mapping[str, str]) -> _Context | None:  # noqa: A002
        _only_text(format)
        for read in (uber_trace_id.extract, propagate.extract):
            caller = trace.get_current_span(read(carrier, Context())).get_span_context()
            if caller.is_valid:
                return _Context(caller, dict(_baggage(carrier)))
        return None


def _parents(child_of: object, references: Sequence[Any] | None) -> Iterator[_Context]:
    """The spans that a new one refers to, its parent first: the one it is a child of, else the first other."""
    ordered = sorted(references or (), key=lambda reference: reference.type != opentracing_types.CHILD_OF)
    for known in (child_of, *(reference.referenced_context for reference in ordered)):
        context = known.context if isinstance(known, opentracing_types.Span) else known
        if isinstance(context, _Context):
            yield context


def _baggage(headers: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for name, value in headers.items():
        if str(name).lower().startswith(BAGGAGE) and isinstance(value, str):
            yield str(name)[len(BAGGAGE) :].lower(), unquote(value)


def _only_text(carrier_format: str) -> None:
    if carrier_format not in opentracing_types.TEXT_FORMATS:
        raise opentracing_types.UnsupportedFormatError


def _plain(value: object) -> str | bool | int | float:
    return value if isinstance(value, (str, bool, int, float)) else str(value)


def _is_true(value: object) -> bool:
    return value is True or str(value).lower() == "true"


def _nanoseconds(seconds: float | None) -> int | None:
    return None if seconds is None else int(seconds * 1e9)
