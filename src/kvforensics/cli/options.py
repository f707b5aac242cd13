"""The options that commands share, spelt once."""

from enum import StrEnum
from typing import Annotated

import typer


class Carrier(StrEnum):
    """The carriers by their public names."""

    JOURNAL_EXPORT = "journal-export"
    JOURNAL_JSON = "journal-json"
    JOURNAL_SHORT = "journal-short"
    JOURNAL_VERBOSE = "journal-verbose"
    DOCKER_JSON = "docker-json"
    DOCKER_TEXT = "docker-text"
    CRI = "cri"
    COMPOSE = "compose"
    SLURM = "slurm"
    SYSLOG = "syslog"
    LOGS_JSON = "logs-json"
    PLAIN = "plain"


class Document(StrEnum):
    """How a view is written."""

    TEXT = "text"
    JSON = "json"


class FailOn(StrEnum):
    """What makes the exit code 1."""

    WARNING = "warning"
    ERROR = "error"
    NO_OP = "no_op"


Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        show_default=False,
        help="Logs, compressed or not, folders of logs, or - for standard input; told by content.",
    ),
]
FilesOrLive = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILE...",
        show_default=False,
        help="Logs, compressed or not, archives, journal files, folders of logs, or - for standard input; "
        "told by content.",
    ),
]
Live = Annotated[
    list[str] | None,
    typer.Option(
        "--live",
        metavar="UNIT",
        help="This machine's journal of a unit, with the sudo, systemd and kernel lines that journalctl -u "
        "hides; may be given again.",
    ),
]
Format = Annotated[
    Document | None,
    typer.Option("--format", help="text or json; without it the ending of --output decides, else text."),
]
Output = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write there instead of to standard output."),
]
Unit = Annotated[
    list[str] | None,
    typer.Option(
        "--unit",
        "-u",
        metavar="UNIT",
        help="Only this systemd unit or container; may be given again; globs work.",
    ),
]
Host = Annotated[
    list[str] | None,
    typer.Option("--host", metavar="HOST", help="Only this host; may be given again; globs work."),
]
Since = Annotated[
    str | None,
    typer.Option(
        "--since",
        "-S",
        metavar="TIME",
        help="Nothing before: '2026-05-20 14:00', yesterday, -2h, '3 days ago' …",
    ),
]
Until = Annotated[
    str | None, typer.Option("--until", "-U", metavar="TIME", help="Nothing after; the same words.")
]
Tz = Annotated[
    str,
    typer.Option("--tz", metavar="ZONE", help="Zone of times that carry none: UTC, Europe/Berlin, +02:00 …"),
]
AsCarrier = Annotated[
    Carrier | None,
    typer.Option("--carrier", help="Read every input as this instead of looking at its content."),
]
Config = Annotated[
    str | None,
    typer.Option(
        "--config", metavar="FILE", help="A unit file, command line or compose file that says the settings."
    ),
]
Important = Annotated[
    bool, typer.Option("--important", help="Only what matters: no notes, no innocent settings.")
]
FailOnOption = Annotated[
    list[FailOn] | None,
    typer.Option(
        "--fail-on",
        help="Exit with 1 where there is such a finding, or an edit without effect; may be given again.",
    ),
]
NoColor = Annotated[bool, typer.Option("--no-color", help="No colours, as with NO_COLOR in the environment.")]
Width = Annotated[
    int | None,
    typer.Option("--width", min=40, max=1000, help="Columns of the text; the terminal's by default."),
]
FromCatalog = Annotated[
    str | None,
    typer.Option("--catalog", metavar="DIR", help="Read what kvforensics scan put there, and no logs."),
]
Service = Annotated[
    str | None,
    typer.Option(
        "--service", metavar="ID", help="The service, where the inputs hold several: its id, unit or host."
    ),
]
