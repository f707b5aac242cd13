"""A finding: a statement about a launch or a service, with severity, evidence and fix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from kvforensics.records import Place


@dataclass(frozen=True, slots=True)
class Finding:
    """One statement (ids in the JSON Schema)."""

    id: str
    severity: str  # info | warning | error
    title: str
    detail: str
    fix: str | None
    launch: str | None = None
    at: datetime | None = None
    evidence: tuple[Place, ...] = ()
