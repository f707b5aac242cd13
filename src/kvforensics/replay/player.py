"""The terminal player: moments at the chosen speed under a header with the state of that moment."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from kvforensics.replay.moments import Moment, moments
from kvforensics.replay.state import State, StateIndex
from kvforensics.report.inert import inert
from kvforensics.report.span import duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from rich.console import Console

    from kvforensics.analysis import Analysis

QUIET_S = 3.0  # real seconds without a moment after which the player jumps
_FRAME_S = 0.1
_STYLES = {"error": "bold red", "warning": "yellow", "info": ""}
_SIGNS = {
    "start": "▶",
    "ready": "●",
    "end": "■",
    "change": "±",
    "finding": "!",
    "trail": "·",
    "retraction": "↩",
    "refusal": "✗",
}


def play(
    analysis: Analysis,
    console: Console,
    *,
    speed: float = 60.0,
    start: datetime | None = None,
    end: datetime | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Play the incident. On a terminal it waits between moments, elsewhere it prints them at once."""
    shown = moments(analysis, start, end)
    indexes = {each.id: StateIndex(each, analysis.samples) for each in analysis.services}
    if not shown:
        console.print(Text("Nothing happened in this time."))
        return
    many = len(indexes) > 1
    if not console.is_terminal:
        for moment, quiet in _with_quiet(shown, speed):
            if quiet is not None:
                console.print(quiet, soft_wrap=True)
            console.print(line(moment, many=many), soft_wrap=True)
        return
    _animate(shown, indexes, console, speed, sleep)


def line(moment: Moment, *, many: bool) -> Text:
    """Return one moment as a line: time, service where there are several, what happened, where it stands."""
    text = Text(f"{moment.at:%Y-%m-%d %H:%M:%S} ", style="dim")
    if many:
        text.append(f"{inert(moment.service)} ", style="cyan")
    text.append(f"{_SIGNS[moment.kind]} ", style=_STYLES[moment.severity])
    text.append(inert(moment.text, 300), style=_STYLES[moment.severity])
    if moment.place is not None:
        text.append(f"  {inert(moment.place.path)}:{moment.place.line}", style="dim")
    return text


def header(states: Sequence[State]) -> Table:
    """Return the state of each service as a small table."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in ("service", "launch", "phase", "pool", "context", "free GiB", "usage", "running", "queued"):
        table.add_column(name, header_style="dim")
    for state in states:
        usage = "–" if state.token_usage is None else f"{state.token_usage:.0%}"
        phase = f"{state.phase} ({state.end.replace('_', ' ')})" if state.end else state.phase
        cells = [
            inert(state.service, 32),
            state.launch or "–",
            phase,
            *(_figure(each) for each in (state.pool_tokens, state.context_len, state.free_gib)),
            usage,
            _figure(state.running),
            _figure(state.queue),
        ]
        table.add_row(*(Text(cell) for cell in cells))
    return table


def _animate(
    shown: list[Moment],
    indexes: dict[str, StateIndex],
    console: Console,
    speed: float,
    sleep: Callable[[float], None],
) -> None:
    many = len(indexes) > 1
    now = shown[0].at

    def frame(at: datetime) -> Group:
        title = Text(f"\n{at:%Y-%m-%d %H:%M:%S} UTC, {speed:g} times as fast", style="bold")
        return Group(title, header([index.at(at) for index in indexes.values()]))

    with Live(frame(now), console=console, auto_refresh=False) as live:
        for moment, quiet in _with_quiet(shown, speed):
            if quiet is not None:
                live.console.print(quiet)
            else:
                for at in _between(now, moment.at, speed):
                    live.update(frame(at), refresh=True)
                    sleep(_FRAME_S)
            now = moment.at
            live.console.print(line(moment, many=many))
            live.update(frame(now), refresh=True)


def _between(start: datetime, end: datetime, speed: float) -> Iterator[datetime]:
    real = (end - start).total_seconds() / speed
    steps = int(real / _FRAME_S)
    for step in range(steps):
        yield start + (end - start) * ((step + 1) / (steps + 1))


def _with_quiet(shown: list[Moment], speed: float) -> Iterator[tuple[Moment, Text | None]]:
    """Give each moment, with a note before it where the quiet was too long to wait through."""
    previous: datetime | None = None
    for moment in shown:
        gap = 0.0 if previous is None else (moment.at - previous).total_seconds()
        quiet = gap / speed > QUIET_S
        yield moment, Text(f"… {duration(gap)} of quiet skipped", style="dim italic") if quiet else None
        previous = moment.at


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:,}"
