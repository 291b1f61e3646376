"""The one tool that every agent offers, and its schema for agents that are written by hand."""

from __future__ import annotations

from typing import Any

TASK = "Where are my parcels? Look each of them up, then say it in one sentence."

SCHEMA = {
    "type": "function",
    "function": {
        "name": "find_parcel",
        "description": "Say where a parcel is.",
        "parameters": {
            "type": "object",
            "properties": {"number": {"type": "string"}},
            "required": ["number"],
            "additionalProperties": False,
        },
    },
}


def find_parcel(number: str) -> dict[str, Any]:
    """Say where a parcel is."""
    stops = [{"place": "Leipzig", "day": 1}, {"place": "Porto", "day": 3}]
    return {"number": number, "state": "under way", "carrier": "DHL", "days": 2, "stops": stops}
