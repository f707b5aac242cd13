"""Known faults of releases that change what their logs mean."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from kvforensics.knowledge.data import arguments, toml
from kvforensics.knowledge.releases import within

if TYPE_CHECKING:
    from kvforensics.knowledge.releases import Version


class KnownIssue(Struct, frozen=True):
    """One entry of known_issues.toml. `since` and `until` are inclusive, None where unbounded."""

    id: str
    title: str
    detail: str
    fix: str
    settings: tuple[str, ...]
    affects: tuple[str, ...]
    source: tuple[str, ...]
    since: str | None = None
    until: str | None = None

    def concerns(self, version: Version) -> bool | None:
        """Tell whether a release has it; None where a range reaches over an edge."""
        return within(version, self.since, self.until)


@cache
def known_issues() -> tuple[KnownIssue, ...]:
    """Return all known issues in the order of the file."""
    return tuple(KnownIssue(**arguments(row)) for row in toml("known_issues")["issue"])


def issues_of(version: Version) -> tuple[KnownIssue, ...]:
    """Return the issues that every release of a version or range has."""
    return tuple(issue for issue in known_issues() if issue.concerns(version))
