"""Reads config sources: which kind of file a text is, and the servers that it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.config_sources import containers, script, systemctl_show, text, unit_file
from kvforensics.config_sources.source import Command, ConfigSource, from_command, starts_server
from kvforensics.errors import InputError
from kvforensics.records import Place

if TYPE_CHECKING:
    from kvforensics.knowledge import Version


def load(path: str, version: Version = None, name: str | None = None) -> ConfigSource:
    """Return the server's settings as a file asks for them.

    Of several servers in one file, the one called `name` (a unit, container, service or workload; without
    `.service`, or the last part of `workload/container`), else the first. Raises InputError where the file
    cannot be read or starts no SGLang server.
    """
    found = load_all(path, version)
    if not found:
        raise InputError(
            "holds no SGLang command line",
            where=path,
            hint="a unit file, systemctl cat or show, docker inspect, compose, Kubernetes YAML or a command",
        )
    named = [source for source in found if name is not None and _is_called(source, name)]
    return (named or found)[0]


def load_all(path: str, version: Version = None) -> list[ConfigSource]:
    """Return every server that a file starts, in its order. Raises InputError where it cannot be read."""
    return loads(text.read(path), path, version)


def loads(content: str, path: str, version: Version = None) -> list[ConfigSource]:
    """Return every server that a text starts; `path` is where it came from."""
    cleaned = text.clean(content)
    kind, commands = _commands(cleaned, path)
    servers = [one for one in commands if one.settings is not None or starts_server(one.argv)]
    return [from_command(one, kind, Place(path, one.line), version) for one in servers]


def _commands(content: str, path: str) -> tuple[str, list[Command]]:
    """Return what kind of file it is, and the commands in it."""
    if content.lstrip()[:1] in ("[", "{") and (found := containers.from_json(content)) is not None:
        return "docker_inspect", found
    if systemctl_show.is_show(content):
        return "systemctl_show", systemctl_show.commands(content)
    if unit_file.is_unit_file(content):
        return "unit_file", unit_file.commands(content, path)
    return _yaml_commands(content) or ("command_line", script.commands(content))


def _yaml_commands(content: str) -> tuple[str, list[Command]] | None:
    documents = containers.documents(content)
    if documents is None:
        return None
    for kind, reader in (("compose", containers.compose), ("kubernetes", containers.kubernetes)):
        read = [commands for one in documents if (commands := reader(one, content)) is not None]
        if read:
            return kind, [command for commands in read for command in commands]
    settings = containers.settings_file(documents[0])
    return ("settings_file", [settings]) if settings is not None else None


def _is_called(source: ConfigSource, name: str) -> bool:
    own = source.name or ""
    return name in (own, own.removesuffix(".service"), own.rpartition("/")[2])
