"""The boards: what an on-call engineer looks at. `uv run python -m dashboards.boards` writes them beside this file."""

from __future__ import annotations

import json
from pathlib import Path

from dashboards.board_picture import picture
from dashboards.cost_board import COSTS
from dashboards.grafana_json import board_json
from dashboards.loop_health_board import LOOP_HEALTH
from dashboards.runs_board import RUNS
from dashboards.telemetry_board import TELEMETRY
from dashboards.tools_board import TOOLS

FOLDER = Path(__file__).parent

BOARDS = (RUNS, COSTS, TOOLS, LOOP_HEALTH, TELEMETRY)


def files() -> dict[str, str]:
    """Every file that is made of the boards, by its path in this folder."""
    made: dict[str, str] = {}
    for board in BOARDS:
        name = board.title.lower().replace(" ", "-")
        model = board_json(board)
        made[f"{name}.json"] = json.dumps(model, indent=2) + "\n"
        made[f"pictures/{name}.svg"] = picture(board.title, model["panels"])
    return made


if __name__ == "__main__":
    for path, text in files().items():
        (FOLDER / path).parent.mkdir(exist_ok=True)
        (FOLDER / path).write_text(text)
