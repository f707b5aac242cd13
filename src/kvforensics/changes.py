"""A change: one setting whose effective value differs between two launches in a row of one service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvforensics.records import Place


@dataclass(frozen=True, slots=True)
class Change:
    """One setting that differs, before any judgement. Launch ids name launches of one service."""

    from_launch: str
    to_launch: str
    setting: str  # as the newer launch names it
    before: Any
    after: Any
    requested: Any = None  # what was asked for, where that differs from `after`
    derived: bool = False  # the engine computed it from another setting
    evidence: tuple[Place, ...] = ()
