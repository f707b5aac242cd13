"""systemd unit files with their drop-ins: `systemctl cat`, or the files themselves."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from kvforensics.config_sources.source import Command, as_the_shell_does
from kvforensics.config_sources.systemd_words import expand_specifiers, expand_variables, split_words
from kvforensics.config_sources.text import SIZE_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOOKS_LIKE = re.compile(r"^\s*(?:\[(?:Unit|Service|Install)\]|ExecStart=|EnvironmentFile=)", re.MULTILINE)
_FILE_LINE = re.compile(r"# (/\S.*\.(?:service|conf))\s*")
_SECTION = re.compile(r"\[([^\]]+)\]\s*")
_ASSIGNMENT = re.compile(r"([A-Za-z0-9]+)\s*=\s*(.*)", re.DOTALL)
_ENVIRONMENT_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.ASCII)
_PREFIXES = "-@:+!|"
_LIVE_ROOTS = (
    "/etc/systemd/",
    "/usr/lib/systemd/",
    "/lib/systemd/",
    "/run/systemd/",
    "/usr/local/lib/systemd/",
)


class _Unit(Struct):
    """What a unit's files say so far; a later file adds to it or resets lists."""

    name: str | None = None
    exec_start: list[tuple[int, str]] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    environment_files: list[str] = field(default_factory=list)


def is_unit_file(text: str) -> bool:
    """Tell whether a text is a unit file or the output of `systemctl cat`."""
    return _LOOKS_LIKE.search(text) is not None


def commands(text: str, path: str) -> list[Command]:
    """Return the commands that the units of a text start, drop-ins beside a plain file included."""
    found: list[Command] = []
    for unit in _units(text, path):
        environment, whole = _environment(unit, path)
        for line, value in unit.exec_start:
            argv = _argv(value, unit.name, environment, whole=whole)
            if whole:
                argv = as_the_shell_does(argv, environment)
            if argv:
                found.append(Command(tuple(argv), line, unit.name, environment, expanded=whole))
    return found


def _units(text: str, path: str) -> list[_Unit]:
    """Return the units of a text: `systemctl cat` of several units has a `# /path` line before each file."""
    units: list[_Unit] = []
    named = Path(path).name
    current = _Unit(named if named.endswith(".service") else None)
    units.append(current)
    for line, kind, value in _assignments(text):
        if kind == "file":
            name = _unit_of(value)
            if current.name is not None and name != current.name and current.exec_start:
                current = _Unit(name)
                units.append(current)
            elif name is not None:
                current.name = name
        else:
            _apply(current, line, kind, value)
    for extra in _drop_ins(path):
        for line, kind, value in _assignments(extra):
            if kind != "file":
                _apply(current, line, kind, value)
    return units


def _unit_of(path: str) -> str | None:
    """Return the unit that a unit file or a drop-in belongs to."""
    file = Path(path)
    if file.name.endswith(".service"):
        return file.name
    parent = file.parent.name
    return parent.removesuffix(".d") if parent.endswith(".service.d") else None


def _drop_ins(path: str) -> Iterator[str]:
    """Yield the drop-ins that lie beside a plain unit file, in systemd's order."""
    folder = Path(f"{path}.d")
    try:
        files = sorted(folder.glob("*.conf"), key=lambda file: file.name) if folder.is_dir() else []
        for file in files:
            if file.is_file() and file.stat().st_size <= SIZE_LIMIT:
                yield file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return


def _assignments(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield line number, key and value of each assignment of [Service]; "file" for a `# /path` line.

    A backslash at the end joins lines with one blank; comments within a continuation are skipped and the
    continuation goes on.
    """
    section: str | None = None
    pending = ""
    first = 0
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.removesuffix("\r")
        stripped = line.strip()
        if stripped[:1] in ("#", ";") and stripped:
            named = _FILE_LINE.fullmatch(stripped)
            if named is not None and not pending:
                section = None
                yield number, "file", named[1].strip()
            continue
        if not pending:
            first = number
        if line.endswith("\\"):
            pending += line[:-1] + " "
            continue
        whole = (pending + line).strip()
        pending = ""
        opened = _SECTION.fullmatch(whole)
        if opened is not None:
            section = opened[1]
        elif section in ("Service", None) and (assigned := _ASSIGNMENT.fullmatch(whole)) is not None:
            yield first, assigned[1], assigned[2].strip()
    if pending and (assigned := _ASSIGNMENT.fullmatch(pending.strip())) is not None:
        yield first, assigned[1], assigned[2].strip()


def _apply(unit: _Unit, line: int, key: str, value: str) -> None:
    """Take one assignment: an empty value resets a list."""
    if key == "ExecStart":
        unit.exec_start = [*unit.exec_start, (line, value)] if value else []
    elif key == "Environment":
        if not value:
            unit.environment.clear()
        for word in split_words(expand_specifiers(value, unit.name)):
            name, equals, content = word.partition("=")
            if equals:
                unit.environment[name] = content
    elif key == "EnvironmentFile":
        unit.environment_files = [*unit.environment_files, value] if value else []
    elif key == "UnsetEnvironment":
        for word in split_words(value):
            unit.environment.pop(word.partition("=")[0], None)


def _environment(unit: _Unit, path: str) -> tuple[dict[str, str], bool]:
    """Return the unit's environment, and whether all of it is known: every file it names was read."""
    environment = dict(unit.environment)
    whole = True
    for named in unit.environment_files:
        text = _environment_text(expand_specifiers(named.lstrip("-"), unit.name), path)
        if text is None:
            whole = False
            continue
        environment.update(_environment_values(text))
    return environment, whole


def _environment_text(named: str, path: str) -> str | None:
    """Return an environment file's text: from beside the unit file, or in its own place on a live system."""
    places = [Path(path).parent / Path(named).name]
    if str(Path(path).absolute()).startswith(_LIVE_ROOTS):
        places.append(Path(named))
    for place in places:
        try:
            if place.is_file() and place.stat().st_size <= SIZE_LIMIT:
                return place.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
    return None


def _environment_values(text: str) -> dict[str, str]:
    """Return the variables of an environment file: one a line, quoted or continued."""
    values: dict[str, str] = {}
    for line in text.replace("\\\n", "").split("\n"):
        assigned = None if line.lstrip()[:1] in ("#", ";") else _ENVIRONMENT_LINE.fullmatch(line.rstrip("\r"))
        if assigned is not None:
            content = assigned[2].strip()
            quoted = len(content) > 1 and content[0] == content[-1] and content[0] in "\"'"
            values[assigned[1]] = content[1:-1] if quoted else content
    return values


def _argv(value: str, unit: str | None, environment: dict[str, str], *, whole: bool) -> list[str]:
    """Return the words of an ExecStart= value: prefixes off, specifiers and variables expanded."""
    bare = value.lstrip(_PREFIXES)
    prefixes = value[: len(value) - len(bare)]
    words = split_words(expand_specifiers(bare, unit))
    if ";" in words:
        words = words[: words.index(";")]
    if ":" not in prefixes:
        words = expand_variables(words, environment, whole=whole)
    if "@" in prefixes and len(words) > 1:
        del words[1]
    return words
