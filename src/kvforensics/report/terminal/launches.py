"""Launches as a table: one row each, and below it what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from kvforensics.report.inert import inert
from kvforensics.report.terminal.figures import clock, count, setting, span
from kvforensics.report.terminal.signs import ENDS, NOT_ABOUT_MEMORY, STRANGE, VERDICTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.text import Text

    from kvforensics.analysis import Analysis, Service
    from kvforensics.launches import Launch
    from kvforensics.report.terminal.page import Page
    from kvforensics.verdicts.verdict import Verdict

_RIGHT = ("ready", "pool", "context", "running", "free")


def draw(analysis: Analysis, page: Page) -> None:
    """Draw a table a service: when, how it ended, version, pool, context, running, headroom, changes."""
    for number, service in enumerate(analysis.services):
        if number:
            page.write()
        page.write(page.text((inert(service.id), "bold")))
        page.write(_table(service, page))


def _table(service: Service, page: Page) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim", expand=False)
    for name in ("", "started (UTC)", "ready", "end", "version", "pool", "context", "running", "free"):
        table.add_column(name, justify="right" if name in _RIGHT else "left", no_wrap=True, overflow="fold")
    before: Launch | None = None
    for launch in service.launches:
        table.add_row(*_row(launch, before, page))
        changes = [v for v in service.verdicts if v.change.to_launch == launch.id]
        for line in _changes(changes, page):
            table.add_row("", line)
        before = launch
    return table


def _row(launch: Launch, before: Launch | None, page: Page) -> list[Text]:
    end = ENDS.get(launch.end, STRANGE)
    ready = "?"
    if launch.ready_at and launch.started_at and launch.complete_start:
        ready = span(launch.ready_at - launch.started_at)
    oldest, newest = launch.version.oldest, launch.version.newest
    version = (
        "?"
        if not (oldest or newest)
        else (oldest or "")
        if oldest == newest
        else f"{oldest or ''}..{newest or ''}"
    )
    started = clock(launch.started_at) if launch.complete_start else "before the log"
    grown = before is not None and before.pool_tokens != launch.pool_tokens
    return [
        page.text((launch.id, "bold")),
        page.text(started),
        page.text(ready),
        page.text((launch.end, end.style)),
        page.text(inert(version)),
        page.text((count(launch.pool_tokens), "bold" if grown else "")),
        page.text((count(launch.context_len), _context_style(launch))),
        page.text(count(launch.max_running_requests)),
        page.text("?" if launch.free_gib is None else f"{launch.free_gib:.2f}"),
    ]


def _context_style(launch: Launch) -> str:
    longer = launch.context_len and launch.pool_tokens and launch.context_len > launch.pool_tokens
    return "bold red" if longer else ""


def _changes(verdicts: Sequence[Verdict], page: Page) -> list[Text]:
    lines = []
    for verdict in verdicts:
        if verdict.reason_code == NOT_ABOUT_MEMORY:
            continue
        sign, change = VERDICTS.get(verdict.verdict, STRANGE), verdict.change
        lines.append(
            page.text(
                (f"{sign.mark} {inert(verdict.verdict)}", sign.style),
                f" {inert(change.setting)} {setting(change.before)} → {setting(change.after)}",
            )
        )
    return lines
