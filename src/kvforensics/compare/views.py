"""A comparison as JSON, Markdown, HTML and on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvforensics.compare.comparison import FIGURES
from kvforensics.report.inert import inert
from kvforensics.report.plain import dumps, plain

if TYPE_CHECKING:
    from kvforensics.compare.comparison import Comparison, Side
    from kvforensics.report.terminal.page import Page

SCHEMA = "kvforensics.compare/1"
_SHARES = ("usage_mean", "usage_max", "cached_share")
_UNITS = {"free_gib": "free GiB", "gen_tokens_per_s_mean": "generated tokens a second (mean)"}


def as_json(comparison: Comparison) -> str:
    """Return the comparison as JSON (kvforensics.compare/1)."""
    return dumps(
        {
            "schema": SCHEMA,
            "left": _side(comparison.left),
            "right": _side(comparison.right),
            "differences": [
                {
                    "setting": each.setting,
                    "left": plain(each.left),
                    "right": plain(each.right),
                    "explains": list(each.explains),
                    "why": each.why,
                }
                for each in comparison.differences
            ],
            "caution": comparison.caution,
        }
    )


def as_markdown(comparison: Comparison) -> str:
    """Return the comparison as Markdown with GitHub's tables."""
    from kvforensics.report.markdown.escape import escape  # noqa: PLC0415

    lines = [
        f"# {escape(comparison.left.selector)} and {escape(comparison.right.selector)}",
        "",
        f"| figure | {escape(comparison.left.selector)} | {escape(comparison.right.selector)} |",
        "|---|---|---|",
    ]
    lines += [f"| {name} | {escape(left)} | {escape(right)} |" for name, left, right, _ in rows(comparison)]
    lines += ["", "## Settings that differ", ""]
    if comparison.caution:
        lines += [f"**Caution:** {escape(comparison.caution)}", ""]
    if not comparison.differences:
        lines += ["None.", ""]
    else:
        lines += ["| setting | left | right | could explain |", "|---|---|---|---|"]
        lines += [
            f"| `{each.setting}` | {escape(_value(each.left))} | {escape(_value(each.right))} "
            f"| {', '.join(map(label, each.explains)) or 'nothing that differs'} |"
            for each in comparison.differences
        ]
    return "\n".join(lines).rstrip() + "\n"


def as_html(comparison: Comparison, release: str) -> str:
    """Return the comparison as one HTML page that opens offline."""
    from kvforensics.report.html.page import asset, environment  # noqa: PLC0415

    template = environment().get_template("compare.html.j2")
    return template.render(
        comparison=comparison,
        rows=list(rows(comparison)),
        label=label,
        css=asset("page.css"),
        release=release,
    )


def draw(comparison: Comparison, page: Page) -> None:
    """Write the comparison on a terminal page."""
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("")
    for side in (comparison.left, comparison.right):
        table.add_column(page.text(inert(side.selector)), justify="right", overflow="fold")
    for name, left, right, differs in rows(comparison):
        style = "bold" if differs else "dim"
        table.add_row(*(page.text((inert(cell), style)) for cell in (name, left, right)))
    page.write(table)
    page.write()
    if comparison.caution:
        page.write(page.text(("Caution: ", "bold yellow"), inert(comparison.caution)))
    if not comparison.differences:
        page.write(page.text("No setting differs."))
    for each in comparison.differences:
        edit = f"{inert(_value(each.left))} → {inert(_value(each.right))}"
        page.write(page.text((inert(each.setting), "bold"), f"  {edit}"))
        if each.explains:
            page.write(page.text(f"    could explain {', '.join(map(label, each.explains))}: {each.why}"))
        else:
            page.write(page.text(("    explains nothing that differs", "dim")))


def rows(comparison: Comparison) -> list[tuple[str, str, str, bool]]:
    """Return name, left, right and whether they differ, for every figure that one side knows."""
    found = []
    for figure in FIGURES:
        left, right = getattr(comparison.left, figure), getattr(comparison.right, figure)
        if left is not None or right is not None:
            found.append((label(figure), _shown(figure, left), _shown(figure, right), left != right))
    return found


def label(figure: str) -> str:
    """Return a figure's name for a person."""
    return _UNITS.get(figure, figure.replace("_", " "))


def _shown(figure: str, value: Any) -> str:
    if value is None:
        return "–"
    if figure in _SHARES:
        return f"{value:.1%}"
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def _value(value: Any) -> str:
    return "not set" if value is None else str(plain(value))


def _side(side: Side) -> dict[str, Any]:
    figures = {figure: plain(getattr(side, figure)) for figure in FIGURES}
    return {
        "selector": side.selector,
        "services": list(side.services),
        "launch": side.shown.id if side.shown else None,
        "pools": [{"role": p.role, "tokens": p.tokens, "total_gib": p.total_gib} for p in side.shown.pools]
        if side.shown
        else [],
        **figures,
    }
