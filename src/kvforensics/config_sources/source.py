"""A config source: a command line that somebody wrote down, and where."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from kvforensics.redaction import redact_values
from kvforensics.settings import is_server, parse_command_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kvforensics.knowledge import Version
    from kvforensics.records import Place
    from kvforensics.settings import Requested

KINDS = (
    "unit_file",  # unit files and drop-ins, `systemctl cat`
    "systemctl_show",
    "docker_inspect",
    "compose",
    "kubernetes",
    "settings_file",  # SGLang's own --config FILE
    "command_line",  # a command, or a shell or Slurm script that holds one
)


class Command(Struct, frozen=True):
    """A command as a file gives it, before anything is known of SGLang."""

    argv: tuple[str, ...]
    line: int = 1  # 1-based line of the file on which it starts
    name: str | None = None  # unit, container, service or workload
    environment: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] | None = None  # a settings file has values and no command
    expanded: bool = False  # no variable in it is left to be expanded


class ConfigSource(Struct, frozen=True):
    """The settings that a file asks for. Secrets are redacted; nothing here ever ran."""

    kind: str  # one of KINDS
    place: Place
    argv: tuple[str, ...]  # the whole command, the program included; empty for a settings file
    requested: Requested
    name: str | None = None  # unit, container, service or workload
    environment: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)  # by setting, flags that no release has included


def from_command(command: Command, kind: str, place: Place, version: Version) -> ConfigSource:
    """Return the source that a command stands for, read as `version` would read it."""
    expanded = command.expanded and _script_at(command.argv) is None
    requested = parse_command_line(command.argv, version, command.settings, expanded=expanded)
    requested = replace(
        requested,
        values=MappingProxyType(redact_values(requested.values)),
        lost=MappingProxyType(redact_values(requested.lost)),
        unknown=MappingProxyType(redact_values(requested.unknown)),
        positional=tuple(redact_values({"words": list(requested.positional)})["words"]),
    )
    return ConfigSource(
        kind=kind,
        place=place,
        argv=tuple(redact_values({"words": list(command.argv)})["words"]),
        requested=requested,
        name=command.name,
        environment=MappingProxyType(redact_values(command.environment)),
        values=MappingProxyType({**requested.unknown, **requested.values}),
    )


def as_the_shell_does(argv: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Return the words with the script of `sh -c` as the shell reads it that has this environment."""
    words = list(argv)
    place = _script_at(words)
    if place is not None:
        words[place] = _VARIABLE.sub(
            lambda match: environment.get(match[1] or match[2], match[0]), words[place]
        )
    return words


def _script_at(argv: Sequence[str]) -> int | None:
    """Return the place of the script that a shell is given, None where no shell is started."""
    for place, word in enumerate(argv[:-2]):
        if word.rpartition("/")[2] in _SHELLS and argv[place + 1].startswith("-"):
            return next(
                (at + 1 for at in range(place + 1, len(argv) - 1) if _COMMAND_OPTION.fullmatch(argv[at])),
                None,
            )
    return None


def starts_server(argv: Sequence[str]) -> bool:
    """Tell whether a command starts SGLang, by its name or, behind a wrapper, by its flags."""
    return is_server(argv) or any(word.partition("=")[0] in _TELLING for word in argv)


_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ash"})
_COMMAND_OPTION = re.compile(r"-[A-Za-z]*c")
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))", re.ASCII)
_TELLING = frozenset(
    {"--model-path", "--mem-fraction-static", "--context-length", "--max-total-tokens", "--tp-size"}
)
