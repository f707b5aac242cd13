"""Config sources: files that say with which settings a server is meant to run.

A unit file with drop-ins, `systemctl cat` and `systemctl show` output, `docker inspect` JSON, compose and
Kubernetes YAML, SGLang's own --config file, a command line or a script. Chosen by content, never by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvforensics.config_sources.edit import Edit
from kvforensics.config_sources.edits import edits_from_sudo
from kvforensics.config_sources.source import KINDS, ConfigSource

if TYPE_CHECKING:
    from kvforensics.config_sources.loading import load, load_all, loads

__all__ = ["KINDS", "ConfigSource", "Edit", "edits_from_sudo", "load", "load_all", "loads"]


def __getattr__(name: str) -> Any:
    """Give the readers when the first file is read: most runs are handed none."""
    if name not in {"load", "load_all", "loads"}:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kvforensics.config_sources import loading  # noqa: PLC0415 - with PyYAML

    return getattr(loading, name)
