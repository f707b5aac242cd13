"""What `--fail-on` asks: whether an analysis holds anything that a CI job should stop at."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kvforensics.analysis import Analysis
    from kvforensics.verdicts.verdict import Verdict

LEVELS = ("warning", "error", "no_op")
_SEVERITIES = {"warning": {"warning", "error"}, "error": {"error"}}


def met(analysis: Analysis, levels: Iterable[str]) -> bool:
    """Tell whether any of the levels is met.

    `warning` and `error` look at findings, an error being a warning too; `no_op` at edits of a memory setting
    that did nothing, for the pool or at all.
    """
    return any(_met(analysis, level) for level in levels)


def _met(analysis: Analysis, level: str) -> bool:
    if level == "no_op":
        return any(_without_effect(v) for service in analysis.services for v in service.verdicts)
    wanted = _SEVERITIES[level]
    return any(f.severity in wanted for service in analysis.services for f in service.findings)


def _without_effect(verdict: Verdict) -> bool:
    if verdict.verdict == "no_op":
        return verdict.reason_code != "not_a_memory_setting"
    return verdict.verdict == "no_op_for_pool"
