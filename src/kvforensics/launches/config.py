"""The settings of a launch: from its `server_args=`, else its command line, else a unit file handed in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.launches.kinds import is_systemd
from kvforensics.launches.launch import Config
from kvforensics.settings import is_server, parse_command_line
from kvforensics.settings.words import split

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvforensics.config_sources import ConfigSource
    from kvforensics.knowledge import VersionRange
    from kvforensics.launches.items import Item
    from kvforensics.launches.start import Start
    from kvforensics.records import Origins, Place
    from kvforensics.settings.command_line import Requested


def config(
    start: Start,
    origins: Origins,
    version: VersionRange,
    place: Callable[[int, int, str | None], Place],
    handed: ConfigSource | None = None,
) -> Config:
    """Return the effective values, where they come from, and what a command line asked for.

    A command line gives only the settings that stand on it: with `cmdline` as source, a setting that is
    absent is at its default. `handed` is a unit file or the like that the user gave: it may be newer than
    what ran, so it counts only where nothing better is known.
    """
    on_disk = None if handed is None else handed.requested.asked()
    command, told_by = _command_line(start, origins, version)
    asked = None if command is None else command.asked()
    if start.server_args is not None:
        event = start.server_args
        values = event.fields.get("values") or {}
        truncated = bool(event.fields.get("truncated"))
        found = place(event.source, event.line, event.cursor)
        twice = frozenset(command.lost) if command is not None else frozenset()
        return Config(dict(values), "server_args", truncated, asked or {}, found, on_disk, twice)
    if command is not None and asked is not None and told_by is not None:
        cursor = told_by.event.cursor if told_by.event is not None else None
        found = place(told_by.source, told_by.line, cursor)
        values = {**command.unknown, **command.values}
        return Config(values, "cmdline", False, asked, found, on_disk, frozenset(command.lost))
    if handed is not None and on_disk is not None:
        return Config(dict(handed.values), "unit_file", False, on_disk, handed.place, on_disk)
    return Config()


def _command_line(
    start: Start, origins: Origins, version: VersionRange
) -> tuple[Requested | None, Item | None]:
    """Return what the main process's command line asks for. Workers have titles of their own instead."""
    words, item = server_command(start, origins)
    return (None, None) if words is None else (parse_command_line(words, version), item)


def server_command(start: Start, origins: Origins) -> tuple[list[str] | None, Item | None]:
    """Return the words of the main process's command line, and a record that has it."""
    looked_at: set[str] = set()
    for item in start.items:
        command = origins[item.origin].cmdline
        if command is None or command in looked_at or is_systemd(item.kind):
            continue
        looked_at.add(command)
        words = split(command)
        if is_server(words):
            return words, item
    return None, None
