"""The resource that stands in the lines of the store."""

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from traced_loop import names
from traced_loop.json_shapes import as_object


def stored_resource(owner: object) -> Mapping[str, Any]:
    """The resource of a provider or a pipeline for the stored spans, else what the environment says."""
    known = as_object(getattr(getattr(owner, "resource", None), "attributes", None))
    if known is not None:
        return {key: value for key, value in known.items() if isinstance(value, (str, bool, int, float))}
    pairs = (pair.partition("=") for pair in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "").split(","))
    more = {key.strip(): unquote(value.strip()) for key, _, value in pairs if key.strip() and value.strip()}
    named = os.environ.get("OTEL_SERVICE_NAME") or more.get("service.name") or names.SERVICE_NAME_DEFAULT
    return {**more, "service.name": named}
