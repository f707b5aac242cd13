"""`kvforensics diff`."""

from typing import Annotated

import typer

from kvforensics.cli import options as opt
from kvforensics.cli.inputs import read
from kvforensics.cli.options import Document
from kvforensics.cli.product import document_format, write_page, write_text
from kvforensics.cli.show import require_launch


def diff(
    files: opt.FilesOrLive = None,
    older: Annotated[
        str | None,
        typer.Option("--from", metavar="LAUNCH", help="The older launch; the last but one by default."),
    ] = None,
    newer: Annotated[
        str | None,
        typer.Option("--to", metavar="LAUNCH", help="The newer launch; the one after --from, or the last."),
    ] = None,
    service: opt.Service = None,
    format: opt.Format = None,
    output: opt.Output = None,
    unit: opt.Unit = None,
    host: opt.Host = None,
    live: opt.Live = None,
    since: opt.Since = None,
    until: opt.Until = None,
    tz: opt.Tz = "UTC",
    carrier: opt.AsCarrier = None,
    config: opt.Config = None,
    no_color: opt.NoColor = False,
    width: opt.Width = None,
) -> None:
    """Put two launches of one service side by side.

    \b
    Examples:
      kvforensics diff sglang.export
      kvforensics diff sglang.export --from L1 --to L3
      kvforensics diff node1.export node2.export --service node2
    """
    from kvforensics import selection

    analysis = read(
        files,
        live=live,
        unit=unit,
        host=host,
        since=since,
        until=until,
        tz=tz,
        carrier=carrier,
        config=config,
    )
    require_launch(analysis)
    chosen = selection.service(analysis, service)
    first, last = selection.pair(chosen, older, newer)
    verdicts = selection.verdicts(chosen, first, last)
    if document_format(format, output) is Document.JSON:
        from kvforensics.report import parts_json
        from kvforensics.report.plain import dumps

        write_text(dumps(parts_json.diff(chosen, first, last, verdicts)), output)
        return
    from kvforensics.report.terminal.diff import draw

    write_page(lambda page: draw(chosen, first, last, verdicts, page), output, width=width, no_color=no_color)
