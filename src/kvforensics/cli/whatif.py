"""`kvforensics whatif`."""

import ast
from typing import Annotated, Any

import typer

from kvforensics.cli import options as opt
from kvforensics.cli.inputs import read
from kvforensics.cli.options import Document
from kvforensics.cli.product import document_format, write_page, write_text
from kvforensics.errors import PredictionRefusedError, UsageError


def whatif(
    files: opt.FilesOrLive = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Predict the pool under this setting; may be given again."
        ),
    ] = None,
    need_context: Annotated[
        int | None,
        typer.Option(
            "--need-context",
            metavar="TOKENS",
            min=1,
            help="Find the settings whose pool and context hold this.",
        ),
    ] = None,
    launch: Annotated[
        str | None,
        typer.Option(
            "--launch", metavar="LAUNCH", help="Start from this launch; the last with a pool by default."
        ),
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
    """Predict the pool under another setting, or solve for it.

    \b
    Examples:
      kvforensics whatif sglang.export --set mem_fraction_static=0.92
      kvforensics whatif sglang.export --need-context 200000
      kvforensics whatif sglang.export --launch L1 --set mem_fraction_static=0.9 --format json

    Predictions start from a launch that the log shows, and are refused (exit code 5) where its memory
    lines do not bear them.
    """
    if bool(setting) == (need_context is not None):
        raise UsageError("ask with --set or with --need-context", hint="one of the two")
    wanted = dict(_assignment(word) for word in setting or ())
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
    from kvforensics import selection
    from kvforensics.whatif import reach, what_if

    chosen = selection.service(analysis, service)
    asked = what_if(chosen, wanted, launch) if need_context is None else reach(chosen, need_context, launch)
    if document_format(format, output) is Document.JSON:
        from kvforensics.report.plain import dumps
        from kvforensics.report.whatif_json import whatif as document

        write_text(dumps(document(asked)), output)
    else:
        from kvforensics.report.terminal.whatif import draw

        write_page(lambda page: draw(asked, page), output, width=width, no_color=no_color)
    if asked.refused is not None:
        raise typer.Exit(PredictionRefusedError.exit_code)


def _assignment(word: str) -> tuple[str, Any]:
    name, equals, text = word.partition("=")
    name = name.strip().lstrip("-").replace("-", "_")
    if not equals or not name:
        raise UsageError(f"{word!r} sets nothing", hint="say NAME=VALUE, such as mem_fraction_static=0.92")
    try:
        return name, ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return name, text.strip()
