"""A board as Grafana wants it in JSON, made from panels that say what they show. Knows no metric of ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

WIDTH = 24
"""Columns of Grafana's grid."""
SCHEMA_VERSION = 41
"""Of Grafana 11.6; later ones migrate it when they load it."""
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
HALF, SMALL = (12, 8), (4, 4)
"""Sizes of panels beside the usual one, in columns and rows."""
PALETTE = ("green", "yellow", "red")


@dataclass(frozen=True, kw_only=True)
class Query:
    """One expression and how its series are called, `{{label}}` being a label's value."""

    expr: str
    legend: str = ""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One panel.

    Attributes:
        title: short.
        about: what it shows, and what to do when it looks bad.
        queries: what it asks.
        kind: `timeseries`, `stat`, `gauge`, `heatmap` or `bargauge`.
        unit: Grafana's word.
        size: columns and rows of the grid.
        steps: values from which it turns yellow and red; from high to low where less is worse.
        stacked: areas upon one another.
        instant: the newest value only.
        most: top of the axis, or None.
        link: what is behind it, as title and URL, or None.
    """

    title: str
    about: str
    queries: tuple[Query, ...]
    kind: str = "timeseries"
    unit: str = "short"
    size: tuple[int, int] = (8, 8)
    steps: tuple[float, ...] = ()
    stacked: bool = False
    instant: bool = False
    most: float | None = None
    link: tuple[str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class Board:
    """One board: its name in URLs, its title, what it is for, its variables and its rows of panels."""

    uid: str
    title: str
    about: str
    variables: tuple[dict[str, Any], ...]
    rows: tuple[tuple[str, tuple[Panel, ...]], ...]


def board_json(board: Board) -> dict[str, Any]:
    """The classic JSON model, which every Grafana from 10 on provisions."""
    return {
        "uid": board.uid,
        "title": board.title,
        "description": board.about,
        "tags": ["traced_loop"],
        "schemaVersion": SCHEMA_VERSION,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "browser",
        "templating": {"list": list(board.variables)},
        "annotations": {"list": []},
        "links": [
            {
                "title": "Boards",
                "type": "dashboards",
                "tags": ["traced_loop"],
                "asDropdown": True,
                "includeVars": True,
                "keepTime": True,
                "icon": "external link",
                "targetBlank": False,
                "tooltip": "",
                "url": "",
            }
        ],
        "panels": _placed(board),
    }


def query_variable(name: str, label: str, query: str) -> dict[str, Any]:
    """A choice of a label's values; all of them by default."""
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": DATASOURCE,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
    }


def text_variable(name: str, label: str, value: str) -> dict[str, Any]:
    """A text to type."""
    shown = {"selected": True, "text": value, "value": value}
    return {"name": name, "label": label, "type": "textbox", "query": value, "current": shown}


def datasource_variable() -> dict[str, Any]:
    """Which Prometheus is asked."""
    shown = {"selected": True, "text": "Prometheus", "value": "prometheus"}
    return {
        "name": "datasource",
        "label": "Prometheus",
        "type": "datasource",
        "query": "prometheus",
        "refresh": 1,
        "current": shown,
    }


def _placed(board: Board) -> list[dict[str, Any]]:
    """Rows and panels with their places, from left to right, from the top down."""
    found: list[dict[str, Any]] = []
    top = 0
    for title, panels in board.rows:
        row = {"type": "row", "title": title, "collapsed": False, "panels": []}
        found.append({**row, "id": len(found) + 1, "gridPos": {"x": 0, "y": top, "w": WIDTH, "h": 1}})
        left, tallest, top = 0, 0, top + 1
        for panel in panels:
            width, height = panel.size
            if left + width > WIDTH:
                left, tallest, top = 0, 0, top + tallest
            place = {"x": left, "y": top, "w": width, "h": height}
            found.append({**_panel(panel), "id": len(found) + 1, "gridPos": place})
            left, tallest = left + width, max(tallest, height)
        top += tallest
    return found


def _panel(panel: Panel) -> dict[str, Any]:
    return {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": DATASOURCE,
        "targets": [_target(panel, number, query) for number, query in enumerate(panel.queries)],
        "fieldConfig": {"defaults": _defaults(panel), "overrides": []},
        "options": _options(panel.kind),
        "transparent": False,
    }


def _target(panel: Panel, number: int, query: Query) -> dict[str, Any]:
    return {
        "refId": chr(ord("A") + number),
        "datasource": DATASOURCE,
        "expr": query.expr,
        "legendFormat": query.legend or "__auto",
        "range": not panel.instant,
        "instant": panel.instant,
        "format": "heatmap" if panel.kind == "heatmap" else "time_series",
    }


def _defaults(panel: Panel) -> dict[str, Any]:
    found: dict[str, Any] = {
        "unit": panel.unit,
        "min": 0,
        "color": {"mode": "thresholds" if panel.kind in {"stat", "gauge", "bargauge"} else "palette-classic"},
        "thresholds": {"mode": "absolute", "steps": _steps(panel.steps)},
        "links": [],
    }
    if panel.most is not None:
        found["max"] = panel.most
    if panel.link is not None:
        title, url = panel.link
        found["links"] = [{"title": title, "url": url, "targetBlank": True}]
    if panel.kind == "timeseries":
        found["custom"] = {
            "drawStyle": "line",
            "lineWidth": 1,
            "fillOpacity": 30 if panel.stacked else 10,
            "showPoints": "never",
            "stacking": {"mode": "normal" if panel.stacked else "none", "group": "A"},
            "thresholdsStyle": {"mode": "dashed" if panel.steps else "off"},
        }
    return found


def _steps(given: tuple[float, ...]) -> list[dict[str, Any]]:
    """Colours from the lowest value up: green first where more is worse, red first where less is."""
    values: list[float | None] = [None, *sorted(given)]
    colours = PALETTE[: len(values)]
    if list(given) != sorted(given):
        colours = tuple(reversed(colours))
    return [{"color": colour, "value": value} for colour, value in zip(colours, values, strict=True)]


def _options(kind: str) -> dict[str, Any]:
    reduced = {"calcs": ["lastNotNull"], "fields": "", "values": False}
    if kind == "timeseries":
        return {
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
            "tooltip": {"mode": "multi", "sort": "desc"},
        }
    if kind == "heatmap":
        return {
            "calculate": False,
            "cellGap": 1,
            "color": {
                "mode": "scheme",
                "scheme": "Oranges",
                "steps": 64,
                "exponent": 0.5,
                "fill": "dark-orange",
                "reverse": False,
            },
            "yAxis": {"axisPlacement": "left"},
            "tooltip": {"mode": "single", "yHistogram": False},
            "legend": {"show": True},
            "rowsFrame": {"layout": "auto"},
            "filterValues": {"le": 1e-9},
            "exemplars": {"color": "rgba(255,0,255,0.7)"},
        }
    if kind == "stat":
        return {"reduceOptions": reduced, "colorMode": "value", "graphMode": "area", "textMode": "auto"}
    if kind == "gauge":
        return {"reduceOptions": reduced, "showThresholdLabels": False, "showThresholdMarkers": True}
    return {"reduceOptions": reduced, "displayMode": "basic", "orientation": "horizontal", "showUnfilled": True}
