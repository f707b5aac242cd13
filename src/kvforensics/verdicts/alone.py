"""The pool that the sizing rule gives for one change of a pair alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.errors import KvforensicsError
from kvforensics.sizing import predict
from kvforensics.sizing.closure import eagle_addend
from kvforensics.sizing.facts import GIB, cap, cap_binds, facts, first_event
from kvforensics.verdicts.candidates import STATE_SIZED

if TYPE_CHECKING:
    from kvforensics.changes import Change
    from kvforensics.verdicts.situation import Situation

RULED = ("mem_fraction_static", "max_total_tokens")


def each_alone(pair: Situation, candidates: frozenset[str]) -> dict[str, int]:
    """Predict the pool for each candidate that the rule can price, changed alone."""
    found = {}
    for setting in candidates & {*RULED, *STATE_SIZED}:
        change = pair.changed(setting)
        if change is None:
            continue
        if setting in STATE_SIZED:
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


def half_interval(pair: Situation, setting: str) -> float | None:
    """Return half of the prediction's own interval, beyond the noise; None where nothing is predicted."""
    change = pair.changed(setting)
    if change is None or setting not in RULED:
        return None
    try:
        said = predict(pair.older, {setting: change.after})
    except KvforensicsError:
        return None
    return max(0.0, said.high - said.tokens - pair.noise.tokens)
