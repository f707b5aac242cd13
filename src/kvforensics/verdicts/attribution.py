"""Who moved the pool: one changed setting, several, the free memory, the release, or nobody in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from kvforensics.knowledge import knob
from kvforensics.sizing.facts import GIB, facts
from kvforensics.verdicts.alone import each_alone, half_interval
from kvforensics.verdicts.candidates import candidates
from kvforensics.verdicts.moves import direction, expected

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvforensics.verdicts.situation import Situation

_REMAINDER = 0.02  # of the pool: pairs whose budgets close agree within 0.2 %
_CONSTANT_WEIGHTS_GIB = 0.1


class Attribution(Struct, frozen=True):
    """Who explains the pool of a pair.

    `by` is `setting` (one, in `credited`), `several`, `free_memory`, `version`, `nobody`, `not_moved`,
    `hidden` (a setting that a cut config does not show may have done it) or `unknown`. `alone` holds the
    pool that the rule predicts for a setting changed alone.
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
        return Attribution("unknown", candidates=candidates(pair))
    found = candidates(pair)
    alone = each_alone(pair, found)
    if pair.pool != "moved":
        return _unmoved(pair, found, alone)
    if free_memory_explains(pair):
        by = "several" if _rule_explains(pair, found, alone) else "free_memory"
        return Attribution(by, candidates=found, alone=alone)
    if pair.binding == ("max_total_tokens", "max_total_tokens"):
        found &= {"max_total_tokens"}  # whatever memory would hold, the cap is the pool before and after
    still = frozenset(s for s in found if not _stays(pair, alone.get(s)))
    if pair.version_changed:
        return Attribution("version" if not still else "several", candidates=still, alone=alone)
    if not pair.complete and len(found) == 1 and not any(_arrives(pair, alone.get(s)) for s in found):
        return Attribution("hidden", candidates=found, alone=alone)
    if not still:
        return Attribution("nobody", candidates=found, alone=alone)
    if len(found) > 1:
        chosen = _separated(pair, found, alone)
        if chosen is None:
            return Attribution("several", candidates=found, alone=alone)
        still = frozenset({chosen})
    return _sole(pair, still, alone)


def free_memory_explains(pair: Situation) -> bool:
    """Whether the memory free before loading explains the pool by f*dP, the weights being as before."""
    old, new = facts(pair.older), facts(pair.newer)
    move = pair.effects.pool_tokens
    if old.before is None or new.before is None or old.after is None or new.after is None:
        return False
    if pair.noise.cell is None or old.fraction is None or move.before is None or move.after is None:
        return False
    if "max_total_tokens" in pair.binding:
        return False
    limit = max(_CONSTANT_WEIGHTS_GIB, pair.noise.free_gib)
    if round(abs((old.before - old.after) - (new.before - new.after)), 6) > limit:
        return False
    moved = old.fraction * (new.before - old.before) * GIB / pair.noise.cell
    return abs(moved) > pair.noise.tokens and abs((move.after - move.before) - moved) <= pair.noise.tokens


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


def _rule_explains(pair: Situation, found: frozenset[str], alone: Mapping[str, int]) -> bool:
    return any(_arrives(pair, alone.get(s)) and not _stays(pair, alone.get(s)) for s in found)


def _unmoved(pair: Situation, found: frozenset[str], alone: Mapping[str, int]) -> Attribution:
    """Judge an unmoved pool: two inputs that should have moved it may have cancelled."""
    lively = frozenset(s for s in found if not _stays(pair, alone.get(s)) and _should_move(pair, s))
    if len(lively) > 1:
        return Attribution("several", candidates=lively, alone=alone)
    hidden = frozenset(s for s in found if alone.get(s) is not None and not _stays(pair, alone[s]))
    if hidden and _differs(pair) and "max_total_tokens" not in pair.binding:
        return Attribution("free_memory", candidates=hidden, alone=alone)
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
    half = half_interval(pair, setting)
    if said is None or seen is None or half is None:
        return None
    left = seen - said - _by_free_memory(pair, setting)
    error = max(pair.noise.tokens, _REMAINDER * seen)
    return int(left) if abs(left) > error + half else None


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
