"""`sed -i` and its kin: what a substitution in a configuration file shows of the settings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from kvforensics.config_sources.edit import Edit, paths, unit_of
from kvforensics.settings import canonical, parse_command_line

if TYPE_CHECKING:
    from collections.abc import Sequence

_SUBSTITUTE = re.compile(r"(?:^|[\s;'\"{}0-9/$])s([/|,#@!:%~+_])")
_GROUP = re.compile(r"\\?\(([^()]*?)\\?\)")
_MANY = re.compile(r"[\\*+\[\]^${}]")
_MOST = 20  # substitutions of one command


def sed(words: Sequence[str], command: str) -> list[Edit]:
    """Read `sed -i 's/--flag A/--flag B/' FILE`: each substitution shows what was and what is."""
    if not any(
        word.startswith(("-i", "--in-place")) or re.fullmatch(r"-[nErszp]*i\S*", word) for word in words
    ):
        return []
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    for pattern, replacement in _substitutions(command):
        old, new = _found_by(pattern), _put_by(replacement, pattern)
        old_settings, new_settings = settings_in(old), settings_in(new)
        if not old_settings and not new_settings:
            old_settings, new_settings = _variable(old), _variable(new)
        before.update(_literal(old_settings))
        after.update(_literal(new_settings))
    known = bool(before or after)
    return [
        Edit("edit", unit_of(path), path, tuple(before.items()), tuple(after.items()), known)
        for path in paths(words[1:])
    ]


def _substitutions(command: str) -> list[tuple[str, str]]:
    """Return pattern and replacement of each `s` command, whatever character separates them."""
    found: list[tuple[str, str]] = []
    for match in _SUBSTITUTE.finditer(command):
        parts = re.split(rf"(?<!\\){re.escape(match[1])}", command[match.end() :], maxsplit=2)
        if len(parts) == len(("pattern", "replacement", "rest")):
            found.append((parts[0], parts[1]))
    return found[:_MOST]


def _found_by(pattern: str) -> str:
    """Return a pattern as the text it finds, where it is plain: groups opened, an escaped dot a dot."""
    plain = re.sub(r"\\?[()]", "", pattern.replace("[[:space:]]", " ").replace(r"\s", " "))
    return re.sub(r"\\([.\-/|=\[\]{}*+?^$# ])", r"\1", plain).strip("^$")


def _put_by(replacement: str, pattern: str) -> str:
    """Return the text that a replacement puts, its references to the pattern filled in."""
    groups = [_found_by(group) for group in _GROUP.findall(pattern)]
    text = re.sub(
        r"\\([1-9])",
        lambda match: groups[int(match[1]) - 1] if int(match[1]) <= len(groups) else match[0],
        replacement,
    )
    text = re.sub(r"(?<!\\)&", lambda _: _found_by(pattern), text)
    return re.sub(r"\\([^0-9n])", r"\1", text)


def _variable(text: str) -> dict[str, Any]:
    """Return the setting of `CONTEXT_LENGTH=32768`, a variable of an environment file named like one."""
    name, equals, value = text.partition("=")
    setting = canonical(name.strip().lower()) if equals and re.fullmatch(r"\s*\w+", name) else None
    return settings_in(f"--{setting.replace('_', '-')} {value}") if setting else {}


def settings_in(text: str) -> dict[str, Any]:
    """Return the settings whose flags and values stand in a piece of text."""
    start = text.find("--")
    if start < 0:
        return {}
    requested = parse_command_line(text[start:].strip("\"' "))
    found = {**requested.unknown, **requested.values}
    return {name: value for name, value in found.items() if value is not None}


def _literal(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings whose value is one, and not a pattern that stands for many."""
    return {
        name: value
        for name, value in settings.items()
        if not (isinstance(value, str) and _MANY.search(value))
    }
