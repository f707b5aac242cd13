"""How moments and states are written: lines, a small table, JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table

from kvforensics.replay.moments import Moment, moments
from kvforensics.replay.state import State, StateIndex
from kvforensics.report.inert import inert
from kvforensics.report.plain import dumps, plain
from kvforensics.report.span import duration

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from rich.text import Text

    from kvforensics.analysis import Analysis
    from kvforensics.report.terminal.page import Page

_STYLES = {"error": "bold red", "warning": "yellow", "info": ""}
_SIGNS = {
    "start": "▲",
    "ready": "●",
    "end": "✖",
    "change": "→",
    "finding": "◆",
    "trail": "·",
    "retraction": "↺",
    "refusal": "✘",
}
_LONGEST = 300


def line(moment: Moment, page: Page, *, many: bool) -> Text:
    """Return one moment as a line: time, service where there are several, what happened, where it stands."""
    style = _STYLES[moment.severity]
    parts: list[str | tuple[str, str]] = [(f"{moment.at:%Y-%m-%d %H:%M:%S} ", "dim")]
    if many:
        parts.append((f"{inert(moment.service)} ", "cyan"))
    parts += [(f"{_SIGNS[moment.kind]} ", style), (inert(moment.text, _LONGEST), style)]
    if moment.place is not None:
        parts.append((f"  {inert(moment.place.path)}:{moment.place.line}", "dim"))
    return page.text(*parts)


def header(states: Sequence[State], page: Page) -> Table:
    """Return the state of each service as a small table."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in (
        "service",
        "launch",
        "phase",
        "pool",
        "context",
        "free GiB",
        "usage",
        "running",
        "queued",
        "changed",
    ):
        table.add_column(name, header_style="dim")
    for state in states:
        usage = None if state.token_usage is None else f"{state.token_usage:.0%}"
        cells = [
            inert(state.service, 32),
            state.launch,
            _phase(state),
            *(_figure(each) for each in (state.pool_tokens, state.context_len, state.free_gib)),
            usage,
            _figure(state.running),
            _figure(state.queue),
            inert(_changed(state), 60),
        ]
        table.add_row(*(page.text(cell or "-") for cell in cells))
    return table


def state(analysis: Analysis, at: datetime, page: Page) -> None:
    """Write the state of each service at one moment."""
    for service in analysis.services:
        now = StateIndex(service, analysis.samples).at(at)
        page.write(page.text((inert(now.service), "bold"), f"  {at:%Y-%m-%d %H:%M:%S} UTC"))
        for name, value in _facts(now):
            page.write(page.text(f"  {name:<22}", value))


def as_json(analysis: Analysis, start: datetime | None, end: datetime | None, at: datetime | None) -> str:
    """Return the states at `at`, or all moments between two times, as JSON (kvforensics.replay/1)."""
    document: dict[str, Any] = {"schema": "kvforensics.replay/1"}
    if at is not None:
        found = [StateIndex(each, analysis.samples).at(at) for each in analysis.services]
        document["states"] = [plain(each) for each in found]
    else:
        document["moments"] = [plain(each) for each in moments(analysis, start, end)]
    return dumps(document)


def _facts(now: State) -> list[tuple[str, str]]:
    since = "-" if now.since is None else f"{now.since:%Y-%m-%d %H:%M:%S} ({duration(_age(now))} before)"
    usage = "-" if now.token_usage is None else f"{now.token_usage:.0%}"
    return [
        ("launch", now.launch or "-"),
        ("phase", _phase(now)),
        ("started", since),
        ("changed at its start", inert(_changed(now)) or "-"),
        ("pool", _figure(now.pool_tokens) or "-"),
        ("context length", _figure(now.context_len) or "-"),
        ("max running", _figure(now.max_running_requests) or "-"),
        ("free GiB once ready", _figure(now.free_gib) or "-"),
        ("token usage", usage),
        ("running, queued", f"{_figure(now.running) or '-'}, {_figure(now.queue) or '-'}"),
        ("last sample", "-" if now.sampled_at is None else f"{now.sampled_at:%Y-%m-%d %H:%M:%S}"),
    ]


def _changed(now: State) -> str:
    """Return what differs from the launch before; settings that are no matter of memory stand last."""
    told = sorted(now.changed.items(), key=lambda item: item[0] in now.apart)
    return ", ".join(f"{name} {before} → {after}" for name, (before, after) in told)


def _age(now: State) -> float | None:
    return None if now.since is None else (now.at - now.since).total_seconds()


def _phase(state: State) -> str:
    return f"{state.phase} ({state.end.replace('_', ' ')})" if state.end else state.phase


def _figure(value: float | None) -> str | None:
    return None if value is None else f"{value:,}"
