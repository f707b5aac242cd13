"""The data files of this package, read once and frozen."""

from __future__ import annotations

import json
import tomllib
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@cache
def toml(name: str) -> Mapping[str, Any]:
    """Return the top level of `NAME.toml`."""
    text = files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return MappingProxyType(tomllib.loads(text))


def arguments(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table as a frozen dataclass takes it: lists as tuples."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}


@cache
def settings_json() -> Mapping[str, Any]:
    """Return `settings-by-version.json`: `versions`, `settings` by name, `flag_aliases` by flag."""
    text = files(__package__).joinpath("settings-by-version.json").read_text(encoding="utf-8")
    return MappingProxyType(json.loads(text))
