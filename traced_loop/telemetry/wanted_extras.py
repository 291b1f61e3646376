"""Whether the spans of a run carry anything by option; most carry nothing, and then nothing of it is loaded."""

from typing import TYPE_CHECKING, Final

from traced_loop.frozen_value import frozen_value
from traced_loop.telemetry.attributes import Hygiene
from traced_loop.telemetry.content.capture import OFF, ContentCapture
from traced_loop.telemetry.dialects import Dialect

if TYPE_CHECKING:
    from traced_loop.telemetry.extra_attributes import ExtraAttributes


@frozen_value
class Wanted:
    """What a run asks for.

    Attributes:
        content: what of its content is shown.
        kept_home: tools whose arguments and results are not, whatever else is.
        compat: conventions whose keys are added.
    """

    content: ContentCapture = OFF
    kept_home: frozenset[str] = frozenset()
    compat: frozenset[Dialect] = frozenset()


NOTHING: Final = Wanted()


def extra_attributes(wanted: Wanted, hygiene: Hygiene) -> "ExtraAttributes | None":
    """The additions to the spans of a run; None where nothing is asked for, so that nothing is done."""
    if wanted.content.where == "none" and not wanted.compat:
        return None
    from traced_loop.telemetry.extra_attributes import ExtraAttributes

    return ExtraAttributes(wanted, hygiene)
