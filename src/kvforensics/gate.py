"""What `--fail-on` asks: whether an analysis holds anything that a CI job should stop at."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kvforensics.analysis import Analysis

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
        return any(v.is_idle for service in analysis.services for v in service.verdicts)
    wanted = _SEVERITIES[level]
    return any(f.severity in wanted for service in analysis.services for f in service.findings)
