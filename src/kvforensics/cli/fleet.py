"""`kvforensics fleet`."""

from enum import StrEnum
from typing import Annotated

import typer

from kvforensics import __version__
from kvforensics.cli import options as opt
from kvforensics.cli.product import write_text
from kvforensics.cli.scan import Catalog


class View(StrEnum):
    """How the fleet is written."""

    TEXT = "text"
    HTML = "html"
    MD = "md"
    JSON = "json"


def fleet(
    catalog: Catalog,
    format: Annotated[
        View | None, typer.Option("--format", help="text, html, md or json; else by the ending of -o.")
    ] = None,
    output: opt.Output = None,
) -> None:
    """Look at all services of a catalogue together.

    \b
    Examples:
      kvforensics fleet --catalog kv
      kvforensics fleet --catalog kv -o fleet.html
      kvforensics timeline --catalog kv --service node7/sglang.service      # one row of it, whole

    It tells which edits did nothing and who repeats them, pools that differ under one configuration,
    releases, memory left idle, retractions, refusals, failed starts, and pools that an upgrade moved.
    """
    from kvforensics.scan import fleet_views as views
    from kvforensics.scan.catalogue import Catalogue
    from kvforensics.scan.fleet import fleet as look

    sections = look(Catalogue(catalog))
    ending = (output or "").rpartition(".")[2].lower()
    chosen = format or (View(ending) if ending in {view.value for view in View} else View.TEXT)
    match chosen:
        case View.JSON:
            made = views.as_json(sections)
        case View.MD:
            made = views.as_markdown(sections, catalog)
        case View.HTML:
            made = views.as_html(sections, catalog, __version__)
        case View.TEXT:
            made = views.as_text(sections, catalog)
    write_text(made, output)
