"""The terminal player: moments at the chosen speed under a header with the state of that moment."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.console import Group
from rich.live import Live

from kvforensics.replay.moments import Moment, moments
from kvforensics.replay.state import StateIndex
from kvforensics.replay.views import header, line
from kvforensics.report.span import duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from rich.text import Text

    from kvforensics.analysis import Analysis
    from kvforensics.report.terminal.page import Page

QUIET_S = 3.0  # real seconds without a moment after which the player jumps
FRAME_S = 0.1


def play(
    analysis: Analysis,
    page: Page,
    speed: float,
    start: datetime | None = None,
    end: datetime | None = None,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Play the incident between two times. On a terminal it waits between moments, elsewhere it does not."""
    shown = moments(analysis, start, end)
    if not shown:
        page.write(page.text("Nothing happened in this time."))
        return
    if page.console.is_terminal:
        _animate(shown, analysis, page, speed, sleep)
        return
    for moment, quiet in _with_quiet(shown, speed, page):
        if quiet is not None:
            page.write(quiet)
        page.write(line(moment, page, many=len(analysis.services) > 1))


def _animate(
    shown: list[Moment], analysis: Analysis, page: Page, speed: float, sleep: Callable[[float], None]
) -> None:
    indexes = [StateIndex(each, analysis.samples) for each in analysis.services]

    def frame(at: datetime) -> Group:
        title = page.text("\n", (f"{at:%Y-%m-%d %H:%M:%S} UTC, {speed:g} times as fast", "bold"))
        return Group(title, header([index.at(at) for index in indexes], page))

    now = shown[0].at
    with Live(frame(now), console=page.console, auto_refresh=False) as live:
        for moment, quiet in _with_quiet(shown, speed, page):
            if quiet is not None:
                live.console.print(quiet)
            else:
                for at in _between(now, moment.at, speed):
                    live.update(frame(at), refresh=True)
                    sleep(FRAME_S)
            now = moment.at
            live.console.print(line(moment, page, many=len(indexes) > 1))
            live.update(frame(now), refresh=True)


def _between(start: datetime, end: datetime, speed: float) -> Iterator[datetime]:
    steps = int((end - start).total_seconds() / speed / FRAME_S)
    for step in range(1, steps + 1):
        yield start + (end - start) * (step / (steps + 1))


def _with_quiet(shown: list[Moment], speed: float, page: Page) -> Iterator[tuple[Moment, Text | None]]:
    """Give each moment, with a note before it where the quiet was too long to wait through."""
    previous: datetime | None = None
    for moment in shown:
        gap = 0.0 if previous is None else (moment.at - previous).total_seconds()
        note = page.text((f"… {duration(gap)} of quiet skipped", "dim")) if gap / speed > QUIET_S else None
        yield moment, note
        previous = moment.at
