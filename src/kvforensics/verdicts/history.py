"""A service's history of launches becomes verdicts: which launch is held against which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kvforensics.changes import diff, shows
from kvforensics.knowledge import FIGURES
from kvforensics.verdicts.effects import kept
from kvforensics.verdicts.judge import judge_pair

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvforensics.launches import Launch
    from kvforensics.launches.history import ServiceHistory
    from kvforensics.sizing import Budget
    from kvforensics.verdicts.verdict import Verdict


def judge(history: ServiceHistory, budgets: Mapping[str, Budget]) -> list[Verdict]:
    """Judge every change of one service, in the order of its launches and of their settings.

    `budgets` are the reconciled budgets by launch id. Failed starts take part; what a failed start did
    not show is measured against the last launch that did.
    """
    found: list[Verdict] = []
    earlier: tuple[Launch, ...] = ()
    for newer in history.launches:
        if earlier:
            found.extend(_since_the_last(earlier, newer, budgets))
        earlier = kept((*earlier, newer))
    return found


def _since_the_last(
    earlier: tuple[Launch, ...], newer: Launch, budgets: Mapping[str, Budget]
) -> list[Verdict]:
    """Judge a launch against the one before it, and what that one does not show against one that does.

    A start that dies before `server_args` shows no settings, or one in its error: an edit that came with
    it, or that cured it, is a change against the last launch which shows them.
    """
    before = earlier[-1]
    found = judge_pair(earlier, newer, diff(before, newer), budgets)
    if shows(before) == "all" or shows(newer) != "all":
        return found
    reach = next((n for n in range(len(earlier) - 1, -1, -1) if shows(earlier[n]) == "all"), None)
    if reach is None:
        return found
    told = {verdict.change.setting for verdict in found}
    base = earlier[: reach + 1]
    hidden = judge_pair(base, newer, diff(base[-1], newer), budgets)
    return found + [_against(base[-1], verdict) for verdict in hidden if verdict.change.setting not in told]


def _against(base: Launch, verdict: Verdict) -> Verdict:
    """Name the launch that the figures are measured against: it is not the one right before."""
    figures = {
        name: replace(effect, baseline=effect.baseline or base.id)
        for name in FIGURES
        if (effect := getattr(verdict.effects, name)).before is not None
    }
    return replace(verdict, effects=replace(verdict.effects, **figures))
