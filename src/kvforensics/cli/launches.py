"""`kvforensics launches`."""

from kvforensics.cli import options as opt
from kvforensics.cli.inputs import read
from kvforensics.cli.options import Document
from kvforensics.cli.product import document_format, write_page, write_text
from kvforensics.cli.show import require_launch


def launches(
    files: opt.FilesOrLive = None,
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
    catalog: opt.FromCatalog = None,
    service: opt.Service = None,
    no_color: opt.NoColor = False,
    width: opt.Width = None,
) -> None:
    """List the launches: times, ends, figures, changes.

    \b
    Examples:
      kvforensics launches sglang.export
      kvforensics launches /var/log/sglang/ --since '3 days ago'
      kvforensics launches sglang.export --format json
    """
    analysis = read(
        files,
        live=live,
        catalog=catalog,
        service=service,
        unit=unit,
        host=host,
        since=since,
        until=until,
        tz=tz,
        carrier=carrier,
        config=config,
        load=False,
    )
    require_launch(analysis)
    if document_format(format, output) is Document.JSON:
        from kvforensics.report import parts_json
        from kvforensics.report.plain import dumps

        write_text(dumps(parts_json.launches(analysis)), output)
        return
    from kvforensics.report.terminal.launches import draw

    write_page(lambda page: draw(analysis, page), output, width=width, no_color=no_color)
