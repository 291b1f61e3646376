"""What the check after a step shows of the repetition rules."""

from typing import Any

from traced_loop import names
from traced_loop.rules.repetition_detector import StepFound


def repetition_marks(found: StepFound) -> dict[str, Any]:
    """The attributes of what a step showed; the gravest verdict where there are several."""
    marks: dict[str, Any] = {names.REPETITION_STREAK: found.streak or None}
    gravest = found.gravest
    if gravest is None:
        return marks
    return {
        names.REPETITION_VERDICT: gravest.reaction,
        names.REPETITION_DUE: gravest.due if gravest.due != gravest.reaction else None,
        names.REPETITION_KIND: gravest.kind,
        names.REPETITION_TOOL: gravest.tool,
        names.REPETITION_COUNT: gravest.count,
        names.REPETITION_THRESHOLD: gravest.threshold,
        names.REPETITION_PERIOD: gravest.period,
        **marks,
    }
