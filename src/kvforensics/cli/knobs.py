"""`kvforensics knobs`."""

from typing import Annotated

import typer

from kvforensics.cli import options as opt
from kvforensics.cli.options import Document
from kvforensics.cli.product import document_format, write_page, write_text
from kvforensics.errors import UsageError


def knobs(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="A setting or its flag; all curated ones without it.", show_default=False
        ),
    ] = None,
    release: Annotated[
        str | None,
        typer.Option(
            "--release", metavar="VERSION", help="Only what concerns this SGLang release, such as 0.5.11."
        ),
    ] = None,
    format: opt.Format = None,
    output: opt.Output = None,
    no_color: opt.NoColor = False,
    width: opt.Width = None,
) -> None:
    """Tell what a setting is an input of, by release, and why.

    \b
    Examples:
      kvforensics knobs
      kvforensics knobs context_length
      kvforensics knobs mem-fraction-static --release 0.5.23
    """
    from kvforensics.knowledge.describe import describe
    from kvforensics.knowledge.knobs import knobs as curated

    if name is None:
        known = [told for one in curated() if (told := describe(one.name, release)) is not None]
    else:
        told = describe(name, release)
        if told is None:
            raise UsageError(
                f"nothing is known of a setting {name!r}", hint="see all with: kvforensics knobs"
            )
        known = [told]
    if document_format(format, output) is Document.JSON:
        from kvforensics.report.plain import dumps, plain

        write_text(dumps(plain({"schema": "kvforensics.knobs/1", "knobs": known})), output)
        return
    from kvforensics.report.terminal.knobs import draw_all, draw_one

    write_page(
        lambda page: draw_all(known, page) if name is None else draw_one(known[0], page),
        output, width=width, no_color=no_color,
    )  # fmt: skip
