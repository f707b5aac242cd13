"""Names of settings over the releases: which older name is which newer one."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from kvforensics.knowledge.data import toml
from kvforensics.knowledge.history import all_names, fields
from kvforensics.knowledge.knobs import newer_names, older_names
from kvforensics.knowledge.releases import as_range, members

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from kvforensics.knowledge.releases import Version


def names_of(version: Version) -> frozenset[str]:
    """Return the settings of the newest release of a range; those of any release where none is known."""
    if as_range(version).newest is None and as_range(version).oldest is None:
        return all_names()
    return fields(members(version)[-1])


def name_in(name: str, names: Collection[str], taken: Collection[str] = ()) -> str:
    """Return what a setting is called among `names`; its own name where it has no other there.

    A name in `taken` is in use beside this one, so it is another setting and not a rename.
    """
    if name in names:
        return name
    for other in (*newer_names(name), *older_names(name)):
        if other in names and other not in taken:
            return other
    return name


def inverse_in(name: str, names: Collection[str], taken: Collection[str] = ()) -> str | None:
    """Return the setting among `names` that says the opposite of this one, or None."""
    if name in names:
        return None
    free = (other for other in _opposites().get(name, ()) if other in names and other not in taken)
    return next(free, None)


@cache
def _opposites() -> dict[str, tuple[str, ...]]:
    """Return the settings that say the opposite of each one, in the order of the file."""
    found: dict[str, tuple[str, ...]] = {}
    for older, newer in toml("renames")["inverse"].items():
        found[older] = (*found.get(older, ()), newer)
        found[newer] = (*found.get(newer, ()), older)
    return found


def rename(values: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return the values under the names that `names` uses for them.

    A setting whose opposite is the name there (`enable_mla` and `disable_mla`) has its value turned round.
    """
    renamed: dict[str, Any] = {}
    for name, value in values.items():
        opposite = inverse_in(name, names, values)
        if opposite is not None and isinstance(value, bool):
            renamed[opposite] = not value
        else:
            renamed[name_in(name, names, values)] = value
    return renamed
