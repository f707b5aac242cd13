"""One thing that a command did to a service or its configuration."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

_UNIT_PATH = re.compile(r"/systemd/(?:system|user)(?:\.control|\.attached)?/([^/]+\.service)(?:\.d)?(?:/|$)")
_CONFIG_PATH = re.compile(
    r"(?:\.service|\.conf|\.env|\.ya?ml|\.json|\.sh|\.toml)$|/(?:etc|opt|srv|home|root|usr)/\S*(?:sglang|systemd)"
)


class Edit(Struct, frozen=True):
    """One thing that a command did.

    `action` is edit, start, stop, restart, reload, kill, daemon_reload, enable, disable or opaque (a shell
    that hides what follows). An edit has the settings whose values its text shows; a value that only the
    file knows is absent, and a file that was replaced or opened in an editor shows none.
    """

    action: str
    unit: str | None = None  # the unit, container or service acted on, `.service` included for units
    path: str | None = None  # the file edited
    before: tuple[tuple[str, Any], ...] = ()  # settings as the command expects to find them
    after: tuple[tuple[str, Any], ...] = ()  # settings as it leaves them
    known: bool = True  # False: the new content is not in the command


def opened(path: str) -> Edit:
    """Return the edit of a file whose new content is not shown."""
    return Edit("edit", unit_of(path), path, known=False)


def paths(words: Sequence[str]) -> list[str]:
    """Return the words that are paths of configuration files."""
    return [word for word in words if not word.startswith("-") and is_config(word)]


def is_config(path: str) -> bool:
    """Tell whether a path may hold a server's configuration."""
    return "/" in path and _CONFIG_PATH.search(path) is not None and not path.startswith(("s/", "/dev/"))


def unit_of(path: str) -> str | None:
    """Return the unit whose unit file or drop-in a path is, or None."""
    match = _UNIT_PATH.search(path)
    return match[1] if match is not None else None
