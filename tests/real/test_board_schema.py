"""Grafana's own types accept every board: each dashboard, variable, panel, its options and its queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dashboards.boards import BOARDS
from dashboards.grafana_json import board_json

from .grafana_schema import GrafanaSchema, GrafanaSchemaMissingError, find_schema

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real


@pytest.fixture
def schema() -> GrafanaSchema:
    """Of the version that `deploy/` pins, or near to it."""
    try:
        return find_schema()
    except GrafanaSchemaMissingError as missing:
        pytest.skip(str(missing))


def test_grafana_knows_every_field(schema: GrafanaSchema, tmp_path: Path) -> None:
    """And every value is one that it takes."""
    assert schema.complaints([board_json(board) for board in BOARDS], tmp_path) == ""


def test_a_field_that_grafana_does_not_know_is_told(schema: GrafanaSchema, tmp_path: Path) -> None:
    """The check above would see a mistake: in a board, in a panel, in its options."""
    model: dict[str, Any] = board_json(BOARDS[0])
    panel = next(panel for panel in model["panels"] if panel["type"] == "stat")
    model["tiitle"], panel["transparrent"], panel["options"]["colorMode"] = "x", True, "green"
    said = schema.complaints([model], tmp_path)
    assert all(word in said for word in ("tiitle", "transparrent", "green"))
