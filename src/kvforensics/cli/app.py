"""The commands and what stands above them."""

from collections.abc import Collection, Sequence
from importlib import import_module
from typing import Annotated

import typer

from kvforensics import __version__
from kvforensics.cli.command import Command, Group

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

COMMANDS = (
    "timeline",
    "launches",
    "diff",
    "whatif",
    "events",
    "coverage",
    "knobs",
    "report",
    "compare",
    "replay",
    "scan",
    "reduce",
    "query",
    "fleet",
    "schema",
    "demo",
)
_HOMES = {"reduce": "scan"}  # the module of a command, where it is called otherwise


def made(names: Collection[str] = COMMANDS) -> typer.Typer:
    """Return the program with these commands; only their modules are loaded.

    What stands before a command, the options for completion, is there where all commands are.
    """
    app = typer.Typer(
        cls=Group,
        help=_HELP,
        rich_markup_mode=None,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=len(names) == len(COMMANDS),
    )
    app.callback()(top)
    for name in names:
        home = import_module(f"kvforensics.cli.{_HOMES.get(name, name)}")
        app.command(cls=Command)(getattr(home, name))
    return app


def asked(words: Sequence[str]) -> Sequence[str]:
    """Return the commands that a command line may be about: one, or all where it begins with none."""
    return words[:1] if words and words[0] in COMMANDS else COMMANDS


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"kvforensics {__version__}")
        raise typer.Exit


def top(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Take the options that stand before a command."""
