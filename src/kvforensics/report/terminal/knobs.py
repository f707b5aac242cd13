"""What is known of the settings: all of them in a table, or one at length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table

from kvforensics.report.inert import inert

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rich.text import Text

    from kvforensics.report.terminal.page import Page

_FIGURES = {
    "pool_tokens": "pool",
    "longest_prompt_tokens": "prompt",
    "max_running_requests": "running",
    "free_gib": "headroom",
}
_WAYS = {"+": "up", "-": "down", "0": "·", "cap": "capped", "±": "depends"}

_WAY_WIDTH = 8
_WORDS = {"but": "conditions", "in the log": "log", "unit": "unit", "part of": "feature"}
_LISTS = {"follows from": "derived_from", "older names": "older_names", "newer names": "newer_names"}
_LEGEND = (
    "Which way a figure moves when the setting is raised or switched on. * is often taken for a setting of "
    "the pool and is none. Settings without a row are not about memory. "
    "One at length: kvforensics knobs context_length"
)


def draw_all(knobs: Iterable[Mapping[str, Any]], page: Page) -> None:
    """Draw one row for each setting of memory: which figures move when it is raised."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("setting", overflow="fold")
    for name in _FIGURES.values():
        table.add_column(name, no_wrap=True, min_width=_WAY_WIDTH)
    for knob in knobs:
        if not knob["memory_setting"]:
            continue
        ways = [page.text(_WAYS.get(str(knob["direction"].get(figure, "?")), "?")) for figure in _FIGURES]
        mistaken = (" *", "bold yellow") if knob["mistaken_for"] == "pool" else ""
        table.add_row(page.text((knob["name"], "bold"), mistaken), *ways)
    page.write(table)
    page.write()
    page.prose(page.text((_LEGEND, "dim")), rail=page.text())


def draw_one(knob: Mapping[str, Any], page: Page) -> None:
    """Draw what one setting is an input of, by release, and why."""
    bare = page.text()
    page.write(page.text((knob["name"], "bold"), (f"  {inert(', '.join(knob['flags']))}", "dim")))
    page.prose(page.text(knob["why"] or "Nothing is known of what it does."), rail=bare)
    if knob["mistaken_for"] == "pool":
        page.prose(
            page.text(("Often taken for a setting of the pool; it is none.", "bold yellow")), rail=bare
        )
    page.write()
    rows = [("role", knob["role"]), ("releases", f"{knob['since'] or '?'} to {knob['until'] or '?'}")]
    ways = {name: str(knob["direction"].get(figure, "?")) for figure, name in _FIGURES.items()}
    rows += [
        (f"{name}, raised", "does not move" if w == "0" else _WAYS.get(w, "?")) for name, w in ways.items()
    ]
    default = knob["default"]
    rows.append(("default", repr(default["value"]) if default["known"] else "unknown"))
    rows += [(label, str(knob[key])) for label, key in _WORDS.items() if knob[key]]
    rows += [(label, ", ".join(knob[key])) for label, key in _LISTS.items() if knob[key]]
    for name, value in rows:
        page.prose(page.text((f"{name:<18}", "dim"), value), rail=bare, hang=18)
    _draw_list("what has been seen", [_pattern(p, page) for p in knob["patterns"]], page)
    _draw_list("known issues", [_issue(i, page) for i in knob["issues"]], page)
    _draw_list(
        "read in SGLang's source (path:line@release)",
        [page.text((s, "dim")) for s in knob["source"]],
        page,
    )


def _draw_list(title: str, lines: list[Text], page: Page) -> None:
    if not lines:
        return
    page.write()
    page.write(page.text((title, "bold")))
    for line in lines:
        page.prose(line, rail=page.text(), indent=2, hang=2)


def _pattern(pattern: Mapping[str, Any], page: Page) -> Text:
    fix = f" → {pattern['fix']}" if pattern["fix"] else ""
    return page.text((f"{pattern['code']}{_range(pattern)}  ", "bold"), pattern["why"], (fix, "green"))


def _issue(issue: Mapping[str, Any], page: Page) -> Text:
    fix = f" → {issue['fix']}" if issue["fix"] else ""
    return page.text(f"{issue['title']}{_range(issue)}", (fix, "green"))


def _range(row: Mapping[str, Any]) -> str:
    if not row["since"] and not row["until"]:
        return ""
    return f" [{row['since'] or ''}..{row['until'] or ''}]"
