"""The charts as Vega-Lite specifications: data in, drawing left to the library.

Field names and expressions are constants of this module. Text from logs appears in data values only, so
that no log line can become an expression, a field or a format.
"""

from __future__ import annotations

from typing import Any

WIDTH = 1000
POOL, CONTEXT, RUNNING, QUEUED = "KV pool", "context length", "running", "queued"
COLORS = {POOL: "#2f6fde", CONTEXT: "#d9730d", RUNNING: "#6d4bd8", QUEUED: "#d6336c", "usage": "#0f8a7e"}
MARKS = {  # kind of marker: colour, shape
    "change": ("#2f6fde", "triangle-down"),
    "edit without effect": ("#b7791f", "cross"),
    "out of memory": ("#d92d20", "square"),
    "crash": ("#d92d20", "triangle-up"),
    "retraction": ("#c026a3", "circle"),
    "refused": ("#7c3aed", "diamond"),
}
ROWS = {
    "retraction": 28,
    "refused": 28,
}  # pixels from the top; there can be many, so they have a row of their own
FIRST_ROW = 10
PARTS = {"weights": "#7a869a", "KV pools": "#2f6fde", "graphs and buffers": "#6d4bd8", "free": "#a9c9a4"}
_HEIGHT = 220  # of the panel of tokens
_GREY, _RED = "#7a869a", "#d92d20"
_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
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
_NARROWEST = "(t1 - t0) / 45"  # a launch narrower than this share of the window has no room for its name


def specification(chart: dict[str, Any], *, legends: bool, kinds: list[str]) -> dict[str, Any]:
    """Return the Vega-Lite specification of one service's `chart` (see `series.chart_data`).

    Parameters `t0` and `t1` (milliseconds since 1970, UTC) are the visible window and `cursor` is the moment
    under the pointer; whoever shows the chart sets them. `kinds` are the kinds of its markers, in the order
    of MARKS. A page has its own legends. Axes of figures are fixed by the whole of the data, so that they
    stand still while the window moves. Without samples there is no panel of load.
    """
    load = [_usage(), _requests(chart["top_requests"], legends=legends)] if chart["has_load"] else []
    return {
        "$schema": _SCHEMA,
        "params": [
            {"name": "t0", "value": chart["t0"]},
            {"name": "t1", "value": chart["t1"]},
            {"name": "cursor", "value": 0},
        ],
        "datasets": {name: chart[name] for name in ("launches", "steps", "marks", "samples")}
        | {"now": [{"one": 1}]},
        "spacing": 8,
        "vconcat": [
            {
                **_panel(_HEIGHT),
                "layer": [
                    *_bands(chart["top_tokens"], labels=not load),
                    *_tokens(chart["top_tokens"], legends=legends, labels=not load),
                    *([_marks(kinds, legends=legends, labels=not load)] if kinds else []),
                ],
                **_APART,
            },
            *load,
        ],
        "config": {
            "aria": False,  # every chart has its table; a sentence an item costs more than drawing it
            "view": {"continuousWidth": WIDTH},
            "axisY": {"minExtent": 58, "maxExtent": 58},
        },
    }


def _usage() -> dict[str, Any]:
    return {**_panel(90), "layer": [_line("usage", "token usage", 1, percent=True), _cursor()]}


def _requests(top: int, *, legends: bool) -> dict[str, Any]:
    lines = [_line(field, "requests", top, labels=True) for field in ("running", "queue")]
    return {**_panel(90), "layer": [*lines, _cursor(labels=True), *_named(legends=legends)], **_APART}


_APART = {
    "resolve": {"scale": {"color": "independent", "shape": "independent"}, "legend": {"color": "independent"}}
}


def _panel(height: int) -> dict[str, Any]:
    return {"width": WIDTH, "height": height}


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


def _below_marks(top: int) -> dict[str, Any]:
    return {"domain": [0, top], "nice": True, "range": [_HEIGHT, 40]}


def _bands(top: int, *, labels: bool) -> list[dict[str, Any]]:
    """Draw launches as bands: failed ones red, the time to ready darker, what the pool cannot hold orange."""
    rect = {"type": "rect", "clip": True, "tooltip": None}
    data = {"data": {"name": "launches"}}
    whole = {"x": _x("a", labels=labels), "x2": {"field": "b"}}
    return [
        {
            **data,
            "mark": {**rect, "opacity": 0.13},
            "encoding": {
                **whole,
                "color": {"condition": {"test": "datum.failed", "value": _RED}, "value": _GREY},
            },
        },
        {
            **data,
            "mark": {**rect, "opacity": 0.18},
            "encoding": {"x": _x("a", labels=labels), "x2": {"field": "r"}, "color": {"value": _GREY}},
        },
        {
            **data,
            "transform": [{"filter": "datum.context_tokens > datum.pool_tokens"}],
            "mark": {**rect, "opacity": 0.16},
            "encoding": {
                **whole,
                "y": {"field": "pool_tokens", "type": "quantitative", "scale": _below_marks(top)},
                "y2": {"field": "context_tokens"},
                "color": {"value": COLORS[CONTEXT]},
            },
        },
        {
            **data,
            "mark": {
                "type": "text", "align": "left", "baseline": "bottom", "dx": 3, "dy": -3, "fontSize": 11,
                "clip": True, "tooltip": None,
            },
            "encoding": {
                "x": _x("a", labels=labels),
                "y": {"value": _HEIGHT},
                "text": {
                    "condition": {"test": f"datum.b - datum.a > {_NARROWEST}", "field": "launch"},
                    "value": "",
                },
                "color": {"value": _GREY},
            },
        },
    ]  # fmt: skip


def _tokens(top: int, *, legends: bool, labels: bool) -> list[dict[str, Any]]:
    """Draw the pool as a step line, the context length dashed; a row without tokens breaks a line."""
    names = [POOL, CONTEXT]
    legend = {"orient": "top", "title": None, "symbolType": "stroke", "symbolStrokeWidth": 3, "offset": 2}
    return [
        {
            "data": {"name": "steps"},
            "mark": {
                "type": "line",
                "clip": True,
                "strokeWidth": 2.5,
                "interpolate": "step-after",
                "invalid": "break-paths-filter-domains",
                "tooltip": None,
            },
            "encoding": {
                "x": _x("t", labels=labels),
                "y": {
                    "field": "tokens",
                    "type": "quantitative",
                    "title": "tokens",
                    "scale": _below_marks(top),
                    "axis": {"format": "~s", "tickCount": 5},
                },
                "color": {
                    "field": "what",
                    "type": "nominal",
                    "scale": {"domain": names, "range": [COLORS[name] for name in names]},
                    "legend": legend if legends else None,
                },
                "strokeDash": {
                    "field": "what",
                    "type": "nominal",
                    "scale": {"domain": names, "range": [[1, 0], [6, 4]]},
                    "legend": None,
                },
            },
        },
        _cursor(labels=labels),
    ]


def _marks(kinds: list[str], *, legends: bool, labels: bool) -> dict[str, Any]:
    legend = {"legend": {"orient": "top", "title": None, "offset": 2} if legends else None}
    return {
        "data": {"name": "marks"},
        "mark": {
            "type": "point",
            "filled": True,
            "size": 90,
            "opacity": 0.95,
            "clip": True,
            "yOffset": {"expr": "datum.row"},
            "tooltip": {"expr": "datum.tip"},
        },
        "encoding": {
            "x": _x("t", labels=labels),
            "y": {"value": 0},
            "shape": {
                "field": "kind",
                "type": "nominal",
                "scale": {"domain": kinds, "range": [MARKS[kind][1] for kind in kinds]},
                **legend,
            },
            "color": {
                "field": "kind",
                "type": "nominal",
                "scale": {"domain": kinds, "range": [MARKS[kind][0] for kind in kinds]},
                **legend,
            },
        },
    }


def _line(field: str, title: str, top: int, *, percent: bool = False, labels: bool = False) -> dict[str, Any]:
    """Draw a figure of the samples; a row without figures, between two launches, breaks the line."""
    y = {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"domain": [0, top], "nice": True},
        "axis": {"tickCount": 3, **({"format": "%"} if percent else {"tickMinStep": 1})},
    }
    color = COLORS[{"running": RUNNING, "queue": QUEUED}.get(field, field)]
    return {
        "data": {"name": "samples"},
        "mark": {
            "type": "line",
            "clip": True,
            "strokeWidth": 1.2,
            "color": color,
            "invalid": "break-paths-filter-domains",
            "tooltip": None,
        },
        "encoding": {"x": _x("t", labels=labels), "y": y},
    }


def _named(*, legends: bool) -> list[dict[str, Any]]:
    """Return a layer that shows nothing but the legend of the lines of requests, where it is wanted."""
    if not legends:
        return []
    names = [RUNNING, QUEUED]
    return [
        {
            "data": {"values": [{"what": name} for name in names]},
            "mark": {"type": "rule", "opacity": 0},
            "encoding": {
                "color": {
                    "field": "what",
                    "type": "nominal",
                    "scale": {"domain": names, "range": [COLORS[name] for name in names]},
                    "legend": {
                        "orient": "top",
                        "title": None,
                        "symbolType": "stroke",
                        "symbolOpacity": 1,
                        "offset": 0,
                    },
                }
            },
        }
    ]


def _cursor(*, labels: bool = False) -> dict[str, Any]:
    """Draw a thin rule at the moment under the pointer; it is outside the window until there is one."""
    return {
        "data": {"name": "now"},
        "transform": [{"calculate": "cursor", "as": "t"}],
        "mark": {"type": "rule", "clip": True, "color": _GREY, "strokeWidth": 1, "tooltip": None},
        "encoding": {"x": _x("t", labels=labels)},
    }


def memory_specification(bars: list[dict[str, Any]], *, legends: bool) -> dict[str, Any]:
    """Return the stacked memory bars of launches; `bars` rows have launch, part, order, gib and limit."""
    launches = list(dict.fromkeys(row["launch"] for row in bars))
    step = max(3, min(46, (WIDTH - 80) // max(1, len(launches))))
    by_launch = {
        "field": "launch",
        "type": "nominal",
        "sort": launches,
        "title": None,
        "axis": {"labelOverlap": True, "labelAngle": 0},
    }
    bar = {
        "mark": "bar",
        "encoding": {
            "x": by_launch,
            "y": {"field": "gib", "type": "quantitative", "title": "GiB of one GPU"},
            "order": {"field": "order", "type": "quantitative"},
            "color": {
                "field": "part",
                "type": "nominal",
                "scale": {"domain": list(PARTS), "range": list(PARTS.values())},
                "legend": {"orient": "top", "title": None} if legends else None,
            },
        },
    }
    limit = {
        "transform": [{"filter": "isValid(datum.limit)"}],
        "mark": {"type": "tick", "color": _RED, "thickness": 2, "bandSize": step},
        "encoding": {"x": by_launch, "y": {"field": "limit", "type": "quantitative"}},
    }
    return {
        "$schema": _SCHEMA,
        "datasets": {"bars": bars},
        "data": {"name": "bars"},
        "width": {"step": step},
        "height": 200,
        "layer": [bar, limit],
        "config": {"aria": False, "axisY": {"minExtent": 40, "maxExtent": 58}},
    }
