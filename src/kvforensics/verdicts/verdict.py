"""A verdict: the judgement of one change, with its reason, effects and advice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from kvforensics.changes import Change

NO_OPS = ("no_op_for_pool", "no_op")
NOT_ABOUT_MEMORY = "not_a_memory_setting"
BY_THE_ENGINE = "derived_from_another_setting"


def is_edit(reason_code: str, *, derived: bool) -> bool:
    """Tell whether somebody made a judged change, and of something that memory or admission depend on."""
    return not derived and reason_code not in (NOT_ABOUT_MEMORY, BY_THE_ENGINE)


def is_idle(verdict: str, reason_code: str, *, derived: bool) -> bool:
    """Tell whether a judged change is an edit without effect."""
    return verdict in NO_OPS and is_edit(reason_code, derived=derived)


class Effect(Struct, frozen=True):
    """One figure before and after. `baseline` names the launch measured against if not the one before."""

    before: float | int | None
    after: float | int | None
    outcome: str  # moved | unchanged | within_noise | unknown
    baseline: str | None = None


class Effects(Struct, frozen=True):
    """What the launch pair shows, whoever caused it."""

    pool_tokens: Effect
    longest_prompt_tokens: Effect
    max_running_requests: Effect
    free_gib: Effect


class Verdict(Struct, frozen=True):
    """The judgement of one change (vocabulary in the JSON Schema)."""

    change: Change
    verdict: str  # effective|no_op_for_pool|no_op|clamped|overridden|adverse|confounded|unproven
    reason_code: str
    reason: str
    advice: str | None
    effects: Effects
    attribution: str  # sole | shared | none

    @property
    def is_about_memory(self) -> bool:
        """Whether memory or admission depend on the setting."""
        return self.reason_code != NOT_ABOUT_MEMORY

    @property
    def is_edit(self) -> bool:
        """Whether it is about memory, and somebody changed it."""
        return is_edit(self.reason_code, derived=self.change.derived)

    @property
    def is_idle(self) -> bool:
        """Whether it is an edit without effect."""
        return is_idle(self.verdict, self.reason_code, derived=self.change.derived)
