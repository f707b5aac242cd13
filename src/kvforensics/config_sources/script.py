"""A plain command line, or a shell or Slurm script that holds one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kvforensics.config_sources.source import Command, starts_server
from kvforensics.settings.command_line import split

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ASSIGNMENT = re.compile(r"\s*(?:export\s+|local\s+|readonly\s+)?([A-Za-z_][A-Za-z0-9_]*)=(\S.*|)", re.ASCII)
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))", re.ASCII)
_PLAIN = re.compile(r"[^$`\\]*")


def commands(text: str) -> list[Command]:
    """Return the commands of a script that start the server; the script's own variables are expanded."""
    found: list[Command] = []
    variables: dict[str, str] = {}
    for number, line in _lines(text):
        words = split(line)
        if starts_server(words):
            argv = [_expand(word, variables) for word in words]
            found.append(Command(tuple(argv), number, environment=_leading(argv)))
        elif (assigned := _ASSIGNMENT.fullmatch(line)) is not None:
            _remember(assigned, variables)
    return found


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each command line with its first line's number: backslashes join, comment lines go."""
    pending = ""
    first = 0
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.removesuffix("\r")
        if not pending:
            first = number
            if line.lstrip().startswith("#"):
                continue
        if line.endswith("\\"):
            pending += line[:-1] + " "
            continue
        yield first, (pending + line).strip()
        pending = ""
    if pending:
        yield first, pending.strip()


def _remember(assigned: re.Match[str], variables: dict[str, str]) -> None:
    """Keep a variable whose value is plain text; what a command or another variable makes is unknown."""
    words = split(assigned[2])
    value = " ".join(words)
    if len(words) <= 1 and _PLAIN.fullmatch(value):
        variables[assigned[1]] = value
    else:
        variables.pop(assigned[1], None)


def _expand(word: str, variables: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda match: variables.get(match[1] or match[2], match[0]), word)


def _leading(argv: list[str]) -> dict[str, str]:
    """Return the variables set before the command on its own line: `A=1 B=2 python -m …`."""
    found: dict[str, str] = {}
    for word in argv:
        if word == "env":
            continue
        assigned = _ASSIGNMENT.fullmatch(word)
        if assigned is None:
            break
        found[assigned[1]] = assigned[2]
    return found
