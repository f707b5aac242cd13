"""The timeline: launches as bands, between them what changed and what came of it.

```
┏━ L2 ━━━ 2026-05-20 15:10:30 ━━━━━━━━━━━━━━━━━━━━━
┃ ready after 4m 04s   up 26m 36s   restarted 15:41:14
┃ pool     █████████████████                  101,134 tokens
┃ context  █████████████████▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒ 200,000   98,866 more than the pool
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.report.terminal.band import Scale, draw_launch
from kvforensics.report.terminal.change import draw_changes, draw_trail
from kvforensics.report.terminal.coverage import draw_coverage
from kvforensics.report.terminal.figures import clock, plural
from kvforensics.report.terminal.finding import Told, draw_findings
from kvforensics.report.terminal.signs import VERDICTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvforensics.analysis import Analysis, Service
    from kvforensics.events import Event
    from kvforensics.launches import Launch
    from kvforensics.report.terminal.page import Page

_QUIET_ENDS = frozenset({"running", "restarted", "stopped", "unknown"})


def draw(analysis: Analysis, page: Page, *, quiet: bool = False) -> None:
    """Draw every service, then what was read and what of it was understood.

    With `quiet`, launches in a row that changed nothing and about which nothing is said share one line.
    """
    for service in analysis.services:
        _draw_service(service, analysis, page, quiet=quiet)
        page.write()
    draw_coverage(analysis, page)


def _draw_service(service: Service, analysis: Analysis, page: Page, *, quiet: bool) -> None:
    _draw_heading(service, page)
    scale = Scale.of(service)
    paths = [source.path for source in analysis.sources]
    spoken_of = {f.launch for f in service.findings} | {v.change.to_launch for v in service.verdicts}
    told = Told()
    before: Launch | None = None
    folded: list[Launch] = []
    for launch in service.launches:
        if quiet and before is not None and launch.id not in spoken_of and launch.end in _QUIET_ENDS:
            folded.append(launch)
            continue
        _draw_folded(folded, page)
        folded = []
        draw_trail(_between(service.trail, before, launch), paths, page, launch.started_at)
        changes = [v for v in service.verdicts if v.change.to_launch == launch.id]
        draw_changes(changes, page)
        told.begin(v.advice for v in changes)
        draw_launch(launch, before, scale, page)
        draw_findings([f for f in service.findings if f.launch == launch.id], page, told)
        page.write(page.text(("┗━━━", "dim")))
        before = launch
    _draw_folded(folded, page)
    last = before.started_at if before is not None else None
    draw_trail(_between(service.trail, before, None), paths, page, last)
    ids = {launch.id for launch in service.launches}
    draw_findings([f for f in service.findings if f.launch not in ids], page, told, railed=False)


def _draw_folded(launches: Sequence[Launch], page: Page) -> None:
    if not launches:
        return
    first, last = launches[0], launches[-1]
    names = first.id if first is last else f"{first.id} … {last.id}"
    number = plural(len(launches), "launch", "launches")
    said = f"{names}  {number} from {clock(first.started_at)}: nothing changed"
    page.prose(page.text((said, "dim")), rail=page.text(("┊ ", "dim")))


def _draw_heading(service: Service, page: Page) -> None:
    page.write(page.text((service.id, "bold")))
    times = [t for x in service.launches for t in (x.started_at, x.ended_at, x.last_at) if t is not None]
    parts = [plural(len(service.launches), "launch", "launches")]
    if times:
        parts.append(f"{clock(min(times))} … {clock(max(times), min(times))} UTC")
    page.items([page.text((part, "dim")) for part in parts], rail=page.text())
    edits = [v for v in service.verdicts if v.is_edit]
    said = []
    for word, sign in VERDICTS.items():
        found = [v for v in edits if v.verdict == word]
        if found:
            names = ", ".join(f"{v.change.setting} ({v.change.to_launch})" for v in found[:3])
            more = f" and {len(found) - 3} more" if len(found) > 3 else ""  # noqa: PLR2004 - as many as are named
            said.append(page.text((f"{sign.mark} {len(found)} {sign.words}:", sign.style), f" {names}{more}"))
    page.items(said, rail=page.text())
    page.write()


def _between(trail: Sequence[Event], before: Launch | None, after: Launch | None) -> list[Event]:
    start = before.started_at if before is not None else None
    end = after.started_at if after is not None else None
    chosen = []
    for event in trail:
        if event.at is None:
            if after is None:
                chosen.append(event)
            continue
        if (start is None or event.at >= start) and (end is None or event.at < end):
            chosen.append(event)
    return chosen
