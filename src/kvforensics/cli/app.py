"""The commands and what stands above them."""

from typing import Annotated

import typer

from kvforensics import __version__
from kvforensics.cli.compare import compare
from kvforensics.cli.coverage import coverage
from kvforensics.cli.demo import demo
from kvforensics.cli.diff import diff
from kvforensics.cli.events import events
from kvforensics.cli.fleet import fleet
from kvforensics.cli.knobs import knobs
from kvforensics.cli.launches import launches
from kvforensics.cli.query import query
from kvforensics.cli.replay import replay
from kvforensics.cli.report import report
from kvforensics.cli.scan import reduce, scan
from kvforensics.cli.schema import schema
from kvforensics.cli.timeline import timeline
from kvforensics.cli.whatif import whatif

_HELP = """Log forensics for SGLang: which edits moved the KV pool, which did nothing, and why.

\b
Start with:
  kvforensics demo                                             # on a bundled incident
  journalctl -u sglang-k26 -o export | kvforensics timeline -

\b
Exit codes: 0 done; 1 done, and --fail-on met; 2 usage; 3 no input could be read; 4 no SGLang launch
in the inputs; 5 a prediction was refused; 6 a scan ended and some inputs failed. The product goes to
standard output, all else to standard error.
"""

app = typer.Typer(
    help=_HELP,
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"kvforensics {__version__}")
        raise typer.Exit


@app.callback()
def top(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Take the options that stand before a command."""


COMMANDS = (
    timeline,
    launches,
    diff,
    whatif,
    events,
    coverage,
    knobs,
    report,
    compare,
    replay,
    scan,
    reduce,
    query,
    fleet,
    schema,
    demo,
)

for command in COMMANDS:
    app.command()(command)
