"""The band of one launch: its times, its version, its figures, pool and context as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kvforensics.report.terminal.figures import UNKNOWN, clock, count, gib, setting, share, span
from kvforensics.report.terminal.signs import ENDS, STRANGE

if TYPE_CHECKING:
    from rich.text import Text

    from kvforensics.analysis import Service
    from kvforensics.launches import Launch
    from kvforensics.report.terminal.page import Page

_LABEL = 9
_LONGEST_BAR = 72
_SHORTEST_BAR = 10
_FIGURES = 28  # room behind a bar


class Scale(Struct, frozen=True):
    """How many tokens the longest bar of a service stands for."""

    tokens: int

    @classmethod
    def of(cls, service: Service) -> Scale:
        """Return the scale that holds every pool and context of a service."""
        return cls(max((n for x in service.launches for n in (x.pool_tokens, x.context_len) if n), default=1))

    def cells(self, tokens: int, width: int) -> int:
        """Cells of a bar, at least one."""
        return max(1, round(tokens / self.tokens * width))


def rail(page: Page) -> Text:
    """Return the band's left edge."""
    return page.text(("┃ ", "dim"))


def draw_launch(launch: Launch, before: Launch | None, scale: Scale, page: Page) -> None:
    """Draw a launch's band without its findings and without its lower edge."""
    _draw_head(launch, page)
    edge = rail(page)
    page.items(_life(launch, page), rail=edge)
    page.items(_server(launch, before, page), rail=edge)
    _draw_bars(launch, scale, page)
    page.items(_figures(launch, page), rail=edge)
    page.items(_requests(launch, page), rail=edge)


def _draw_head(launch: Launch, page: Page) -> None:
    started = "the log begins after its start" if not launch.complete_start else clock(launch.started_at)
    if started == UNKNOWN:
        started = "time unknown"
    style = ENDS.get(launch.end, STRANGE).style
    head = page.text(("┏━ ", style), (launch.id, f"{style} bold"), (" ━━ ", style), (started, "bold"), " ")
    head.append(page.sayable("━") * max(0, page.width - head.cell_len), style)
    page.write(head)


def _life(launch: Launch, page: Page) -> list[Text]:
    end = ENDS.get(launch.end, STRANGE)
    parts = []
    if launch.ready_at and launch.started_at and launch.complete_start:
        parts.append(page.text(f"ready after {span(launch.ready_at - launch.started_at)}"))
    elif launch.ready_at:
        parts.append(page.text(f"ready {clock(launch.ready_at, launch.started_at)}"))
    elif launch.end != "failed_start" and launch.complete_start:
        parts.append(page.text(("never said to be ready", "yellow")))
    if launch.downtime_s is not None:
        parts.append(page.text(f"down {span(launch.downtime_s)} before"))
    until = launch.ended_at or launch.last_at
    if launch.ready_at and until and until > launch.ready_at:
        parts.append(page.text(f"up {span(until - launch.ready_at)}"))
    when = f" {clock(launch.ended_at, launch.started_at)}" if launch.ended_at else ""
    parts.append(page.text((f"{end.words or launch.end}{when}", end.style)))
    return parts


def _server(launch: Launch, before: Launch | None, page: Page) -> list[Text]:
    parts = []
    name = "SGLang" if launch.engine == "sglang" else launch.engine
    if launch.version.oldest or launch.version.newest:
        ends = [launch.version.oldest or "", launch.version.newest or ""]
        version = ends[0] if ends[0] == ends[1] else f"{ends[0] or '…'} to {ends[1] or '…'}"
        moved = before is not None and before.version.oldest != launch.version.oldest
        parts.append(page.text((f"{name} {version}", "bold" if moved else "")))
    else:
        parts.append(page.text((f"{name}, version unknown", "dim")))
    model = launch.config.values.get("model_path")
    if model:
        parts.append(page.text(setting(str(model).rstrip("/").rsplit("/", 1)[-1])))
    tp = launch.config.values.get("tp_size")
    if isinstance(tp, int) and tp > 1:
        parts.append(page.text(f"tp {tp}"))
    if launch.config.source != "server_args":
        source = {
            "none": "settings not in the log",
            "cmdline": "settings from the command line",
            "unit_file": "settings from the unit file",
            "partial": "settings in part",
        }.get(launch.config.source, launch.config.source)
        parts.append(page.text((source, "yellow")))
    if launch.config.truncated:
        parts.append(page.text(("settings cut off", "yellow")))
    place = launch.evidence.get("config") or launch.evidence.get("pool_tokens")
    if place is not None:
        parts.append(page.text((f"{place.path}:{place.line}", "dim")))
    return parts


def _draw_bars(launch: Launch, scale: Scale, page: Page) -> None:
    room = min(_LONGEST_BAR, max(_SHORTEST_BAR, page.width - 2 - _LABEL - 1 - _FIGURES))
    pool, context = launch.pool_tokens, launch.context_len
    if pool is not None:
        cells = scale.cells(pool, room)
        page.write(_bar("pool", [("█" * cells, "cyan")], f"{count(pool)} tokens", "bold", room, page))
    if context is not None:
        cells = scale.cells(context, room)
        held = cells if pool is None or context <= pool else min(cells, scale.cells(pool, room))
        parts = [("█" * held, "blue"), ("▒" * (cells - held), "red")]
        figure, style = count(context), ""
        if pool is not None and context > pool:
            figure, style = f"{count(context)} > pool", "bold red"
        page.write(_bar("context", parts, figure, style, room, page))


def _bar(label: str, parts: list[tuple[str, str]], figure: str, style: str, room: int, page: Page) -> Text:
    line = rail(page)
    line.append_text(page.text(f"{label:<{_LABEL}}"))
    line.append_text(page.text(*parts))
    line.append(" " * (room - sum(len(p) for p, _ in parts) + 1))
    line.append_text(page.text((figure, style)))
    return line


def _figures(launch: Launch, page: Page) -> list[Text]:
    def item(name: str, value: str) -> Text:
        return page.text((f"{name} ", "dim"), value)

    parts = [item("running", count(launch.max_running_requests)), item("headroom", gib(launch.free_gib))]
    if launch.longest_prompt_tokens is not None:
        parts.append(item("longest prompt", count(launch.longest_prompt_tokens)))
    if launch.memory.before_load_gib is not None:
        parts.append(item("free before loading", gib(launch.memory.before_load_gib)))
    pools = [f"{pool.role} {gib(pool.total_gib)}" for pool in launch.pools if pool.total_gib is not None]
    if pools:
        parts.append(item("pools", " + ".join(pools)))
    return parts


def _requests(launch: Launch, page: Page) -> list[Text]:
    seen, parts = launch.requests, []
    if seen.peak_token_usage is not None:
        parts.append(page.text(("usage up to ", "dim"), share(seen.peak_token_usage)))
    if seen.peak_running is not None:
        parts.append(page.text((count(seen.peak_running), ""), (" running at once", "dim")))
    if seen.peak_queue:
        parts.append(page.text((count(seen.peak_queue), ""), (" queued", "dim")))
    if seen.rejected_too_long:
        parts.append(page.text((f"{count(seen.rejected_too_long)} refused as too long", "yellow")))
    if seen.retractions:
        parts.append(page.text((f"{count(seen.retractions)} taken back for want of tokens", "yellow")))
    return parts
