"""Which changed settings could have moved the pool of a pair, by their knobs and the pair's circumstances."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.knowledge import knob, patterns_of, within
from kvforensics.sizing.facts import algorithm
from kvforensics.verdicts.moves import direction
from kvforensics.verdicts.situation import holds

if TYPE_CHECKING:
    from kvforensics.changes import Change
    from kvforensics.verdicts.situation import Situation

STATE_SIZED = ("max_running_requests", "disable_radix_cache", "speculative_num_draft_tokens")
_OUT = ("inert", "masked", "overridden", "noise", "not_applied")


def may_move_pool(pair: Situation, change: Change) -> bool:
    """Whether the knob's rule lets a change move the pool in this pair's circumstances."""
    known = knob(change.setting)
    if known is None or change.derived:
        return False
    if change.setting == "max_total_tokens":
        return "max_total_tokens" in pair.binding
    way = direction(change, pair.older, pair.newer)
    exempt = False
    for pattern in patterns_of(change.setting):
        on_pool = "pool_tokens" in (pattern.on or (() if pattern.outcome == "moved" else ("pool_tokens",)))
        if pattern.computed or not on_pool or not holds(pattern, change, way, pair):
            continue
        if pattern.outcome in ("live", "backfire"):
            return True
        if pattern.outcome in _OUT:
            return False
        exempt = exempt or pattern.outcome in ("not_an_input", "moved")
    if exempt:
        return False
    if change.setting in STATE_SIZED and known.direction["pool_tokens"] == "0":
        return _state_sized(pair, change.setting)
    if known.direction["pool_tokens"] == "0":
        return False
    return not known.mistaken_for or _through_the_fraction(pair)


def candidates(pair: Situation) -> frozenset[str]:
    """Return the changed settings that could move the pool, one for each feature edited together."""
    found = [c for c in pair.changes if may_move_pool(pair, c)]
    leaders = leaders_of(pair)
    return frozenset(leaders.get(c.setting, c.setting) for c in found)


def leaders_of(pair: Situation) -> dict[str, str]:
    """Map each setting of a feature edited together to the one that gets the verdict.

    The feature's switch leads; without it the first setting that may move the pool, else the first.
    """
    groups: dict[str, list[Change]] = {}
    for change in pair.changes:
        known = knob(change.setting)
        if known is not None and known.feature is not None and not change.derived:
            groups.setdefault(known.feature.name, []).append(change)
    leaders: dict[str, str] = {}
    for members in groups.values():
        first = knob(members[0].setting)
        switches = first.feature.switches if first is not None and first.feature is not None else ()
        order = sorted(
            members,
            key=lambda c: (
                switches.index(c.setting) if c.setting in switches else len(switches),
                not may_move_pool(pair, c),
                c.setting,
            ),
        )
        if len(members) > 1:
            leaders |= {c.setting: order[0].setting for c in members}
    return leaders


def _state_sized(pair: Situation, setting: str) -> bool:
    """Request-sized pools: EAGLE's slots up to 0.5.6, state slots, and the sliding window's cap mode."""
    roles = {p.role for p in pair.newer.pools} | {p.role for p in pair.older.pools}
    if setting != "disable_radix_cache" and pair.known.computed.get("eagle_slots_in_pool"):
        return True
    if "mamba" in roles:
        return setting == "disable_radix_cache" or _states_follow_requests(pair)
    capped = within(pair.newer.version, "0.5.14", None) is not False
    return "swa" in roles and capped and setting != "speculative_num_draft_tokens"


def _states_follow_requests(pair: Situation) -> bool:
    """Tell whether the state slots are made for requests: without radix cache, and for drafts.

    `handle_max_mamba_cache`, model_executor/model_runner_kv_cache_mixin.py:72@0.5.11; else a ratio splits.
    """
    return any(
        algorithm(one) is not None or one.config.values.get("disable_radix_cache") is not False
        for one in (pair.older, pair.newer)
    )


def _through_the_fraction(pair: Situation) -> bool:
    """Tell whether a setting of the automatic reserve reached the pool: by a computed fraction."""
    fraction = pair.changed("mem_fraction_static")
    return fraction is not None and fraction.derived
