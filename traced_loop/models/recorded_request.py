"""What is known of the requests of a run or of a recording, and of their answers: what ``ReplayModel`` gives again."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Final

from traced_loop.canonical_json import canonical
from traced_loop.closed_words import ModelErrorKind
from traced_loop.frozen_value import frozen_value
from traced_loop.json_shapes import as_object, as_text
from traced_loop.messages import Message, ModelAnswer
from traced_loop.rules.pricing import Pricing
from traced_loop.telemetry.fingerprint import digest

ALL_TOOLS: Final = ""
"""In ``RecordedRequest.tools``: the digest of all definitions together, where those of each are not known."""


@frozen_value
class RecordedError:
    """A request that brought no answer; the fields are those of ``ModelError``."""

    error_type: str
    text: str = ""
    status: int | None = None
    retryable: bool = False
    kind: ModelErrorKind | None = None


@frozen_value
class RecordedRequest:
    """One request, a failed try among them, and what came of it: an answer, an error, or a gap.

    Attributes:
        sent: the whole history that was sent.
        kept: how many of its messages were in the request before, too; 0 for the first one of a run.
        tools: digest of each definition that was offered, by the tool's name; None where that is not known.
        answer: what came back, or None.
        error: why nothing did, or None.
        gap: why it is not known what came back, or ``""``.
    """

    sent: Sequence[Message]
    kept: int = 0
    tools: Mapping[str, str] | None = None
    answer: ModelAnswer | None = None
    error: RecordedError | None = None
    gap: str = ""


@frozen_value
class Recording:
    """All requests of a stored run, or of a recording.

    Attributes:
        source: what it is, for people: ``the run 20261130T...`` or ``the recording a.jsonl``.
        model: the model that was asked.
        requests: in their order, tries included.
        prices: of the models that answered, and of the requested one, as far as they are known.
        is_masked: messages hold markers in place of secrets, so that masked forms are to be compared.
        tolerate: quirks of the server that were accepted.
        output_ceiling: output tokens that the model gives at most, or None for the default.
        end: why there are no more requests, where it is not just the end; or ``""``.
    """

    source: str
    model: str
    requests: Sequence[RecordedRequest]
    prices: Mapping[str, Pricing] = field(default_factory=dict[str, Pricing])
    is_masked: bool = False
    tolerate: frozenset[str] = frozenset()
    output_ceiling: int | None = None
    end: str = ""


def tool_digests(tools: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The digest of each definition by the tool's name."""
    named = {as_text((as_object(tool.get("function")) or {}).get("name")) or "": tool for tool in tools}
    return {name: digest(canonical(tool)) for name, tool in named.items()}


def all_tools_digest(tools: Sequence[Mapping[str, Any]]) -> str:
    """The digest of all definitions together, as it stands on a run's span."""
    return digest(canonical(list(tools)))
