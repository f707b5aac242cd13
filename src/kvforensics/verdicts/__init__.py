"""Changes, knobs and sizing become verdicts."""

from __future__ import annotations

from kvforensics.verdicts.history import judge
from kvforensics.verdicts.judge import judge_pair
from kvforensics.verdicts.reasons import reason_codes
from kvforensics.verdicts.verdict import Effect, Effects, Verdict

__all__ = ["Effect", "Effects", "Verdict", "judge", "judge_pair", "reason_codes"]
