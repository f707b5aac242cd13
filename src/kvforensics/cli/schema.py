"""`kvforensics schema`."""

from typing import Annotated

import typer

from kvforensics.cli import options as opt
from kvforensics.cli.product import write_text


def schema(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="timeline, whatif, events, launches, diff, coverage or catalogue."
        ),
    ] = "timeline",
    output: opt.Output = None,
) -> None:
    """Print the JSON Schema of what a command writes.

    \b
    Examples:
      kvforensics schema timeline
      kvforensics schema whatif -o whatif.schema.json
      kvforensics schema catalogue      # the columns of what a scan writes
    """
    if name == "catalogue":
        from kvforensics.scan.schema import schema as columns

        write_text(columns(), output)
        return
    from kvforensics.report.schema import schema as text

    write_text(text(name), output)
