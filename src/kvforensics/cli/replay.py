"""`kvforensics replay`."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from kvforensics.cli import options as opt
from kvforensics.cli.inputs import read
from kvforensics.cli.options import Document
from kvforensics.cli.product import write_page, write_text
from kvforensics.cli.show import require_launch


def replay(
    files: opt.Files,
    speed: Annotated[
        float,
        typer.Option("--speed", min=0.001, metavar="TIMES", help="How many times as fast as it happened."),
    ] = 60.0,
    start: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Begin here; the words of --since.")
    ] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Stop here.")] = None,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="TIME", help="Print the state at this moment and nothing else."),
    ] = None,
    format: Annotated[Document, typer.Option("--format", help="text or json.")] = Document.TEXT,
    unit: opt.Unit = None,
    host: opt.Host = None,
    tz: opt.Tz = "UTC",
    carrier: opt.AsCarrier = None,
    config: opt.Config = None,
    no_color: opt.NoColor = False,
    width: opt.Width = None,
) -> None:
    """Play an incident as it happened, or show one moment of it.

    \b
    Examples:
      kvforensics replay sglang.export --speed 600
      kvforensics replay sglang.export --from '2026-05-20 14:00' --to '2026-05-20 15:00'
      kvforensics replay sglang.export --at '2026-05-20 14:20:00' --format json

    Quiet stretches are skipped and said. Piped, everything is printed at once.
    """
    from kvforensics.timewords import parse, zone

    local, now = zone(tz), datetime.now(UTC)
    times = [parse(words, now=now, local=local) if words is not None else None for words in (start, end, at)]
    analysis = read(files, unit=unit, host=host, tz=tz, carrier=carrier, config=config)
    require_launch(analysis)
    from kvforensics.replay import player, views

    first, last, moment = times
    if format is Document.JSON:
        write_text(views.as_json(analysis, first, last, moment), None)
        return
    if moment is not None:
        write_page(lambda page: views.state(analysis, moment, page), None, width=width, no_color=no_color)
        return
    write_page(
        lambda page: player.play(analysis, page, speed, first, last), None, width=width, no_color=no_color
    )
