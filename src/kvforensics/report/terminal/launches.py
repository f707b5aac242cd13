"""Launches as a table: one row each, and below it what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from kvforensics.report.terminal.figures import count, setting, span
from kvforensics.report.terminal.signs import ENDS, STRANGE, VERDICTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvforensics.analysis import Analysis, Service
    from kvforensics.launches import Launch
    from kvforensics.report.terminal.page import Page
    from kvforensics.verdicts.verdict import Verdict

_COLUMNS = ("", "started (UTC)", "ready", "end", "version", "pool", "context", "running", "free")
_RIGHT = ("ready", "pool", "context", "running", "free")


def draw(analysis: Analysis, page: Page) -> None:
    """Draw a table a service: when, how it ended, version, pool, context, running, headroom, changes."""
    for number, service in enumerate(analysis.services):
        if number:
            page.write()
        page.write(page.text((service.id, "bold")))
        _draw_table(service, page)


def _draw_table(service: Service, page: Page) -> None:
    befores = [None, *service.launches]
    rows = [_row(launch, before, page) for launch, before in zip(service.launches, befores, strict=False)]
    head = [page.text((name, "dim")) for name in _COLUMNS]
    widths = [max(cell.cell_len for cell in column) for column in zip(head, *rows, strict=True)]
    gap = " " * (2 if sum(widths) + 2 * len(widths) <= page.width else 1)

    def write(cells: Sequence[Text]) -> None:
        page.write(Text(gap).join(_padded(*each) for each in zip(_COLUMNS, cells, widths, strict=True)))

    write(head)
    for launch, row in zip(service.launches, rows, strict=True):
        write(row)
        for line in _changes([v for v in service.verdicts if v.change.to_launch == launch.id], page):
            page.prose(line, rail=page.text(), indent=widths[0] + len(gap), hang=2)


def _padded(name: str, cell: Text, width: int) -> Text:
    room = " " * (width - cell.cell_len)
    return Text.assemble(room, cell) if name in _RIGHT else Text.assemble(cell, room)


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
    known = launch.complete_start and launch.started_at
    started = f"{launch.started_at:%Y-%m-%d %H:%M}" if known else "before the log"
    grown = before is not None and before.pool_tokens != launch.pool_tokens
    return [
        page.text((launch.id, "bold")),
        page.text(started),
        page.text(ready),
        page.text((launch.end, end.style)),
        page.text(version),
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
        if not verdict.is_about_memory:
            continue
        sign, change = VERDICTS.get(verdict.verdict, STRANGE), verdict.change
        lines.append(
            page.text(
                (f"{sign.mark} {verdict.verdict}", sign.style),
                f" {change.setting} {setting(change.before)} → {setting(change.after)}",
            )
        )
    return lines
