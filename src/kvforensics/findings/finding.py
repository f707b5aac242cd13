"""A finding: a statement about a launch or a service, with severity, evidence and fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from datetime import datetime

    from kvforensics.records import Place


class Finding(Struct, frozen=True):
    """One statement (ids in the JSON Schema)."""

    id: str
    severity: str  # info | warning | error
    title: str
    detail: str
    fix: str | None
    launch: str | None = None
    at: datetime | None = None
    evidence: tuple[Place, ...] = ()
