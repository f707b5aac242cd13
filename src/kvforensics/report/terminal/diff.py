"""Two launches side by side: figures, pools, settings that differ, verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from kvforensics.report.inert import inert
from kvforensics.report.parts_json import settings_that_differ
from kvforensics.report.terminal.change import draw_changes
from kvforensics.report.terminal.figures import clock, count, gib, plural, setting, share, span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvforensics.analysis import Service
    from kvforensics.launches import Launch
    from kvforensics.report.terminal.page import Page
    from kvforensics.verdicts.verdict import Verdict


def draw(service: Service, older: Launch, newer: Launch, verdicts: Sequence[Verdict], page: Page) -> None:
    """Draw the comparison of two launches of one service."""
    page.write(page.text((f"{service.id}  {older.id} → {newer.id}", "bold")))
    page.write()
    _draw_table(_figures(service, older, newer), older, newer, page)
    page.write()
    rows = [(name, setting(a), setting(b)) for name, a, b in settings_that_differ(older, newer)]
    page.write(page.text((f"{plural(len(rows), 'setting differs', 'settings differ')}", "bold")))
    if rows:
        _draw_table(rows, older, newer, page)
    page.write()
    draw_changes(verdicts, page)


def _draw_table(rows: Sequence[tuple[str, str, str]], older: Launch, newer: Launch, page: Page) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for name in ("", older.id, newer.id):
        table.add_column(name, overflow="fold")
    for name, before, after in rows:
        style = "bold" if before != after else "dim"
        table.add_row(page.text((name, "dim")), page.text(before), page.text((after, style)))
    page.write(table)


def _figures(service: Service, older: Launch, newer: Launch) -> list[tuple[str, str, str]]:
    left, right = _column(service, older), _column(service, newer)
    names = list(dict.fromkeys([*left, *right]))
    return [(name, left.get(name, "?"), right.get(name, "?")) for name in names]


def _column(service: Service, launch: Launch) -> dict[str, str]:
    ready = launch.ready_at - launch.started_at if launch.ready_at and launch.started_at else None
    budget = service.budgets.get(launch.id)
    seen = launch.requests
    rows = {
        "started": clock(launch.started_at),
        "ready after": span(ready),
        "end": launch.end,
        "version": inert(
            " to ".join(dict.fromkeys(filter(None, (launch.version.oldest, launch.version.newest)))) or "?"
        ),
        "pool": count(launch.pool_tokens),
        "context": count(launch.context_len),
        "longest prompt": count(launch.longest_prompt_tokens),
        "running at most": count(launch.max_running_requests),
        "headroom": gib(launch.free_gib),
        "free before loading": gib(launch.memory.before_load_gib),
        "free after loading": gib(launch.memory.after_load_gib),
    }
    rows |= {f"{pool.role} pool": gib(pool.total_gib) for pool in launch.pools}
    if budget is not None:
        rows |= {
            "budget of the pools": gib(budget.rest_gib),
            "bytes a token": count(budget.bytes_per_token),
            "what binds": budget.binding,
        }
    return rows | {
        "usage up to": share(seen.peak_token_usage),
        "refused as too long": count(seen.rejected_too_long),
        "retractions": count(seen.retractions),
    }
