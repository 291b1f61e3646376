"""OpenTracing's classes with types. The package ``opentracing`` has none; it comes with jaeger-client.

Raises ``UsageError`` at import when it is missing, so import this where it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from traced_loop.errors import UsageError
from traced_loop.export.jaeger.thrift_parts import EXTRA

try:
    _package: Any = import_module("opentracing")
except ImportError as missing:
    raise UsageError(f"an OpenTracing tracer needs jaeger-client ({missing}): {EXTRA}") from missing

CHILD_OF: str = _package.ReferenceType.CHILD_OF
TEXT_FORMATS: frozenset[str] = frozenset({_package.Format.TEXT_MAP, _package.Format.HTTP_HEADERS})
UnsupportedFormatError: type[Exception] = _package.UnsupportedFormatException

if TYPE_CHECKING:
    from collections.abc import Mapping

    class SpanContext:
        """Names a span to its children."""

        @property
        def baggage(self) -> Mapping[str, str]:
            """Travels to all descendants."""
            ...

    class Span:
        """A piece of work."""

        def __init__(self, tracer: object, context: SpanContext) -> None: ...

        @property
        def context(self) -> SpanContext:
            """What names it."""
            ...

    class Scope:
        """The time in which a span is active."""

        def __init__(self, manager: object, span: Span) -> None: ...

    class ScopeManager:
        """Knows the active span."""

    class Tracer:
        """Starts spans."""

        def __init__(self, scope_manager: ScopeManager) -> None: ...

        @property
        def active_span(self) -> Span | None:
            """The span of the active scope."""
            ...

        @property
        def scope_manager(self) -> Any:
            """What it was made with."""
            ...
else:
    SpanContext, Span, Scope = _package.SpanContext, _package.Span, _package.Scope
    ScopeManager, Tracer = _package.ScopeManager, _package.Tracer
