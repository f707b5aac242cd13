"""The no-op patterns as data: in which way an edit of a setting does nothing, or something else."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kvforensics.knowledge.conditions import Condition, Facts, all_hold
from kvforensics.knowledge.data import arguments, toml
from kvforensics.knowledge.releases import within

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvforensics.knowledge.releases import Version

OUTCOMES = frozenset(
    {
        "not_an_input", "masked", "overridden", "clamped", "inert", "moved",
        "backfire", "not_applied", "confounded", "noise", "live",
    }
)  # fmt: skip


class Pattern(Struct, frozen=True):
    """One entry of patterns.toml; the file's head explains each field."""

    id: str
    settings: tuple[str, ...]
    outcome: str
    code: str
    why: str
    on: tuple[str, ...] = ()
    move: str = "any"
    since: str | None = None
    until: str | None = None
    when: tuple[Condition, ...] = ()
    events: tuple[str, ...] = ()
    by: str | None = None
    moved: str | None = None
    factor: float | None = None
    computed: bool = False
    fix: str | None = None
    source: tuple[str, ...] = ()

    def judges(self, setting: str) -> bool:
        """Tell whether a change of this setting is judged by it."""
        return any(
            re.search(name[1:-1], setting) is not None if name.startswith("/") else name == setting
            for name in self.settings
        )

    def applies(self, setting: str, version: Version, facts: Facts) -> bool | None:
        """Tell whether its releases and conditions hold; None where the log does not say.

        The direction of the change (`move`) is the caller's to compare.
        """
        in_range = within(version, self.since, self.until)
        if in_range is False:
            return False
        held = all_hold(self.when, facts, setting)
        return None if held and in_range is None else held


@cache
def patterns() -> tuple[Pattern, ...]:
    """Return all patterns in the order of the file."""
    return tuple(_pattern(table) for table in toml("patterns")["pattern"])


@cache
def patterns_of(setting: str) -> tuple[Pattern, ...]:
    """Return the patterns that judge a setting: those that name it first, those by expression after."""
    return tuple(
        sorted((p for p in patterns() if p.judges(setting)), key=lambda p: setting not in p.settings)
    )


def pattern_codes() -> frozenset[str]:
    """Return every reason code that a pattern can give."""
    return frozenset(p.code for p in patterns())


def _pattern(table: Mapping[str, Any]) -> Pattern:
    if table["outcome"] not in OUTCOMES:
        raise ValueError(f"{table['id']}: no such outcome: {table['outcome']}")
    when = tuple(Condition.from_table(row) for row in table.get("when", ()))
    return Pattern(**{**arguments(table), "when": when})
