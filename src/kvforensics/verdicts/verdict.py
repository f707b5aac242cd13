"""A verdict: the judgement of one change, with its reason, effects and advice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvforensics.changes import Change


@dataclass(frozen=True, slots=True)
class Effect:
    """One figure before and after. `baseline` names the launch measured against if not the one before."""

    before: float | int | None
    after: float | int | None
    outcome: str  # moved | unchanged | within_noise | unknown
    baseline: str | None = None


@dataclass(frozen=True, slots=True)
class Effects:
    """What the launch pair shows, whoever caused it."""

    pool_tokens: Effect
    longest_prompt_tokens: Effect
    max_running_requests: Effect
    free_gib: Effect


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of one change (vocabulary in the JSON Schema)."""

    change: Change
    verdict: str  # effective|no_op_for_pool|no_op|clamped|overridden|adverse|confounded|unproven
    reason_code: str
    reason: str
    advice: str | None
    effects: Effects
    attribution: str  # sole | shared | none
