"""What is said of this process beside its spans and metrics: the resource that the environment asks for."""

from opentelemetry.sdk.resources import SERVICE_NAME, Resource

from traced_loop import names
from traced_loop.telemetry.attributes import valid_text


def own_resource() -> Resource:
    """What the environment says about this process, as valid text; our name where it gives none."""
    resource = Resource.create()
    given = {key: valid_text(value) if isinstance(value, str) else value for key, value in resource.attributes.items()}
    if str(given.get(SERVICE_NAME, "")).startswith("unknown_service"):
        given[SERVICE_NAME] = names.SERVICE_NAME_DEFAULT
    return Resource(given, resource.schema_url)
