"""`kvforensics compare`."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

import typer

from kvforensics import __version__
from kvforensics.cli import options as opt
from kvforensics.cli.inputs import read
from kvforensics.cli.product import write_page, write_text
from kvforensics.cli.show import require_launch


class View(StrEnum):
    """How a comparison is written."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"


_ENDINGS = {".json": View.JSON, ".md": View.MARKDOWN, ".markdown": View.MARKDOWN, ".html": View.HTML}


def compare(
    files: opt.Files,
    left: Annotated[
        str, typer.Option("--left", metavar="SELECTOR", help="A launch, service, host, file or period A..B.")
    ],
    right: Annotated[str, typer.Option("--right", metavar="SELECTOR", help="What to put beside it.")],
    format: Annotated[
        View | None, typer.Option("--format", help="text, json, markdown or html; else by the ending of -o.")
    ] = None,
    output: opt.Output = None,
    unit: opt.Unit = None,
    host: opt.Host = None,
    since: opt.Since = None,
    until: opt.Until = None,
    tz: opt.Tz = "UTC",
    carrier: opt.AsCarrier = None,
    config: opt.Config = None,
    no_color: opt.NoColor = False,
    width: opt.Width = None,
) -> None:
    """Put two sides next to each other, and what explains them.

    \b
    Examples:
      kvforensics compare sglang.export --left L1 --right L3
      kvforensics compare node1.export node2.export --left node1 --right node2
      kvforensics compare old/ --left 2026-05-01..2026-05-07 --right 2026-05-08..2026-05-14 -o weeks.html

    A selector is a launch (L2, or SERVICE#L2 where there are several services), a service id, a unit, a host,
    the path of an input, or a period A..B in the words of --since.
    """
    analysis = read(
        files, unit=unit, host=host, since=since, until=until, tz=tz, carrier=carrier, config=config
    )
    require_launch(analysis)
    from kvforensics.compare import compare as put_side_by_side
    from kvforensics.compare import select, views
    from kvforensics.timewords import zone

    now, local = datetime.now(UTC), zone(tz)
    sides = [select(analysis, selector, now=now, local=local) for selector in (left, right)]
    made = put_side_by_side(analysis, sides[0], sides[1], (left, right))
    ending = next((view for end, view in _ENDINGS.items() if (output or "").lower().endswith(end)), View.TEXT)
    match format or ending:
        case View.JSON:
            write_text(views.as_json(made), output)
        case View.MARKDOWN:
            write_text(views.as_markdown(made), output)
        case View.HTML:
            write_text(views.as_html(made, __version__), output)
        case View.TEXT:
            write_page(lambda page: views.draw(made, page), output, width=width, no_color=no_color)
