"""Containers and workloads: `docker inspect` JSON, compose files, Kubernetes manifests."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import yaml

from kvforensics.config_sources.source import Command, as_the_shell_does
from kvforensics.settings import canonical
from kvforensics.settings.words import split

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_NODES = 300_000  # of a document: aliases make small files large
_DEPTH = 60
_DOCUMENTS = 200
_KUBERNETES_VARIABLE = re.compile(r"\$\$|\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")
_COMPOSE_VARIABLE = re.compile(r"\$\$")
_SETTINGS_SHARE = 0.5  # of a settings file's keys that must be settings


def from_json(text: str) -> list[Command] | None:
    """Return the containers of `docker inspect` or `podman inspect`; None for text that is no such JSON."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    rows = document if isinstance(document, list) else [document]
    if not any(isinstance(row, dict) and isinstance(row.get("Config"), dict) for row in rows):
        return None
    return [command for row in rows if isinstance(row, dict) for command in _inspected(row)]


def _inspected(row: Mapping[str, Any]) -> Iterator[Command]:
    config = row.get("Config")
    if not isinstance(config, dict):
        return
    path, arguments = row.get("Path"), row.get("Args")
    if isinstance(path, str) and isinstance(arguments, list):
        argv = [path, *_words(arguments)]
    else:
        argv = [*_words(config.get("Entrypoint")), *_words(config.get("Cmd"))]
    name = row.get("Name")
    environment = _environment(config.get("Env"))
    yield Command(
        tuple(as_the_shell_does(argv, environment)),
        name=name.lstrip("/") if isinstance(name, str) else None,
        environment=environment,
        expanded=True,
    )


def documents(text: str) -> list[Any] | None:
    """Return the documents of a YAML text, or None where it is none that can be read safely."""
    loader = yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader
    found: list[Any] = []
    try:
        for document in yaml.load_all(text, Loader=loader):
            found.append(document)
            if len(found) >= _DOCUMENTS:
                break
    except (yaml.YAMLError, RecursionError, ValueError, TypeError, AttributeError, OverflowError):
        return None
    return found if any(isinstance(one, dict) for one in found) and _is_bounded(found) else None


def _is_bounded(document: Any) -> bool:
    """Tell whether a document stays small when its aliases are followed, and is not too deep."""
    front: list[tuple[Any, int]] = [(document, 0)]
    seen = 0
    while front:
        node, depth = front.pop()
        seen += 1
        if seen > _NODES or depth > _DEPTH:
            return False
        if isinstance(node, dict):
            front.extend((one, depth + 1) for one in node.values())
        elif isinstance(node, list):
            front.extend((one, depth + 1) for one in node)
    return True


def compose(document: Any, text: str) -> list[Command] | None:
    """Return the services of a compose file, or None where the document is none."""
    services = document.get("services") if isinstance(document, dict) else None
    if not isinstance(services, dict):
        return None
    found: list[Command] = []
    for name, service in services.items():
        if isinstance(service, dict):
            argv = [*_compose_words(service.get("entrypoint")), *_compose_words(service.get("command"))]
            environment = _environment(service.get("environment"))
            found.append(Command(tuple(argv), _line_of(text, f"{name}:"), str(name), environment))
    return found


def _compose_words(value: Any) -> list[str]:
    words = split(value) if isinstance(value, str) else _words(value)
    return [_COMPOSE_VARIABLE.sub("$", word) for word in words]


def kubernetes(document: Any, text: str) -> list[Command] | None:
    """Return the containers of a manifest of any kind, or None where the document is none."""
    if not isinstance(document, dict) or "kind" not in document or "apiVersion" not in document:
        return None
    found: list[Command] = []
    for owner, container in _containers(document):
        environment = _environment(container.get("env"))
        words = [*_words(container.get("command")), *_words(container.get("args"))]
        argv = as_the_shell_does([_expand_kubernetes(word, environment) for word in words], environment)
        name = container.get("name")
        label = "/".join(str(part) for part in (owner, name) if part)
        found.append(Command(tuple(argv), _line_of(text, f"name: {name}"), label or None, environment))
    return found


def _containers(document: Any) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """Yield every container of a manifest, in order, with the name of the workload around it."""
    front: list[tuple[Any, Any]] = [(document, None)]
    while front:
        node, owner = front.pop()
        if isinstance(node, dict):
            metadata = node.get("metadata")
            if isinstance(metadata, dict) and metadata.get("name"):
                owner = metadata["name"]
            containers = node.get("containers")
            if isinstance(containers, list):
                yield from ((owner, one) for one in containers if isinstance(one, dict))
            front.extend((value, owner) for key, value in reversed(node.items()) if key != "containers")
        elif isinstance(node, list):
            front.extend((one, owner) for one in reversed(node))


def _expand_kubernetes(word: str, environment: Mapping[str, str]) -> str:
    """Return a word with `$(NAME)` as the container's own environment says; others stay."""
    return _KUBERNETES_VARIABLE.sub(
        lambda match: "$" if match[1] is None else environment.get(match[1], match[0]), word
    )


def settings_file(document: Any) -> Command | None:
    """Return the settings of SGLang's own --config YAML, or None where most keys are no settings."""
    if not isinstance(document, dict) or not document:
        return None
    known = [key for key in document if isinstance(key, str) and canonical(key) is not None]
    if len(known) < _SETTINGS_SHARE * len(document):
        return None
    return Command((), settings={str(key): value for key, value in document.items()})


def _words(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        return []
    return [_word(one) for one in value if one is not None and not isinstance(one, dict | list)]


def _word(value: Any) -> str:
    """Return a YAML or JSON scalar as the text that stood there."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _environment(value: Any) -> dict[str, str]:
    """Return an environment given as NAME=value strings, as a mapping, or as name and value pairs."""
    if isinstance(value, dict):
        return {str(name): _word(one) for name, one in value.items() if one is not None}
    found: dict[str, str] = {}
    for one in value if isinstance(value, list) else ():
        if isinstance(one, str):
            name, equals, content = one.partition("=")
            if equals:
                found[name] = content
        elif isinstance(one, dict) and "name" in one and "value" in one:
            found[str(one["name"])] = _word(one["value"])
    return found


def _line_of(text: str, piece: str) -> int:
    """Return the line on which a piece first stands after indentation; 1 where it stands nowhere."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip().removeprefix("- ").startswith(piece):
            return number
    return 1
