"""The main chart of a service as a Vega-Lite specification: data in, drawing left to the library.

Field names and expressions are constants of this module. Text from logs appears in data values only, so
that no log line can become an expression, a field or a format.
"""

from __future__ import annotations

from typing import Any

WIDTH = 1000
_POOL, _CONTEXT = "KV pool", "context length"
_TIME_SCALE = {"type": "utc", "domainMin": {"expr": "t0"}, "domainMax": {"expr": "t1"}, "nice": False}
_CLOCK = {
    "year": "%Y",
    "month": "%b %Y",
    "week": "%d %b",
    "date": "%d %b",
    "day": "%d %b",
    "hours": "%H:%M",
    "minutes": "%H:%M",
    "seconds": "%H:%M:%S",
    "milliseconds": "%H:%M:%S",
}
_ROLES = {
    "type": "nominal",
    "scale": {"domain": [_POOL, _CONTEXT], "range": ["#2f6fde", "#d9730d"]},
    "legend": {"orient": "top", "title": None, "symbolType": "stroke", "symbolStrokeWidth": 3, "offset": 2},
}
_MARKS = {
    "domain": ["change", "edit without effect", "retraction", "refused", "out of memory", "crash"],
    "range": ["#2f6fde", "#b7791f", "#c026a3", "#7c3aed", "#d92d20", "#d92d20"],
}
_SHAPES = ["triangle-down", "cross", "circle", "diamond", "square", "triangle-up"]


def specification(chart: dict[str, Any]) -> dict[str, Any]:
    """Return the Vega-Lite specification of one service's `chart` (see `series.chart_data`).

    Parameters `t0` and `t1` (milliseconds since 1970, UTC) are the visible window; whoever shows the chart
    moves the window by setting them.
    """
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "params": [{"name": "t0", "value": chart["t0"]}, {"name": "t1", "value": chart["t1"]}],
        "datasets": {name: chart[name] for name in ("launches", "steps", "marks", "samples")},
        "spacing": 6,
        "vconcat": [_tokens(), _usage(), _requests()],
        "config": {"view": {"continuousWidth": WIDTH}, "axisY": {"minExtent": 58, "maxExtent": 58}},
    }


def _x(field: str, *, labels: bool = False) -> dict[str, Any]:
    return {
        "field": field,
        "type": "temporal",
        "scale": _TIME_SCALE,
        "axis": {
            "title": None,
            "labels": labels,
            "ticks": labels,
            "labelOverlap": True,
            "grid": False,
            "format": _CLOCK,
        },
    }


def _tokens() -> dict[str, Any]:
    bands = {
        "data": {"name": "launches"},
        "mark": {"type": "rect", "clip": True, "opacity": 0.13},
        "encoding": {
            "x": _x("a"),
            "x2": {"field": "b"},
            "color": {
                "condition": {"test": "datum.failed", "value": "#d92d20"},
                "value": "#7a869a",
            },
            "tooltip": [
                {"field": name, "type": "nominal"}
                for name in (
                    "launch",
                    "started",
                    "ready",
                    "end",
                    "version",
                    "pool",
                    "context",
                    "headroom",
                    "where",
                )
            ],
        },
    }
    starting = {
        "data": {"name": "launches"},
        "mark": {"type": "rect", "clip": True, "opacity": 0.18, "tooltip": None},
        "encoding": {"x": _x("a"), "x2": {"field": "r"}, "color": {"value": "#7a869a"}},
    }
    unreachable = {
        "data": {"name": "launches"},
        "transform": [{"filter": "datum.context_tokens > datum.pool_tokens"}],
        "mark": {"type": "rect", "clip": True, "opacity": 0.16, "tooltip": None},
        "encoding": {
            "x": _x("a"),
            "x2": {"field": "b"},
            "y": {"field": "pool_tokens", "type": "quantitative"},
            "y2": {"field": "context_tokens"},
            "color": {"value": "#d9730d"},
        },
    }
    steps = {
        "data": {"name": "steps"},
        "mark": {
            "type": "line",
            "clip": True,
            "strokeWidth": 2.5,
            "interpolate": "step-after",
            "tooltip": None,
        },
        "encoding": {
            "x": _x("t"),
            "y": {
                "field": "tokens",
                "type": "quantitative",
                "title": "tokens",
                "axis": {"format": "~s", "tickCount": 5},
            },
            "color": {"field": "what", **_ROLES},
            "strokeDash": {
                "field": "what",
                "type": "nominal",
                "scale": {"domain": [_POOL, _CONTEXT], "range": [[1, 0], [6, 4]]},
                "legend": None,
            },
            "detail": {"field": "launch", "type": "nominal"},
        },
    }
    marks = {
        "data": {"name": "marks"},
        "mark": {"type": "point", "filled": True, "size": 90, "opacity": 0.95, "clip": True, "yOffset": 7},
        "encoding": {
            "x": _x("t"),
            "y": {"value": 0},
            "shape": {
                "field": "kind",
                "type": "nominal",
                "scale": {"domain": _MARKS["domain"], "range": _SHAPES},
                "legend": {"orient": "top", "title": None, "offset": 2},
            },
            "color": {
                "field": "kind",
                "type": "nominal",
                "scale": _MARKS,
                "legend": {"orient": "top", "title": None, "offset": 2},
            },
            "tooltip": [{"field": name, "type": "nominal"} for name in ("kind", "at", "what", "where")],
        },
    }
    return {
        "width": WIDTH,
        "height": 190,
        "layer": [bands, starting, unreachable, steps, marks],
        "resolve": {
            "scale": {"color": "independent", "shape": "independent"},
            "legend": {"color": "independent"},
        },
    }


def _line(field: str, color: str, title: str) -> dict[str, Any]:
    return {
        "mark": {"type": "line", "clip": True, "strokeWidth": 1.2, "color": color, "tooltip": True},
        "encoding": {
            "x": _x("t"),
            "y": {"field": field, "type": "quantitative", "title": title, "axis": {"tickCount": 3}},
            "detail": {"field": "launch", "type": "nominal"},
        },
    }


def _usage() -> dict[str, Any]:
    panel = _line("usage", "#0f8a7e", "token usage")
    panel["encoding"]["y"] |= {"scale": {"domain": [0, 1]}, "axis": {"format": "%", "tickCount": 3}}
    return {"width": WIDTH, "height": 80, "data": {"name": "samples"}, **panel}


def _requests() -> dict[str, Any]:
    running = _line("running", "#6d4bd8", "requests")
    queue = _line("queue", "#d6336c", "requests")
    for layer, name in ((running, "running"), (queue, "queued")):
        layer["encoding"]["x"] = _x("t", labels=True)
        layer["encoding"]["color"] = {
            "datum": name,
            "type": "nominal",
            "scale": {"domain": ["running", "queued"], "range": ["#6d4bd8", "#d6336c"]},
            "legend": {"orient": "top", "title": None, "symbolType": "stroke", "offset": 0},
        }
        del layer["mark"]["color"]
    return {"width": WIDTH, "height": 80, "data": {"name": "samples"}, "layer": [running, queue]}


def memory_specification(bars: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the stacked memory bars of launches; `bars` rows have launch, part, order and gib."""
    parts = ["weights", "KV pools", "graphs and buffers", "free"]
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "datasets": {"bars": bars},
        "data": {"name": "bars"},
        "width": WIDTH,
        "height": {"step": 24},
        "mark": {"type": "bar", "tooltip": True},
        "encoding": {
            "y": {"field": "launch", "type": "nominal", "sort": None, "title": None},
            "x": {
                "field": "gib",
                "type": "quantitative",
                "title": "GiB of one GPU, of what was free before loading",
            },
            "order": {"field": "order", "type": "quantitative"},
            "color": {
                "field": "part",
                "type": "nominal",
                "scale": {"domain": parts, "range": ["#7a869a", "#2f6fde", "#6d4bd8", "#a9c9a4"]},
                "legend": {"orient": "top", "title": None},
            },
        },
    }
