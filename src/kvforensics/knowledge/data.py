"""The data files of this package, read once and frozen.

Beside each TOML file, which people write, stands what it says as JSON, which is read thirty times as fast. It
counts only for the very text that it was made of; `tools/make_tables.py` makes it.
"""

from __future__ import annotations

import json
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


TOML = ("knobs", "known_issues", "patterns", "renames", "versions")
_FOLDER = Path(__file__).parent


@cache
def toml(name: str) -> Mapping[str, Any]:
    """Return the top level of `NAME.toml`."""
    text = _FOLDER.joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return MappingProxyType(_kept(name, text) or _read(text))


def table(name: str) -> str:
    """Return what is kept of `NAME.toml`: JSON with the key of the text."""
    text = _FOLDER.joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return json.dumps({"key": _key(text), "data": _read(text)}, ensure_ascii=False, indent=0) + "\n"


def table_path(name: str) -> Path:
    """Return where that is kept."""
    return _FOLDER / "tables" / f"{name}.json"


def _kept(name: str, text: str) -> dict[str, Any] | None:
    try:
        kept = json.loads(table_path(name).read_bytes())
        return kept["data"] if kept["key"] == _key(text) else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _read(text: str) -> dict[str, Any]:
    import tomllib  # noqa: PLC0415 - what the tables are there to avoid

    return tomllib.loads(text)


def _key(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def arguments(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table as a frozen struct takes it: lists as tuples."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}


@cache
def settings_json() -> Mapping[str, Any]:
    """Return `settings-by-version.json`: `versions`, `settings` by name, `flag_aliases` by flag."""
    text = _FOLDER.joinpath("settings-by-version.json").read_text(encoding="utf-8")
    return MappingProxyType(json.loads(text))
