"""`kvforensics coverage`."""

from kvforensics.cli import options as opt
from kvforensics.cli.inputs import read
from kvforensics.cli.options import Document
from kvforensics.cli.product import document_format, write_page, write_text


def coverage(
    files: opt.Files,
    format: opt.Format = None,
    output: opt.Output = None,
    tz: opt.Tz = "UTC",
    carrier: opt.AsCarrier = None,
    no_color: opt.NoColor = False,
    width: opt.Width = None,
) -> None:
    """Tell how much was understood, and what was not.

    \b
    Examples:
      kvforensics coverage sglang.export
      kvforensics coverage old/ --format json
    """
    analysis = read(files, tz=tz, carrier=carrier, coverage_only=True)
    if document_format(format, output) is Document.JSON:
        from kvforensics.report import parts_json
        from kvforensics.report.plain import dumps

        write_text(dumps(parts_json.coverage(analysis)), output)
        return
    from kvforensics.report.terminal.coverage import draw_coverage

    write_page(lambda page: draw_coverage(analysis, page, most=None), output, width=width, no_color=no_color)
