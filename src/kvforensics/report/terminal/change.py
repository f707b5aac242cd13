"""What happened between two launches: the trail of commands, the changes and their verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from kvforensics.report.inert import inert
from kvforensics.report.terminal.figures import UNKNOWN, clock, count, gib, plural, setting
from kvforensics.report.terminal.page import WIDEST_PROSE
from kvforensics.report.terminal.signs import LOUD, STRANGE, VERDICTS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from kvforensics.events import Event
    from kvforensics.records import Place
    from kvforensics.report.terminal.page import Page
    from kvforensics.verdicts.verdict import Effect, Effects, Verdict

_MOST_TRAIL = 12
_LONGEST_COMMAND, _LONGEST_WORDS = 400, 100
_INDENT = 4
_BOOT = "machine_boot"
_WORDS = {
    _BOOT: "the machine booted",
    "machine_shutdown": "the machine shut down",
    "unit_reloading": "systemd read its unit files anew",
}


def draw_changes(verdicts: Sequence[Verdict], page: Page) -> None:
    """Draw each change with its verdict; those that have nothing to do with memory share one line."""
    told = [v for v in verdicts if v.is_about_memory]
    folded = [v.change.setting for v in verdicts if not v.is_about_memory]
    for verdict in told:
        draw_verdict(verdict, page)
        page.write(_gap(page))
    if folded:
        names = ", ".join(name for name in folded)
        said = f"{plural(len(folded), 'other setting')} changed, nothing to do with memory: {names}"
        page.prose(page.text((said, "dim")), rail=_rail(page))
        page.write(_gap(page))


def draw_verdict(verdict: Verdict, page: Page) -> None:
    """Draw one change: the sign and word, what it was, why, what moved, what to do, where it stands."""
    sign = VERDICTS.get(verdict.verdict, STRANGE)
    change = verdict.change
    head = page.text(
        (verdict.verdict, sign.style), "  ", (change.setting, "bold"),
        f"  {setting(change.before)} → {setting(change.after)}",
    )  # fmt: skip
    if change.requested is not None:
        head.append_text(page.text((f"  (asked for {setting(change.requested)})", "yellow")))
    if change.derived:
        head.append_text(page.text(("  (follows from another setting)", "dim")))
    mark, words = page.text((f"{sign.mark} ", sign.style)), page.text((sign.words.upper(), sign.style))
    spare = min(page.width, WIDEST_PROSE) - mark.cell_len - head.cell_len - words.cell_len
    if verdict.verdict in LOUD and spare > 1:
        head = Text.assemble(head, " " * spare, words)
    rail = _rail(page)
    page.prose(head, rail=mark, hang=_INDENT, below=rail)
    page.prose(page.text(verdict.reason), rail=rail, indent=_INDENT)
    page.items(_effects(verdict.effects, page), rail=rail, indent=_INDENT)
    if verdict.advice:
        page.prose(page.text((f"→ {verdict.advice}", "bold green")), rail=rail, indent=_INDENT, hang=2)
    if change.evidence:
        page.prose(page.text((places(change.evidence), "dim")), rail=rail, indent=_INDENT)


def draw_trail(
    trail: Sequence[Event], paths: Sequence[str], page: Page, beside: datetime | None = None
) -> None:
    """Draw what people and the machine did meanwhile: edits, reloads, restarts, a boot once.

    Times of the day that `beside` is of have no date.
    """
    told = [
        event
        for before, event in zip([None, *trail], trail, strict=False)
        if not _is_same_boot(event, before)
    ]
    for event in told[:_MOST_TRAIL]:
        when = clock(event.at, beside)
        where = (f"  {paths[event.source]}:{event.line}", "dim")
        page.prose(
            page.text((when, "dim"), "  ", _said(event, page), where), rail=_rail(page), hang=len(when) + 2
        )
    if len(told) > _MOST_TRAIL:
        page.prose(page.text((f"… and {len(told) - _MOST_TRAIL} more", "dim")), rail=_rail(page))
    if told:
        page.write(_gap(page))


def _is_same_boot(event: Event, before: Event | None) -> bool:
    return event.kind == _BOOT and before is not None and before.kind == _BOOT


def _said(event: Event, page: Page) -> Text:
    command = event.fields.get("command")
    if command:
        user = event.fields.get("user") or "someone"
        return page.text((f"{user} ran ", "dim"), (inert(str(command), _LONGEST_COMMAND), "italic"))
    words = _WORDS.get(event.kind)
    if words is not None:
        return page.text(words)
    return page.text(inert((event.text or event.kind).strip(), _LONGEST_WORDS))


def places(evidence: Sequence[Place]) -> str:
    """`incident.export:12, :98, old.log:7`, at most three."""
    named, path = "", None
    for place in evidence[:3]:
        named += (", " if named else "") + ("" if place.path == path else place.path) + f":{place.line}"
        path = place.path
    return named + (f" and {len(evidence) - 3} more" if len(evidence) > 3 else "")  # noqa: PLR2004 - as above


def _effects(effects: Effects, page: Page) -> list[Text]:
    return [
        _effect("pool", effects.pool_tokens, page, tokens=True),
        _effect("longest prompt", effects.longest_prompt_tokens, page, tokens=True),
        _effect("running", effects.max_running_requests, page, tokens=True),
        _effect("headroom", effects.free_gib, page, tokens=False),
    ]


def _effect(name: str, effect: Effect, page: Page, *, tokens: bool) -> Text:
    def figure(value: float | None) -> str:
        if value is None:
            return UNKNOWN
        return count(int(value)) if tokens else gib(value)

    before, after = figure(effect.before), figure(effect.after)
    since = f" since {effect.baseline}" if effect.baseline else ""
    if effect.outcome == "unknown":
        return page.text((f"{name} {before} → {after} unknown", "dim"))
    if effect.outcome == "unchanged":
        return page.text((f"{name} ", "dim"), after, (f" unchanged{since}", "dim"))
    noise = " (noise)" if effect.outcome == "within_noise" else ""
    return page.text(
        (f"{name} ", "dim"), f"{before} → ", (after, "" if noise else "bold"), (f"{noise}{since}", "dim")
    )


def _rail(page: Page) -> Text:
    return page.text(("┊ ", "dim"))


def _gap(page: Page) -> Text:
    return page.text(("┊", "dim"))
