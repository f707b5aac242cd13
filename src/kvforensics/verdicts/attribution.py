"""Who moved the pool: which changed settings could, and what the sizing rule says of each alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kvforensics.errors import KvforensicsError
from kvforensics.knowledge import knob, patterns_of, within
from kvforensics.sizing import predict
from kvforensics.sizing.closure import eagle_addend
from kvforensics.sizing.facts import GIB, cap, cap_binds, facts, first_event
from kvforensics.verdicts.moves import direction, expected
from kvforensics.verdicts.situation import holds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvforensics.changes import Change
    from kvforensics.verdicts.situation import Situation

RULED = ("mem_fraction_static", "max_total_tokens")
_REMAINDER = (
    0.02  # of the pool: a larger one is not the rule's (kv-memory pairs that close agree within 0.2 %)
)
_CONSTANT_WEIGHTS_GIB = 0.1
_STATE_SIZED = ("max_running_requests", "disable_radix_cache", "speculative_num_draft_tokens")
_OUT = ("inert", "masked", "overridden", "noise", "not_applied")


@dataclass(frozen=True, slots=True)
class Attribution:
    """Who explains the pool of a pair.

    `by` is `setting` (one, in `credited`), `several`, `free_memory`, `version`, `nobody`, `not_moved` or
    `unknown`. `alone` holds the pool that the rule predicts for a setting changed alone.
    """

    by: str
    credited: frozenset[str] = frozenset()
    candidates: frozenset[str] = frozenset()
    alone: Mapping[str, int] = field(default_factory=dict)
    remainder: int | None = None  # tokens that the rule leaves unexplained, where it does


def attribute(pair: Situation) -> Attribution:
    """Say who explains the pool's move, or that it did not move.

    One possible explanation gets the credit; of several, one does only if the rule gives the new pool for
    it alone and no move for each of the others. Free memory before loading that explains the move leaves
    no setting the credit.
    """
    if pair.pool == "unknown":
        return Attribution("unknown", candidates=_candidates(pair))
    found = _candidates(pair)
    alone = _alone(pair, found)
    if pair.pool != "moved":
        return _unmoved(pair, found, alone)
    if free_memory_explains(pair):
        by = "several" if _rule_explains(pair, found, alone) else "free_memory"
        return Attribution(by, candidates=found, alone=alone)
    still = frozenset(s for s in found if not _stays(pair, alone.get(s)))
    if pair.version_changed:
        return Attribution("version" if not still else "several", candidates=still, alone=alone)
    if not still:
        return Attribution("nobody", candidates=found, alone=alone)
    if len(still) > 1:
        chosen = _separated(pair, still, alone)
        if chosen is None:
            return Attribution("several", candidates=still, alone=alone)
        still = frozenset({chosen})
    return _sole(pair, still, alone)


def free_memory_explains(pair: Situation) -> bool:
    """Whether the memory free before loading explains the pool, the weights being constant: f*dP."""
    old, new = facts(pair.older), facts(pair.newer)
    move = pair.effects.pool_tokens
    if old.before is None or new.before is None or old.after is None or new.after is None:
        return False
    if pair.noise.cell is None or old.fraction is None or move.before is None or move.after is None:
        return False
    limit = max(_CONSTANT_WEIGHTS_GIB, pair.noise.free_gib)
    if round(abs((old.before - old.after) - (new.before - new.after)), 6) > limit:
        return False
    moved = old.fraction * (new.before - old.before) * GIB / pair.noise.cell
    return abs(moved) > pair.noise.tokens and abs((move.after - move.before) - moved) <= pair.noise.tokens


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
    if change.setting in _STATE_SIZED and known.direction["pool_tokens"] == "0":
        return _state_sized(pair, change.setting)
    if known.direction["pool_tokens"] == "0":
        return False
    return not known.mistaken_for or _through_the_fraction(pair)


def _candidates(pair: Situation) -> frozenset[str]:
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
        return True
    capped = within(pair.newer.version, "0.5.14", None) is not False
    return "swa" in roles and capped and setting != "speculative_num_draft_tokens"


def _through_the_fraction(pair: Situation) -> bool:
    """Tell whether a setting of the automatic reserve reached the pool: by a computed fraction."""
    fraction = pair.changed("mem_fraction_static")
    return fraction is not None and fraction.derived


def _alone(pair: Situation, candidates: frozenset[str]) -> dict[str, int]:
    """Predict the pool for each candidate that the rule can price, changed alone."""
    found = {}
    for setting in candidates & {*RULED, *_STATE_SIZED}:
        change = pair.changed(setting)
        if change is None:
            continue
        if setting in _STATE_SIZED:
            slots = _slots_added(pair)
            if slots is not None and pair.older.pool_tokens is not None:
                found[setting] = pair.older.pool_tokens + slots
            continue
        tokens = _predicted(pair, change)
        if tokens is not None:
            found[setting] = tokens
    return found


def _predicted(pair: Situation, change: Change) -> int | None:
    if change.setting == "max_total_tokens" and cap_binds(pair.newer, facts(pair.newer).page):
        limit = cap(pair.newer)
        page = facts(pair.newer).page
        today = pair.older.pool_tokens
        if limit is not None and (today is None or limit <= today):
            return limit // page * page
    value = change.after
    if change.setting == "max_total_tokens" and first_event(pair.newer, "cap_above_profile"):
        value = None
    try:
        return predict(pair.older, {change.setting: value}).tokens
    except KvforensicsError:
        return _by_slope(pair, change)


def _by_slope(pair: Situation, change: Change) -> int | None:
    """Price a fraction by what the budget paid, where closure is not checked: good for a sign and a size."""
    old = facts(pair.older)
    if change.setting != "mem_fraction_static" or pair.noise.cell is None or old.cap_binds:
        return None
    new = facts(pair.newer).fraction
    if old.before is None or old.fraction is None or new is None or old.tokens is None:
        return None
    return old.tokens + int(old.before * (new - old.fraction) * GIB / pair.noise.cell)


def _slots_added(pair: Situation) -> int | None:
    old, new = eagle_addend(pair.older), eagle_addend(pair.newer)
    return None if old is None or new is None else new - old


def _stays(pair: Situation, alone: int | None) -> bool:
    before = pair.older.pool_tokens
    return alone is not None and before is not None and abs(alone - before) <= pair.noise.tokens


def _arrives(pair: Situation, alone: int | None) -> bool:
    after = pair.newer.pool_tokens
    return alone is not None and after is not None and abs(alone - after) <= pair.noise.tokens


def _separated(pair: Situation, settings: frozenset[str], alone: Mapping[str, int]) -> str | None:
    """Return the one setting that the rule credits: it alone arrives, each of the others alone stays."""
    arriving = [s for s in settings if _arrives(pair, alone.get(s))]
    if len(arriving) != 1:
        return None
    others = settings - {arriving[0]}
    return arriving[0] if all(_stays(pair, alone.get(s)) for s in others) else None


def _rule_explains(pair: Situation, candidates: frozenset[str], alone: Mapping[str, int]) -> bool:
    return any(_arrives(pair, alone.get(s)) and not _stays(pair, alone.get(s)) for s in candidates)


def _unmoved(pair: Situation, found: frozenset[str], alone: Mapping[str, int]) -> Attribution:
    """Judge an unmoved pool: two inputs that should have moved it may have cancelled."""
    lively = frozenset(s for s in found if not _stays(pair, alone.get(s)) and _should_move(pair, s))
    if len(lively) > 1:
        return Attribution("several", candidates=lively, alone=alone)
    return Attribution("not_moved", candidates=found, alone=alone)


def _should_move(pair: Situation, setting: str) -> bool:
    """Whether a rule of a known sign says that this change moves the pool."""
    change, known = pair.changed(setting), knob(setting)
    if change is None or known is None:
        return False
    way = direction(change, pair.older, pair.newer)
    return expected(known, "pool_tokens", way) in (1, -1)


def _sole(pair: Situation, still: frozenset[str], alone: Mapping[str, int]) -> Attribution:
    """Credit the one candidate left, unless the rule leaves a remainder that it cannot explain."""
    setting = next(iter(still))
    if _against_the_rule(pair, alone.get(setting)) and _differs(pair):
        return Attribution("free_memory", candidates=still, alone=alone)
    left = _remainder(pair, setting, alone)
    if left is not None:
        by = "free_memory" if _differs(pair) else "several"
        return Attribution(by, candidates=still, alone=alone, remainder=left)
    return Attribution("setting", credited=still, candidates=still, alone=alone)


def _against_the_rule(pair: Situation, alone: int | None) -> bool:
    """Whether the pool moved the other way than the rule says of the setting alone."""
    before, after = pair.older.pool_tokens, pair.newer.pool_tokens
    if alone is None or before is None or after is None:
        return False
    return (alone > before) != (after > before)


def _remainder(pair: Situation, setting: str, alone: Mapping[str, int]) -> int | None:
    """Return the tokens that a priced setting and the free memory together do not explain.

    Only where the budget of the launch before is checked: without that, the rule gives a sign and a size.
    """
    said, seen = alone.get(setting), pair.newer.pool_tokens
    half = _interval(pair, setting)
    if said is None or seen is None or half is None:
        return None
    left = seen - said - _by_free_memory(pair, setting)
    error = max(pair.noise.tokens, _REMAINDER * seen)
    return int(left) if abs(left) > error + half else None


def _interval(pair: Situation, setting: str) -> float | None:
    """Return half of the prediction's own interval, beyond the noise; None where nothing is predicted."""
    change = pair.changed(setting)
    if change is None or setting not in RULED:
        return None
    try:
        said = predict(pair.older, {setting: change.after})
    except KvforensicsError:
        return None
    return max(0.0, said.high - said.tokens - pair.noise.tokens)


def _by_free_memory(pair: Situation, setting: str) -> float:
    """Tokens that the change of the memory free before loading gives under the new fraction."""
    old, new = facts(pair.older), facts(pair.newer)
    if (
        old.before is None
        or new.before is None
        or pair.noise.cell is None
        or setting != "mem_fraction_static"
    ):
        return 0.0
    return (new.fraction or old.fraction or 1.0) * (new.before - old.before) * GIB / pair.noise.cell


def _differs(pair: Situation) -> bool:
    old, new = facts(pair.older).before, facts(pair.newer).before
    return old is not None and new is not None and abs(new - old) > pair.noise.free_gib
