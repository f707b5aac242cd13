"""What a command run through sudo did to a service's configuration, as far as its text tells."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kvforensics.config_sources.edit import Edit, is_config, opened, paths, unit_of
from kvforensics.config_sources.sed import sed, settings_in
from kvforensics.settings.words import split

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ash"})
_EDITORS = frozenset(
    {
        "vi",
        "vim",
        "nvim",
        "nano",
        "emacs",
        "ed",
        "ex",
        "mcedit",
        "micro",
        "joe",
        "pico",
        "helix",
        "hx",
        "sudoedit",
    }
)
_VERBS = {
    "start": "start",
    "stop": "stop",
    "restart": "restart",
    "try-restart": "restart",
    "reload-or-restart": "restart",
    "try-reload-or-restart": "restart",
    "condrestart": "restart",
    "force-reload": "restart",
    "reload": "reload",
    "kill": "kill",
    "daemon-reload": "daemon_reload",
    "daemon-reexec": "daemon_reload",
    "edit": "edit",
    "revert": "edit",
    "set-property": "edit",
    "enable": "enable",
    "disable": "disable",
    "mask": "disable",
}
_CONTAINER_VERBS = frozenset({"restart", "start", "stop", "kill"})
_OPERATORS = re.compile(r"&&|\|\||;|\n|\s\|\s")
_WRAPPERS = frozenset(
    {"env", "nice", "ionice", "nohup", "time", "timeout", "sudo", "doas", "stdbuf", "command"}
)


def edits_from_sudo(command: str) -> list[Edit]:
    """Return what a sudo record's COMMAND did, in order; an empty list for a command of another kind.

    Understands `sed -i`, `tee`, `cp`, `mv`, `install`, editors, `sudoedit`, `systemctl`, `service`, `docker`
    and shells with `-c`; quotes may be missing, as sudo before 1.9.13 logs none.
    """
    found: list[Edit] = []
    words = split(command)
    script = _script(words, command)
    if script is None and words and words[0].rpartition("/")[2] in _SHELLS | {"su"}:
        return [Edit("opaque", known=False)]
    for part in _parts(script) if script is not None else [command]:
        found.extend(_one(part))
    return found


def _script(words: Sequence[str], command: str) -> str | None:
    """Return the script that a shell is given with -c, quoted in the record or not."""
    if len(words) < len(("sh", "-c", "x")) or words[0].rpartition("/")[2] not in _SHELLS | {"su"}:
        return None
    for place, word in enumerate(words[1:-1], 1):
        if word.startswith("-") and not word.startswith("--") and word.endswith("c"):
            if len(words) == place + 2:
                return words[place + 1]
            return command.partition(f" {word} ")[2]
    return None


def _parts(script: str) -> list[str]:
    """Return the commands of a script: operators between quotes do not part them."""
    parts: list[str] = []
    start = at = 0
    quote = ""
    while at < len(script):
        char = script[at]
        if char == "\\" and quote != "'":
            at += 2
        elif quote or char in "\"'":
            quote = "" if char == quote else quote or char
            at += 1
        elif (operator := _OPERATORS.match(script, at)) is not None:
            parts.append(script[start:at].strip())
            start = at = operator.end()
        else:
            at += 1
    return [*parts, script[start:].strip()]


def _one(command: str) -> list[Edit]:
    words = _unwrapped(split(command))
    if not words:
        return []
    program = words[0].rpartition("/")[2]
    if (redirected := _redirection(command)) is not None:
        return [redirected]
    if program in _EDITORS or program == "sudoedit":
        return [opened(path) for path in paths(words[1:])]
    reader = _READERS.get(program)
    return reader(words, command) if reader is not None else _editor_by_paths(words)


def _unwrapped(words: list[str]) -> list[str]:
    """Return a command without what only wraps it: `env A=1 nice -n 5 systemctl …`."""
    while words and words[0].rpartition("/")[2] in _WRAPPERS:
        words = words[1:]
        while words and (words[0].startswith("-") or "=" in words[0] or words[0].isdigit()):
            words = words[1:]
    return words


def _redirection(command: str) -> Edit | None:
    """Return the edit that `… > FILE` makes; what is echoed shows the settings."""
    match = re.search(r"(?:^|\s)(?:1)?>>?\s*(/\S+)", command)
    if match is None or not is_config(match[1]):
        return None
    settings = tuple(settings_in(command[: match.start()]).items())
    return Edit("edit", unit_of(match[1]), match[1], after=settings, known=bool(settings))


def _systemctl(words: Sequence[str], _: str) -> list[Edit]:
    verb = next((word for word in words[1:] if word in _VERBS), None)
    if verb is None:
        return []
    action = _VERBS[verb]
    after_verb = words[list(words).index(verb) + 1 :]
    units = [_service(word) for word in after_verb if not word.startswith("-") and "=" not in word]
    if action == "daemon_reload":
        return [Edit(action)]
    if action == "edit":
        return [Edit("edit", unit, known=False) for unit in units[:1]]
    return [Edit(action, unit) for unit in units]


def _service_command(words: Sequence[str], _: str) -> list[Edit]:
    if len(words) < len(("service", "name", "verb")) or words[2] not in _VERBS:
        return []
    return [Edit(_VERBS[words[2]], _service(words[1]))]


def _docker(words: Sequence[str], _: str) -> list[Edit]:
    verbs = [word for word in words[1:] if word in _CONTAINER_VERBS]
    if not verbs:
        return []
    after_verb = words[list(words).index(verbs[0]) + 1 :]
    names = [word for word in after_verb if not word.startswith("-") and not word.isdigit()]
    return [Edit(verbs[0], name) for name in names] or [Edit(verbs[0])]


def _tee(words: Sequence[str], _: str) -> list[Edit]:
    return [opened(path) for path in paths(words[1:])]


def _copy(words: Sequence[str], _: str) -> list[Edit]:
    given = [word for word in words[1:] if not word.startswith("-")]
    if len(given) < len(("from", "to")) or not is_config(given[-1]):
        return []
    target = given[-1]
    if target.endswith("/"):
        target += given[-2].rpartition("/")[2]
    return [opened(target)]


def _remove(words: Sequence[str], _: str) -> list[Edit]:
    return [opened(path) for path in paths(words[1:])]


def _editor_by_paths(words: Sequence[str]) -> list[Edit]:
    """Return the edits of `EDITOR -- FILE`, as sudoedit is logged: an unknown program and a config file."""
    if "--" not in words:
        return []
    return [opened(path) for path in paths(words[list(words).index("--") + 1 :])]


def _service(name: str) -> str:
    """Return a unit's whole name: systemctl adds `.service` to a name without a type."""
    types = ("service", "socket", "target", "timer", "slice", "scope", "mount", "path")
    return name if name.rpartition(".")[2] in types else f"{name}.service"


_READERS: Mapping[str, Callable[[Sequence[str], str], list[Edit]]] = {
    "systemctl": _systemctl,
    "service": _service_command,
    "docker": _docker,
    "podman": _docker,
    "docker-compose": _docker,
    "nerdctl": _docker,
    "sed": sed,
    "gsed": sed,
    "perl": sed,
    "tee": _tee,
    "cp": _copy,
    "mv": _copy,
    "install": _copy,
    "ln": _copy,
    "rm": _remove,
}
