"""What is known about a setting: what it is an input of, in which direction, in which releases, and why."""

from __future__ import annotations

import re
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kvforensics.knowledge.data import toml
from kvforensics.knowledge.history import all_names, history
from kvforensics.knowledge.releases import as_range, within

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvforensics.knowledge.history import Span
    from kvforensics.knowledge.releases import Version

FIGURES = ("pool_tokens", "longest_prompt_tokens", "max_running_requests", "free_gib")
_NOT_MEMORY = frozenset({"observability/network", "no effect on KV"})


class Feature(Struct, frozen=True):
    """Settings that are edited together and count as one change."""

    name: str
    switches: tuple[str, ...]  # the settings of which one gets the verdict
    pattern: str


class Knob(Struct, frozen=True):
    """A setting's role. Vocabularies are explained at the head of knobs.toml."""

    name: str
    role: str
    purpose: str
    direction: Mapping[str, str]  # figure (FIGURES) -> "+", "-", "0", "cap" or "±", for raising it
    why: str
    mistaken_for: str | None = None  # "pool": people edit it to get a larger pool
    source: tuple[str, ...] = ()  # path:line@release under sglang/srt
    conditions: str | None = None  # for a person; the machine's are in patterns.toml
    log: str | None = None
    unit: str | None = None
    extra_cost: str | None = None
    feature: Feature | None = None
    derived_from: tuple[str, ...] = ()  # what the engine computes it from when it is not given
    filled: bool = False  # "not given" is replaced by a value of the engine's own
    drawn: bool = False  # picked anew at each start when not given
    spans: tuple[Span, ...] = ()  # releases, types and defaults; empty for a setting no release has
    older_names: tuple[str, ...] = ()
    newer_names: tuple[str, ...] = ()
    curated: bool = True  # False: known by a group's pattern only

    @property
    def affects(self) -> tuple[str, ...]:
        """The figures it can move, in the order of FIGURES."""
        return tuple(figure for figure in FIGURES if self.direction[figure] != "0")

    @property
    def is_memory_setting(self) -> bool:
        """Whether any rule ties it to the pool, admission, concurrency, scheduling or memory."""
        return self.role not in _NOT_MEMORY

    @property
    def since(self) -> str | None:
        """The first listed release that has it."""
        return self.spans[0].since if self.spans else None

    @property
    def until(self) -> str | None:
        """The last listed release that has it."""
        return self.spans[-1].until if self.spans else None

    def exists_in(self, version: Version) -> bool | None:
        """Tell whether a release has it; None where a range reaches over its first or last release."""
        if not self.spans:
            return False
        span = as_range(version)
        newest_read = toml("versions")["meta"]["newest"]
        until = None if self.until == newest_read else self.until
        return within(span, self.since, until)


@cache
def knob(name: str) -> Knob | None:
    """Return what is known of a setting, or None for one that no rule covers (a fork's own)."""
    own = toml("knobs")["knob"].get(name)
    if own is not None:
        return _knob(name, own, curated=True)
    if name not in all_names() and not name.startswith("speculative_"):
        return None
    for group in toml("knobs")["group"]:
        if re.search(group["pattern"], name):
            return _knob(name, group, curated=False)
    return None


def knobs() -> tuple[Knob, ...]:
    """Return the knobs of every setting of any release, by name."""
    found = (knob(name) for name in sorted(all_names() | set(toml("knobs")["knob"])))
    return tuple(one for one in found if one is not None)


@cache
def feature(name: str) -> Feature | None:
    """Return the feature that a setting belongs to, or None."""
    for row in toml("knobs")["feature"]:
        if re.search(row["pattern"], name):
            return Feature(row["name"], tuple(row["switches"]), row["pattern"])
    return None


def derived_from(name: str) -> tuple[str, ...]:
    """Return the settings that the engine computes this one from when nobody gave it."""
    return tuple(toml("knobs")["derived"].get(name, ()))


def is_filled(name: str) -> bool:
    """Tell whether the engine replaces "not given" by a value of its own."""
    return name in toml("knobs")["filled"]["settings"]


def is_drawn(name: str) -> bool:
    """Tell whether the engine picks it anew at each start when nobody gave it."""
    return name in toml("knobs")["drawn"]["settings"]


def _knob(name: str, table: Mapping[str, Any], *, curated: bool) -> Knob:
    return Knob(
        name=name,
        role=table["role"],
        purpose=table["purpose"],
        direction=MappingProxyType(table["direction"]),
        why=table["why"],
        mistaken_for=table.get("mistaken_for"),
        source=tuple(table.get("source", ())),
        conditions=table.get("conditions"),
        log=table.get("log"),
        unit=table.get("unit"),
        extra_cost=table.get("extra_cost"),
        feature=feature(name),
        derived_from=derived_from(name),
        filled=is_filled(name),
        drawn=is_drawn(name),
        spans=history(name),
        older_names=older_names(name),
        newer_names=newer_names(name),
        curated=curated,
    )


def newer_names(name: str) -> tuple[str, ...]:
    """Return the names that later releases use for a setting, next one first."""
    names = toml("renames")["names"]
    found: list[str] = []
    while name in names and names[name] not in found:
        name = names[name]
        found.append(name)
    return tuple(found)


def older_names(name: str) -> tuple[str, ...]:
    """Return the names that earlier releases used for a setting, nearest first."""
    found: list[str] = []
    front = [name]
    while front:
        front = [old for old, new in toml("renames")["names"].items() if new in front and old not in found]
        found.extend(front)
    return tuple(found)
