"""A plain command line, or a shell or Slurm script that holds one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kvforensics.config_sources.source import Command, starts_server
from kvforensics.settings.words import split

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_ASSIGNMENT = re.compile(
    r"\s*(?:export\s+|local\s+|readonly\s+|declare\s+(?:-a\s+)?)?([A-Za-z_][A-Za-z0-9_]*)(\+?)=(\(?)(.*)",
    re.ASCII,
)
_ARRAY_BEGINS = re.compile(r"\s*(?:\w+\s+)*[A-Za-z_]\w*\+?=\([^)]*", re.ASCII)
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))", re.ASCII)
_ALONE = re.compile(r"\$(?:\{([A-Za-z_]\w*)(?:\[[@*]\])?\}|([A-Za-z_]\w*))", re.ASCII)
_PLAIN = re.compile(r"[^$`\\]*")
_TELLING = ("--", "sglang", "launch_server", "$")


def commands(text: str) -> list[Command]:
    """Return the commands of a script that start the server; the script's own variables are expanded.

    A variable that a command or another file sets stays as it is, so that its setting is unresolved.
    """
    found: list[Command] = []
    variables: dict[str, list[str]] = {}
    for number, line in _lines(text):
        assigned = _ASSIGNMENT.fullmatch(line)
        if assigned is not None:
            _remember(assigned, variables)
        if not any(piece in line for piece in _TELLING) or _only_assigns(assigned):
            continue
        argv = _expand(split(line), variables)
        if starts_server(argv):
            found.append(Command(tuple(argv), number, environment=_leading(argv)))
    return found


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each command line with its first line's number: a backslash or an open array goes on."""
    pending = ""
    first = 0
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.removesuffix("\r")
        if line.lstrip().startswith("#"):
            continue
        if not pending:
            first = number
        whole = pending + line
        if line.endswith("\\"):
            pending = whole[:-1] + " "
        elif line.strip() and _ARRAY_BEGINS.fullmatch(whole):
            pending = whole + " "
        else:
            yield first, whole.strip()
            pending = ""
    if pending:
        yield first, pending.strip()


def _only_assigns(assigned: re.Match[str] | None) -> bool:
    """Tell whether a line sets a variable and starts nothing."""
    return assigned is not None and (bool(assigned[3]) or len(split(assigned[4])) <= 1)


def _remember(assigned: re.Match[str], variables: dict[str, list[str]]) -> None:
    """Keep a variable whose value is plain text; what a command or another variable makes is unknown."""
    name, adds, array, rest = assigned.groups()
    words = _expand(split(rest.rstrip().removesuffix(")") if array else rest), variables)
    if not array and len(words) > 1:  # the words after the value are a command
        return
    if all(_PLAIN.fullmatch(word) for word in words):
        kept = words if array else [part for word in words for part in word.split()]
        variables[name] = [*variables.get(name, []), *kept] if adds else kept
    else:
        variables.pop(name, None)


def _expand(words: Sequence[str], variables: Mapping[str, list[str]]) -> list[str]:
    """Return the words with known variables expanded: alone they are all their words, else one text."""
    expanded: list[str] = []
    for word in words:
        alone = _ALONE.fullmatch(word)
        name = str(alone[1] or alone[2]) if alone is not None else ""
        if name in variables:
            expanded.extend(variables[name])
        else:
            expanded.append(_VARIABLE.sub(lambda match: _text(match, variables), word))
    return expanded


def _text(match: re.Match[str], variables: Mapping[str, list[str]]) -> str:
    known = variables.get(match[1] or match[2])
    return match[0] if known is None else " ".join(known)


def _leading(argv: Sequence[str]) -> dict[str, str]:
    """Return the variables set before the command on its own line: `A=1 B=2 python -m …`."""
    found: dict[str, str] = {}
    for word in argv:
        if word == "env":
            continue
        assigned = _ASSIGNMENT.fullmatch(word)
        if assigned is None or assigned[2] or assigned[3]:
            break
        found[assigned[1]] = assigned[4]
    return found
